package testbody

/*
#include "io.h"
*/
import "C"

import "unsafe"

// FDEchoBody is testbody_fd_echo of io.h, and FDEcho its argument.
var FDEchoBody = unsafe.Pointer(C.testbody_fd_echo)

// FDEcho has the layout of struct testbody_fd_echo.
type FDEcho struct {
	FD, Bytes uint64
}

// ServeEchoBody is testbody_serve_echo of io.h.
var ServeEchoBody = unsafe.Pointer(C.testbody_serve_echo)

// Connections is testbody_connections of io.h.
func Connections() (now, most int) {
	var m C.uint32_t
	n := C.testbody_connections(&m)
	return int(n), int(m)
}

// ServeUntilEndsBody, ServeUntilToldBody and ServeSomeBody are of io.h: connections whose requests,
// eight bytes each, are streamed in. Answered is testbody_answered.
var (
	ServeUntilEndsBody = unsafe.Pointer(C.testbody_serve_until_ends)
	ServeUntilToldBody = unsafe.Pointer(C.testbody_serve_until_told)
	ServeSomeBody      = unsafe.Pointer(C.testbody_serve_some)
)

// Answered is testbody_answered of io.h.
func Answered(client int) int { return int(C.testbody_answered(C.uint32_t(client))) }

// ServeOptionsBody is testbody_serve_options of io.h, which answers with ServeOptions bytes.
var ServeOptionsBody = unsafe.Pointer(C.testbody_serve_options)

// ServeOptions is the number of these bytes.
const ServeOptions = C.TESTBODY_OPTIONS

// LooksUpBody is testbody_looks_up of io.h, ConnectsBody testbody_connects, and Lookups
// testbody_lookups.
var (
	LooksUpBody  = unsafe.Pointer(C.testbody_looks_up)
	ConnectsBody = unsafe.Pointer(C.testbody_connects)
)

func Lookups() int { return int(C.testbody_lookups()) }
