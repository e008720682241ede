// Command pull: iterators of iter.Pull, which a loop resumes in turn.
package main

import (
	"iter"
	"time"

	"github.com/organzine/coro/bench/peers/golang/peer"
)

func main() { peer.Switch(resumes) }

func forever(yield func(struct{}) bool) {
	for yield(struct{}{}) {
	}
}

// resumes counts a resume and its way back as two switches. The loop is one of the n.
func resumes(n, switches int) (took time.Duration, done int) {
	next := make([]func() (struct{}, bool), n-1)
	for i := range next {
		var stop func()
		next[i], stop = iter.Pull(forever)
		defer stop()
		next[i]()
	}
	laps := max(switches/(2*len(next)), 1)
	start := time.Now()
	for range laps {
		for _, resume := range next {
			resume()
		}
	}
	return time.Since(start), 2 * len(next) * laps
}
