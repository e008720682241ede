//go:build cgo

package testbody

// #include "buffer.h"
import "C"

import "unsafe"

// Buffer is testbody_buffer.
var Buffer = unsafe.Pointer(&C.testbody_buffer_body)

// What Buffer does.
const (
	BufferReturn   = int32(C.TESTBODY_BUFFER_RETURN)
	BufferFree     = int32(C.TESTBODY_BUFFER_FREE)
	BufferFail     = int32(C.TESTBODY_BUFFER_FAIL)
	BufferCancel   = int32(C.TESTBODY_BUFFER_CANCEL)
	BufferAbort    = int32(C.TESTBODY_BUFFER_ABORT)
	BufferChild    = int32(C.TESTBODY_BUFFER_CHILD)
	BufferCall     = int32(C.TESTBODY_BUFFER_CALL)
	BufferNoResult = int32(C.TESTBODY_BUFFER_NO_RESULT)
	BufferDrop     = int32(C.TESTBODY_BUFFER_DROP)
	BufferSpawnGo  = int32(C.TESTBODY_BUFFER_SPAWN_GO)
	BufferDropGo   = int32(C.TESTBODY_BUFFER_DROP_GO)
)
