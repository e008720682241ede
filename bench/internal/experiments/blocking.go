package experiments

import (
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/bench/internal/cbody"
	"github.com/organzine/coro/bench/internal/harness"
)

const (
	blockThreads = 64
	blockNap     = time.Millisecond
	sysPthread   = "pthread"
)

// How much a run does. Tests do less.
var (
	blockRounds = 20_000
	blockNaps   = 10_000
)

// blocking is the price of calls that block.
func blocking() *harness.Experiment {
	return &harness.Experiment{
		Name:  "blocking",
		Asked: true,
		About: `calls that block, made by coro_blocking. round-trip: an empty function,
one call after the other, in ns; pthread: two threads that hand a turn to each other and back, by
a condition variable each. naps: 10 000 calls that sleep for 1 ms, at once, by at most 64
threads: how long they take, over what they would take if nothing but sleeping cost time, with
sleeps as long as they are here.`,
		Metrics: []harness.Metric{
			{Name: "ns_per_op", Title: "ns", Digits: 0},
			{Name: "times_ideal", Title: "times ideal", Digits: 2},
		},
		Rows: rows(blockRoundTrip(), handOff(), blockAtOnce()),
		Versus: &harness.Versus{
			Metric: "ns_per_op", Title: "against pthread's",
			Peer: func(row, c harness.Row) bool {
				return row.System == sysCoro && c.System == sysPthread &&
					c.Variant == row.Variant
			},
		},
	}
}

func blockRoundTrip() []harness.Row {
	start := coro.MustFunc[int64, int64](cbody.BlockStart)
	return []harness.Row{{System: sysCoro, Variant: "round-trip", Workers: 1, N: 1,
		Open: onScheduler(
			resultNS(start, int64(blockRounds), blockRounds), coro.WithWorkers(1))}}
}

func handOff() []harness.Row {
	return []harness.Row{{System: sysPthread, Variant: "round-trip", Workers: 1, N: 1,
		Open: timed(func() (harness.Values, error) {
			d, err := cbody.HandOff(blockRounds)
			return perOp(d, blockRounds, err)
		})}}
}

func blockAtOnce() []harness.Row {
	nap := coro.MustFunc[int64, coro.None](cbody.BlockNap)
	return []harness.Row{{System: sysCoro, Variant: "naps", Workers: 1, N: blockNaps,
		Open: onScheduler(
			func(s *coro.Scheduler) (harness.Values, error) {
				began := time.Now()
				for range 100 {
					time.Sleep(blockNap)
				}
				// longer than asked for: the clock's slack, and waking up
				one := time.Since(began) / 100
				began = time.Now()
				if _, err := nap.SpawnN(s, blockNaps, int64(blockNap)); err != nil {
					return nil, err
				}
				err := settled(s)
				ideal := one * time.Duration((blockNaps+blockThreads-1)/blockThreads)
				return harness.Values{"times_ideal": float64(time.Since(began)) / float64(
					ideal)}, err
			}, coro.WithWorkers(1), coro.WithBlockingThreads(blockThreads))}}
}
