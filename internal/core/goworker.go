//go:build cgo && linux && (amd64 || arm64)

package core

// #cgo noescape coroi_goworker_take
// #cgo nocallback coroi_goworker_take
// #cgo noescape coroi_threadless_park
// #cgo nocallback coroi_threadless_park
// #cgo noescape coroi_goworker_end
// #cgo nocallback coroi_goworker_end
// #cgo noescape coroi_fail_with
// #cgo nocallback coroi_fail_with
// #include "kernel/idle.h"
// #include "border/goworker.h"
// #include "kernel/wait.h"
import "C"

import (
	"sync/atomic"
	"unsafe"
)

// GoWorker is the goworker of a scheduler, for the goroutines that run its coroutines: goworker.h.
type GoWorker struct {
	c *worker
}

// GoWorkerItem is one thing that has happened to a coroutine of the goworker.
type GoWorkerItem struct {
	Kind, N  uint32
	Body     uint32 // of a start: the Go body that C has asked for; 0: Go has asked
	Canceled uint32 // not 0: coro_cancel was called for the coroutine
	Handle   uint64
	r        *record
}

// Joinable is the coroutine of a start.
func (i *GoWorkerItem) Joinable() Joinable {
	return Joinable{i.r, i.Handle >> genShift << genShift}
}

// Arg is where the argument of a coroutine that C has started lies, until End.
func (i *GoWorkerItem) Arg() unsafe.Pointer { return unsafe.Pointer(&cold(i.r).payload) }

// TakeArg copies the argument of a coroutine that C has started, of n bytes, and clears it there:
// its buffers are the body's.
func (j Joinable) TakeArg(to unsafe.Pointer, n uintptr) {
	payload := unsafe.Pointer(&cold(j.r).payload)
	copyValue(to, payload, n)
	clear(unsafe.Slice((*byte)(payload), n))
}

// GoBody is a bit of the ids of Go bodies. Ids of functions do not have it.
const GoBody = uint32(C.COROI_GO_BODY)

// ExportBody lets C start a Go body. NoMemory: there are too many.
func ExportBody(id uint32, argBytes, resultBytes, argBuffers, resultBuffers uint8) Status {
	crossing()
	return Status(C.coroi_goworker_body(C.uint32_t(id), C.uint8_t(argBytes),
		C.uint8_t(resultBytes), C.uint8_t(argBuffers), C.uint8_t(resultBuffers)))
}

const (
	GoWorkerStart = C.COROI_GOWORKER_START // the coroutine may start
	GoWorkerWake  = C.COROI_GOWORKER_WAKE  // the coroutine gets N permits
	GoWorkerEvent = C.COROI_GOWORKER_EVENT // its event inside coro may have come; and N permits
)

// EndCanceled is a flag of an end.
const EndCanceled = uint8(C.COROI_F_CANCELED)

// GoWorker is the scheduler's goworker.
func (s *Scheduler) GoWorker() GoWorker {
	return GoWorker{s.worker(uint32(s.c.workers))}
}

// HasItems tells whether Take would return items. It is ordered with nothing.
func (l GoWorker) HasItems() bool {
	return atomic.LoadUint64((*uint64)(unsafe.Pointer(&l.c.inbox))) != 0 ||
		atomic.LoadUint64((*uint64)(unsafe.Pointer(&l.c.undelivered.first))) != 0
}

// Take is coroi_goworker_take: one caller at a time, while the goworker is awake.
func (l GoWorker) Take(items []GoWorkerItem) []GoWorkerItem {
	crossing()
	// The address is taken in the call: so cgo checks the slice alone, not all that it lies in.
	n := C.coroi_goworker_take(l.c,
		(*C.struct_coroi_goworker_item)(unsafe.Pointer(&items[0])), C.uint32_t(len(items)))
	return items[:n]
}

// Park is coroi_threadless_park. True: the goworker sleeps, until Claimed returns true.
func (l GoWorker) Park() bool {
	crossing()
	return bool(C.coroi_threadless_park(l.c))
}

// IsClaimed tells whether Claimed would return true. It changes nothing.
func (l GoWorker) IsClaimed() bool {
	return atomic.LoadUint32((*uint32)(unsafe.Pointer(&l.c.ev))) == C.COROI_EV_WOKEN
}

// Claimed tells, once, that the goworker was woken. The caller keeps it apart from Park, which
// waits for the same word.
func (l GoWorker) Claimed() bool {
	ev := (*uint32)(unsafe.Pointer(&l.c.ev))
	return atomic.CompareAndSwapUint32(ev, C.COROI_EV_WOKEN, C.COROI_EV_NONE)
}

// Fail comes before End, without a result: the body has ended with an error. C joiners get its
// code and text.
func (l GoWorker) Fail(j Joinable, code int32, text string) {
	crossing()
	C.coroi_fail_with(j.r, C.int32_t(code), (*C.char)(unsafe.Pointer(unsafe.StringData(text))),
		C.size_t(len(text)))
}

// End is coroi_goworker_end. result: n bytes for a C joiner.
func (l GoWorker) End(j Joinable, flags uint8, result unsafe.Pointer, n uintptr) {
	if n > 0 {
		payload := unsafe.Pointer(&cold(j.r).payload)
		copy(unsafe.Slice((*byte)(payload), n), unsafe.Slice((*byte)(result), n))
	}
	crossing()
	C.coroi_goworker_end(l.c, j.r, C.uint8_t(flags))
}

// SetFull has coro_wake refuse more permits for j, or take them again: remote_wake in wait.c looks.
// j has not ended, and does not end meanwhile.
func (l GoWorker) SetFull(j Joinable, full bool) {
	var permits uint32
	if full {
		permits = permitsMax
	}
	atomic.StoreUint32((*uint32)(unsafe.Pointer(&j.r.permits)), permits)
}

// CountEnd has Live count a coroutine no more. The call comes after End, when all waiters for that
// end have been told. A daemon's end is counted among those of daemons first: coroi_others in
// life.c.
func (l GoWorker) CountEnd(daemon bool) {
	if daemon {
		atomic.AddUint64((*uint64)(unsafe.Pointer(&l.c.daemons.ended)), 1)
	}
	atomic.AddUint64((*uint64)(unsafe.Pointer(&l.c.ended)), 1)
}

// BeginPending is coroi_pending_begin: n pending-work tokens are held. EndPending ends one.
func (s *Scheduler) BeginPending(n uint32) {
	atomic.AddUint64((*uint64)(unsafe.Pointer(&s.c.activity)), uint64(n)*C.COROI_PENDING)
}

// EndPending is coroi_pending_end.
func (s *Scheduler) EndPending() {
	crossing()
	C.coroi_pending_end(s.c)
}

// PrepareBody makes one coroutine with a Go body. The submitter is held.
func (p *Submitter) PrepareBody(resultBytes uint8, daemon bool) (Joinable, Status) {
	r := p.record()
	if r == nil {
		return Joinable{}, NoMemory
	}
	goworker := uint32(p.sched.c.workers)
	spec := Spec{ResultBytes: resultBytes}
	if daemon {
		spec.Flags = Daemon
	}
	fill(r, &spec, goworker, nil)
	p.sched.mark(r, &spec)
	return Joinable{r, reveal(r, 0)}, OK
}

// StartBody hands a coroutine that PrepareBody has made to the goworker.
func (p *Submitter) StartBody(j Joinable) {
	p.sched.send(j.r, uint32(p.sched.c.workers))
}

// JoinedEnd tells, after JoinBy, whether the end has come. Then the joiner takes the result by
// TakeJoined.
func (j Joinable) JoinedEnd() bool { return atomic.LoadUint64(joinWord(j.r)) == j.gen|joinTaken }

// TakeJoined is Take for the joiner, after JoinedEnd.
func (j Joinable) TakeJoined(result unsafe.Pointer, n uintptr) (Status, *Failure) {
	return j.collect(result, n)
}
