//go:build cgo && linux && (amd64 || arm64)

package csrc

// #cgo noescape coroi_go_inside
// #cgo nocallback coroi_go_inside
// #cgo noescape coroi_call_fail
// #cgo nocallback coroi_call_fail
// #include "kernel/gocall.h"
// #include "kernel/idle.h"
// #include "kernel/life.h"
//
// // For a pointer to C's memory cgo would look each time where it leads.
// static inline _Bool work(uintptr_t w) { return coroi_work((struct coroi_worker *)w); }
//
// void coroGoServe(struct coroi_worker *w);
import "C"

import (
	"sync/atomic"
	"unsafe"

	"github.com/organzine/coro/internal/asm"
)

func init() { C.coroi_go_register(C.coroi_go_serve(C.coroGoServe)) }

// What a call can come to, besides OK, Invalid, Perm and Canceled.
const (
	Failed = Status(C.CORO_EFAILED)
	TooBig = Status(C.CORO_ETOOBIG)
)

// A Call is a coroutine's call of a Go function. It lies on the coroutine's stack, which waits.
type Call C.struct_coroi_call

// inline makes the inline calls of a worker.
var inline func(Calls)

// RegisterInline sets the function that makes the inline calls of a worker, on the worker's thread,
// until Next says that there will be no more. The function must not panic. Package coro calls
// RegisterInline once, in an init function: a second call panics.
func RegisterInline(f func(Calls)) {
	if inline != nil {
		panic("csrc: RegisterInline was called before")
	}
	inline = f
}

//export coroGoServe
func coroGoServe(w *worker) {
	crossing()
	inline(Calls{w, w.inline_calls})
}

// Calls are the inline calls of a worker that are to be made now.
type Calls struct {
	w    *worker
	made C.uint64_t // in the worker's count, those of before
}

// Next goes on with coroutines, all calls having been made, until others are to be made. False: the worker has ended. It is a call of C,
// which costs half of a call from C.
func (l *Calls) Next() bool {
	l.w.in_go = 0
	crossing()
	more := bool(C.work(C.uintptr_t(uintptr(unsafe.Pointer(l.w)))))
	l.made = l.w.inline_calls
	crossing()
	return more
}

// ID is that of the scheduler.
func (l Calls) ID() uint32 { return uint32(l.w.sched.bell.go_id) - 1 }

// Len is how many there are. At is one of them.
func (l Calls) Len() int { return int(l.w.calls_count) }
func (l Calls) At(i int) *Call {
	return (*Call)(unsafe.Add(unsafe.Pointer(l.w.calls), uintptr(i)*C.sizeof_struct_coroi_call))
}

// Begin has others see that c, which is At(i), is being made. They are made in their order.
func (l Calls) Begin(i int, c *Call) {
	l.w.in_go = c.id
	l.w.inline_calls = l.made + C.uint64_t(i) + 1
}

// Begun is how many were begun.
func (l Calls) Begun() int { return int(l.w.inline_calls - l.made) }

// An InlineCall is what a worker's thread does in Go.
type InlineCall struct {
	ID    uint32 // the function that it calls now; 0: none
	Count uint64 // calls that it has begun
}

// SetID sets what Calls.ID returns for this scheduler. Nothing was spawned yet.
func (s *Scheduler) SetID(id uint32) { s.c.bell.go_id = C.uint32_t(id) + 1 }

// Inside tells whether the caller is inside an inline call of this scheduler's.
func (s *Scheduler) Inside() bool {
	crossing()
	return bool(C.coroi_go_inside(s.c))
}

// InlineCalls appends what each worker does.
func (s *Scheduler) InlineCalls(list []InlineCall) []InlineCall {
	for i := range s.Workers() {
		w := (*worker)(unsafe.Add(unsafe.Pointer(s.c.worker), uintptr(i)*C.sizeof_struct_coroi_worker))
		list = append(list, InlineCall{
			ID:    atomic.LoadUint32((*uint32)(unsafe.Pointer(&w.in_go))),
			Count: atomic.LoadUint64((*uint64)(unsafe.Pointer(&w.inline_calls))),
		})
	}
	return list
}

// ExportName lets C find a function by a name. NoMemory: it cannot.
func ExportName(name string, id uint32) Status {
	b := append([]byte(name), 0)
	crossing()
	return Status(C.coroi_go_name((*C.char)(unsafe.Pointer(&b[0])), C.size_t(len(name)), C.uint32_t(id)))
}

// ID is the function's number.
func (c *Call) ID() uint32 { return uint32(c.id) }

// Arg is where the argument lies, in C's memory, perhaps not aligned. ArgBytes is its length.
func (c *Call) Arg() unsafe.Pointer { return c.arg }
func (c *Call) ArgBytes() uintptr   { return uintptr(c.arg_bytes) }

// Result is where the result goes, nil if it is not wanted. Room is how many bytes it may have.
func (c *Call) Result() unsafe.Pointer { return c.result }
func (c *Call) Room() uintptr          { return uintptr(c.result_bytes) }

// End tells how the call ended, and the length of its result, or of what is expected.
func (c *Call) End(status Status, got uintptr) {
	c.status = C.int32_t(status)
	c.got = C.size_t(got)
}

// Fail ends the call with an error's text.
func (c *Call) Fail(text string) {
	crossing()
	C.coroi_call_fail((*C.struct_coroi_call)(c), (*C.char)(unsafe.Pointer(unsafe.StringData(text))), C.size_t(len(text)))
}

// IsCanceled tells whether the coroutine that calls was canceled. The call has not ended.
func (c *Call) IsCanceled() bool {
	const shift = 8 * (unsafe.Offsetof(record{}.canceled) - unsafe.Offsetof(record{}.class))
	return uint8(atomic.LoadUint64((*uint64)(unsafe.Pointer(&c.caller.class)))>>shift) != 0
}

// CallsCanceled tells, once, that a coroutine was canceled that may be calling.
func (s *Scheduler) CallsCanceled() bool {
	canceled := (*uint32)(unsafe.Pointer(&s.c.calls.canceled))
	return atomic.LoadUint32(canceled) != 0 && atomic.SwapUint32(canceled, 0) != 0
}

// HasCalls tells whether there are offloaded calls that nobody has taken.
func (s *Scheduler) HasCalls() bool {
	return atomic.LoadUint64((*uint64)(unsafe.Pointer(&s.c.calls.first))) != 0
}

// TakeCalls takes them all. The list is a Call and those that After leads to, in the order of calling.
func (s *Scheduler) TakeCalls() *Call {
	node := atomic.SwapUint64((*uint64)(unsafe.Pointer(&s.c.calls.first)), 0)
	list := uint64(0)
	for node != 0 {
		c := *(**Call)(unsafe.Pointer(&node))
		node, c.next, list = uint64(c.next), C.uint64_t(list), node
	}
	return *(**Call)(unsafe.Pointer(&list))
}

// After is the next one of the list, or nil.
func (c *Call) After() *Call {
	next := uint64(c.next)
	return *(**Call)(unsafe.Pointer(&next))
}

// Watch says whether somebody in Go looks at the list of calls. If nobody does, the bell is rung for the next one; those
// that are there already are to be looked at once more.
func (s *Scheduler) Watch(watched bool) {
	var unwatched uint32
	if !watched {
		unwatched = 1
	}
	asm.StoreSeq((*uint32)(unsafe.Pointer(&s.c.calls.unwatched)), unwatched)
}

// Complete is F6 of gocall.h: the call has ended, and is gone after this.
func (s *Scheduler) Complete(c *Call) {
	r := c.caller
	s.SendEvent(Joinable{r, uint64(r.wake) >> genShift << genShift})
	if atomic.AddUint64((*uint64)(unsafe.Pointer(&s.c.activity)), ^uint64(C.COROI_PENDING-1))>>16 == 0 {
		crossing()
		C.coroi_rested(s.c)
	}
}
