//go:build cgo

package testbody

// #include "lent.h"
import "C"

import "unsafe"

// Bodies that borrow memory, see lent.h.
var (
	AddBytes       = unsafe.Pointer(&C.testbody_add_bytes_body)
	AddBytesSlowly = unsafe.Pointer(&C.testbody_add_bytes_slowly_body)
)
