package experiments

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/bench/internal/cbody"
	"github.com/organzine/coro/bench/internal/harness"
)

const (
	callN         = 200_000 // calls in a run
	callTurns     = 4       // in which they are made
	callPause     = time.Millisecond
	callLatencies = 100 // waits that are measured in a run
	sysCgo        = "cgo"
)

// addOne is the Go function that is called.
var addOne = sync.OnceValue(func() coro.FuncID {
	return coro.MustExportFunc(func(_ context.Context, n int64) (int64, error) {
		return n + 1, nil
	})
})

// calling is the price of a call from C into Go.
func calling() *harness.Experiment {
	list := rows(callbacks(), callsMany(), callLatency())
	return &harness.Experiment{
		Name:  "call",
		Asked: true,
		About: `a call from C into Go, in ns. callback: a C thread calls an empty function
that cgo exports, on its own stack.
inline: coroutines of one worker call a function from int64 to int64 by coro_call_go_inline, by
turns with callbacks.
offload: the same by coro_call_go. from-sleep: one call each millisecond, which finds Go asleep:
from the call to its return.
goroutine: from a send each millisecond to the receiver's return from its receive. idle: nothing
else. busy: a goroutine computes on every P.`,
		Metrics: []harness.Metric{
			{Name: "ns_per_call", Title: "ns per call", Digits: 3},
			{Name: "times_callback", Title: "callbacks", Digits: 3},
			{Name: "p50_us", Title: "p50 us", Digits: 3},
			{Name: "p99_us", Title: "p99 us", Digits: 3},
		},
		Rows: list,
		Derive: func(round []harness.Values) {
			for i, v := range round {
				if ns, ok := v["ns_per_call"]; ok && i > 0 &&
					v["times_callback"] == 0 {
					v["times_callback"] = ns / round[0]["ns_per_call"]
				}
			}
		},
	}
}

func callbacks() []harness.Row {
	return []harness.Row{{System: sysCgo, Variant: "callback", Workers: 1, N: 1,
		Open: timed(func() (harness.Values, error) {
			ns, err := callback(callN)
			return harness.Values{"ns_per_call": ns}, err
		})}}
}

// callback is what one of n callbacks takes, in ns.
func callback(n int) (float64, error) {
	d, err := cbody.Callbacks(n)
	return nsEach(d, n), err
}

func callsMany() []harness.Row {
	body := coro.MustFunc[cbody.Calls, coro.None](cbody.CallsBody)
	calls := func(s *coro.Scheduler, offload uint32, callers, n int) (float64, error) {
		start := time.Now()
		_, err := body.SpawnN(s, callers, cbody.Calls{ID: uint32(addOne()),
			Offload: offload, N: int64(n / callers)})
		if err == nil {
			err = settled(s)
		}
		return nsEach(time.Since(start), n), err
	}
	inline := func(callers int) harness.Row {
		return harness.Row{System: sysCoro, Variant: "inline", Workers: 1, N: callers,
			Open: onScheduler(func(s *coro.Scheduler) (harness.Values, error) {
				ns, times, err := byTurns(callTurns,
					func() (float64, error) {
						return calls(s, 0, callers, callN/callTurns)
					}, func() (float64, error) { return callback(callN / callTurns) })
				return harness.Values{"ns_per_call": ns, "times_callback": times}, err
			}, coro.WithWorkers(1))}
	}
	offloaded := func(callers int) harness.Row {
		return harness.Row{System: sysCoro, Variant: "offload", Workers: cpus, N: callers,
			Open: onScheduler(func(s *coro.Scheduler) (harness.Values, error) {
				ns, err := calls(s, 1, callers, callN)
				return harness.Values{"ns_per_call": ns}, err
			}, coro.WithWorkers(cpus))}
	}
	return []harness.Row{inline(1), inline(100), offloaded(1), offloaded(10), offloaded(100),
		offloaded(1000)}
}

func callLatency() []harness.Row {
	var list []harness.Row
	for _, busy := range []bool{false, true} {
		load := "idle"
		if busy {
			load = "busy"
		}
		list = append(list,
			harness.Row{System: sysCoro, Variant: "from-sleep " + load, Workers: cpus,
				N: 1, Open: onScheduler(beforeSpins(busy, callFromSleep),
					coro.WithWorkers(cpus))},
			harness.Row{System: sysGoroutine, Variant: "wake-up " + load, Workers: cpus,
				N: 1, Open: timed(func() (harness.Values, error) {
					return beforeSpins(busy,
						goWakeUp)(nil)
				})})
	}
	return list
}

// beforeSpins runs f, if asked so while a goroutine computes on every P.
func beforeSpins(busy bool, f func(*coro.Scheduler) (harness.Values, error)) func(*coro.Scheduler) (
	harness.Values, error) {
	return func(s *coro.Scheduler) (harness.Values, error) {
		var stop atomic.Bool
		var all sync.WaitGroup
		for range cpus {
			all.Go(func() {
				for busy && !stop.Load() {
					goSpin(1000)
				}
			})
		}
		defer all.Wait()
		defer stop.Store(true)
		return f(s)
	}
}

// callFromSleep: a coroutine each millisecond, which calls once.
func callFromSleep(s *coro.Scheduler) (harness.Values, error) {
	once := coro.MustFunc[coro.FuncID, int64](cbody.CallOnce)
	waits := make([]time.Duration, callLatencies)
	for i := range waits {
		time.Sleep(callPause)
		task, err := once.Start(s, addOne())
		if err != nil {
			return nil, err
		}
		ns, err := task.Wait(context.Background())
		if err != nil {
			return nil, err
		}
		waits[i] = time.Duration(ns)
	}
	return percentiles(waits), nil
}

// goWakeUp: a goroutine that waits for a channel, to which is sent each millisecond.
func goWakeUp(*coro.Scheduler) (harness.Values, error) {
	waits := make([]time.Duration, 0, callLatencies)
	sent, heard := make(chan time.Time), make(chan struct{})
	go func() {
		defer close(heard)
		for t := range sent {
			waits = append(waits, time.Since(t))
		}
	}()
	for range callLatencies {
		time.Sleep(callPause)
		sent <- time.Now()
	}
	close(sent)
	<-heard
	return percentiles(waits), nil
}

func percentiles(d []time.Duration) harness.Values {
	ns := percentilesNS(d)
	return harness.Values{"p50_us": ns["p50_ns"] / 1e3, "p99_us": ns["p99_ns"] / 1e3}
}

func percentilesNS(d []time.Duration) harness.Values {
	slices.Sort(d)
	ns := func(p int) float64 { return float64(d[(len(d)-1)*p/100]) }
	return harness.Values{"p50_ns": ns(50), "p99_ns": ns(99)}
}
