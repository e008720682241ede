package cbody

// #include "cbody.h"
// #include "io.h"
import "C"

import (
	"syscall"
	"time"
	"unsafe"
)

// IOServe serves a connection: a coro.FD. IOServeSmall has a buffer of IOSmall bytes.
var (
	IOServe      = unsafe.Pointer(C.cb_io_serve)
	IOServeSmall = unsafe.Pointer(C.cb_io_serve_small)
)

// What a request and its answer have.
const (
	IORequest = int(C.CB_IO_REQUEST)
	IOAnswer  = int(C.CB_IO_ANSWER)
	IOSmall   = int(C.CB_IO_SMALL)
)

// Connections are both ends of TCP connections, by their numbers.
type Connections struct{ Server, Client []int32 }

// Connect makes n connections.
func Connect(n int) (c Connections, err error) {
	c = Connections{make([]int32, n), make([]int32, n)}
	failed := C.cb_io_connect(C.int(n), (*C.int32_t)(&c.Server[0]), (*C.int32_t)(&c.Client[0]))
	return c, errno(failed)
}

// CloseNumbers closes descriptors.
func CloseNumbers(list []int32) { C.cb_io_close(C.int(len(list)), (*C.int32_t)(&list[0])) }

// Ask has total requests answered, one at a time on each connection. It returns the time, and the
// CPU time of the asking thread.
func Ask(client []int32, total int) (took, cpu time.Duration, err error) {
	var ns C.int64_t
	t := C.cb_io_ask(C.int(len(client)), (*C.int32_t)(&client[0]), C.int64_t(total), &ns)
	if t < 0 {
		return 0, 0, syscall.Errno(-t)
	}
	return time.Duration(t), time.Duration(ns), nil
}

// CPU is the CPU time of the process.
func CPU() time.Duration { return time.Duration(C.cb_io_cpu_ns()) }

// EpollLoop serves connections until StopLoop, on the calling thread.
func EpollLoop(server []int32) error {
	return errno(C.cb_io_loop(C.int(len(server)), (*C.int32_t)(&server[0])))
}

// StopLoop ends an EpollLoop that has begun, or will.
func StopLoop() { C.cb_io_stop() }

func errno(n C.int) error {
	if n == 0 {
		return nil
	}
	return syscall.Errno(n)
}
