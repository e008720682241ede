//go:build cgo && linux && (amd64 || arm64)

package csrc

// #cgo noescape coroi_lane_take
// #cgo nocallback coroi_lane_take
// #cgo noescape coroi_lane_park
// #cgo nocallback coroi_lane_park
// #cgo noescape coroi_lane_end
// #cgo nocallback coroi_lane_end
// #include "idle.h"
// #include "lane.h"
// #include "wait.h"
import "C"

import (
	"sync/atomic"
	"unsafe"
)

// Lane is what goroutines that run coroutines with Go bodies see of the core: lane.h.
type Lane struct {
	c *worker
}

// LaneItem is one thing that has happened to a coroutine of the lane.
type LaneItem struct {
	Kind, N  uint32
	Body     uint32 // of a start: the Go body that C has asked for; 0: it was Go that asked
	Canceled uint32 // not 0: coro_cancel was called for it
	Handle   uint64
	r        *record
}

// Joinable and Arg are of a coroutine that C has started: itself, and where its argument lies until End.
func (i *LaneItem) Joinable() Joinable  { return Joinable{i.r, i.Handle >> genShift << genShift} }
func (i *LaneItem) Arg() unsafe.Pointer { return unsafe.Pointer(&cold(i.r).payload) }

// GoBody is what the ids of Go bodies have in common.
const GoBody = uint32(C.COROI_GO_BODY)

// ExportBody lets C start a Go body. NoMemory: there are too many.
func ExportBody(id uint32, argBytes, resultBytes uint8) Status {
	crossing()
	return Status(C.coroi_lane_body(C.uint32_t(id), C.uint8_t(argBytes), C.uint8_t(resultBytes)))
}

const (
	LaneStart = C.COROI_LANE_START // it may start
	LaneWake  = C.COROI_LANE_WAKE  // it gets N permits
	LaneEvent = C.COROI_LANE_EVENT // what it waits for inside coro may have happened; and N permits
)

// Flags of an end.
const EndAborted, EndCanceled = uint8(C.COROI_F_ABORTED), uint8(C.COROI_F_CANCELED)

// Lane is the scheduler's.
func (s *Scheduler) Lane() Lane {
	return Lane{(*worker)(unsafe.Add(unsafe.Pointer(s.c.worker), uintptr(s.c.workers)*C.sizeof_struct_coroi_worker))}
}

// HasItems tells whether Take would return any. It is not ordered with anything.
func (l Lane) HasItems() bool {
	return atomic.LoadUint64((*uint64)(unsafe.Pointer(&l.c.inbox))) != 0 ||
		atomic.LoadUint64((*uint64)(unsafe.Pointer(&l.c.unopened))) != 0
}

// Take is coroi_lane_take: one caller at a time, while the lane is awake.
func (l Lane) Take(items []LaneItem) []LaneItem {
	crossing()
	n := C.coroi_lane_take(l.c, (*C.struct_coroi_lane_item)(unsafe.Pointer(&items[0])), C.uint32_t(len(items)))
	return items[:n]
}

// Park is coroi_lane_park. True: the lane sleeps, until Claimed says otherwise.
func (l Lane) Park() bool {
	crossing()
	return bool(C.coroi_lane_park(l.c))
}

// IsClaimed tells whether Claimed may say so.
func (l Lane) IsClaimed() bool {
	return atomic.LoadUint32((*uint32)(unsafe.Pointer(&l.c.ev))) == C.COROI_EV_WOKEN
}

// Claimed tells, once, that somebody has woken the lane. Never while Park is called, which waits for the same word.
func (l Lane) Claimed() bool {
	return atomic.CompareAndSwapUint32((*uint32)(unsafe.Pointer(&l.c.ev)), C.COROI_EV_WOKEN, C.COROI_EV_NONE)
}

// End is coroi_lane_end for a coroutine that StartBody has made. result: n bytes for a C joiner.
func (l Lane) End(j Joinable, flags uint8, result unsafe.Pointer, n uintptr) {
	if n > 0 {
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&cold(j.r).payload)), n), unsafe.Slice((*byte)(result), n))
	}
	crossing()
	C.coroi_lane_end(l.c, j.r, C.uint8_t(flags))
}

// SetFull has coro_wake refuse j, which has not ended and is not about to, or not any more: mail, in wait.c, looks.
func (l Lane) SetFull(j Joinable, full bool) {
	var permits uint32
	if full {
		permits = permitsMax
	}
	atomic.StoreUint32((*uint32)(unsafe.Pointer(&j.r.permits)), permits)
}

// CountEnd is for after End, when all who wait for it have been told: now Live does not count it any more.
func (l Lane) CountEnd() { atomic.AddUint64((*uint64)(unsafe.Pointer(&l.c.ended)), 1) }

// BeginExt is coroi_ext_begin: n things that will wake something from outside, until EndExt for each.
func (s *Scheduler) BeginExt(n uint32) {
	atomic.AddUint64((*uint64)(unsafe.Pointer(&s.c.S)), uint64(n)*C.COROI_S_EXT)
}

// EndExt is coroi_ext_end.
func (s *Scheduler) EndExt() {
	crossing()
	C.coroi_ext_end(s.c)
}

// PrepareBody makes one coroutine whose body is Go's. The port is held.
func (p *Port) PrepareBody(resultBytes uint8) (Joinable, Status) {
	r := p.record()
	if r == nil {
		return Joinable{}, NoMemory
	}
	lane := uint32(p.sched.c.workers)
	spec := Spec{ResultBytes: resultBytes}
	fill(r, &spec, lane, nil)
	return Joinable{r, reveal(r, 0)}, OK
}

// StartBody hands what PrepareBody has made to the lane.
func (p *Port) StartBody(j Joinable) {
	p.sched.send(j.r, uint32(p.sched.c.workers))
}

// SendEvent is W1 and W2 of wait.c with an event, for a coroutine of s that waits inside coro. It does nothing if the coroutine has ended.
func (s *Scheduler) SendEvent(j Joinable) {
	word := (*uint64)(unsafe.Pointer(&j.r.wake))
	for {
		old := atomic.LoadUint64(word)
		if old>>genShift<<genShift != j.gen || old&escaped == 0 {
			return
		}
		if !atomic.CompareAndSwapUint64(word, old, old|C.COROI_EVENT) {
			continue
		}
		if old&C.COROI_MAIL_MASK == 0 {
			home := uint32(j.r.home) // racy: wherever it is pushed, W3 sends it on
			w := s.worker(home)
			pushNode(w, uint64(uintptr(unsafe.Pointer(j.r)))|C.COROI_NODE_MAIL, (*uint64)(unsafe.Pointer(&j.r.mail_next)))
			s.pushed(w, home)
		}
		return
	}
}

// JoinBy registers a coroutine of the same scheduler's lane as the joiner: J1 of join.c. False: the end has come, or somebody else joins.
func (j Joinable) JoinBy(by Joinable) bool {
	return atomic.CompareAndSwapUint64(joinWord(j.r), j.gen, j.gen|joinCoroutine|uint64(uint32(by.Handle())))
}

// Unjoin takes JoinBy back. False: the end has come.
func (j Joinable) Unjoin(by Joinable) bool { return j.unjoin(by, j.gen) }

// Rejoin is Unjoin, Register and Count, with nobody in between.
func (j Joinable) Rejoin(by Joinable, slot uint32) bool {
	return j.unjoin(by, j.gen|joinGo|C.COROI_JOIN_COUNTED|uint64(slot))
}

func (j Joinable) unjoin(by Joinable, word uint64) bool {
	return atomic.CompareAndSwapUint64(joinWord(j.r), j.gen|joinCoroutine|uint64(uint32(by.Handle())), word)
}

// JoinedEnd tells, after JoinBy, whether the end has come: then it is the joiner's to take by TakeJoined.
func (j Joinable) JoinedEnd() bool { return atomic.LoadUint64(joinWord(j.r)) == j.gen|joinTaken }

// TakeJoined is Take for who has JoinedEnd.
func (j Joinable) TakeJoined(result unsafe.Pointer, n uintptr) Status { return j.collect(result, n) }
