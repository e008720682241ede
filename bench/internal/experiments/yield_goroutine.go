package experiments

import (
	"runtime"
	"sync"
	"time"

	"github.com/organzine/coro/bench/internal/harness"
)

// goroutineYield is the same work by goroutines on one P. The mutex is taken twice in each one's life, before and
// after the yields.
func goroutineYield() []harness.Row {
	var out []harness.Row
	for _, n := range yieldMembers {
		out = append(out, harness.Row{System: sysGoroutine, Variant: "Gosched", Workers: 1, N: n, Procs: 1,
			Open: timed(func() (harness.Values, error) {
				return perYield(goschedInTurn(n, yieldTotal/n), nil)
			})})
	}
	return out
}

func goschedInTurn(members, yields int) time.Duration {
	var (
		wg            sync.WaitGroup
		mu            sync.Mutex
		started, done int
		start, end    time.Time
	)
	wg.Add(members)
	for range members {
		go func() {
			mu.Lock()
			if started++; started == members {
				start = time.Now()
			}
			mu.Unlock()
			for range yields {
				runtime.Gosched()
			}
			mu.Lock()
			if done++; done == members {
				end = time.Now()
			}
			mu.Unlock()
			wg.Done()
		}()
	}
	wg.Wait()
	return end.Sub(start)
}
