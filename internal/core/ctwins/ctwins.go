//go:build cgo && linux && (amd64 || arm64)

// Package ctwins calls the C halves of the steps that internal/core/twins.go does in Go, for the
// test that compares the two. Nothing but that test imports it.
package ctwins

/*
#cgo CFLAGS: -std=gnu11 -D_GNU_SOURCE -O2 -fvisibility=hidden -fno-omit-frame-pointer -Wall -pthread -I${SRCDIR}/../../../csrc -I${SRCDIR}/../../../csrc/include
#include "ctwins.h"
*/
import "C"

import (
	"unsafe"

	_ "github.com/organzine/coro/csrc/base" // the headers that are included
	_ "github.com/organzine/coro/csrc/border"
	_ "github.com/organzine/coro/csrc/include"
	_ "github.com/organzine/coro/csrc/kernel"
)

// A World is a scheduler without threads, its workers and the goworker, and a record of its own.
type World struct {
	Scheduler, Workers, Record unsafe.Pointer
}

// NewWorld makes a world of zeros, but for what points from one part to another. It is never freed.
func NewWorld(workers int) World {
	w := C.ctwins_world(C.uint32_t(workers))
	return World{w.scheduler, w.workers, w.record}
}

// Push is coroi_inbox_push.
func Push(worker unsafe.Pointer, node uint64) { C.ctwins_push(worker, C.uint64_t(node)) }

// Notify is coroi_notify_pushed.
func Notify(worker unsafe.Pointer) { C.ctwins_notify(worker) }

// Fill is coroi_fill and coroi_fill_argument.
func Fill(
	record unsafe.Pointer, fn uintptr, class, argBytes, resultBytes uint8, home uint16,
	arg unsafe.Pointer,
) {
	C.ctwins_fill(record, C.uintptr_t(fn), C.uint8_t(class),
		C.uint8_t(argBytes), C.uint8_t(resultBytes), C.uint16_t(home), arg)
}

// Reveal makes a record joinable, and is reveal of kernel/spawn.c then.
func Reveal(record unsafe.Pointer) (handle uint64) { return uint64(C.ctwins_reveal(record)) }

// Send is send of kernel/spawn.c, for a record whose handle is known already.
func Send(worker, record unsafe.Pointer) { C.ctwins_send(worker, record) }

// SendEvent is coroi_event_send_to, on a thread that is no worker.
func SendEvent(record unsafe.Pointer, generation uint32) {
	C.ctwins_send_event(record, C.uint32_t(generation))
}

// Joins is a body: it joins the coroutine whose handle is its argument. Its result is the status.
// Parks is a body that parks.
var (
	Joins = uintptr(unsafe.Pointer(C.ctwins_joins))
	Parks = uintptr(unsafe.Pointer(C.ctwins_parks))
)

// Join is the argument of Joins.
type Join struct{ Handle uint64 }
