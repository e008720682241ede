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

// Calls is how often a body calls which Go function, of an int64 and to an int64, which adds 1.
type Calls struct {
	ID, Offload uint32
	N           int64
}

// The entries of call.c.
var (
	CallsBody = unsafe.Pointer(C.cb_calls)     // Calls
	CallOnce  = unsafe.Pointer(C.cb_call_once) // uint32: the function; result int64: ns that its offloaded call took
)

// Callbacks is how long n calls of an empty Go function take, from a thread of C's.
func Callbacks(n int) (time.Duration, error) { return elapsed(C.cb_callbacks(C.int64_t(n))) }
