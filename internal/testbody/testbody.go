// Package testbody holds the C coroutines that the Go tests run: cgo is refused in test files.
package testbody

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -I${SRCDIR}/../../csrc/include
#include "bodies.h"

static int64_t testbody_load(int64_t *p) { return __atomic_load_n(p, __ATOMIC_SEQ_CST); }
static void testbody_store(int64_t *p, int64_t v) { __atomic_store_n(p, v, __ATOMIC_SEQ_CST); }
static void testbody_set(int32_t *p, int32_t v) { __atomic_store_n(p, v, __ATOMIC_RELEASE); }
static int32_t testbody_get(int32_t *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
*/
import "C"

import (
	"time"
	"unsafe"

	_ "github.com/organzine/coro/internal/core" // the symbols that the bodies call
)

// The bodies, as bodies.h describes them.
var (
	Empty      = unsafe.Pointer(C.testbody_empty)
	Add        = unsafe.Pointer(C.testbody_add)
	Square     = unsafe.Pointer(C.testbody_square)
	Bytes      = unsafe.Pointer(C.testbody_bytes)
	Park       = unsafe.Pointer(C.testbody_park)
	Laps       = unsafe.Pointer(C.testbody_laps)
	Spin       = unsafe.Pointer(C.testbody_spin)
	Blocks     = unsafe.Pointer(C.testbody_blocks)
	Blocked    = unsafe.Pointer(C.testbody_wait_for_stop) // what it calls
	Abort      = unsafe.Pointer(C.testbody_abort)
	Yield      = unsafe.Pointer(C.testbody_yield)
	Tree       = unsafe.Pointer(C.testbody_tree)
	Wake       = unsafe.Pointer(C.testbody_wake)
	Join       = unsafe.Pointer(C.testbody_join)
	Place      = unsafe.Pointer(C.testbody_place)
	Deep       = unsafe.Pointer(C.testbody_deep)
	Self       = unsafe.Pointer(C.testbody_self)
	StackLeft  = unsafe.Pointer(C.testbody_stack_left)
	Family     = unsafe.Pointer(C.testbody_family)
	PingPong   = unsafe.Pointer(C.testbody_pingpong)
	Canceled   = unsafe.Pointer(C.testbody_canceled)
	Cancel     = unsafe.Pointer(C.testbody_cancel)
	Mix        = unsafe.Pointer(C.testbody_mixed)
	Hop        = unsafe.Pointer(C.testbody_hop)
	Late       = unsafe.Pointer(C.testbody_late)
	Double     = unsafe.Pointer(C.testbody_double)
	Produce    = unsafe.Pointer(C.testbody_produce)
	Consume    = unsafe.Pointer(C.testbody_consume)
	Permits    = unsafe.Pointer(C.testbody_permits)
	BusyParent = unsafe.Pointer(C.testbody_busy_parent)
	Locks      = unsafe.Pointer(C.testbody_locks)
	Reads      = unsafe.Pointer(C.testbody_reads)
	Writes     = unsafe.Pointer(C.testbody_writes)
	Takes      = unsafe.Pointer(C.testbody_takes)
	Counts     = unsafe.Pointer(C.testbody_counts)
	OnceDoes   = unsafe.Pointer(C.testbody_once)
	Where      = unsafe.Pointer(C.testbody_where)
	Misuse     = unsafe.Pointer(C.testbody_misuse)

	// For generators.
	Count  = unsafe.Pointer(C.testbody_count)
	Echo   = unsafe.Pointer(C.testbody_echo)
	Perm   = unsafe.Pointer(C.testbody_perm)
	Quit   = unsafe.Pointer(C.testbody_quit)
	Inside = unsafe.Pointer(C.testbody_inside)
	Tidy   = unsafe.Pointer(C.testbody_tidy)
	Room   = unsafe.Pointer(C.testbody_room)
	Sink   = unsafe.Pointer(C.testbody_sink)
)

// What Misuse does.
const (
	UnlockMutex = iota
	UnlockRWLock
	DestroyMutex
	DestroyRWLock
	DestroyCond
	DestroyLatch
	DestroySem
	FreeChan
	SendNow
	ReceiveNow
	AcquireNow
	ReadNow
	SignalNow
	CountNow
	LockNow
	DoNow
	SendZeros
	LeaveMutex
	LeaveRWLock
)

// Allocated is how many bytes malloc has given away; 0: this C library does not tell.
func Allocated() int { return int(C.testbody_allocated()) }

// Plain are two numbers that C and Go bodies change while they hold a lock.
func Plain() *[2]int64 { return (*[2]int64)(unsafe.Pointer(&C.testbody_plain)) }

// Turn is the body that turns n bytes round.
func Turn(n int) unsafe.Pointer { return unsafe.Pointer(C.testbody_turn[n]) }

// Mixed has the layout of struct testbody_mixed.
type Mixed struct {
	D   float64
	F   float32
	I8  int8
	U16 uint16
	I32 [3]int32
	B   bool
	U64 uint64
}

// HopArg has the layout of struct testbody_hop.
type HopArg struct {
	N           int64
	To          uint64
	ID, Inlined uint32
}

// MixedBytes is the size of struct testbody_mixed in C.
const MixedBytes = C.sizeof_struct_testbody_mixed

// Status codes that bodies return, as in coro.h.
const (
	OK        = int32(C.CORO_OK)
	EPERM     = int32(C.CORO_EPERM)
	ESTALE    = int32(C.CORO_ESTALE)
	ECANCELED = int32(C.CORO_ECANCELED)
	ETIMEDOUT = int32(C.CORO_ETIMEDOUT)
	EABORTED  = int32(C.CORO_EABORTED)
	EOVERFLOW = int32(C.CORO_EOVERFLOW)
	EBUSY     = int32(C.CORO_EBUSY)

	EOWNERDEAD = int32(C.CORO_EOWNERDEAD)
)

// Sum is what the bodies have added up, Ran the number of bodies that have said that they ran.
func Sum() int64 { return int64(C.testbody_load(&C.testbody_sum)) }
func Ran() int64 { return int64(C.testbody_load(&C.testbody_ran)) }

// Reset sets all counts to zero, and lets Spin bodies spin.
func Reset() {
	C.testbody_store(&C.testbody_sum, 0)
	C.testbody_store(&C.testbody_ran, 0)
	C.testbody_store((*C.int64_t)(unsafe.Pointer(&C.testbody_latest)), 0)
	C.testbody_set(&C.testbody_busy, 0)
	C.testbody_set(&C.testbody_stop, 0)
	*Plain() = [2]int64{}
}

// Busy tells whether a BusyParent computes.
func Busy() bool { return C.testbody_get(&C.testbody_busy) != 0 }

// Now is the clock of Late bodies; Latest is the longest time by which one of them was late.
func Now() uint64 { return uint64(C.testbody_now()) }
func Latest() time.Duration {
	return time.Duration(C.testbody_load((*C.int64_t)(unsafe.Pointer(&C.testbody_latest))))
}

// Stop ends Spin, BusyParent and Inside bodies.
func Stop() { C.testbody_set(&C.testbody_stop, 1) }
