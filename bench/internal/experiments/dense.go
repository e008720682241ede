package experiments

import (
	"context"
	"fmt"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/bench/internal/cbody"
	"github.com/organzine/coro/bench/internal/harness"
)

const (
	denseN       = 8_000_000 // parked at once
	denseYielder = 200
)

var denseLive = []int{64, 256, 1024, 4096, 8192} // bytes of stack that a member uses besides

// dense is what coroutines without stacks of their own cost, beside plain ones.
func dense() *harness.Experiment {
	return &harness.Experiment{
		Name:  "dense",
		Asked: true,
		About: `Dense coroutines, which share stacks and are copied out when another needs
the place, beside plain ones.
parked: 8 000 000 at once, spawned from Go in one call: growth of VmRSS + VmPTE for each, time
until all are parked, time from the first wake-up until all have ended, and what is left after a
Trim. Needs 3 GB.
empty: 500 000 that do nothing, spawned before the scheduler runs: the run. yield: 200 that yield
to each other in turn on one worker, ns per yield, with so many more live bytes each ("+64"): each
yield of a dense one copies one out and one in.`,
		Metrics: []harness.Metric{
			{Name: "bytes_each", Title: "bytes each"},
			{Name: "start_ms", Title: "start ms"},
			{Name: "drain_ms", Title: "drain ms"},
			{Name: "bytes_left_after_trim", Title: "bytes left after trim"},
			{Name: "run_ms", Title: "run ms", Digits: 2},
			{Name: "ns_per_op", Title: "ns per yield", Digits: 2},
		},
		Rows: rows(denseRows("plain"), denseRows("dense", coro.FuncDense()), []harness.Row{
			{System: sysCoro, Variant: "parked dense", Workers: cpus, N: denseN,
				Open: openDense},
		}),
	}
}

func openDense() (harness.Trial, error) {
	return harness.Trial{
		Warm: func() error { _, err := memoryRun(1000, 400, coro.FuncDense()); return err },
		Run: func() (harness.Values, error) {
			return memoryRun(denseN, 400, coro.FuncDense())
		},
	}, nil
}

func denseRows(name string, kind ...coro.FuncOption) []harness.Row {
	empty := coro.MustFunc[coro.None, coro.None](cbody.Empty, kind...)
	list := []harness.Row{{System: sysCoro, Variant: "empty " + name, Workers: 1, N: spawnN,
		Open: onScheduler(
			func(s *coro.Scheduler) (harness.Values, error) {
				if _, err := empty.SpawnN(s, spawnN, coro.None{}); err != nil {
					return nil, err
				}
				start := time.Now()
				err := s.Run(context.Background())
				return harness.Values{"run_ms": ms(time.Since(start))}, err
			}, coro.WithWorkers(1), coro.WithPaused())}}
	for _, extra := range append([]int{0}, denseLive...) {
		variant := "yield " + name
		if extra > 0 {
			variant += fmt.Sprintf(" +%d", extra)
		}
		list = append(list, harness.Row{System: sysCoro, Variant: variant, Workers: 1,
			N: denseYielder, Open: onScheduler(
				func(s *coro.Scheduler) (harness.Values, error) {
					d, err := yieldInTurn(s, cbody.YieldArg{
						Members: denseYielder, Yields: yieldTotal / denseYielder,
						Extra: int64(extra), Dense: int64(len(kind)),
					})
					return perYield(d, err, yieldTotal, denseYielder)
				}, coro.WithWorkers(1), coro.WithSharedStacks(16, 4*coro.StackDefault),
				coro.WithStack(4*coro.StackDefault))})
	}
	return list
}
