// Command ants: empty tasks for the default pool of ants, which has as many goroutines as it needs,
// and keeps them for later tasks.
package main

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/panjf2000/ants/v2"

	"github.com/organzine/coro/bench/peers/golang/peer"
)

func main() { peer.Spawn("github.com/panjf2000/ants/v2", spawn) }

func spawn(n int) (spawned, ran time.Duration) {
	var wg sync.WaitGroup
	done := wg.Done
	start := time.Now()
	wg.Add(n)
	for range n {
		if err := ants.Submit(done); err != nil {
			fmt.Fprintln(os.Stderr, "ants.Submit:", err)
			os.Exit(1)
		}
	}
	middle := time.Now()
	wg.Wait()
	return middle.Sub(start), time.Since(middle)
}
