//go:build cgo && linux && (amd64 || arm64)

package core

// #include "gowakes.h"
// #include "sync/gostream.h"
import "C"

import (
	"sync/atomic"
	"unsafe"
)

// stream.go - streams: STM1 and STM2 of stream.h in Go.

// A Stream is a stream whose end is Go's.
type Stream struct {
	p, c    *C.coro_stream // the end of Go, and that of C
	in, out Pipe
}

// A Pipe is one direction of a stream: a struct coroi_pipe.
type Pipe struct{ p unsafe.Pointer }

// StreamMost is the most bytes of a direction.
const StreamMost = C.CORO_STREAM_BYTES_MAX

// NewStream is coro_stream_new.
func NewStream(bytes int) (Stream, Status) {
	var s Stream
	var other *C.coro_stream
	crossing()
	status := C.coro_stream_new(&s.p, &other, C.size_t(bytes))
	if status == C.CORO_OK {
		s.c = C.coroi_stream_keep(s.p)
		s.in = Pipe{unsafe.Pointer(C.coroi_stream_pipe(s.p, false))}
		s.out = Pipe{unsafe.Pointer(C.coroi_stream_pipe(s.p, true))}
	}
	return s, Status(status)
}

// Pipe is the direction that Go writes, or reads.
func (s Stream) Pipe(writes bool) Pipe {
	if writes {
		return s.out
	}
	return s.in
}

// Address is the address by which C knows its end.
func (s Stream) Address() uintptr { return uintptr(unsafe.Pointer(s.c)) }

// Close is coro_stream_close of Go's end: out, and in unless writes alone are closed.
func (s Stream) Close(writesAlone bool, code Status) Status {
	directions := C.uint32_t(C.CORO_STREAM_OUT)
	if !writesAlone {
		directions |= C.CORO_STREAM_IN
	}
	crossing()
	return Status(C.go_coro_stream_close(s.p, directions, C.int(code)))
}

// IsGivenUp tells whether C has given up its end.
func (s Stream) IsGivenUp() bool {
	crossing()
	return bool(C.coroi_stream_is_given_up(s.p))
}

// Destroy makes all uses fail, and leaves the memory.
func (s Stream) Destroy() Status {
	crossing()
	return Status(C.coroi_stream_destroy(s.p))
}

// Free frees the memory, whether the stream was destroyed or not.
func (s Stream) Free() {
	crossing()
	C.coroi_stream_release(s.p)
}

func (p Pipe) word(at uintptr) *uint64 { return (*uint64)(unsafe.Add(p.p, at)) }

func side(writes bool) uintptr {
	if writes {
		return C.COROI_PIPE_WRITER
	}
	return C.COROI_PIPE_READER
}

func (p Pipe) at(writes bool) *uint64 { return p.word(side(writes) + C.COROI_SIDE_AT) }

// seen is used by the side's user alone.
func (p Pipe) seen(writes bool) *uint64 { return p.word(side(writes) + C.COROI_SIDE_SEEN) }

func (p Pipe) wakeAt() *uint64 { return p.word(C.COROI_PIPE_WRITER + C.COROI_SIDE_WAKE_AT) }

func (p Pipe) used(writes bool) *uint32 {
	return (*uint32)(unsafe.Add(p.p, side(writes)+C.COROI_SIDE_USED))
}

// code is what the side has closed the pipe with.
func (p Pipe) code(writes bool) Status {
	return Status(*(*int32)(unsafe.Add(p.p, side(writes)+C.COROI_SIDE_CODE)))
}

func (p Pipe) bytes() uint64 { return *p.word(C.COROI_PIPE_BYTES) }

// ring is the bytes; nil: none were written yet.
func (p Pipe) ring() []byte {
	at := *(*unsafe.Pointer)(unsafe.Add(p.p, C.COROI_PIPE_RING))
	return unsafe.Slice((*byte)(at), int(p.bytes()))
}

func (p Pipe) hasRing() bool { return *p.word(C.COROI_PIPE_RING) != 0 }

func position(at uint64) uint64 { return at >> C.COROI_PIPE_SHIFT }

// Begin begins to use a side of the pipe. Busy: somebody does.
func (p Pipe) Begin(writes bool) Status {
	if !atomic.CompareAndSwapUint32(p.used(writes), 0, 1) {
		return Status(C.CORO_EBUSY)
	}
	return OK
}

// End ends what Begin began.
func (p Pipe) End(writes bool) { atomic.SwapUint32(p.used(writes), 0) }

// A PipeState is what a try has come to that has passed no bytes.
type PipeState int

// The states of a pipe, for one of its sides.
const (
	PipeOpen        PipeState = iota // bytes were passed
	PipeWaits                        // the side is to wait
	PipeClosedHere                   // this side has closed the pipe
	PipeClosedThere                  // the other side has: the status is its code
	PipeFailed                       // there is the status
)

// TryRead is STM2, by the reader.
func (p Pipe) TryRead(to []byte) (n int, state PipeState, status Status) {
	at := atomic.LoadUint64(p.at(false)) // STM6
	if at&C.COROI_PIPE_REFUSED != 0 {
		return 0, PipeClosedHere, OK
	}
	from, seen := position(at), *p.seen(false)
	if seen-from < uint64(len(to)) {
		other := atomic.LoadUint64(p.at(true))
		seen = position(other)
		*p.seen(false) = seen
		if seen == from {
			if other&C.COROI_PIPE_ENDED != 0 {
				return 0, PipeClosedThere, p.code(true)
			}
			return 0, PipeWaits, OK
		}
	}
	to = to[:min(uint64(len(to)), seen-from)]
	ring := p.ring()
	n = copy(to, ring[from&(p.bytes()-1):])
	n += copy(to[n:], ring)
	at = atomic.AddUint64(p.at(false), uint64(n)<<C.COROI_PIPE_SHIFT)
	if at&C.COROI_PIPE_WAITED != 0 && int64(position(at)-atomic.LoadUint64(p.wakeAt())) >= 0 {
		p.tell(false)
	}
	return n, PipeOpen, OK
}

// TryWrite is STM1, by the writer: as much as there is room for.
func (p Pipe) TryWrite(from []byte) (n int, state PipeState, status Status) {
	at := atomic.LoadUint64(p.at(true)) // STM6
	if at&C.COROI_PIPE_ENDED != 0 {
		return 0, PipeClosedHere, OK
	}
	if at&C.COROI_PIPE_REFUSED != 0 {
		return 0, PipeClosedThere, p.code(false)
	}
	if !p.hasRing() {
		if status := p.open(); status != OK {
			return 0, PipeFailed, status
		}
		return p.TryWrite(from)
	}
	to, bytes := position(at), p.bytes()
	room := bytes - (to - *p.seen(true))
	if room < uint64(len(from)) {
		*p.seen(true) = position(atomic.LoadUint64(p.at(false)))
		room = bytes - (to - *p.seen(true))
	}
	if room == 0 {
		atomic.SwapUint64(p.wakeAt(), to-bytes+min(uint64(len(from)), (bytes+1)/2))
		return 0, PipeWaits, OK
	}
	from = from[:min(uint64(len(from)), room)]
	ring := p.ring()
	n = copy(ring[to&(bytes-1):], from)
	copy(ring, from[n:])
	n = len(from)
	at = atomic.AddUint64(p.at(true), uint64(n)<<C.COROI_PIPE_SHIFT)
	if at&C.COROI_PIPE_WAITED != 0 {
		p.tell(true)
	}
	return n, PipeOpen, OK
}

// MayGoOn tells a side that is to wait whether the wait would end at once.
func (p Pipe) MayGoOn(writes bool) bool {
	other := atomic.LoadUint64(p.at(!writes))
	if other&(C.COROI_PIPE_ENDED|C.COROI_PIPE_REFUSED) != 0 {
		return true
	}
	if writes {
		return int64(position(other)-atomic.LoadUint64(p.wakeAt())) >= 0
	}
	return position(other) != position(atomic.LoadUint64(p.at(false)))
}

func (p Pipe) c() *C.struct_coroi_pipe {
	crossing()
	return (*C.struct_coroi_pipe)(p.p)
}

func (p Pipe) open() Status { return Status(C.coroi_pipe_open(p.c())) }

// tell is STM4, by a side.
func (p Pipe) tell(writes bool) { C.go_coroi_pipe_tell(p.c(), C.bool(writes)) }

// Wait makes a gowaiter wait until a side may go on.
func (p Pipe) Wait(g GoWaiter, writes bool) Status {
	return Status(C.coroi_pipe_wait_gowaiter(p.c(), C.bool(writes), g.g))
}
