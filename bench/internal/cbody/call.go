package cbody

/*
#include "cbody.h"
*/
import "C"

import (
	"time"
	"unsafe"
)

//export cb_go_nothing
func cb_go_nothing(unsafe.Pointer) {}

var wakes = make(chan C.int64_t, 1)

//export cb_go_wake
func cb_go_wake(now C.int64_t) { wakes <- now }

// Calls is how often a body calls which Go function, of an int64 and to an int64, which adds 1.
type Calls struct {
	ID, Offload uint32
	N           int64
}

// The entries of call.c.
var (
	CallsBody = unsafe.Pointer(C.cb_calls) // Calls
	// uint32: the function; result int64: ns that its offloaded call took
	CallOnce = unsafe.Pointer(C.cb_call_once)
)

// Callbacks is how long n calls of an empty Go function take, from a thread of C's.
func Callbacks(n int) (time.Duration, error) { return elapsed(C.cb_callbacks(C.int64_t(n))) }

// WakesFromC is how long each of n wake-ups takes of a goroutine that waits for a channel, from a
// thread of C's, each after a pause.
func WakesFromC(n int, pause time.Duration) ([]time.Duration, error) {
	result := make(chan error)
	go func() { result <- status(C.cb_wakes(C.int64_t(n), C.int64_t(pause))) }()
	var waits []time.Duration
	for {
		select {
		case at := <-wakes:
			waits = append(waits, time.Duration(C.cb_now_ns()-at))
			if len(waits) < n {
				continue
			}
			return waits, <-result
		case err := <-result:
			return waits, err
		}
	}
}
