package experiments

import (
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/bench/internal/cbody"
	"github.com/organzine/coro/bench/internal/harness"
)

// The three ways of doing a job, which is n times the same task in C.
const (
	plainC   = "plain-c"
	stolen   = "stolen"
	pthreads = "pthreads"
)

// jobTime runs a job and checks it. metric is its time per task, in the given unit.
func jobTime(job cbody.Job, metric string, unit time.Duration, do func() error) (harness.Values, error) {
	start := time.Now()
	err := do()
	d := time.Since(start)
	if err == nil {
		err = job.Check()
	}
	return harness.Values{metric: float64(d) / float64(unit) / float64(job.N)}, err
}

// onThreads does the job on new pthreads that share a counter: what the machine itself can do.
func onThreads(job cbody.Job, workers int, metric string, unit time.Duration) func() (harness.Trial, error) {
	return timed(func() (harness.Values, error) {
		return jobTime(job, metric, unit, func() error { return job.Threads(workers) })
	})
}

// onOneThread does it in a plain loop of C calls.
func onOneThread(job cbody.Job, metric string, unit time.Duration) func() (harness.Trial, error) {
	return timed(func() (harness.Values, error) {
		return jobTime(job, metric, unit, func() error { job.Plain(); return nil })
	})
}

// onCoroutines lets one coroutine spawn a coroutine for each task; the other workers have to steal theirs.
func onCoroutines(job cbody.Job, workers int, metric string, unit time.Duration) func() (harness.Trial, error) {
	start := coro.MustFunc[cbody.Job, coro.None](cbody.JobStart)
	return onScheduler(func(s *coro.Scheduler) (harness.Values, error) {
		return jobTime(job, metric, unit, func() error {
			if err := start.Spawn(s, job); err != nil {
				return err
			}
			return settled(s)
		})
	}, coro.WithWorkers(workers))
}
