package experiments

import (
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/bench/internal/cbody"
	"github.com/organzine/coro/bench/internal/harness"
)

// How many yields a run makes, of all coroutines or goroutines together. Both numbers are multiples
// of all numbers of members.
const (
	yieldTotal   = 1_000_000
	goschedTotal = 200_000
)

var yieldMembers = []int{2, 200, 1000, 2000, 20_000}

// yielding is the price of letting the others run.
func yielding() *harness.Experiment {
	return &harness.Experiment{
		Name: "yield",
		About: `n activities on one thread that yield to each other in turn, in ns per
yield. Once all have started, each yields 1 000 000 / n times (goroutines 200 000 / n times); the
clock stops when the last has done so.
coro: coro_yield on one worker. goroutine: runtime.Gosched with GOMAXPROCS=1.`,
		Metrics: []harness.Metric{{Name: "ns_per_op", Title: "ns per yield", Digits: 2}},
		Rows:    rows(coroYield(), goroutineYield()),
		Versus: &harness.Versus{
			Metric: "ns_per_op", Title: "against Gosched",
			Peer: func(row, c harness.Row) bool {
				return row.System != sysGoroutine && c.System == sysGoroutine &&
					c.N == row.N
			},
		},
	}
}

// perYield spreads a time over the yields made by n members in all, and those n - 1 that were under
// way at its start.
func perYield(d time.Duration, err error, total, n int) (harness.Values, error) {
	return harness.Values{"ns_per_op": float64(d.Nanoseconds()) / float64(total+n-1)}, err
}

func coroYield() []harness.Row {
	var out []harness.Row
	for _, n := range yieldMembers {
		out = append(out, harness.Row{System: sysCoro, Variant: "coro_yield", Workers: 1,
			N: n, Open: onScheduler(
				func(s *coro.Scheduler) (harness.Values, error) {
					d, err := yieldInTurn(s, cbody.YieldArg{Members: int64(n),
						Yields: int64(yieldTotal / n)})
					return perYield(d, err, yieldTotal, n)
				}, coro.WithWorkers(1))})
	}
	return out
}

// yieldInTurn lets coroutines yield to each other, on s with its one worker.
func yieldInTurn(s *coro.Scheduler, arg cbody.YieldArg) (time.Duration, error) {
	start, err := coro.NewFunc[cbody.YieldArg, coro.None](cbody.YieldStart)
	if err != nil {
		return 0, err
	}
	if err := start.Spawn(s, arg); err != nil {
		return 0, err
	}
	if err := settled(s); err != nil {
		return 0, err
	}
	return cbody.YieldTime()
}
