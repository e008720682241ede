package cbody

// #include "cbody.h"
import "C"

import "unsafe"

// StreamBlock is the most bytes that the bodies read at once.
const StreamBlock = int(C.CB_STREAM_BLOCK)

// StreamEcho and StreamEchoFD write back what they read: from a stream, given its address, or from
// a coro.FD.
var (
	StreamEcho   = unsafe.Pointer(C.cb_stream_echo)
	StreamEchoFD = unsafe.Pointer(C.cb_stream_echo_fd)
)
