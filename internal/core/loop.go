//go:build cgo && linux && (amd64 || arm64)

package core

// #include "base/sys.h"
// #include "border/loop.h"
import "C"

import "unsafe"

// Loop is a coro_for that Go waits for, in C's memory: loop.h.
type Loop struct{ c *C.struct_coroi_led_loop }

// LoopLeader is the C function that leads a Loop, whose address is its argument.
var LoopLeader = uintptr(unsafe.Pointer(C.coroi_loop_lead))

// NewLoop makes a loop of spec's function over [0, n), with a copy of spec.ArgBytes bytes at arg.
// False: there is no memory.
func NewLoop(spec *Spec, n, grain int, arg unsafe.Pointer) (Loop, bool) {
	crossing()
	l := (*C.struct_coroi_led_loop)(C.coroi_alloc(C.sizeof_struct_coroi_led_loop, 16))
	if l == nil {
		return Loop{}, false
	}
	l.fn = C.uint64_t(spec.Fn)
	l.n, l.grain = C.int64_t(n), C.int64_t(grain)
	l.arg_bytes = C.uint8_t(spec.ArgBytes)
	if spec.ArgBytes > 0 {
		copyValue(unsafe.Pointer(&l.arg), arg, uintptr(spec.ArgBytes))
	}
	return Loop{l}, true
}

// Address is the leader's argument.
func (l Loop) Address() uintptr { return uintptr(unsafe.Pointer(l.c)) }

// Cancel cancels the loop, whether it has begun or not.
func (l Loop) Cancel() {
	crossing()
	C.coroi_loop_cancel(l.c)
}

// Ended is how the loop has ended; with Failed also by what. The leader has returned.
func (l Loop) Ended() (Status, *Failure) {
	status := Status(l.c.status)
	if status != Failed {
		return status, nil
	}
	f := &Failure{Fn: uintptr(l.c.fn), Code: int(l.c.code)}
	if l.c.text != nil {
		f.Text = C.GoString(l.c.text)
	}
	return Failed, f
}

// Free frees the loop. The leader has ended, or was never started.
func (l Loop) Free() {
	crossing()
	C.coroi_release(unsafe.Pointer(l.c.text))
	C.coroi_release(unsafe.Pointer(l.c))
}
