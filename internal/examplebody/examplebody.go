// Package examplebody holds the C coroutines of the examples in package coro's documentation. A
// package that brings its own coroutines looks like this one, but for one thing: outside this
// module coro.h lies beside the C files, written by
//
//	go run github.com/organzine/coro/cmd/coro header
package examplebody

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -I${SRCDIR}/../../csrc/include
#include "bodies.h"

static int64_t primes_load(void) { return __atomic_load_n(&primes_found, __ATOMIC_RELAXED); }
static void primes_reset(void) { __atomic_store_n(&primes_found, 0, __ATOMIC_RELAXED); }
*/
import "C"

import (
	"unsafe"

	_ "github.com/organzine/coro" // the C symbols that the bodies call
)

// The C functions, as package coro takes them.
var (
	CountPrimes = unsafe.Pointer(C.count_primes)
	Sieve       = unsafe.Pointer(C.sieve)
	Collatz     = unsafe.Pointer(C.collatz)
	Relay       = unsafe.Pointer(C.relay)
	Adder       = unsafe.Pointer(C.adder)
	WordCount   = unsafe.Pointer(C.word_count)
	Doubler     = unsafe.Pointer(C.doubler)
	Visitor     = unsafe.Pointer(C.visitor)
	Depositor   = unsafe.Pointer(C.depositor)
	Buyer       = unsafe.Pointer(C.buyer)
	Auditor     = unsafe.Pointer(C.auditor)
	Runner      = unsafe.Pointer(C.runner)
	User        = unsafe.Pointer(C.user)
	Fibonacci   = unsafe.Pointer(C.fibonacci)
	Echo        = unsafe.Pointer(C.echo)
)

// Range has the layout of struct range.
type Range struct {
	From, To uint32
}

// Primes has the layout of struct sieve.
type Primes struct {
	Prime uintptr
}

// Pipe has the layout of struct pipe.
type Pipe struct {
	In, Out uintptr
}

// Shop has the layout of struct shop.
type Shop struct {
	Lock, Delivered uintptr
}

// Goods and Table are in C memory: a lock guards each.
func Goods() *int64    { return (*int64)(unsafe.Pointer(&C.goods)) }
func Table() *[4]int64 { return (*[4]int64)(unsafe.Pointer(&C.table)) }

// MostInside is the most Visitors that were inside at once.
func MostInside() int { return int(C.most_inside) }

// PrimesFound is the number of primes that CountPrimes has counted since the last ResetPrimes.
func PrimesFound() int64 { return int64(C.primes_load()) }
func ResetPrimes()       { C.primes_reset() }
