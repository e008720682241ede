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

// LaneItem is one thing that has happened to a coroutine of the lane, which is named by its slot and its handle.
type LaneItem struct {
	Kind, N, Slot uint32
	Canceled      uint32 // not 0: coro_cancel was called for it
	Handle        uint64
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

// PrepareBody makes one coroutine whose body is Go's, known by its slot. The port is held.
func (p *Port) PrepareBody(slot uint32, resultBytes uint8) (Joinable, Status) {
	if !p.spend() {
		return Joinable{}, NoMemory
	}
	r := p.take()
	if r == nil {
		p.credit++
		return Joinable{}, NoMemory
	}
	lane := uint32(p.sched.c.workers)
	spec := Spec{ResultBytes: resultBytes}
	fill(r, &spec, lane, nil)
	*(*uintptr)(unsafe.Pointer(&r.stack)) = uintptr(slot)
	r.flags = C.COROI_F_JOINABLE
	gen := uint64(r.wake) >> genShift << genShift
	atomic.StoreUint64(joinWord(r), gen)
	atomic.StoreUint64((*uint64)(unsafe.Pointer(&r.wake)), gen|escaped)
	return Joinable{r, gen}, OK
}

// StartBody hands what PrepareBody has made to the lane.
func (p *Port) StartBody(j Joinable) {
	lane := uint32(p.sched.c.workers)
	w := p.sched.worker(lane)
	pushNode(w, uint64(uintptr(unsafe.Pointer(j.r)))|C.COROI_NODE_SPAWN, (*uint64)(unsafe.Pointer(&j.r.next)))
	p.sched.pushed(w, lane)
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

// Body finds the slot of the lane's coroutine that a handle names. False: it is none of s's lane. It may have ended: then another
// is in the slot, or nothing, which its own handle tells.
func (s *Scheduler) Body(handle uint64) (slot uint32, ok bool) {
	index := uint32(handle)
	chunk := index >> C.COROI_CHUNK_INDEX_BITS
	if chunk >= C.COROI_CHUNKS_MAX {
		return 0, false
	}
	dir := (*[C.COROI_CHUNKS_MAX]uint64)(unsafe.Pointer(&C.coroi_chunk_dir))
	at := atomic.LoadUint64(&dir[chunk])
	place := index & (1<<C.COROI_CHUNK_INDEX_BITS - 1)
	if at == 0 || place == 0 {
		return 0, false
	}
	c := *(**C.struct_coroi_chunk)(unsafe.Pointer(&at))
	r := (*record)(unsafe.Add(unsafe.Pointer(c), uintptr(place)*C.sizeof_struct_coroi_rec))
	if unsafe.Pointer(c.owner) != unsafe.Pointer(s.c) || uint32(r.home) != uint32(s.c.workers) {
		return 0, false
	}
	return uint32(uintptr(unsafe.Pointer(r.stack))), true
}

// JoinBy registers a coroutine of the same scheduler's lane as the joiner: J1 of wait.c. False: the end has come, or somebody else joins.
func (j Joinable) JoinBy(by Joinable) bool {
	return atomic.CompareAndSwapUint64(joinWord(j.r), j.gen, j.gen|joinCoroutine|uint64(uint32(by.Handle())))
}

// Unjoin takes JoinBy back. False: the end has come.
func (j Joinable) Unjoin(by Joinable) bool { return j.unjoin(by, j.gen) }

// Rejoin is Unjoin and Register, with nobody in between.
func (j Joinable) Rejoin(by Joinable, slot uint32) bool {
	return j.unjoin(by, j.gen|joinGo|uint64(slot))
}

func (j Joinable) unjoin(by Joinable, word uint64) bool {
	return atomic.CompareAndSwapUint64(joinWord(j.r), j.gen|joinCoroutine|uint64(uint32(by.Handle())), word)
}

// JoinedEnd tells, after JoinBy, whether the end has come: then it is the joiner's to take by TakeJoined.
func (j Joinable) JoinedEnd() bool { return atomic.LoadUint64(joinWord(j.r)) == j.gen|joinTaken }

// TakeJoined is Take for who has JoinedEnd.
func (j Joinable) TakeJoined(result unsafe.Pointer, n uintptr) Status { return j.collect(result, n) }
