//go:build cgo && linux && (amd64 || arm64)

package csrc

// #cgo noescape coro_chan_send
// #cgo nocallback coro_chan_send
// #cgo noescape coro_chan_recv
// #cgo nocallback coro_chan_recv
// #cgo noescape coroi_gowaiter_new
// #cgo nocallback coroi_gowaiter_new
// #include "sync/gochan.h"
// #include "sync/select.h"
import "C"

import (
	"sync/atomic"
	"unsafe"

	"github.com/organzine/coro/internal/asm"
	"github.com/organzine/coro/internal/zero"
)

// TimedOut is also what a call returns that does not wait, and would have to.
const TimedOut = Status(C.CORO_ETIMEDOUT)

// Waits: the gowaiter waits from now on.
const Waits = Status(C.COROI_WAITS)

// byCall: a leaf of gowait.h has done nothing.
const byCall = C.COROI_BY_CALL

var _ [asm.NotCalled - byCall]struct{} // they are the same: a leaf without an object is not called
var _ [byCall - asm.NotCalled]struct{}

// A Chan is a coro_chan.
type Chan struct{ p *C.coro_chan }

// NewChan is coro_chan_new, shared.
func NewChan(bytes uintptr, capacity int) (Chan, Status) {
	var c Chan
	crossing()
	status := C.coro_chan_new(&c.p, C.size_t(bytes), C.size_t(capacity), 0)
	if status == C.CORO_OK {
		C.coroi_chan_keep(c.c()) // C frees no channel of Go's
	}
	return c, Status(status)
}

// c is the channel as an argument of C: a crossing. It panics for a zero value.
func (c Chan) c() *C.coro_chan {
	if c.p == nil {
		zero.Value("NewChan")
	}
	crossing()
	return c.p
}

// Address is the address by which C knows the channel.
func (c Chan) Address() uintptr { return uintptr(unsafe.Pointer(c.p)) }

// TrySend is coro_chan_send that does not wait.
func (c Chan) TrySend(value unsafe.Pointer) Status {
	if status := asm.Leaf(sendLeaf, unsafe.Pointer(c.p), value); status != byCall {
		return Status(status)
	}
	return Status(C.coro_chan_send(c.c(), value, 0))
}

// TryRecv is coro_chan_recv that does not wait.
func (c Chan) TryRecv(value unsafe.Pointer) Status {
	if status := asm.Leaf(recvLeaf, unsafe.Pointer(c.p), value); status != byCall {
		return Status(status)
	}
	return Status(C.coro_chan_recv(c.c(), value, 0))
}

var (
	sendLeaf = uintptr(unsafe.Pointer(C.coroi_chan_send_leaf))
	recvLeaf = uintptr(unsafe.Pointer(C.coroi_chan_recv_leaf))
)

func (c Chan) word(at uintptr) uint64 {
	return atomic.LoadUint64((*uint64)(unsafe.Add(unsafe.Pointer(c.p), at)))
}

func (c Chan) half(at uintptr) uint32 {
	return atomic.LoadUint32((*uint32)(unsafe.Add(unsafe.Pointer(c.p), at)))
}

// LenHint is Len without a lock: about how many values there are.
func (c Chan) LenHint() uint32 {
	out := c.half(C.COROI_CHAN_OUT) // first, since out never passes in
	return c.half(C.COROI_CHAN_IN) - out
}

func (c Chan) isClosed() bool { return c.half(C.COROI_CHAN_CLOSED)&0xff != 0 }

// MaySend is a hint: a value could be sent, and some more after it.
func (c Chan) MaySend(capacity int) bool {
	return capacity > 0 && c.LenHint() <= uint32(capacity/2) ||
		c.word(C.COROI_CHAN_RECEIVERS) != 0 || c.isClosed()
}

// MayRecv is a hint: a value could be received.
func (c Chan) MayRecv() bool {
	return c.LenHint() != 0 || c.word(C.COROI_CHAN_SENDERS) != 0 || c.isClosed()
}

// Send has a gowaiter send its value.
func (c Chan) Send(g GoWaiter) Status { return Status(C.coroi_chan_send_gowaiter(c.c(), g.g)) }

// Recv has a gowaiter receive a value.
func (c Chan) Recv(g GoWaiter) Status { return Status(C.coroi_chan_recv_gowaiter(c.c(), g.g)) }

// Close is coro_chan_close.
func (c Chan) Close() Status { return Status(C.coro_chan_close(c.c())) }

// Len is coro_chan_length.
func (c Chan) Len() int { return int(C.coro_chan_length(c.c())) }

// Destroy is coro_chan_free but for the memory.
func (c Chan) Destroy() Status { return Status(C.coroi_chan_destroy(c.c())) }

// Free frees the channel's memory, whether it was destroyed or not.
func (c Chan) Free() { C.coroi_chan_release(c.c()) }

// SelectMax is how many operations there may be in a select.
const SelectMax = C.CORO_CASES_MAX

// SelectBytes is how much of a gowaiter's memory a select from n operations needs, before the
// values.
func SelectBytes(n int) uintptr { return uintptr(C.coroi_select_bytes(C.uint32_t(n))) }

// SetCase sets the i-th operation of a gowaiter: to send the value that lies in the gowaiter's
// memory, or to receive it there.
func (g GoWaiter) SetCase(i int, c Chan, send bool, value unsafe.Pointer) {
	k := g.selectCase(i)
	*(*uintptr)(unsafe.Pointer(&k._chan)) = c.Address()
	if send {
		*(*uintptr)(unsafe.Pointer(&k.send)) = uintptr(value)
	} else {
		*(*uintptr)(unsafe.Pointer(&k.recv)) = uintptr(value)
	}
}

func (g GoWaiter) selectCase(i int) *C.coro_case {
	cases := unsafe.Pointer(C.coroi_select_cases(g.c()))
	return (*C.coro_case)(unsafe.Add(cases, i*C.sizeof_coro_case))
}

// Select has the gowaiter do one of its n operations.
func (g GoWaiter) Select(n int) Status {
	return Status(C.coroi_select_gowaiter(g.c(), C.uint32_t(n)))
}

// Selected is called when a select is done: which operation was done, and its status.
func (g GoWaiter) Selected() (int, Status) {
	i := int(C.coroi_select_done(g.c()))
	return i, Status(g.selectCase(i).status)
}

// A GoWaiter is a goroutine or a Go body that waits: gowait.h.
type GoWaiter struct{ g *C.struct_coroi_gowaiter }

// c is the gowaiter as an argument of C: a crossing.
func (g GoWaiter) c() *C.struct_coroi_gowaiter {
	crossing()
	return g.g
}

// NewGoWaiter makes a gowaiter for a goroutine that s.GoWaiters names by its id.
func (s *Scheduler) NewGoWaiter(id uint32, bytes uintptr) (GoWaiter, Status) {
	crossing()
	return newGoWaiter(C.coroi_gowaiter_new(s.c, C.uint32_t(id), nil, 0, C.size_t(bytes)))
}

// NewGoWaiter makes a gowaiter for the body j, which is sent an event.
func (j Joinable) NewGoWaiter(bytes uintptr) (GoWaiter, Status) {
	crossing()
	gen := C.uint32_t(j.gen >> genShift)
	return newGoWaiter(C.coroi_gowaiter_new(nil, 0, j.r, gen, C.size_t(bytes)))
}

func newGoWaiter(g *C.struct_coroi_gowaiter) (GoWaiter, Status) {
	if g == nil {
		return GoWaiter{}, NoMemory
	}
	return GoWaiter{g}, OK
}

// Value is the memory for the gowaiter's value.
func (g GoWaiter) Value() unsafe.Pointer {
	return unsafe.Add(unsafe.Pointer(g.g), C.sizeof_struct_coroi_gowaiter)
}

// Fired tells whether what the gowaiter waits for has happened: then Status says how. A goroutine's
// gowaiter is on its way through GoWaiters, too.
func (g GoWaiter) Fired() bool { return atomic.LoadUint32((*uint32)(&g.g.fired)) != 0 }

// Status is what the wait of a gowaiter that is fired returns.
func (g GoWaiter) Status() Status { return Status(g.g.x.status) }

// Withdraw ends the wait. False: the gowaiter is fired, or about to be.
func (g GoWaiter) Withdraw() bool { return bool(C.coroi_gowaiter_withdraw(g.c())) }

// Free frees the gowaiter. It is fired and was in GoWaiters, or was withdrawn, or never waited.
func (g GoWaiter) Free() { C.coroi_gowaiter_free(g.c()) }

// GoWaiters takes the list of goroutines that have waited, and appends their ids to ids. Their
// gowaiters may be freed then.
func (s *Scheduler) GoWaiters(ids []uint32) []uint32 {
	node := atomic.SwapUint64(s.gowaiters, 0)
	for node != 0 {
		g := *(**C.struct_coroi_gowaiter)(unsafe.Pointer(&node))
		node = uint64(g.next)
		ids = append(ids, uint32(g.id))
	}
	return ids
}
