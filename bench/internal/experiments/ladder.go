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
	ladderSlowest = 2000
	ladderSlow    = 20_000
	ladderFast    = 1_000_000
)

// ladderStack is the stack of a coroutine in bytes, where a row does not name another size.
const ladderStack = 16 << 10

// ladder is the way of RethinkDB's authors to their coroutines, "Making coroutines fast" (2010).
func ladder() *harness.Experiment {
	return &harness.Experiment{
		Name:  "ladder",
		Asked: true,
		About: `the life of a coroutine that is suspended once, in ns of CPU time: it gets a
stack, begins, is suspended, goes on, ends. Ten are there at once, on one thread. Each row leaves something
out that the one before does; the steps are those of RethinkDB's authors.
new-stack: mmap and mprotect, getcontext, makecontext, swapcontext, munmap. reused-stack: ten stacks
are kept. no-mask: coro by hand, coro_new, coro_resume, coro_yield_value, with the control words of
the floating-point units kept at each switch, as swapcontext does, and without its two system calls.
no-fp: without these. run-loop: coro_spawn and coro_yield on a worker, where a stack that one has
left takes the next, and a switch goes from one coroutine to the other. goroutine: go and
runtime.Gosched with GOMAXPROCS=1.`,
		Metrics: []harness.Metric{{Name: "ns_per_op", Title: "ns a life", Digits: 1}},
		Rows: rows(
			ladderRung(sysUcontext, "new-stack", cbody.NewStack, ladderStack, ladderSlow),
			ladderRung(sysUcontext, "reused-stack", cbody.ReusedStack, ladderStack, ladderSlow),
			ladderRung(sysCoro, "no-mask", cbody.NoMask, ladderStack, ladderFast),
			ladderRung(sysCoro, "no-fp", cbody.NoFP, ladderStack, ladderFast),
			ladderRunLoop(),
			ladderGoroutines(),
			ladderStacks()),
		Versus: &harness.Versus{
			Metric: "ns_per_op", Title: "against new-stack",
			Peer: func(_, c harness.Row) bool { return c.Variant == "new-stack" },
		},
	}
}

// perLife spreads a CPU time over n lives.
func perLife(d time.Duration, err error, n int) (harness.Values, error) {
	return harness.Values{"ns_per_op": nsEach(d, n)}, err
}

func ladderRung(system, variant string, rung, stackBytes, n int) []harness.Row {
	return []harness.Row{{System: system, Variant: variant, Workers: 1, N: n,
		Open: timed(func() (harness.Values, error) {
			d, err := cbody.Ladder(rung, stackBytes, n)
			return perLife(d, err, n)
		})}}
}

// ladderStacks are the sources of stacks in all sizes, without what is a step of the ladder.
func ladderStacks() (list []harness.Row) {
	for _, from := range []struct {
		variant       string
		rung          int
		keeps, isStep bool // isStep: the row of the usual size is one
	}{
		{"new-stack", cbody.NewStack, false, true},
		{"malloc", cbody.Malloc, false, false},
		{"calloc", cbody.Calloc, false, false},
		{"reused-stack", cbody.ReusedStack, true, true},
		{"reused-calloc", cbody.ReusedCalloc, true, false},
	} {
		if !from.isStep {
			list = append(list, ladderRung(sysUcontext, from.variant, from.rung, ladderStack,
				ladderSlow)...)
		}
		for _, size := range []struct {
			name  string
			bytes int
		}{{"64K", 64 << 10}, {"256K", 256 << 10}, {"1M", 1 << 20}} {
			n := ladderSlowest
			if from.keeps {
				n = ladderSlow
			}
			list = append(list, ladderRung(sysUcontext, from.variant+" "+size.name, from.rung,
				size.bytes, n)...)
		}
	}
	return list
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
			start := cbody.CPU()
			for n := 0; n < ladderFast; n += 10 {
				group.Add(10)
				for range 10 {
					go life()
				}
				group.Wait()
			}
			return perLife(cbody.CPU()-start, nil, ladderFast)
		})}}
}
