package actor

import (
	"sync/atomic"
	"unsafe"

	"github.com/organzine/coro/internal/asm"
	"github.com/organzine/coro/internal/race"
)

const queueRoom = 256

// A stealQueue is a ring of active actors: its owner pushes to the back, and all take from the
// front.
//
//	E1  owner: writes the entry, then tail (a release)
//	E2  taker: reads head, tail (an acquire) and the entry, then advances head by a
//	    compare-and-swap. If that succeeds no other taker has the entry, and the owner has not
//	    written over it, since the owner writes only where head has passed
type stealQueue struct {
	head  atomic.Uint32
	_     [60]byte // thieves write the line of head
	tail  uint32
	alone bool             // there are no other takers
	ring  [queueRoom]*slot // without order
}

func (q *stealQueue) len() int   { return int(atomic.LoadUint32(&q.tail) - q.head.Load()) }
func (q *stealQueue) full() bool { return q.len() >= len(q.ring) }

// push is for the owner. False: there is no room.
func (q *stealQueue) push(s *slot) bool {
	t := atomic.LoadUint32(&q.tail)
	if t-q.head.Load() >= queueRoom {
		return false
	}
	race.StorePointer(&q.ring[t%queueRoom], s)
	asm.StoreRelease(&q.tail, t+1)
	return true
}

// pop takes the first one, by E2.
func (q *stealQueue) pop() *slot {
	for {
		h := q.head.Load()
		if h == atomic.LoadUint32(&q.tail) {
			return nil
		}
		s := race.LoadPointer(&q.ring[h%queueRoom])
		if q.alone {
			asm.StoreRelease((*uint32)(unsafe.Pointer(&q.head)), h+1)
			return s
		}
		if q.head.CompareAndSwap(h, h+1) {
			return s
		}
	}
}

// stealFrom moves half of v's queue, and no more than most, to q, the caller's own, as far as there
// is room.
func (q *stealQueue) stealFrom(v *stealQueue, most uint32) bool {
	for {
		h := v.head.Load()
		n := atomic.LoadUint32(&v.tail) - h
		n -= n / 2
		if n > queueRoom/2 { // head has moved meanwhile
			return false
		}
		t := atomic.LoadUint32(&q.tail)
		n = min(n, most, queueRoom-(t-q.head.Load()))
		if n == 0 {
			return false
		}
		for i := range n {
			s := race.LoadPointer(&v.ring[(h+i)%queueRoom])
			race.StorePointer(&q.ring[(t+i)%queueRoom], s)
		}
		if v.head.CompareAndSwap(h, h+n) {
			asm.StoreRelease(&q.tail, t+n)
			return true
		}
	}
}

// A ring is a queue without a bound.
type ring struct {
	buf  []*slot // a power of two
	head int
	n    int
}

func (r *ring) push(s *slot) {
	if r.n == len(r.buf) {
		buf := make([]*slot, max(64, 2*len(r.buf)))
		for i := range r.n {
			buf[i] = r.buf[(r.head+i)&(len(r.buf)-1)]
		}
		r.buf, r.head = buf, 0
	}
	r.buf[(r.head+r.n)&(len(r.buf)-1)] = s
	r.n++
}

func (r *ring) pop() *slot {
	s := r.buf[r.head]
	r.buf[r.head] = nil
	r.head = (r.head + 1) & (len(r.buf) - 1)
	r.n--
	return s
}
