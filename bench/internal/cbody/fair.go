package cbody

// #include <stdlib.h>
// #include "cbody.h"
import "C"

import (
	"sync/atomic"
	"unsafe"
)

// The entries of fair.c.
var (
	FairBusy     = unsafe.Pointer(C.cb_fair_busy)     // FairActor
	FairNewcomer = unsafe.Pointer(C.cb_fair_newcomer) // FairActor
	FairCrier    = unsafe.Pointer(C.cb_fair_crier)    // Crier
	FairActors   = unsafe.Pointer(C.cb_fair_actors)   // no argument
	FairYields   = unsafe.Pointer(C.cb_fair_yields)   // FairStop
)

// Crier sends a token to the first of each pair.
type Crier struct{ First, Pairs uint32 }

// A FairActor is the address of an actor in C.
type FairActor uintptr

// OpenFair makes n actors, each of which takes a number of steps of arithmetic for a token.
func OpenFair(n, steps int) error {
	return status(C.cb_fair_open(C.uint32_t(n), C.uint64_t(steps)))
}

// StopFair ends the coroutines; CloseFair gives back the actors, whose coroutines have ended.
func StopFair()  { C.cb_fair_stop() }
func CloseFair() { C.cb_fair_close() }

// Fair is actor i, which passes its tokens on to actor `to`.
func Fair(i, to int) FairActor {
	a := C.cb_fair_at(C.uint32_t(i))
	a.to = C.uint32_t(to)
	return FairActor(unsafe.Pointer(a))
}

// FairCounts has actor i count its tokens, and pass none on.
func FairCounts(i int) { C.cb_fair_at(C.uint32_t(i)).to = C.CB_COUNTS }

// FairSend sends actor i a token.
func FairSend(i int) error { return status(C.cb_fair_send(C.uint32_t(i), C.uint64_t(i))) }

// FairSleep has the thread sleep until a time of Now.
func FairSleep(until int64) { C.cb_sleep_until(C.int64_t(until)) }

// FairHandled is how many tokens actor i has handled; of a newcomer when, in ns of Now. 0: not yet.
func FairHandled(i int) int64 {
	return int64(atomic.LoadUint64((*uint64)(&C.cb_fair_at(C.uint32_t(i)).handled)))
}

// FairStop is where FairYields looks.
type FairStop uintptr

// NewFairStop makes one, of memory that is C's; Free gives it back.
func NewFairStop() FairStop { return FairStop(uintptr(C.calloc(1, 4))) }

func (f FairStop) word() *uint32 {
	p := uintptr(f)
	return *(**uint32)(unsafe.Pointer(&p))
}

// Stop ends the coroutines.
func (f FairStop) Stop() { atomic.StoreUint32(f.word(), 1) }

// Free gives the memory back.
func (f FairStop) Free() { C.free(unsafe.Pointer(f.word())) }
