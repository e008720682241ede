//go:build cgo && linux && (amd64 || arm64)

package core

// #include "base/body.h"
import "C"

import "unsafe"

// A Body is a C function that a coroutine runs, and what CORO_BODY says of it.
type Body struct {
	Fn        uintptr
	Described bool // by CORO_BODY. The rest is zero without that
	Name      string
	Stack     uint64 // the least that the body needs, in bytes; 0: the scheduler's default
	Dense     bool
	Brief     bool
	Strange   bool // it has flags that no version of CORO_BODY allows

	ArgBytes, ArgAlign       uintptr
	ResultBytes, ResultAlign uintptr
}

// LookBody tells what p is: the address of a C function, or of a description that CORO_BODY has
// made. Invalid: neither. See coroi_body_look.
func LookBody(p unsafe.Pointer) (Body, Status) {
	var d C.struct_coro_body_desc
	crossing()
	switch C.coroi_body_look(p, &d) {
	case C.COROI_BODY_FUNCTION:
		return Body{Fn: uintptr(p)}, OK
	case C.COROI_BODY_DESCRIBED:
		return Body{
			Fn:          uintptr(*(*unsafe.Pointer)(unsafe.Pointer(&d.entry))),
			Described:   true,
			Name:        C.GoString(d.name),
			Stack:       uint64(d.stack_bytes),
			Dense:       d.flags&C.CORO_DENSE != 0,
			Brief:       d.flags&C.CORO_BRIEF != 0,
			Strange:     d.flags&^(C.CORO_DENSE|C.CORO_BRIEF) != 0,
			ArgBytes:    uintptr(d.arg_bytes),
			ArgAlign:    uintptr(d.arg_align),
			ResultBytes: uintptr(d.result_bytes),
			ResultAlign: uintptr(d.result_align),
		}, OK
	}
	return Body{}, Invalid
}
