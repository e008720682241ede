package testbody

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -I${SRCDIR}/../../csrc/include
#include "calls.h"
*/
import "C"

import (
	"unsafe"

	_ "github.com/organzine/coro/internal/core" // the symbols that the bodies call
)

// The bodies of calls.h.
var (
	CallOne    = unsafe.Pointer(C.testbody_call)
	CallBeside = unsafe.Pointer(C.testbody_call_beside)
	CallMany   = unsafe.Pointer(C.testbody_calls)
	TurnCalls  = unsafe.Pointer(C.testbody_turn_call)
	Name       = unsafe.Pointer(C.testbody_name)
)

// Call has the layout of struct testbody_call, Came of testbody_came, Calls of testbody_calls.
type (
	Call struct {
		ID, How               uint32
		Number                int64
		ArgBytes, ResultBytes uint32
	}
	Came struct {
		Status int32
		Got    uint32
		Number int64
		Text   uint32
		Start  [28]byte
	}
	Calls struct {
		ID, How uint32
		N, K    int64
	}
)

// CallHere makes the call on the calling thread, whatever it is.
func CallHere(a Call) Came {
	came := C.testbody_call_here(*(*C.struct_testbody_call)(unsafe.Pointer(&a)))
	return *(*Came)(unsafe.Pointer(&came))
}

// How calls are made.
const Inline, Offload = uint32(0), uint32(1)

// Status codes that calls return, as in coro.h.
const (
	EINVAL  = int32(C.CORO_EINVAL)
	EFAILED = int32(C.CORO_EFAILED)
	ECLOSED = int32(C.CORO_ECLOSED)
	ETOOBIG = int32(C.CORO_ETOOBIG)
)
