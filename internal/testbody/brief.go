package testbody

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -I${SRCDIR}/../../csrc/include
#include "brief.h"
*/
import "C"

import "unsafe"

// The bodies of brief.h.
var (
	WaitOnce       = unsafe.Pointer(C.testbody_wait)
	TakesLong      = unsafe.Pointer(C.testbody_takes_long)
	ParksAndCalls  = unsafe.Pointer(C.testbody_parks_and_calls)
	SpinsWhenWoken = unsafe.Pointer(C.testbody_spins_when_woken)
	Computes       = unsafe.Pointer(C.testbody_computes)
	ChildrenOf     = unsafe.Pointer(C.testbody_children) // Children, int64
	LeavesSpin     = unsafe.Pointer(C.testbody_leaves_spin)
	StaysBehind    = unsafe.Pointer(C.testbody_stays_behind) // int64
	Rides          = unsafe.Pointer(C.testbody_rides)        // int64, int64
	Sums           = unsafe.Pointer(C.testbody_sums)
	Adds           = unsafe.Pointer(C.testbody_adds)
	Parks          = unsafe.Pointer(C.testbody_parks)
)

// What WaitOnce waits for.
const (
	ForWake = uint32(iota)
	ForValue
	ForReceiver
	ForPermit
	ForMutex
	ForRead
	ForWrite
	ForSignal
	ForLatch
	ForOnce
	ForNothing
)

// Wait has the layout of struct testbody_wait, Waited of testbody_waited.
type (
	Wait struct {
		Object, Mutex uintptr
		What          uint32
	}
	Waited struct{ Status, Began, WentOn int32 }
)

// Children has the layout of struct testbody_children.
type Children struct{ N, NS uint64 }

// The numbers of functions of Alike and of IdleOne.
const (
	AlikeOnes = C.TESTBODY_ALIKE
	IdleOnes  = C.TESTBODY_IDLE
)

// Alike is the i-th function that does what WaitOnce does, IdleOne the i-th that does nothing.
func Alike(i int) unsafe.Pointer   { return unsafe.Pointer(C.testbody_alike[i]) }
func IdleOne(i int) unsafe.Pointer { return unsafe.Pointer(C.testbody_idle_ones[i]) }

// Thread is the thread of the last TakesLong that has begun to compute.
func Thread() int { return int(C.testbody_thread()) }
