//go:build cgo && linux && (amd64 || arm64)

package csrc

// #cgo noescape coroi_goworker_take
// #cgo nocallback coroi_goworker_take
// #cgo noescape coroi_goworker_park
// #cgo nocallback coroi_goworker_park
// #cgo noescape coroi_goworker_end
// #cgo nocallback coroi_goworker_end
// #include "kernel/idle.h"
// #include "kernel/goworker.h"
// #include "kernel/wait.h"
import "C"

import (
	"sync/atomic"
	"unsafe"
)

// GoWorker is what goroutines that run coroutines with Go bodies see of the core: goworker.h.
type GoWorker struct {
	c *worker
}

// GoWorkerItem is one thing that has happened to a coroutine of the goworker.
type GoWorkerItem struct {
	Kind, N  uint32
	Body     uint32 // of a start: the Go body that C has asked for; 0: it was Go that asked
	Canceled uint32 // not 0: coro_cancel was called for it
	Handle   uint64
	r        *record
}

// Joinable and Arg are of a coroutine that C has started: itself, and where its argument lies until End.
func (i *GoWorkerItem) Joinable() Joinable  { return Joinable{i.r, i.Handle >> genShift << genShift} }
func (i *GoWorkerItem) Arg() unsafe.Pointer { return unsafe.Pointer(&cold(i.r).payload) }

// GoBody is what the ids of Go bodies have in common.
const GoBody = uint32(C.COROI_GO_BODY)

// ExportBody lets C start a Go body. NoMemory: there are too many.
func ExportBody(id uint32, argBytes, resultBytes uint8) Status {
	crossing()
	return Status(C.coroi_goworker_body(C.uint32_t(id), C.uint8_t(argBytes), C.uint8_t(resultBytes)))
}

const (
	GoWorkerStart = C.COROI_GOWORKER_START // it may start
	GoWorkerWake  = C.COROI_GOWORKER_WAKE  // it gets N permits
	GoWorkerEvent = C.COROI_GOWORKER_EVENT // what it waits for inside coro may have happened; and N permits
)

// Flags of an end.
const EndAborted, EndCanceled = uint8(C.COROI_F_ABORTED), uint8(C.COROI_F_CANCELED)

// GoWorker is the scheduler's.
func (s *Scheduler) GoWorker() GoWorker {
	return GoWorker{(*worker)(unsafe.Add(unsafe.Pointer(s.c.worker), uintptr(s.c.workers)*C.sizeof_struct_coroi_worker))}
}

// HasItems tells whether Take would return any. It is not ordered with anything.
func (l GoWorker) HasItems() bool {
	return atomic.LoadUint64((*uint64)(unsafe.Pointer(&l.c.inbox))) != 0 ||
		atomic.LoadUint64((*uint64)(unsafe.Pointer(&l.c.undelivered))) != 0
}

// Take is coroi_goworker_take: one caller at a time, while the goworker is awake.
func (l GoWorker) Take(items []GoWorkerItem) []GoWorkerItem {
	crossing()
	n := C.coroi_goworker_take(l.c, (*C.struct_coroi_goworker_item)(unsafe.Pointer(&items[0])), C.uint32_t(len(items)))
	return items[:n]
}

// Park is coroi_goworker_park. True: the goworker sleeps, until Claimed says otherwise.
func (l GoWorker) Park() bool {
	crossing()
	return bool(C.coroi_goworker_park(l.c))
}

// IsClaimed tells whether Claimed may say so.
func (l GoWorker) IsClaimed() bool {
	return atomic.LoadUint32((*uint32)(unsafe.Pointer(&l.c.ev))) == C.COROI_EV_WOKEN
}

// Claimed tells, once, that somebody has woken the goworker. Never while Park is called, which waits for the same word.
func (l GoWorker) Claimed() bool {
	return atomic.CompareAndSwapUint32((*uint32)(unsafe.Pointer(&l.c.ev)), C.COROI_EV_WOKEN, C.COROI_EV_NONE)
}

// End is coroi_goworker_end for a coroutine that StartBody has made. result: n bytes for a C joiner.
func (l GoWorker) End(j Joinable, flags uint8, result unsafe.Pointer, n uintptr) {
	if n > 0 {
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&cold(j.r).payload)), n), unsafe.Slice((*byte)(result), n))
	}
	crossing()
	C.coroi_goworker_end(l.c, j.r, C.uint8_t(flags))
}

// SetFull has coro_wake refuse j, which has not ended and is not about to, or not any more: a remote wake, in wait.c, looks.
func (l GoWorker) SetFull(j Joinable, full bool) {
	var permits uint32
	if full {
		permits = permitsMax
	}
	atomic.StoreUint32((*uint32)(unsafe.Pointer(&j.r.permits)), permits)
}

// CountEnd is for after End, when all who wait for it have been told: now Live does not count it any more.
func (l GoWorker) CountEnd() { atomic.AddUint64((*uint64)(unsafe.Pointer(&l.c.ended)), 1) }

// BeginPending is coroi_pending_begin: n things that will wake something from outside, until EndPending for each.
func (s *Scheduler) BeginPending(n uint32) {
	atomic.AddUint64((*uint64)(unsafe.Pointer(&s.c.activity)), uint64(n)*C.COROI_PENDING)
}

// EndPending is coroi_pending_end.
func (s *Scheduler) EndPending() {
	crossing()
	C.coroi_pending_end(s.c)
}

// PrepareBody makes one coroutine whose body is Go's. The submitter is held.
func (p *Submitter) PrepareBody(resultBytes uint8) (Joinable, Status) {
	r := p.record()
	if r == nil {
		return Joinable{}, NoMemory
	}
	goworker := uint32(p.sched.c.workers)
	spec := Spec{ResultBytes: resultBytes}
	fill(r, &spec, goworker, nil)
	return Joinable{r, reveal(r, 0)}, OK
}

// StartBody hands what PrepareBody has made to the goworker.
func (p *Submitter) StartBody(j Joinable) {
	p.sched.send(j.r, uint32(p.sched.c.workers))
}

// JoinedEnd tells, after JoinBy, whether the end has come: then it is the joiner's to take by TakeJoined.
func (j Joinable) JoinedEnd() bool { return atomic.LoadUint64(joinWord(j.r)) == j.gen|joinTaken }

// TakeJoined is Take for who has JoinedEnd.
func (j Joinable) TakeJoined(result unsafe.Pointer, n uintptr) Status { return j.collect(result, n) }
