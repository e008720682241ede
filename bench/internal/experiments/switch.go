package experiments

import (
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/bench/internal/cbody"
	"github.com/organzine/coro/bench/internal/harness"
)

const (
	pairTrips    = 1_000_000 // round trips of coro's pair
	ringMembers  = 1000
	ringLaps     = 2000
	uctxTrips    = 100_000
	uctxRingLaps = 100
)

// switching is the price of one switch from a coroutine to another.
func switching() *harness.Experiment {
	return &harness.Experiment{
		Name: "switch",
		About: `one switch from one C context to another, in ns.
pair: the caller resumes one coroutine by hand, which yields, in a tight loop; half a round trip.
ring: 1000 on one thread, each passes the turn to the next by its yield call (coro: coro_yield on
one worker). ucontext is swapcontext of the C library.`,
		Metrics: []harness.Metric{{Name: "ns_one_way", Title: "ns one way", Digits: 2}},
		Rows:    rows(coroSwitch(), ucontextSwitch()),
		Versus: &harness.Versus{
			Metric: "ns_one_way", Title: "against ucontext",
			Peer: func(row, c harness.Row) bool {
				return row.System != sysUcontext && c.System == sysUcontext &&
					c.Variant == row.Variant
			},
		},
	}
}

// oneWay spreads a time over switches.
func oneWay(d time.Duration, err error, switches int) (harness.Values, error) {
	return harness.Values{"ns_one_way": float64(d.Nanoseconds()) / float64(switches)}, err
}

func coroSwitch() []harness.Row {
	return []harness.Row{
		{System: sysCoro, Variant: "pair", Workers: 1, N: 2,
			Open: timed(func() (harness.Values, error) {
				d, err := cbody.CoroPair(pairTrips)
				return oneWay(d, err, 2*pairTrips)
			})},
		{System: sysCoro, Variant: "ring", Workers: 1, N: ringMembers, Open: onScheduler(
			func(s *coro.Scheduler) (harness.Values, error) {
				d, err := yieldInTurn(s, cbody.YieldArg{Members: ringMembers,
					Yields: ringLaps})
				return oneWay(d, err, ringMembers*ringLaps+ringMembers-1)
			}, coro.WithWorkers(1))},
	}
}
