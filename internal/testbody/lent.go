//go:build cgo

package testbody

// #include <stdlib.h>
// #include "lent.h"
import "C"

import "unsafe"

// Bodies that borrow memory, see lent.h.
var (
	AddBytes       = unsafe.Pointer(&C.testbody_add_bytes_body)
	AddBytesSlowly = unsafe.Pointer(&C.testbody_add_bytes_slowly_body)
	Lent           = unsafe.Pointer(&C.testbody_lent_body)
	LentRange      = unsafe.Pointer(C.testbody_lent_range)
	LentBoth       = unsafe.Pointer(&C.testbody_lent_both_body)

	Large       = unsafe.Pointer(&C.testbody_large_body)
	Huge        = unsafe.Pointer(&C.testbody_huge_body)
	SumOfLarge  = unsafe.Pointer(&C.testbody_sum_of_large_body)
	Spread      = unsafe.Pointer(&C.testbody_spread_body)
	CopiesBytes = unsafe.Pointer(&C.testbody_copies_bytes_body)

	StartsLarge = unsafe.Pointer(&C.testbody_starts_large_body)
)

// What Large is asked to do.
const (
	LargeTurns = iota
	LargeFails
	LargeAborts
	LargeExits
	LargeParks
	LargeStays
	LargeFailsLate
)

// What testbody_lent does.
const (
	LentNothing = uint32(C.TESTBODY_LENT_NOTHING)
	LentYields  = uint32(C.TESTBODY_LENT_YIELDS)
	LentParks   = uint32(C.TESTBODY_LENT_PARKS)
	LentSleeps  = uint32(C.TESTBODY_LENT_SLEEPS)
	LentCalls   = uint32(C.TESTBODY_LENT_CALLS)
	LentInline  = uint32(C.TESTBODY_LENT_INLINE)
	LentAborts  = uint32(C.TESTBODY_LENT_ABORTS)
	LentFails   = uint32(C.TESTBODY_LENT_FAILS)
)

// Malloc is C memory, which Free frees.
func Malloc(n int) []byte { return unsafe.Slice((*byte)(C.malloc(C.size_t(n))), n) }

// Free frees what Malloc has returned.
func Free(b []byte) { C.free(unsafe.Pointer(unsafe.SliceData(b))) }
