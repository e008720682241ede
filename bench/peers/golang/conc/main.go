// Command conc: empty tasks for a pool of conc, which has as many goroutines as it needs.
package main

import (
	"time"

	"github.com/sourcegraph/conc/pool"

	"github.com/organzine/coro/bench/peers/golang/peer"
)

func main() { peer.Spawn("github.com/sourcegraph/conc", spawn) }

func empty() {}

func spawn(n int) (spawned, ran time.Duration) {
	start := time.Now()
	p := pool.New()
	for range n {
		p.Go(empty)
	}
	middle := time.Now()
	p.Wait()
	return middle.Sub(start), time.Since(middle)
}
