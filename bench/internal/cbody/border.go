package cbody

/*
#include "cbody.h"
*/
import "C"

import (
	"time"
	"unsafe"
)

// The entries of border.c.
var (
	EchoBody  = unsafe.Pointer(C.cb_echo)       // Echo
	EchoPlain = unsafe.Pointer(C.cb_echo_plain) // Echo, of a body that is not brief
	// ChildrenOf; result int64: how long that took, ns
	Children   = unsafe.Pointer(C.cb_children)
	CallAsleep = unsafe.Pointer(C.cb_call_asleep) // Asleep
	Buffers    = unsafe.Pointer(C.cb_buffers)     // int64: how many
)

// Echo is the addresses of the channels, of int64, between which a body echoes. The end of Requests
// is the body's.
type Echo struct{ Requests, Answers uintptr }

// Asleep is N offloaded calls, each after a Pause in ns, of the Go function ID, which is given the
// time and returns how long ago that was. Waits has what is returned.
type Asleep struct {
	ID       uint32
	N, Pause int64
}

// Nothing is a cgo call of an empty function.
func Nothing() { C.cb_nothing() }

// SpinHere is a cgo call that makes some steps of dependent arithmetic.
func SpinHere(steps int) { C.cb_spin(C.uint64_t(steps)) }

// ChildrenOf are the N children of a body, 1000 at most, each of which makes Steps of dependent
// arithmetic.
type ChildrenOf struct{ N, Steps int64 }

// ChildrenPlain is how long the same takes as a loop.
func ChildrenPlain(c ChildrenOf) time.Duration {
	return time.Duration(C.cb_children_plain(
		&C.struct_cb_children{C.int64_t(c.N), C.int64_t(c.Steps)}))
}
