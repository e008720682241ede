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
