package main

//go:generate go run github.com/organzine/coro/cmd/coro header

/*
#cgo CFLAGS: -O2
#cgo pkg-config: libpq
#include "pq.h"
#include <stdlib.h>
*/
import "C"

import (
	"context"
	"time"
	"unsafe"

	"github.com/organzine/coro"
)

// The C bodies. Their Go types have the layout of the C structs.
var (
	pqOpen  = coro.MustFunc[openArg, uintptr](unsafe.Pointer(&C.pq_open_body))
	pqQuery = coro.MustFunc[queryArg, answer](unsafe.Pointer(&C.pq_query_body))
)

type openArg struct {
	conninfo uintptr       // a C string
	timeout  time.Duration // 0: none
}

type queryArg struct {
	conn    uintptr // of pq_open
	sql     uintptr // a C string
	timeout time.Duration
}

type answer struct {
	rows, first int64
}

// cString is a copy of s in C's memory. It stays until free is called.
func cString(s string) (address uintptr, free func()) {
	p := C.CString(s)
	return uintptr(unsafe.Pointer(p)), func() { C.free(unsafe.Pointer(p)) }
}

// open opens a connection, and query has it do one query. Both wait. The end of ctx cancels the
// coroutine. They return when it has ended, as it reads the text until then.
func open(ctx context.Context, s *coro.Scheduler, conninfo string) (uintptr, error) {
	text, free := cString(conninfo)
	defer free()
	task, err := pqOpen.StartContext(ctx, s, openArg{text, time.Minute})
	if err != nil {
		return 0, err
	}
	return task.Wait(context.Background())
}

func query(ctx context.Context, s *coro.Scheduler, conn uintptr, sql string,
	timeout time.Duration) (answer, error) {
	text, free := cString(sql)
	defer free()
	task, err := pqQuery.StartContext(ctx, s, queryArg{conn, text, timeout})
	if err != nil {
		return answer{}, err
	}
	return task.Wait(context.Background())
}

func closeConn(conn uintptr) {
	C.pq_close(pointer(conn))
}

// openBlocking and queryBlocking do the same by calls that keep their thread.
func openBlocking(conninfo string) (uintptr, bool) {
	text, free := cString(conninfo)
	defer free()
	conn := C.pq_open_blocking((*C.char)(pointer(text)))
	return uintptr(conn), conn != nil
}

func queryBlocking(conn, sql uintptr) bool {
	return C.pq_query_blocking(pointer(conn), (*C.char)(pointer(sql))) >= 0
}

// pointer is the C pointer that a number is. No C memory is moved.
func pointer(p uintptr) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&p))
}
