package experiments

import (
	"sync"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/bench/internal/cbody"
	"github.com/organzine/coro/bench/internal/harness"
)

const (
	timersMany  = 1_000_000
	timersFew   = 1000
	timerFar    = time.Hour
	lateN       = 2000
	lateAhead   = 20 * time.Millisecond
	lateApart   = 10 * time.Microsecond
	variantPark = "park C"
	variantArm  = "park-until C"
)

// timerWaits is how many waits a run makes, all together. Tests make less.
var timerWaits = 2_000_000

// timers is the price of a deadline, and what it is worth.
func timers() *harness.Experiment {
	list := rows(timersOfC(), timersOfGo(), lateness())
	return &harness.Experiment{
		Name:  "timer",
		Asked: true,
		About: `deadlines. park: n coroutines on one worker that wait, each woken in turn
to wait again, in ns a wake-up and wait. park-until: the same with a deadline an hour away, armed
and taken back each time; arm + cancel: what that costs more, in the same round.
AfterFunc: n timers of Go's made, an hour away, and then stopped, in ns each.
late: 2000 that sleep until times 10 us apart, while worker 0, or one of two Ps, computes without
a pause: how late they go on. busy: they went to sleep on worker 0, beside: on worker 1.`,
		Metrics: []harness.Metric{
			{Name: "ns_per_op", Title: "ns", Digits: 1},
			{Name: "ns_arm_cancel", Title: "arm + cancel ns", Digits: 1},
			{Name: "p50_us", Title: "late p50 us", Digits: 0},
			{Name: "p99_us", Title: "late p99 us", Digits: 0},
		},
		Rows: list,
		Derive: func(round []harness.Values) {
			for i, own := range list {
				if own.System == sysGoroutine && round[i]["ns_per_op"] > 0 {
					round[i]["ns_arm_cancel"] = round[i]["ns_per_op"]
				}
				for k, bare := range list {
					if own.Variant == variantArm &&
						bare.Variant == variantPark && bare.N == own.N {
						round[i]["ns_arm_cancel"] = round[i]["ns_per_op"] - round[k]["ns_per_op"]
					}
				}
			}
		},
	}
}

func timersOfC() []harness.Row {
	start := coro.MustFunc[cbody.TimersRun, int64](cbody.TimersStart)
	var list []harness.Row
	for _, n := range []int{timersFew, timersMany} {
		for deadlines, variant := range []string{variantPark, variantArm} {
			run := cbody.TimersRun{N: int64(n), Rounds: int64(timerWaits / n),
				Deadlines: int64(deadlines)}
			list = append(list, harness.Row{System: sysCoro, Variant: variant,
				Workers: 1, N: n, Open: onScheduler(resultNS(start, run,
					timerWaits), coro.WithWorkers(1))})
		}
	}
	return list
}

func timersOfGo() []harness.Row {
	var list []harness.Row
	for _, n := range []int{timersFew, timersMany} {
		list = append(list, harness.Row{System: sysGoroutine, Variant: "AfterFunc Go",
			Workers: 1, N: n, Procs: 1, Open: timed(
				func() (harness.Values, error) { return perOp(goTimers(n), n, nil) })})
	}
	return list
}

func goTimers(n int) time.Duration {
	armed := make([]*time.Timer, n)
	start := time.Now()
	for i := range armed {
		armed[i] = time.AfterFunc(timerFar+time.Duration(i)*4099, func() {})
	}
	for _, t := range armed {
		t.Stop()
	}
	return time.Since(start)
}

func lateness() []harness.Row {
	start := coro.MustFunc[cbody.LateRun, coro.None](cbody.LateStart)
	row := func(variant string, sleepers int64) harness.Row {
		return harness.Row{System: sysCoro, Variant: "late C " + variant, Workers: 2,
			N: lateN, Open: onScheduler(
				func(s *coro.Scheduler) (harness.Values, error) {
					err := start.Spawn(s, cbody.LateRun{N: lateN,
						Ahead: int64(lateAhead), Apart: int64(lateApart),
						Sleepers: sleepers})
					if err == nil {
						err = settled(s)
					}
					return percentiles(cbody.Waits(lateN)), err
				}, coro.WithWorkers(2))}
	}
	return []harness.Row{
		row("busy", 0), row("beside", 1),
		{System: sysGoroutine, Variant: "late Go", Workers: 2, N: lateN, Procs: 2,
			Open: timed(goLateness)},
	}
}

func goLateness() (harness.Values, error) {
	waits := make([]time.Duration, lateN)
	var asleep, woken sync.WaitGroup
	asleep.Add(lateN)
	first := time.Now().Add(lateAhead)
	for i := range waits {
		woken.Go(func() {
			deadline := first.Add(time.Duration(i) * lateApart)
			asleep.Done()
			time.Sleep(time.Until(deadline))
			waits[i] = time.Since(deadline)
		})
	}
	asleep.Wait()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				goSpin(1000)
			}
		}
	}()
	woken.Wait()
	close(stop)
	<-stopped
	return percentiles(waits), nil
}
