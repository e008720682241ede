package experiments

import (
	"time"

	"github.com/organzine/coro/bench/internal/cbody"
	"github.com/organzine/coro/bench/internal/harness"
)

const (
	fibTasks = 200
	fibIndex = 100_000
	fibStack = 64 << 10 // GMP wants more than the default
)

// fib is the coarse job: does stealing spread it over the workers, and does a coroutine slow it down?
func fib() *harness.Experiment {
	job := cbody.FibJob(fibTasks, fibStack, fibIndex)
	const metric, unit = "ms_per_task", time.Millisecond

	list := []harness.Row{
		{System: sysCoro, Variant: plainC, Workers: 1, N: fibTasks, Open: onOneThread(job, metric, unit)},
	}
	for _, w := range oneAndAll() {
		list = append(list, harness.Row{System: sysCoro, Variant: stolen, Workers: w, N: fibTasks,
			Open: onCoroutines(job, w, metric, unit)})
	}
	for _, w := range oneAndAll() {
		list = append(list, harness.Row{System: sysCoro, Variant: pthreads, Workers: w, N: fibTasks,
			Open: onThreads(job, w, metric, unit)})
	}
	return &harness.Experiment{
		Name: "fib",
		About: `the 100 000th Fibonacci number by GMP, 200 times; time from start to end divided by 200, in ms.
Computed by steps of 16, F(n+16) = 2207 F(n) - F(n-16), about 1 ms a task (mpz_fib_ui: 0.06, plain additions: 13).
plain-c: a loop of plain calls. stolen: one coroutine spawns all 200, each with a 64 KiB stack; other workers
steal. pthreads: bare threads that share a counter. speedup: against plain-c in the same round.`,
		Metrics: []harness.Metric{
			{Name: metric, Title: "ms per task", Digits: 3},
			{Name: "speedup", Title: "speed-up", Digits: 3},
		},
		Rows: list,
		Derive: speedups(list, metric, func(_, c harness.Row) bool {
			return c.Variant == plainC
		}),
	}
}
