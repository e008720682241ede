//go:build cgo && linux && (amd64 || arm64)

package core

// #cgo noescape coroi_go_inside
// #cgo nocallback coroi_go_inside
// #cgo noescape coroi_call_fail
// #cgo nocallback coroi_call_fail
// #cgo noescape coroi_calls_sleep
// #cgo nocallback coroi_calls_sleep
// #cgo noescape coroi_calls_rouse
// #cgo nocallback coroi_calls_rouse
// #cgo noescape coroi_deadline_set
// #cgo nocallback coroi_deadline_set
// #cgo noescape coroi_deadline_forget
// #cgo nocallback coroi_deadline_forget
// #include "border/state.h"
// #include "kernel/idle.h"
// #include "kernel/life.h"
// #include "kernel/wait.h"
//
// // work takes an integer: cgo would check at each call where a pointer leads.
// static inline _Bool work(uintptr_t w) { return coroi_work((struct coroi_worker *)w); }
//
// void coroGoServe(struct coroi_worker *w);
import "C"

import (
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/organzine/coro/internal/asm"
)

// gocall.go - the Go side of calls into Go.

func init() { C.coroi_go_register(C.coroi_go_serve(C.coroGoServe)) }

// Statuses of a call, besides OK, Invalid, Perm and Canceled.
const (
	Failed = Status(C.CORO_EFAILED)
	TooBig = Status(C.CORO_ETOOBIG)
)

// borderOf is what the border has in a scheduler (border/state.h).
func borderOf(s *C.coro_scheduler) *C.struct_coroi_border {
	return (*C.struct_coroi_border)(unsafe.Pointer(&s.border))
}

func (s *Scheduler) border() *C.struct_coroi_border { return borderOf(s.c) }

// A Call is a coroutine's call of a Go function. It lies on the stack of the coroutine, which
// waits.
type Call C.struct_coroi_call

// inline makes the inline calls of a worker.
var inline func(Calls)

// RegisterInline sets the function that makes the inline calls of a worker, on the worker's thread,
// until Next says that there will be no more. The function must not panic. Package coro calls
// RegisterInline once, in an init function: a second call panics.
func RegisterInline(f func(Calls)) {
	if inline != nil {
		panic("core: RegisterInline was called before")
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
	made C.uint64_t // the worker's count of calls before these
}

// Next runs coroutines until calls are to be made again. All calls of l have been made. False: the
// worker has ended. Next is a call of C by Go, which costs half as much as a call of Go by C.
func (l *Calls) Next() bool {
	l.w.in_go = 0
	crossing()
	more := bool(C.work(C.uintptr_t(uintptr(unsafe.Pointer(l.w)))))
	l.made = l.w.inline_calls
	crossing()
	return more
}

// ID is the number of the scheduler: see SetID.
func (l Calls) ID() uint32 { return uint32(borderOf(l.w.sched).bell.go_id) - 1 }

// Len is the number of calls.
func (l Calls) Len() int { return int(l.w.calls.count) }

// At is call i.
func (l Calls) At(i int) *Call {
	return (*Call)(unsafe.Add(unsafe.Pointer(l.w.calls.list), uintptr(i)*C.sizeof_struct_coroi_call))
}

// Begin shows to others that c, which is At(i), is being made. Calls are made in their order.
func (l Calls) Begin(i int, c *Call) {
	l.w.in_go = c.id
	l.w.inline_calls = l.made + C.uint64_t(i) + 1
}

// Begun is the number of calls that were begun.
func (l Calls) Begun() int { return int(l.w.inline_calls - l.made) }

// An InlineCall is what a worker's thread does in Go.
type InlineCall struct {
	ID    uint32 // the function that the thread calls now; 0: none
	Count uint64 // calls that the thread has begun
}

// SetID sets what Calls.ID returns for this scheduler. No coroutine was spawned yet.
func (s *Scheduler) SetID(id uint32) { s.border().bell.go_id = C.uint32_t(id) + 1 }

// Inside tells whether the caller is inside an inline call of this scheduler.
func (s *Scheduler) Inside() bool {
	crossing()
	return bool(C.coroi_go_inside(s.c))
}

// InlineCallers returns the handles of the coroutines whose inline calls the calling thread makes:
// none of them goes on before all these calls have been made.
func (s *Scheduler) InlineCallers() (list []uint64) {
	if !s.Inside() {
		return nil
	}
	w := C.coroi_self()
	for i := range int(w.calls.count) {
		c := Calls{w: w}.At(i)
		list = append(list, c.Caller())
	}
	return list
}

// InlineCalls appends to the list what each worker does.
func (s *Scheduler) InlineCalls(list []InlineCall) []InlineCall {
	for i := range s.Workers() {
		w := s.worker(uint32(i))
		list = append(list, InlineCall{
			ID:    atomic.LoadUint32((*uint32)(unsafe.Pointer(&w.in_go))),
			Count: atomic.LoadUint64((*uint64)(unsafe.Pointer(&w.inline_calls))),
		})
	}
	return list
}

// ExportName lets C find a function by a name. NoMemory: there is no memory for the name.
func ExportName(name string, id uint32) Status {
	b := append([]byte(name), 0)
	crossing()
	return Status(C.coroi_go_name((*C.char)(unsafe.Pointer(&b[0])),
		C.size_t(len(name)), C.uint32_t(id)))
}

// Caller is the handle of the calling coroutine.
func (c *Call) Caller() uint64 {
	wake := atomic.LoadUint64((*uint64)(unsafe.Pointer(&c.caller.wake)))
	return Joinable{c.caller, wake >> genShift << genShift}.Handle()
}

// ID is the function's number.
func (c *Call) ID() uint32 { return uint32(c.id) }

// Arg is where the argument lies, in C's memory, perhaps not aligned.
func (c *Call) Arg() unsafe.Pointer { return c.arg }

// ArgBytes is the length of the argument.
func (c *Call) ArgBytes() uintptr { return uintptr(c.arg_bytes) }

// Result is where the result goes. nil: it is not wanted.
func (c *Call) Result() unsafe.Pointer { return c.result }

// Room is the number of bytes that there are for the result.
func (c *Call) Room() uintptr { return uintptr(c.result_bytes) }

// End sets how the call ended. got is the length of the result, or of the argument that the
// function expects.
func (c *Call) End(status Status, got uintptr) {
	c.status = C.int32_t(status)
	c.got = C.size_t(got)
}

// Fail ends the call with an error's text.
func (c *Call) Fail(text string) {
	crossing()
	C.coroi_call_fail((*C.struct_coroi_call)(c),
		(*C.char)(unsafe.Pointer(unsafe.StringData(text))), C.size_t(len(text)))
}

// IsCanceled tells whether the calling coroutine was canceled, and no shield section holds that
// off. The call has not ended.
func (c *Call) IsCanceled() bool {
	return c.canceled()&(C.COROI_C_CANCELED|C.COROI_C_SHIELDED) == C.COROI_C_CANCELED
}

// canceled is the byte of that name of the caller's record.
func (c *Call) canceled() uint64 {
	const shift = 8 * (unsafe.Offsetof(record{}.canceled) - unsafe.Offsetof(record{}.class))
	return atomic.LoadUint64((*uint64)(unsafe.Pointer(&c.caller.class))) >> shift & 0xff
}

// Shield is the deadline of the shield section in which the call was made, by the monotonic clock,
// in ns; 0: it was made in none. The call has not ended: its caller does not leave the section.
func (c *Call) Shield() uint64 {
	if c.canceled()&C.COROI_C_SHIELDED == 0 {
		return 0
	}
	extras := *(**C.struct_coroi_extras)(unsafe.Pointer(&cold(c.caller).anon0))
	return uint64(extras.shield.deadline)
}

// CallerID is the id under which Go hears of the end of the calling coroutine. False: Go does not
// hear of it. The call has not ended.
func (c *Call) CallerID() (id uint32, ok bool) {
	const shift = 8 * (unsafe.Offsetof(record{}.flags) - unsafe.Offsetof(record{}.permits))
	word := atomic.LoadUint64((*uint64)(unsafe.Pointer(&c.caller.permits)))
	if word>>shift&C.COROI_F_JOINABLE == 0 {
		return 0, false
	}
	join := atomic.LoadUint64(joinWord(c.caller))
	if join>>joinKindShift&7 != C.COROI_JOIN_GO ||
		uint32(join)&C.COROI_JOIN_INDEX_MASK == C.COROI_JOIN_LENDER {
		return 0, false
	}
	return uint32(join) & C.COROI_JOIN_INDEX_MASK &^ C.COROI_JOIN_COUNTED, true
}

// RegisterCauses names the function, one without argument and result, that fails with the text of
// why its caller was canceled. It is to be called before any scheduler is made.
func RegisterCauses(id uint32) { C.coroi_go_causes(C.uint32_t(id)) }

// SetDeadline says when the coroutine has to be done that will be started by StartFor with id.
// False: no memory.
func (s *Scheduler) SetDeadline(id uint32, in time.Duration) bool {
	crossing()
	return bool(C.coroi_deadline_set(s.c, C.uint32_t(id), C.uint64_t(max(in, 0))))
}

// ForgetDeadline is the end of SetDeadline. The id is nobody else's yet.
func (s *Scheduler) ForgetDeadline(id uint32) {
	crossing()
	C.coroi_deadline_forget(s.c, C.uint32_t(id))
}

// Now is coro_now.
func Now() uint64 {
	crossing()
	return uint64(C.coro_now())
}

// CallsCanceled tells, once, that a coroutine was canceled which may be calling a Go function.
func (s *Scheduler) CallsCanceled() bool {
	canceled := (*uint32)(unsafe.Pointer(&s.border().calls.canceled))
	return atomic.LoadUint32(canceled) != 0 && atomic.SwapUint32(canceled, 0) != 0
}

// HasCalls tells whether there are offloaded calls that were not taken.
func (s *Scheduler) HasCalls() bool {
	return atomic.LoadUint64((*uint64)(unsafe.Pointer(&s.border().calls.first))) != 0
}

// TakeCalls takes all offloaded calls, and returns the first. After leads from each to the next, in
// the order of calling.
func (s *Scheduler) TakeCalls() *Call {
	node := atomic.SwapUint64((*uint64)(unsafe.Pointer(&s.border().calls.first)), 0)
	list := uint64(0)
	for node != 0 {
		c := *(**Call)(unsafe.Pointer(&node))
		node, c.next, list = uint64(c.next), C.uint64_t(list), node
	}
	return *(**Call)(unsafe.Pointer(&list))
}

// After is the next call of the list, or nil.
func (c *Call) After() *Call {
	next := uint64(c.next)
	return *(**Call)(unsafe.Pointer(&next))
}

// A Watch says who looks at the list of calls.
type Watch uint32

const (
	Watched   = Watch(C.COROI_CALLS_WATCHED)   // a goroutine does
	Unwatched = Watch(C.COROI_CALLS_UNWATCHED) // the next call rings the bell
	Asleep    = Watch(C.COROI_CALLS_ASLEEP)    // the next call wakes the caller of SleepCalls
)

// Watch tells C who looks at the list of calls. Unless a goroutine does, the caller looks once more
// at calls that are there already.
func (s *Scheduler) Watch(by Watch) {
	asm.StoreSeq((*uint32)(unsafe.Pointer(&s.border().calls.unwatched)), uint32(by))
}

// CallsWatch is what Watch, SleepCalls, RouseCalls or a call has last set.
func (s *Scheduler) CallsWatch() Watch {
	return Watch(atomic.LoadUint32((*uint32)(unsafe.Pointer(&s.border().calls.unwatched))))
}

// SleepCalls is OFF8 of gocall.h, after Watch(Unwatched): the calling goroutine sleeps in C until
// the next call, or RouseCalls. It may return early. It returns how long the goroutine has then
// waited for Go to go on. slept: false if it did not sleep at all.
func (s *Scheduler) SleepCalls() (entry time.Duration, slept bool) {
	crossing()
	woken := uint64(C.coroi_calls_sleep(s.c))
	if woken == 0 {
		return 0, false
	}
	return time.Duration(Now() - woken), true
}

// RouseCalls ends a SleepCalls that has begun, or will: a goroutine looks at the list of calls.
func (s *Scheduler) RouseCalls() {
	crossing()
	C.coroi_calls_rouse(s.c)
}

// Complete is OFF6 of gocall.h. The call has ended, and its memory is gone afterwards.
func (s *Scheduler) Complete(c *Call) {
	r := c.caller
	s.SendEvent(Joinable{r, uint64(r.wake) >> genShift << genShift})
	activity := (*uint64)(unsafe.Pointer(&s.c.activity))
	if atomic.AddUint64(activity, ^uint64(C.COROI_PENDING-1))>>16 == 0 {
		crossing()
		C.coroi_rested(s.c)
	}
}
