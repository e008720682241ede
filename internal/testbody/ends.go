package testbody

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -I${SRCDIR}/../../csrc/include
#include "ends.h"
*/
import "C"

import "unsafe"

// The bodies of ends.h.
var (
	Fail        = unsafe.Pointer(C.testbody_fail)
	MayFailBody = unsafe.Pointer(C.testbody_may_fail)
	FailByHand  = unsafe.Pointer(C.testbody_fail_by_hand)
	JoinFailed  = unsafe.Pointer(C.testbody_join_failed)
	Trade       = unsafe.Pointer(C.testbody_trade)
	ShieldedFor = unsafe.Pointer(C.testbody_shielded_for)
	Asks        = unsafe.Pointer(C.testbody_asks)
)

// Failure has the layout of struct testbody_failure, MayFail of testbody_may_fail, Joined of
// testbody_joined, Order of testbody_order, Trader of testbody_trader, Ask of testbody_ask, Asked
// of testbody_asked.
type (
	MayFail struct{ Number, Code int64 }
	Failure struct {
		Code int32
		Text [40]byte
	}
	Joined struct {
		Status, Code int32
		Text         [40]byte
	}
	Ask struct {
		Shield               uint64
		Room                 uint32
		Waits, Nowait, Child uint8
	}
	Asked struct {
		Deadline, Shielded, Length uint64
		Cause                      [24]byte
	}
	Order  struct{ ID, Cancels int64 }
	Trader struct {
		Book, Answers uintptr
		ID            int64
		Patience      uint64
		Audit         uint32
		Finishes      uint32
	}
)
