//go:build cgo && linux && (amd64 || arm64)

package core

// #include "io/serve.h"
import "C"

import "unsafe"

// A Serve is a call of coro_serve, the argument of ServeBody: a struct coroi_serve.
type Serve struct{ c C.struct_coroi_serve }

// ServeBody is the C function of a coroutine that makes the call. Its result is an int32: a Status.
func ServeBody() unsafe.Pointer { return unsafe.Pointer(C.coroi_serve_body) }

// NewServe is a call that serves the listener, with a coroutine of spec for each connection. limit
// 0: there is none. grace and linger are in ns.
func NewServe(listener uint64, spec *Spec, limit uint32, grace, linger uint64) Serve {
	c := C.struct_coroi_serve{
		listener: C.coro_fd(listener),
		fn:       C.uint64_t(spec.Fn),
		grace:    C.uint64_t(max(grace, 1)), // 0 would be the default
		linger:   C.uint64_t(max(linger, 1)),
		limit:    C.uint32_t(limit),
		worker:   C.CORO_ANYWHERE,
		class:    C.uint8_t(spec.Class),
	}
	if spec.Flags&Pinned != 0 {
		c.worker = C.uint32_t(spec.Worker + 1)
	}
	if spec.Flags&Daemon != 0 {
		c.attrs |= C.CORO_DAEMON
	}
	if spec.Class == ClassDense {
		c.attrs |= C.CORO_DENSE
	}
	return Serve{c}
}
