//go:build cgo && linux && (amd64 || arm64)

package core

// #include "base/sys.h"
// #include "border/many.h"
import "C"

import "unsafe"

// Many is many calls of one function, with their arguments and results, in C's memory: many.h.
type Many struct{ c *C.struct_coroi_many }

// ManyLeader is the C function that leads a Many, whose address is its argument.
var ManyLeader = uintptr(unsafe.Pointer(C.coroi_many_lead))

// NewMany makes n calls as spec says, whose arguments are zero. False: there is no memory.
func NewMany(spec *Spec, n int) (Many, bool) {
	fn, arg, result := spec.sizes()
	up := func(n uintptr) uintptr { return (n + 15) &^ 15 }
	stride := (C.sizeof_struct_coroi_one + up(arg) + up(result) + 15) &^ 15
	crossing()
	p := C.coroi_alloc(C.size_t(C.sizeof_struct_coroi_many+uintptr(n)*stride), 16)
	if p == nil {
		return Many{}, false
	}
	m := (*C.struct_coroi_many)(p)
	m.fn = C.uint64_t(fn)
	m.count, m.left = C.uint32_t(n), C.uint32_t(n+1)
	m.stride, m.arg_at = C.uint32_t(stride), C.uint32_t(up(result))
	m.class, m.arg_bytes, m.result_bytes = C.uint8_t(spec.Class), C.uint16_t(arg),
		C.uint16_t(result)
	if spec.Loan.Borrows() {
		m.state = C.COROI_MANY_LENDS
	}
	for _, offset := range spec.Loan.Buffers() {
		m.state |= C.COROI_MANY_CARRIES
		m.arg_buffers |= 1 << (offset / 8)
	}
	return Many{m}, true
}

// Address is the leader's argument.
func (m Many) Address() uintptr { return uintptr(unsafe.Pointer(m.c)) }

func (m Many) one(i int) *C.struct_coroi_one {
	return (*C.struct_coroi_one)(unsafe.Add(unsafe.Pointer(m.c),
		C.sizeof_struct_coroi_many+uintptr(i)*uintptr(m.c.stride)))
}

// Arg is where the argument of call i lies.
func (m Many) Arg(i int) unsafe.Pointer {
	return unsafe.Add(unsafe.Pointer(m.one(i)),
		C.sizeof_struct_coroi_one+uintptr(m.c.arg_at))
}

// SetArg copies the argument of call i, which holds addresses of Go memory.
func (m Many) SetArg(i int, arg unsafe.Pointer) {
	copyValue(m.Arg(i), arg, uintptr(m.c.arg_bytes))
}

// Refuse has call i not begin, and end with the status. Its argument is cleared.
func (m Many) Refuse(i int, status Status) {
	clear(unsafe.Slice((*byte)(m.Arg(i)), m.c.arg_bytes))
	m.one(i).status = C.int32_t(status)
	m.c.failed = 1
}

// Begun tells whether the leader has begun, if there are calls. It has ended, or never will begin.
func (m Many) Begun() bool { return m.one(0).of != nil }

// Result is where the result of call i lies. The leader has ended.
func (m Many) Result(i int) unsafe.Pointer {
	return unsafe.Add(unsafe.Pointer(m.one(i)), C.sizeof_struct_coroi_one)
}

// AllOK tells whether each call has ended with a result. The leader has ended.
func (m Many) AllOK() bool { return m.c.failed == 0 }

// Ended is how call i has ended; with Failed also by what. The leader has ended.
func (m Many) Ended(i int) (Status, *Failure) {
	one := m.one(i)
	if one.status == C.CORO_OK {
		return OK, nil
	}
	if one.status != C.CORO_EFAILED {
		return Status(one.status), nil
	}
	f := &Failure{Fn: uintptr(m.c.fn), Code: int(one.code)}
	if one.text != nil {
		f.Text = C.GoString(one.text)
	}
	return Failed, f
}

// Free frees the calls. The leader has ended, or was never started.
func (m Many) Free() {
	for i := range int(m.c.count) {
		if one := m.one(i); one.status == C.CORO_EFAILED {
			C.coroi_release(unsafe.Pointer(one.text))
		}
	}
	crossing()
	C.coroi_release(unsafe.Pointer(m.c))
}
