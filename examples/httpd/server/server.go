// Package server has the connections of a small HTTP/1.1 server, in C.
package server

//go:generate go run github.com/organzine/coro/cmd/coro header

/*
#cgo CFLAGS: -std=gnu11 -D_GNU_SOURCE -O2 -g -Wall
#cgo pkg-config: libllhttp
#include "connection.h"
#include "handlers.h"
*/
import "C"

import (
	"time"
	"unsafe"

	"github.com/organzine/coro"
)

// Connection serves one connection, for Scheduler.Serve, which closes it.
var Connection = coro.MustFunc[coro.FD, coro.None](unsafe.Pointer(&C.serve_connection_body))

// Limits say how long a connection may take for what, and how many requests it may make.
type Limits struct {
	Idle   time.Duration // until the first byte of a request
	Header time.Duration // from there to the end of the header
	Body   time.Duration // from there to the end of the body
	Write  time.Duration // for what is written at once

	Requests uint32
}

// DefaultLimits are for clients that may be anybody.
var DefaultLimits = Limits{
	Idle: time.Minute, Header: 10 * time.Second, Body: 30 * time.Second,
	Write: 10 * time.Second, Requests: 1000,
}

// Configure sets the limits, and the Go functions from []byte to []byte that have the answers of
// /inline and of /go. It is called once, before the first connection.
func Configure(l Limits, inline, offloaded coro.FuncID) {
	C.limits = C.struct_limits{
		idle: C.uint64_t(l.Idle), header: C.uint64_t(l.Header), body: C.uint64_t(l.Body),
		write: C.uint64_t(l.Write), requests: C.uint32_t(l.Requests),
	}
	C.go_functions = C.struct_go_functions{
		inlined: C.coro_go_id(inline), offloaded: C.coro_go_id(offloaded),
	}
}
