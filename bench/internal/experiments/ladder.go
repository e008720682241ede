package experiments

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/bench/internal/cbody"
	"github.com/organzine/coro/bench/internal/harness"
)

// Lives of a run: as many as take some tens of milliseconds.
const (
	ladderSlow = 20_000
	ladderFast = 1_000_000
)

// ladder is the way of RethinkDB's authors to their coroutines, "Making coroutines fast" (2010).
func ladder() *harness.Experiment {
	return &harness.Experiment{
		Name:  "ladder",
		Asked: true,
		About: `the life of a coroutine that is suspended once, in ns: it gets a stack,
begins, is suspended, goes on, ends. Ten are there at once, on one thread. Each row leaves something
out that the one before does; the steps are those of RethinkDB's authors.
new-stack: mmap and mprotect, getcontext, makecontext, swapcontext, munmap. reused-stack: ten stacks
are kept. no-mask: coro by hand, coro_new, coro_resume, coro_yield_value, with the control words of
the floating-point units kept at each switch, as swapcontext does, and without its two system calls.
no-fp: without these. run-loop: coro_spawn and coro_yield on a worker, where a stack that one has
left takes the next, and a switch goes from one coroutine to the other. goroutine: go and
runtime.Gosched with GOMAXPROCS=1.`,
		Metrics: []harness.Metric{{Name: "ns_per_op", Title: "ns a life", Digits: 1}},
		Rows: rows(
			ladderRung(sysUcontext, "new-stack", cbody.NewStack, ladderSlow),
			ladderRung(sysUcontext, "reused-stack", cbody.ReusedStack, ladderSlow),
			ladderRung(sysCoro, "no-mask", cbody.NoMask, ladderFast),
			ladderRung(sysCoro, "no-fp", cbody.NoFP, ladderFast),
			ladderRunLoop(),
			ladderGoroutines()),
		Versus: &harness.Versus{
			Metric: "ns_per_op", Title: "against new-stack",
			Peer: func(_, c harness.Row) bool { return c.Variant == "new-stack" },
		},
	}
}

// perLife spreads a time over n lives.
func perLife(d time.Duration, err error, n int) (harness.Values, error) {
	return harness.Values{"ns_per_op": nsEach(d, n)}, err
}

func ladderRung(system, variant string, rung, n int) []harness.Row {
	return []harness.Row{{System: system, Variant: variant, Workers: 1, N: n,
		Open: timed(func() (harness.Values, error) {
			d, err := cbody.Ladder(rung, n)
			return perLife(d, err, n)
		})}}
}

func ladderRunLoop() []harness.Row {
	start := coro.MustFunc[int64, int64](cbody.RunLoop)
	return []harness.Row{{System: sysCoro, Variant: "run-loop", Workers: 1, N: ladderFast,
		Open: onScheduler(func(s *coro.Scheduler) (harness.Values, error) {
			task, err := start.Start(s, ladderFast)
			if err != nil {
				return nil, err
			}
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			ns, err := task.Wait(ctx)
			return perLife(time.Duration(ns), err, ladderFast)
		}, coro.WithWorkers(1))}}
}

func ladderGoroutines() []harness.Row {
	return []harness.Row{{System: sysGoroutine, Variant: "Gosched", Workers: 1, N: ladderFast,
		Procs: 1, Open: timed(func() (harness.Values, error) {
			var group sync.WaitGroup
			life := func() {
				runtime.Gosched()
				group.Done()
			}
			start := time.Now()
			for n := 0; n < ladderFast; n += 10 {
				group.Add(10)
				for range 10 {
					go life()
				}
				group.Wait()
			}
			return perLife(time.Since(start), nil, ladderFast)
		})}}
}
