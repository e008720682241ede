// Package genbody holds C bodies with arguments and results of all kinds, for the tests of coro
// gen.
package genbody

//go:generate go run github.com/organzine/coro/cmd/coro gen -name picture=Painting -skip genbody_left_out -type "struct figures" kinds.c -- -I../../csrc/include

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -I${SRCDIR}/../../csrc/include
#include "kinds.h"
static const char *genbody_text(void) { return "eleven long"; }
static uint64_t genbody_sum(const struct figures *f) { return f->last + f->fd + f->bytes.in + f->bytes.out; }
*/
import "C"

import "unsafe"

// Text is the address of a C string of 11 bytes.
func Text() uintptr { return uintptr(unsafe.Pointer(C.genbody_text())) }

// FigureSum is what C adds up of the members.
func FigureSum(f Figures) uint64 {
	return uint64(C.genbody_sum((*C.struct_figures)(unsafe.Pointer(&f))))
}
