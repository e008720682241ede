package experiments

import (
	"context"
	"runtime"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/bench/internal/cbody"
	"github.com/organzine/coro/bench/internal/harness"
)

const (
	waitTrips = 20_000 // back to back, in a run
	waitPause = time.Millisecond
	waitColds = 200 // from sleep, in a run
)

// waiting is how long a goroutine waits for one C body.
func waiting() *harness.Experiment {
	return &harness.Experiment{
		Name:  "wait",
		Asked: true,
		About: `a goroutine starts an empty C body and waits for it, in µs. back to back:
at once again; against a round trip over two unbuffered
channels: to a goroutine that may share a P, and between two goroutines that have a thread each,
and so a P. cold: one each millisecond, which finds everything asleep; against a goroutine parked
in a receive, which a C thread wakes by a callback.`,
		Metrics: []harness.Metric{
			{Name: "p50_us", Title: "p50 us", Digits: 3},
			{Name: "p99_us", Title: "p99 us", Digits: 3},
		},
		Rows: []harness.Row{
			{System: sysCoro, Variant: "back to back", Workers: 1, N: waitTrips,
				Open: onScheduler(startAndWait(waitTrips, 0), coro.WithWorkers(1))},
			{System: sysChannel, Variant: "back to back", Workers: cpus, N: waitTrips,
				Open: timed(channelTrips(false))},
			{System: sysChannel, Variant: "two Ps", Workers: cpus, N: waitTrips,
				Open: timed(channelTrips(true))},
			{System: sysCoro, Variant: "cold", Workers: 1, N: waitColds,
				Open: onScheduler(startAndWait(waitColds, waitPause),
					coro.WithWorkers(1))},
			{System: sysCgo, Variant: "cold", Workers: cpus, N: waitColds,
				Open: timed(func() (harness.Values, error) {
					waits, err := cbody.WakesFromC(waitColds, waitPause)
					return percentiles(waits), err
				})},
		},
	}
}

func startAndWait(n int, pause time.Duration) func(*coro.Scheduler) (harness.Values, error) {
	return func(s *coro.Scheduler) (harness.Values, error) {
		op := startedAndAwaited(s, coro.MustFunc[coro.None, coro.None](cbody.Empty))
		waits := make([]time.Duration, n)
		for i := range waits {
			if pause > 0 {
				time.Sleep(pause)
			}
			start := time.Now()
			if err := op(); err != nil {
				return nil, err
			}
			waits[i] = time.Since(start)
		}
		return percentiles(waits), nil
	}
}

// startedAndAwaited is one start and the wait for its end.
func startedAndAwaited(s *coro.Scheduler, empty coro.Func[coro.None, coro.None]) func() error {
	return func() error {
		task, err := empty.Start(s, coro.None{})
		if err == nil {
			_, err = task.Wait(context.Background())
		}
		return err
	}
}

// channelTrips: apart: both goroutines are locked to threads.
func channelTrips(apart bool) func() (harness.Values, error) {
	return func() (harness.Values, error) {
		there, back := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(back)
			if apart {
				runtime.LockOSThread() // which ends with the goroutine
			}
			for range there {
				back <- struct{}{}
			}
		}()
		if apart {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
		}
		waits := make([]time.Duration, waitTrips)
		for i := range waits {
			start := time.Now()
			there <- struct{}{}
			<-back
			waits[i] = time.Since(start)
		}
		close(there)
		<-back
		return percentiles(waits), nil
	}
}
