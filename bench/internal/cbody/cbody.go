// Package cbody holds the C code of the experiments, and the only import "C" of the bench. The
// entries are C functions for coro.NewFunc; the other functions run a whole measured loop in C on
// the calling thread.
package cbody

/*
#cgo CFLAGS: -I${SRCDIR}/../../../csrc/include -std=gnu11 -D_GNU_SOURCE -O2 -Wall -pthread
#cgo LDFLAGS: -pthread -lgmp -lm
#include "cbody.h"
*/
import "C"

import (
	"fmt"
	"sync"
	"time"
	"unsafe"

	_ "github.com/organzine/coro/internal/core" // the C functions that the bodies call
)

// The entries. The comment on each is what argument it takes.
var (
	Empty      = unsafe.Pointer(C.cb_empty)           // none
	SpawnEmpty = unsafe.Pointer(C.cb_spawn_empty)     // int64: how many
	YieldStart = unsafe.Pointer(C.cb_yield_start)     // YieldArg
	JobStart   = unsafe.Pointer(C.cb_job_start)       // Job
	Spin       = unsafe.Pointer(C.cb_spin_body)       // int64: steps
	Park       = unsafe.Pointer(C.cb_park)            // none
	WakeAll    = unsafe.Pointer(C.cb_wake_all)        // int64: how many
	RunLoop    = unsafe.Pointer(C.cb_ladder_run_loop) // int64: how many; result: int64, ns of CPU time
)

// Err is the first failed call that a body has seen since the last Err.
func Err() error { return status(C.cb_take_status()) }

func status(s C.int) error {
	if s == C.CORO_OK {
		return nil
	}
	return fmt.Errorf("in a C body: %s", C.GoString(C.coro_strerror(s)))
}

// elapsed takes what a timed loop in C returned apart: nanoseconds, or a negative status.
func elapsed(ns C.int64_t) (time.Duration, error) {
	if ns < 0 {
		return 0, status(C.int(ns))
	}
	return time.Duration(ns), nil
}

// CoroPair resumes one coroutine by hand, which yields each time.
func CoroPair(roundTrips int) (time.Duration, error) {
	return elapsed(C.cb_coro_pair(C.int64_t(roundTrips)))
}

// UcontextPair is the same with swapcontext.
func UcontextPair(roundTrips int) (time.Duration, error) {
	return elapsed(C.cb_ucontext_pair(C.int64_t(roundTrips)))
}

// UcontextRing passes the turn round a ring of contexts, this number of times.
func UcontextRing(members, laps int) (time.Duration, error) {
	return elapsed(C.cb_ucontext_ring(C.int64_t(members), C.int64_t(laps)))
}

// The rungs of Ladder.
const (
	NewStack     = C.CB_LADDER_NEW_STACK
	ReusedStack  = C.CB_LADDER_REUSED_STACK
	Malloc       = C.CB_LADDER_MALLOC
	Calloc       = C.CB_LADDER_CALLOC
	ReusedCalloc = C.CB_LADDER_REUSED_CALLOC
	NoMask       = C.CB_LADDER_NO_MASK
	NoFP         = C.CB_LADDER_NO_FP
)

// Ladder is the CPU time of the lives of n coroutines, each suspended once, on stacks of that many
// bytes; ten divides n.
func Ladder(rung, stackBytes, n int) (time.Duration, error) {
	return elapsed(C.cb_ladder(C.int64_t(rung), C.int64_t(stackBytes), C.int64_t(n)))
}

// YieldArg is the argument of YieldStart.
type YieldArg struct{ Members, Yields, Extra, Dense int64 }

// YieldTime is how long all the yields of the last YieldStart took.
func YieldTime() (time.Duration, error) { return elapsed(C.cb_yield_ns()) }

// Job is n times the same task: the argument of JobStart.
type Job struct {
	N, Stack, kind int64
	size, want     uint64
}

// FibJob is n times the fib-th Fibonacci number; 32 divides fib.
func FibJob(n, stack, fib int) Job {
	want := uint64(C.cb_fib_check(C.uint64_t(fib)))
	return Job{N: int64(n), Stack: int64(stack), kind: C.CB_FIB, size: uint64(fib), want: want}
}

// SpinJob is n times this number of steps of dependent arithmetic.
func SpinJob(n, stack, steps int) Job {
	want := uint64(C.cb_spin(C.uint64_t(steps)))
	return Job{N: int64(n), Stack: int64(stack), kind: C.CB_SPIN, size: uint64(steps),
		want: want}
}

func (j Job) c() *C.struct_cb_job { return (*C.struct_cb_job)(unsafe.Pointer(&j)) }

// Plain does the job in a loop of C calls on this thread.
func (j Job) Plain() { C.cb_job_plain(j.c()) }

// PlainThreads does an equal share of it in such a loop on each of this number of new pthreads.
func (j Job) PlainThreads(threads int) error {
	return status(C.cb_job_threads(j.c(), C.int64_t(threads), 1))
}

// Threads does the job on this number of new pthreads, each of which takes what is next.
func (j Job) Threads(threads int) error {
	return status(C.cb_job_threads(j.c(), C.int64_t(threads), 0))
}

// Goroutines does it by a goroutine for each task, which calls the task by cgo.
func (j Job) Goroutines() {
	C.cb_job_begin(j.c())
	var group sync.WaitGroup
	for range j.N {
		group.Go(func() { C.cb_job_one() })
	}
	group.Wait()
}

// Check tells whether every task of the job, done once since the last Check, had the right result.
func (j Job) Check() error {
	if bad := C.cb_job_bad(C.int64_t(j.N)); bad != 0 {
		return fmt.Errorf("%d of %d tasks are missing or wrong", int(bad), j.N)
	}
	return Err()
}

// ParkOpen makes room for n handles, ParkClose gives it back. Parked and Woken count.
func ParkOpen(n int) error { return status(C.cb_park_open(C.int64_t(n))) }
func ParkClose()           { C.cb_park_close() }
func Parked() int          { return int(C.cb_parked()) }
func Woken() int           { return int(C.cb_woken()) }
