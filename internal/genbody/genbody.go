// Package genbody holds C bodies with arguments and results of all kinds, for the tests of coro
// gen.
package genbody

//go:generate go run github.com/organzine/coro/cmd/coro gen -name picture=Painting kinds.c -- -I../../csrc/include

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -I${SRCDIR}/../../csrc/include
static const char *genbody_text(void) { return "eleven long"; }
*/
import "C"

import "unsafe"

// Text is the address of a C string of 11 bytes.
func Text() uintptr { return uintptr(unsafe.Pointer(C.genbody_text())) }
