package experiments

import (
	"sync"

	"github.com/organzine/coro/bench/internal/harness"
)

// goroutineSpawn is the same with goroutines: a go statement of one function value, so that no
// closure is allocated for each, and one WaitGroup that is added to once.
func goroutineSpawn() []harness.Row {
	run := func() (harness.Values, error) {
		var wg sync.WaitGroup
		done := wg.Done
		return phases(func() error {
			wg.Add(spawnN)
			for range spawnN {
				go done()
			}
			return nil
		}, func() error {
			wg.Wait()
			return nil
		})
	}
	out := []harness.Row{{System: sysGoroutine, Variant: "P1", Workers: 1, N: spawnN, Procs: 1,
		Open: timed(run)}}
	if cpus > 1 {
		out = append(out, harness.Row{System: sysGoroutine, Variant: "Pall", Workers: cpus,
			N: spawnN, Open: timed(run)})
	}
	return out
}
