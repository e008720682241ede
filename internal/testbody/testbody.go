// Package testbody holds the C coroutines that the Go tests run: cgo is not to be had in test files.
package testbody

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -I${SRCDIR}/../../csrc
#include "bodies.h"

static int64_t testbody_load(int64_t *p) { return __atomic_load_n(p, __ATOMIC_SEQ_CST); }
static void testbody_store(int64_t *p, int64_t v) { __atomic_store_n(p, v, __ATOMIC_SEQ_CST); }
static void testbody_set_stop(int32_t v) { __atomic_store_n(&testbody_stop, v, __ATOMIC_RELEASE); }
*/
import "C"

import (
	"unsafe"

	_ "github.com/organzine/coro/csrc" // the symbols that the bodies call
)

// The bodies, as bodies.h describes them.
var (
	Empty      = unsafe.Pointer(C.testbody_empty)
	Add        = unsafe.Pointer(C.testbody_add)
	Square     = unsafe.Pointer(C.testbody_square)
	Bytes      = unsafe.Pointer(C.testbody_bytes)
	Park       = unsafe.Pointer(C.testbody_park)
	Spin       = unsafe.Pointer(C.testbody_spin)
	Abort      = unsafe.Pointer(C.testbody_abort)
	Yield      = unsafe.Pointer(C.testbody_yield)
	Tree       = unsafe.Pointer(C.testbody_tree)
	Wake       = unsafe.Pointer(C.testbody_wake)
	Join       = unsafe.Pointer(C.testbody_join)
	Deep       = unsafe.Pointer(C.testbody_deep)
	BusyParent = unsafe.Pointer(C.testbody_busy_parent)

	Count = unsafe.Pointer(C.testbody_count)
	Echo  = unsafe.Pointer(C.testbody_echo)
	Perm  = unsafe.Pointer(C.testbody_perm)
	Quit  = unsafe.Pointer(C.testbody_quit)
)

// Status codes that bodies return, as in coro.h.
const (
	OK        = int32(C.CORO_OK)
	EPERM     = int32(C.CORO_EPERM)
	ESTALE    = int32(C.CORO_ESTALE)
	ECANCELED = int32(C.CORO_ECANCELED)
)

// Sum is what the bodies have added up, Ran how many have said that they ran.
func Sum() int64 { return int64(C.testbody_load(&C.testbody_sum)) }
func Ran() int64 { return int64(C.testbody_load(&C.testbody_ran)) }

// Reset sets both to zero, and lets Spin bodies spin.
func Reset() {
	C.testbody_store(&C.testbody_sum, 0)
	C.testbody_store(&C.testbody_ran, 0)
	C.testbody_set_stop(0)
}

// Stop ends Spin bodies.
func Stop() { C.testbody_set_stop(1) }
