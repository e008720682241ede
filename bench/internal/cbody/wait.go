package cbody

/*
#include "cbody.h"
*/
import "C"

import (
	"errors"
	"time"
	"unsafe"
)

// The entries of chan.c, sync.c, timer.c and block.c.
var (
	ChanStart   = unsafe.Pointer(C.cb_chan_start)   // ChanRun; result int64: ns
	ChanSend    = unsafe.Pointer(C.cb_chan_send)    // Flow
	ChanRecv    = unsafe.Pointer(C.cb_chan_recv)    // Flow
	Uncontended = unsafe.Pointer(C.cb_uncontended)  // SyncRun; result int64: ns
	RingStart   = unsafe.Pointer(C.cb_ring_start)   // SyncRun; result int64: ns
	TimersStart = unsafe.Pointer(C.cb_timers_start) // TimersRun; result int64: ns
	LateStart   = unsafe.Pointer(C.cb_late_start)   // LateRun
	BlockStart  = unsafe.Pointer(C.cb_block_start)  // int64, how often; result int64: ns
	BlockNap    = unsafe.Pointer(C.cb_block_nap)    // int64, ns
)

// Home is the flag of what is bound to a worker.
const Home = uint32(C.CORO_HOME)

// What a ChanRun does.
const (
	OneWay = uint32(C.CB_ONE_WAY)
	Pair   = uint32(C.CB_PAIR)
	Select = uint32(C.CB_SELECT)
)

// What a SyncRun takes and gives back.
const (
	Mutex     = uint32(C.CB_MUTEX)
	Semaphore = uint32(C.CB_SEMAPHORE)
)

// Ring is how many members a ring has.
const Ring = int(C.CB_RING)

// ChanRun is N values through a channel of C's between two C bodies.
type ChanRun struct {
	N               int64
	Capacity, Flags uint32
	Receiver, Kind  uint32 // its worker; OneWay, Pair or Select
}

// Flow is a C body's side of N values through a channel.
type Flow struct {
	Channel  uintptr
	N, Pause int64 // ns
	Timed    int64 // not 0: a time is sent after each pause, and received
}

// SyncRun is N times taking and giving back, or N members of rings that make Laps laps.
type SyncRun struct {
	N, Laps     int64
	Flags, Kind uint32
}

// TimersRun is N coroutines that wait, each woken once in a round.
type TimersRun struct{ N, Rounds, Deadlines int64 }

// LateRun is N coroutines that sleep.
type LateRun struct {
	N, Ahead, Apart int64 // ns
	Sleepers        int64 // their worker
}

// MaxWaits is how many times are kept.
const MaxWaits = int(C.CB_WAITS)

// Waits are the first n times that ChanRecv, LateStart or CallAsleep has kept.
func Waits(n int) []time.Duration {
	out := make([]time.Duration, n)
	for i := range out {
		out[i] = time.Duration(C.cb_waits[i])
	}
	return out
}

// Now is the clock that the C bodies read.
func Now() int64 { return int64(C.cb_now_ns()) }

// HandOff is n round trips between two threads by condition variables.
func HandOff(n int) (time.Duration, error) {
	ns := C.cb_handoff(C.int64_t(n))
	if ns < 0 {
		return 0, errors.New("no thread for the hand-off")
	}
	return time.Duration(ns), nil
}
