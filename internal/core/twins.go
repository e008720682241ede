//go:build cgo && linux && (amd64 || arm64)

package core

// Seven steps of the protocols exist twice: in C, and here in Go, where a call of C would cost more
// than the step. Each pair is to do the same to the same memory. The tests are in twins_test.go.
//
//	C function                        Go function          step                      test
//	coroi_inbox_push (inbox.h)        pushNode             WKW1 of idle.c            TestTwinsPush
//	coroi_notify_pushed (activity.c)  Scheduler.pushed     WKW2 of idle.c            TestTwinsNotify
//	coroi_fill, coroi_fill_argument   fill                 a record is filled in     TestTwinsFill
//	  (record.h)
//	reveal (spawn.c)                  reveal               its handle becomes known  TestTwinsReveal
//	send (spawn.c)                    Scheduler.send       WKW1, WKW2: it goes home  TestTwinsSend
//	coroi_event_send_to (wait.c)      Scheduler.SendEvent  WKC1, WKC2 of wait.c      TestTwinsEvent
//	join, unregister (join.c)         Joinable.JoinBy,     JOI1 of join.c, and its   TestTwinsJoin
//	                                  Unjoin, Rejoin,      way back
//	                                  Register, Count
//
// The Go halves differ from C in one thing: they are sequentially consistent where C asks for less.

// #include "kernel/activity.h"
// #include "kernel/inbox.h"
// #include "kernel/wait.h"
import "C"

import (
	"sync/atomic"
	"unsafe"
)

// pushNode adds a node to the inbox of w: WKW1 of idle.c. link is the node's own link.
func pushNode(w *worker, node uint64, link *uint64) {
	inbox := (*uint64)(unsafe.Pointer(&w.inbox))
	for {
		head := atomic.LoadUint64(inbox)
		*link = head
		if atomic.CompareAndSwapUint64(inbox, head, node) {
			return
		}
	}
}

// pushed sees to it that somebody looks into the inbox of w, the worker with the number i: WKW2 of
// idle.c. It calls C only where a thread sleeps.
func (s *Scheduler) pushed(w *worker, i uint32) {
	sleepers := (*uint64)(unsafe.Pointer(&s.c.sleepers[i>>6]))
	hungry := (*uint32)(unsafe.Pointer(&s.c.hungry))
	if atomic.LoadUint64(sleepers)&(1<<(i&63)) == 0 &&
		(atomic.LoadUint32(hungry)&C.COROI_HUNGRY_ALONE == 0 || i == uint32(s.c.workers)) {
		return
	}
	// The thread that ends a pause wakes all workers afterwards: they find what was pushed
	// before this look at the mode.
	if atomic.LoadUint32((*uint32)(unsafe.Pointer(&s.c.mode))) != C.COROI_PAUSED {
		crossing()
		C.coroi_notify_pushed(w)
	}
}

// fill makes r a fresh coroutine of the worker home. Pointers are stored as integers: they are C's,
// and no business of the garbage collector.
func fill(r *record, spec *Spec, home uint32, arg unsafe.Pointer) {
	*(*uintptr)(unsafe.Pointer(&r.sp)) = 0
	*(*uintptr)(unsafe.Pointer(&r.fn)) = spec.Fn
	*(*uintptr)(unsafe.Pointer(&r.stack)) = 0
	*(*uint64)(unsafe.Pointer(&r.permits)) = uint64(home)<<32 | uint64(C.COROI_FRESH)<<48
	*(*uint64)(unsafe.Pointer(&r.class)) = uint64(spec.Class) |
		uint64(spec.ArgBytes)<<8 | uint64(spec.ResultBytes)<<16
	if n := spec.ArgBytes; n > 0 {
		payload := unsafe.Pointer(&cold(r).payload)
		if n == 8 {
			*(*uint64)(payload) = *(*uint64)(arg)
		} else {
			copy(unsafe.Slice((*byte)(payload), n), unsafe.Slice((*byte)(arg), n))
		}
	}
}

// reveal makes r, which is filled in, joinable: from now on r has a handle. It returns the
// generation, in its place in a handle.
func reveal(r *record, joiner uint64) uint64 {
	r.flags |= C.COROI_F_JOINABLE
	gen := uint64(r.wake) >> genShift << genShift
	atomic.StoreUint64(joinWord(r), gen|joiner)
	atomic.StoreUint64((*uint64)(unsafe.Pointer(&r.wake)), gen|escaped)
	return gen
}

// send has r, which is filled in, start on its home.
func (s *Scheduler) send(r *record, home uint32) {
	w := s.worker(home)
	node := uint64(uintptr(unsafe.Pointer(r))) | C.COROI_NODE_SPAWN
	pushNode(w, node, (*uint64)(unsafe.Pointer(&r.next)))
	s.pushed(w, home)
}

// SendEvent sends an event to j, a coroutine of s that waits inside coro: WKC1 and WKC2 of wait.c.
// It does nothing if j has ended.
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
		if old&C.COROI_WAKE_MASK == 0 {
			// racy: wherever the node is pushed, WKC3 sends it on
			home := uint32(j.r.home)
			w := s.worker(home)
			node := uint64(uintptr(unsafe.Pointer(j.r))) | C.COROI_NODE_WAKE
			pushNode(w, node, (*uint64)(unsafe.Pointer(&j.r.wake_next)))
			s.pushed(w, home)
		}
		return
	}
}

// JoinBy registers a coroutine of the same scheduler's goworker as the joiner of j: JOI1 of join.c.
// It returns false if the end has come, or somebody else joins j.
func (j Joinable) JoinBy(by Joinable) bool {
	return atomic.CompareAndSwapUint64(joinWord(j.r),
		j.gen, j.gen|joinCoroutine|uint64(uint32(by.Handle())))
}

// Unjoin takes JoinBy back. It returns false if the end has come.
func (j Joinable) Unjoin(by Joinable) bool { return j.unjoin(by, j.gen) }

// Rejoin is Unjoin, Register and Count in one step.
func (j Joinable) Rejoin(by Joinable, id uint32) bool {
	return j.unjoin(by, j.gen|joinGo|C.COROI_JOIN_COUNTED|uint64(id))
}

func (j Joinable) unjoin(by Joinable, word uint64) bool {
	return atomic.CompareAndSwapUint64(joinWord(j.r),
		j.gen|joinCoroutine|uint64(uint32(by.Handle())), word)
}

// Register asks for the id on the scheduler's list of the done: the end puts it there. It returns
// false if the end has come, or somebody else joins j.
func (j Joinable) Register(id uint32) bool {
	return atomic.CompareAndSwapUint64(joinWord(j.r), j.gen, j.gen|joinGo|uint64(id))
}

// Count sees to it that the end of j, for which the id is registered, holds a pending-work token.
// The caller that takes the id from the list ends the token by EndPending. Count returns false, and
// there is no token, if the end has come.
func (j Joinable) Count(id uint32) bool {
	word := j.gen | joinGo | uint64(id)
	return atomic.CompareAndSwapUint64(joinWord(j.r), word, word|C.COROI_JOIN_COUNTED)
}
