//go:build race

package coro

import (
	"runtime"
	"sync/atomic"
	"unsafe"
)

// raceEdge tells the race detector, which does not see the C core, that what was done before a hand-over to a scheduler
// happens before what is done after one that comes back from it. Not the other way round, which would hide true races.
type raceEdge struct{ at byte }

// handlesEdge is the edge of wake-ups and cancels, which know no scheduler.
var handlesEdge raceEdge

func (e *raceEdge) release() { runtime.RaceReleaseMerge(unsafe.Pointer(e)) }

func (e *raceEdge) acquire() {
	runtime.RaceAcquire(unsafe.Pointer(e))
	runtime.RaceAcquire(unsafe.Pointer(&handlesEdge))
}

// Words that one goroutine writes and others look at, without order: Go has no relaxed atomics.
func storeUint32(p *uint32, v uint32) { atomic.StoreUint32(p, v) }

func loadCoroutine(p **Coroutine) *Coroutine {
	return (*Coroutine)(atomic.LoadPointer((*unsafe.Pointer)(unsafe.Pointer(p))))
}

func storeCoroutine(p **Coroutine, c *Coroutine) {
	atomic.StorePointer((*unsafe.Pointer)(unsafe.Pointer(p)), unsafe.Pointer(c))
}
