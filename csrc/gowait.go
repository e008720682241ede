//go:build cgo && linux && (amd64 || arm64)

package csrc

// #cgo noescape coro_chan_send
// #cgo nocallback coro_chan_send
// #cgo noescape coro_chan_recv
// #cgo nocallback coro_chan_recv
// #cgo noescape coroi_gowaiter_new
// #cgo nocallback coroi_gowaiter_new
// #include "sync/gowait.h"
import "C"

import (
	"sync/atomic"
	"unsafe"

	"github.com/organzine/coro/internal/asm"
)

// TimedOut is also what a call returns that would have to wait.
const TimedOut = Status(C.CORO_ETIMEDOUT)

// Waits: the gowaiter waits now.
const Waits = Status(C.COROI_WAITS)

// byCall: a leaf of gowait.h has done nothing.
const byCall = C.COROI_BY_CALL

// A Chan is a coro_chan.
type Chan struct{ c *C.coro_chan }

// NewChan is coro_chan_new, shared.
func NewChan(bytes uintptr, capacity int) (Chan, Status) {
	var c Chan
	crossing()
	status := C.coro_chan_new(&c.c, C.size_t(bytes), C.size_t(capacity), 0)
	if status == C.CORO_OK {
		crossing()
		C.coroi_chan_keep(c.c, true) // C frees none that Go refers to
	}
	return c, Status(status)
}

// Address is what C knows it by.
func (c Chan) Address() uintptr { return uintptr(unsafe.Pointer(c.c)) }

// TrySend is coro_chan_send that does not wait.
func (c Chan) TrySend(value unsafe.Pointer) Status {
	if status := asm.Leaf(sendLeaf, unsafe.Pointer(c.c), value); status != byCall {
		return Status(status)
	}
	crossing()
	return Status(C.coro_chan_send(c.c, value, 0))
}

// TryRecv is coro_chan_recv that does not wait.
func (c Chan) TryRecv(value unsafe.Pointer) Status {
	if status := asm.Leaf(recvLeaf, unsafe.Pointer(c.c), value); status != byCall {
		return Status(status)
	}
	crossing()
	return Status(C.coro_chan_recv(c.c, value, 0))
}

var (
	sendLeaf = uintptr(unsafe.Pointer(C.coroi_chan_send_leaf))
	recvLeaf = uintptr(unsafe.Pointer(C.coroi_chan_recv_leaf))
)

func (c Chan) word(at uintptr) uint64 {
	return atomic.LoadUint64((*uint64)(unsafe.Add(unsafe.Pointer(c.c), at)))
}

// LenHint is Len without a lock: about how many values there are.
func (c Chan) LenHint() uint32 {
	out := c.half(C.COROI_CHAN_OUT) // first: it never passes the other
	return c.half(C.COROI_CHAN_IN) - out
}

func (c Chan) half(at uintptr) uint32 {
	return atomic.LoadUint32((*uint32)(unsafe.Add(unsafe.Pointer(c.c), at)))
}

func (c Chan) isClosed() bool { return c.half(C.COROI_CHAN_CLOSED)&0xff != 0 }

// MaySend tells, as a hint, that a value could be sent, and some more after it. MayRecv tells it of one to be received.
func (c Chan) MaySend(capacity int) bool {
	return capacity > 0 && c.LenHint() <= uint32(capacity/2) || c.word(C.COROI_CHAN_RECEIVERS) != 0 || c.isClosed()
}

func (c Chan) MayRecv() bool {
	return c.LenHint() != 0 || c.word(C.COROI_CHAN_SENDERS) != 0 || c.isClosed()
}

// Send has a gowaiter send its value.
func (c Chan) Send(g GoWaiter) Status {
	crossing()
	return Status(C.coroi_chan_send_gowaiter(c.c, g.g))
}

// Recv has a gowaiter receive one.
func (c Chan) Recv(g GoWaiter) Status {
	crossing()
	return Status(C.coroi_chan_recv_gowaiter(c.c, g.g))
}

// Close is coro_chan_close.
func (c Chan) Close() Status {
	crossing()
	return Status(C.coro_chan_close(c.c))
}

// Len is coro_chan_length.
func (c Chan) Len() int {
	crossing()
	return int(C.coro_chan_length(c.c))
}

// Free is coro_chan_free.
func (c Chan) Free() {
	crossing()
	C.coroi_chan_keep(c.c, false)
	crossing()
	C.coro_chan_free(c.c)
}

// SelectMax is how many operations one can select from.
const SelectMax = C.CORO_CASES_MAX

// SelectBytes are those that a gowaiter needs to select from n operations, before their values.
func SelectBytes(n int) uintptr { return uintptr(C.coroi_select_bytes(C.uint32_t(n))) }

// SetCase is the i-th of a gowaiter's operations: to send the value that lies in its memory, or to receive it there.
func (g GoWaiter) SetCase(i int, c Chan, send bool, value unsafe.Pointer) {
	crossing()
	k := (*C.coro_case)(unsafe.Add(unsafe.Pointer(C.coroi_select_cases(g.g)), i*C.sizeof_coro_case))
	*(*uintptr)(unsafe.Pointer(&k._chan)) = c.Address()
	if send {
		*(*uintptr)(unsafe.Pointer(&k.send)) = uintptr(value)
	} else {
		*(*uintptr)(unsafe.Pointer(&k.recv)) = uintptr(value)
	}
}

// Select has the gowaiter do one of its n operations.
func (g GoWaiter) Select(n int) Status {
	crossing()
	return Status(C.coroi_select_gowaiter(g.g, C.uint32_t(n)))
}

// Selected tells, when it is done, which one was, and how.
func (g GoWaiter) Selected() (int, Status) {
	crossing()
	i := int(C.coroi_select_done(g.g))
	crossing()
	k := (*C.coro_case)(unsafe.Add(unsafe.Pointer(C.coroi_select_cases(g.g)), i*C.sizeof_coro_case))
	return i, Status(k.status)
}

// A GoWaiter is a goroutine or a Go body that waits: gowait.h.
type GoWaiter struct{ g *C.struct_coroi_gowaiter }

// NewGoWaiter is for a goroutine that s.GoWaiters names by its id.
func (s *Scheduler) NewGoWaiter(id uint32, bytes uintptr) (GoWaiter, Status) {
	crossing()
	return newGoWaiter(C.coroi_gowaiter_new(s.c, C.uint32_t(id), nil, 0, C.size_t(bytes)))
}

// NewGoWaiter is for the body j, which is sent an event.
func (j Joinable) NewGoWaiter(bytes uintptr) (GoWaiter, Status) {
	crossing()
	return newGoWaiter(C.coroi_gowaiter_new(nil, 0, j.r, C.uint32_t(j.gen>>genShift), C.size_t(bytes)))
}

func newGoWaiter(g *C.struct_coroi_gowaiter) (GoWaiter, Status) {
	if g == nil {
		return GoWaiter{}, NoMemory
	}
	return GoWaiter{g}, OK
}

// Value is where its value lies.
func (g GoWaiter) Value() unsafe.Pointer {
	return unsafe.Add(unsafe.Pointer(g.g), C.sizeof_struct_coroi_gowaiter)
}

// Fired tells whether what it waits for has happened: then Status says how. A goroutine's is on its way through GoWaiters, too.
func (g GoWaiter) Fired() bool { return atomic.LoadUint32((*uint32)(&g.g.fired)) != 0 }

// Status is what the wait of one that is fired returns.
func (g GoWaiter) Status() Status { return Status(g.g.x.status) }

// Withdraw ends its wait. False: it is fired, or about to be.
func (g GoWaiter) Withdraw() bool {
	crossing()
	return bool(C.coroi_gowaiter_withdraw(g.g))
}

// Free frees it: it is fired and was in GoWaiters, or was withdrawn, or never waited.
func (g GoWaiter) Free() {
	crossing()
	C.coroi_gowaiter_free(g.g)
}

// GoWaiters takes the list of goroutines that have waited, and appends their ids. They may be freed then.
func (s *Scheduler) GoWaiters(ids []uint32) []uint32 {
	node := atomic.SwapUint64(s.gowaiters, 0)
	for node != 0 {
		g := *(**C.struct_coroi_gowaiter)(unsafe.Pointer(&node))
		node = uint64(g.next)
		ids = append(ids, uint32(g.id))
	}
	return ids
}
