//go:build race

package coro

import "sync/atomic"

// edge tells the race detector, which does not see the C core, that what was done before a hand-over to a scheduler
// happens before what is done after one that comes back from it.
type edge struct{ n atomic.Uint64 }

func (e *edge) release() { e.n.Add(1) }
func (e *edge) acquire() { e.n.Add(1) }
