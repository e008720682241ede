package testbody

// #include "streams.h"
import "C"

import "unsafe"

// The bodies of streams.h.
var (
	StreamFlip    = unsafe.Pointer(C.testbody_stream_flip)
	StreamFails   = unsafe.Pointer(C.testbody_stream_fails)
	StreamCloses  = unsafe.Pointer(C.testbody_stream_closes)
	StreamGoodbye = unsafe.Pointer(C.testbody_stream_goodbye)
	StreamReads   = unsafe.Pointer(C.testbody_stream_reads)
	StreamWrites  = unsafe.Pointer(C.testbody_stream_writes)
	StreamKeeps   = unsafe.Pointer(C.testbody_stream_keeps)
)
