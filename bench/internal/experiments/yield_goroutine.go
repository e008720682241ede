package experiments

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/organzine/coro/bench/internal/harness"
)

// goroutineYield is the same work by goroutines on one P. The counters are touched before and after
// the timed yields only.
func goroutineYield() []harness.Row {
	var out []harness.Row
	for _, n := range yieldMembers {
		out = append(out, harness.Row{System: sysGoroutine, Variant: "Gosched", Workers: 1,
			N: n, Procs: 1, Open: timed(func() (harness.Values, error) {
				return perYield(goschedInTurn(n, goschedTotal/n), nil, goschedTotal,
					n)
			})})
	}
	return out
}

func goschedInTurn(members, yields int) time.Duration {
	var (
		wg            sync.WaitGroup
		started, done atomic.Int64
		start, end    time.Time
	)
	all := int64(members)
	wg.Add(members)
	for range members {
		go func() {
			if started.Add(1) == all {
				start = time.Now()
			}
			// a yield that is under way when the clock starts
			for started.Load() < all {
				runtime.Gosched()
			}
			for range yields {
				runtime.Gosched()
			}
			if done.Add(1) == all {
				end = time.Now()
			}
			wg.Done()
		}()
	}
	wg.Wait()
	return end.Sub(start)
}
