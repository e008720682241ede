package testbody

// #include "forks.h"
import "C"

import "unsafe"

// The functions of forks.h.
var (
	RangeFn      = unsafe.Pointer(C.testbody_range)
	CountRangeFn = unsafe.Pointer(C.testbody_count_range)
	Fib          = unsafe.Pointer(C.testbody_fib)
)

// Range has the layout of struct testbody_range.
type Range struct {
	Hits      uintptr
	At, Every int64
	Does, How uint32
	ID        uint32
	Grain     uint32
}

// What a part does.
const (
	GoesOn = uint32(iota)
	Aborts
	Fails
	Exits
	Yields
	Sleeps
	Waits
	Spins
	CallsGo
	Cancels
	IsJoined
)
