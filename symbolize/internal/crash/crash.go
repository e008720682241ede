//go:build cgo && linux

// Package crash holds C coroutines that crash, for the tests of symbolize.
package crash

// #cgo CFLAGS: -std=gnu11 -D_GNU_SOURCE -g -O2 -Wall -I${SRCDIR}/../../../csrc/include
// #include "bodies.h"
import "C"

import "unsafe"

// The bodies, as bodies.h describes them.
var (
	Here          = unsafe.Pointer(C.crash_here)
	Stolen        = unsafe.Pointer(C.crash_stolen)
	Deep          = unsafe.Pointer(C.crash_deep)
	Nowhere       = unsafe.Pointer(C.crash_nowhere)
	Abort         = unsafe.Pointer(C.crash_abort)
	AfterCall     = unsafe.Pointer(C.crash_after_call)
	DeepAfterCall = unsafe.Pointer(C.crash_deep_after_call)
	ByHand        = unsafe.Pointer(C.crash_by_hand)
)
