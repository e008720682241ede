package experiments

import (
	"context"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/bench/internal/cbody"
	"github.com/organzine/coro/bench/internal/harness"
)

// spawnN is the ancestor's half a million.
const spawnN = 500_000

// spawning is the ancestor's table: half a million activities that do nothing.
func spawning() *harness.Experiment {
	return &harness.Experiment{
		Name: "spawn",
		About: `500 000 empty activities, in ms.
spawn: until the last call that spawns has returned; run: from then until all have ended; total:
both. Only in the paused rows does nothing run before all are spawned; elsewhere the two overlap.
goroutine: one go statement each and a WaitGroup, on 1 P and on all. coro, spawned by: one C
coroutine (coroutine), Go in batches (go-batch), Go one by one (go-each), Go in batches before Run
(paused).`,
		Metrics: []harness.Metric{
			{Name: "spawn_ms", Title: "spawn ms", Digits: 2},
			{Name: "run_ms", Title: "run ms", Digits: 2},
			{Name: "total_ms", Title: "total ms", Digits: 2},
		},
		Rows: rows(goroutineSpawn(), coroSpawn()),
		Versus: &harness.Versus{
			Metric: "total_ms", Title: "against best goroutine",
			Peer: func(row, c harness.Row) bool {
				return row.System != sysGoroutine && c.System == sysGoroutine
			},
		},
	}
}

// phases times two steps that follow each other.
func phases(spawn, run func() error) (harness.Values, error) {
	start := time.Now()
	if err := spawn(); err != nil {
		return nil, err
	}
	middle := time.Now()
	if err := run(); err != nil {
		return nil, err
	}
	end := time.Now()
	return harness.Values{
		"spawn_ms": ms(middle.Sub(start)), "run_ms": ms(end.Sub(middle)),
		"total_ms": ms(end.Sub(start)),
	}, nil
}

func coroSpawn() []harness.Row {
	empty := coro.MustFunc[coro.None, coro.None](cbody.Empty)
	spawner := coro.MustFunc[int64, coro.None](cbody.SpawnEmpty)

	batch := func(s *coro.Scheduler) error {
		_, err := empty.SpawnN(s, spawnN, coro.None{})
		return err
	}
	each := func(s *coro.Scheduler) error {
		for range spawnN {
			if err := empty.Spawn(s, coro.None{}); err != nil {
				return err
			}
		}
		return nil
	}
	fromGo := func(spawn func(*coro.Scheduler) error) func(*coro.Scheduler) (
		harness.Values, error) {
		return func(s *coro.Scheduler) (harness.Values, error) {
			return phases(func() error { return spawn(s) },
				func() error { return settled(s) })
		}
	}
	fromCoroutine := func(s *coro.Scheduler) (harness.Values, error) {
		start := time.Now()
		if err := spawner.Spawn(s, spawnN); err != nil {
			return nil, err
		}
		err := settled(s)
		return harness.Values{"total_ms": ms(time.Since(start))}, err
	}
	paused := func(s *coro.Scheduler) (harness.Values, error) {
		return phases(func() error { return batch(s) },
			func() error { return s.Run(context.Background()) })
	}

	var out []harness.Row
	for _, workers := range oneAndAll() {
		add := func(variant string, run func(*coro.Scheduler) (harness.Values, error),
			opts ...coro.Option) {
			out = append(out, harness.Row{System: sysCoro, Variant: variant,
				Workers: workers, N: spawnN,
				Open: onScheduler(run, append(opts, coro.WithWorkers(workers))...)})
		}
		add("coroutine", fromCoroutine)
		add("go-batch", fromGo(batch))
		add("go-each", fromGo(each))
		add("paused", paused, coro.WithPaused())
	}
	return out
}
