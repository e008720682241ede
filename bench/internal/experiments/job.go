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
func jobTime(job cbody.Job, metric string, unit time.Duration,
	do func() error) (harness.Values, error) {
	start := time.Now()
	err := do()
	d := time.Since(start)
	if err == nil {
		err = job.Check()
	}
	return harness.Values{metric: float64(d) / float64(unit) / float64(job.N)}, err
}

// trial makes a trial that does a job, after a smaller one to warm up.
func trial(job, warm cbody.Job, metric string, unit time.Duration,
	do func(cbody.Job) error) harness.Trial {
	run := func(job cbody.Job) (harness.Values, error) {
		return jobTime(job, metric, unit, func() error { return do(job) })
	}
	return harness.Trial{
		Warm: func() error { _, err := run(warm); return err },
		Run:  func() (harness.Values, error) { return run(job) },
	}
}

// onThreads does the job on new pthreads that share a counter: what the machine itself can do.
func onThreads(job, warm cbody.Job, workers int, metric string,
	unit time.Duration) func() (harness.Trial, error) {
	return func() (harness.Trial, error) {
		return trial(job, warm, metric, unit, func(j cbody.Job) error {
			return j.Threads(workers)
		}), nil
	}
}

// onPlainC does it in a plain loop of C calls, on this thread or divided among several.
func onPlainC(job, warm cbody.Job, workers int, metric string,
	unit time.Duration) func() (harness.Trial, error) {
	return func() (harness.Trial, error) {
		return trial(job, warm, metric, unit, func(j cbody.Job) error {
			if workers > 1 {
				return j.PlainThreads(workers)
			}
			j.Plain()
			return nil
		}), nil
	}
}

// onGoroutines does it by a goroutine for each task, which calls the task by cgo. GOMAXPROCS, the
// row's Procs, says how many at a time.
func onGoroutines(job, warm cbody.Job, metric string,
	unit time.Duration) func() (harness.Trial, error) {
	return func() (harness.Trial, error) {
		return trial(job, warm, metric, unit, func(j cbody.Job) error {
			j.Goroutines()
			return nil
		}), nil
	}
}

// onCoroutines lets one coroutine spawn a coroutine for each task; the other workers have to steal
// theirs.
func onCoroutines(job, warm cbody.Job, workers int, metric string,
	unit time.Duration) func() (harness.Trial, error) {
	start := coro.MustFunc[cbody.Job, coro.None](cbody.JobStart)
	return func() (harness.Trial, error) {
		s, err := coro.New(coro.WithWorkers(workers))
		if err != nil {
			return harness.Trial{}, err
		}
		t := trial(job, warm, metric, unit, func(j cbody.Job) error {
			if err := start.Spawn(s, j); err != nil {
				return err
			}
			return settled(s)
		})
		t.Close = func() error { return closed(s) }
		return t, nil
	}
}
