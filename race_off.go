//go:build !race

package coro

// raceEdge is for the race detector only.
type raceEdge struct{}

var handlesEdge raceEdge

func (*raceEdge) release() {}
func (*raceEdge) acquire() {}

// Words that one goroutine writes and others look at, without order: Go has no relaxed atomics, and its stores cost an exchange.
// A word is never torn; whoever needs to be sure of what was read has another atomic for that.
func storeUint32(p *uint32, v uint32)            { *p = v }
func loadCoroutine(p **Coroutine) *Coroutine     { return *p }
func storeCoroutine(p **Coroutine, c *Coroutine) { *p = c }
