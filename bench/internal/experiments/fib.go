package experiments

import (
	"time"

	"github.com/organzine/coro/bench/internal/cbody"
	"github.com/organzine/coro/bench/internal/harness"
)

const (
	fibTasks  = 200
	fibWarm   = 10
	fibIndex  = 100_000
	fibMetric = "ms_per_task"
	fibStack  = 64 << 10 // GMP wants more than the default
)

// fib is the coarse job: does stealing spread it over the workers, and does a coroutine slow it
// down?
func fib() *harness.Experiment {
	job := cbody.FibJob(fibTasks, fibStack, fibIndex)

	warm := cbody.FibJob(fibWarm, fibStack, fibIndex)

	var list []harness.Row
	for _, w := range oneAndAll() {
		list = append(list, harness.Row{System: sysCoro, Variant: plainC, Workers: w,
			N: fibTasks, Open: onPlainC(job, warm, w, fibMetric, time.Millisecond)})
	}
	for _, w := range oneAndAll() {
		list = append(list, harness.Row{System: sysCoro, Variant: stolen, Workers: w,
			N: fibTasks, Open: onCoroutines(job, warm, w, fibMetric, time.Millisecond)})
	}
	if cpus > 1 {
		list = append(list, harness.Row{System: sysCoro, Variant: pthreads, Workers: cpus,
			N: fibTasks, Open: onThreads(job, warm, cpus, fibMetric, time.Millisecond)})
	}
	return fibExperiment("fib", false, list, plainC, `the 100 000th Fibonacci number by GMP, 200 times; time from start to end
divided by 200, in ms. Computed by steps of 80, F(n+80) = L(80) F(n) - F(n-80), 0.5 to 1 ms a task
(mpz_fib_ui: 0.06, plain additions: 13). The warm-up is 10 of them.
plain-c: a loop of plain calls; with more workers, of an equal share on each of as many bare
threads.
stolen: one coroutine spawns all 200, each with a 64 KiB stack, and the other workers steal.
pthreads: bare threads that share a counter. speed-up: against plain-c on one in the same round.`)
}

// fibExperiment has the rows of one of both experiments. speed-up is against the row base on one
// worker.
func fibExperiment(name string, asked bool, list []harness.Row, base, about string) *harness.Experiment {
	return &harness.Experiment{
		Name: name, Asked: asked, About: about,
		Metrics: []harness.Metric{
			{Name: fibMetric, Title: "ms per task", Digits: 3},
			{Name: "speedup", Title: "speed-up", Digits: 3},
		},
		Rows: list,
		Derive: speedups(list, fibMetric, func(_, c harness.Row) bool {
			return c.Variant == base && c.Workers == 1
		}),
	}
}

// fibWorkers are the numbers of workers of the ancestor's curve.
var fibWorkers = []int{1, 2, 3, 4, 8}

// fibCurve is that job over numbers of workers, also more than there are CPUs.
func fibCurve() *harness.Experiment {
	job := cbody.FibJob(fibTasks, fibStack, fibIndex)
	warm := cbody.FibJob(fibWarm, fibStack, fibIndex)

	var list []harness.Row
	for _, w := range fibWorkers {
		list = append(list,
			harness.Row{System: sysCoro, Variant: stolen, Workers: w, N: fibTasks,
				Open: onCoroutines(job, warm, w, fibMetric, time.Millisecond)},
			harness.Row{System: sysGoroutine, Variant: "cgo", Workers: w, N: fibTasks,
				Procs: w, Open: onGoroutines(job, warm, fibMetric, time.Millisecond)},
			harness.Row{System: "pthread", Variant: pthreads, Workers: w, N: fibTasks,
				Open: onThreads(job, warm, w, fibMetric, time.Millisecond)})
	}
	return fibExperiment("fib-curve", true, list, pthreads, `the job of the experiment fib over 1, 2, 3, 4 and 8 workers: coroutines that are
stolen; a goroutine for each task, which calls the C function by cgo, with a P for each worker; bare threads
that share a counter. speed-up: against one bare thread in the same round. With more workers than
CPUs no system can be faster than with as many.`)
}
