package experiments

import (
	"time"

	"github.com/organzine/coro/bench/internal/cbody"
	"github.com/organzine/coro/bench/internal/harness"
)

// stepsPerUS is how many steps of dependent arithmetic stand for a microsecond. It is fixed, so
// that the work is the same everywhere; the column says how long they take here.
const stepsPerUS = 1100

var taskSizes = []struct {
	name  string
	us, n int
}{
	{"1us", 1, 20_000}, {"10us", 10, 2000}, {"100us", 100, 400},
}

// tasks is how small a task may be for a second worker to pay.
func tasks() *harness.Experiment {
	const metric, unit = "us_per_task", time.Microsecond

	var list []harness.Row
	for _, size := range taskSizes {
		job := cbody.SpinJob(size.n, 0, size.us*stepsPerUS)
		for _, w := range oneAndAll() {
			list = append(list, harness.Row{System: sysCoro, Variant: size.name,
				Workers: w, N: size.n, Open: onCoroutines(job, job, w, metric,
					unit)})
		}
		for _, w := range oneAndAll() {
			list = append(list, harness.Row{System: pthreads, Variant: size.name,
				Workers: w, N: size.n, Open: onThreads(job, job, w, metric, unit)})
		}
	}
	return &harness.Experiment{
		Name: "tasks",
		About: `tasks of about 1, 10 and 100 us of arithmetic, all spawned by one
coroutine; time from start to end divided by their number, in us. pthreads: bare threads that
share a counter.
speed-up: against the same system with one worker in the same round.`,
		Metrics: []harness.Metric{
			{Name: metric, Title: "us per task", Digits: 3},
			{Name: "speedup", Title: "speed-up", Digits: 3},
		},
		Rows: list,
		Derive: speedups(list, metric, func(own, c harness.Row) bool {
			return c.System == own.System && c.Variant == own.Variant && c.Workers == 1
		}),
	}
}
