// Package steal has the queues of executors, which are goroutines that run one thing after the
// other: those of Go bodies (package coro), and of actors (package actor).
package steal

import (
	"sync/atomic"
	"unsafe"

	"github.com/organzine/coro/internal/asm"
	"github.com/organzine/coro/internal/race"
)

// Room is how many a Queue has room for.
const Room = 256

// A Queue is a ring of what is ready to run: its owner pushes to the back, and all take from the
// front. The zero value is ready.
//
//	STL1  owner: writes the entry, then tail (a release)
//	STL2  taker: reads head, tail (an acquire) and the entry, then advances head by a
//	      compare-and-swap. If that succeeds no other taker has the entry, and the owner has not
//	      written over it, since the owner writes only where head has passed
type Queue[T any] struct {
	head  atomic.Uint32
	_     [60]byte // thieves write the line of head
	tail  uint32
	Alone bool     // there are no other takers. Set before the first push
	ring  [Room]*T // without order
}

// Len is how many there are: exact for the owner if it is Alone, else a moment ago.
func (q *Queue[T]) Len() int { return int(atomic.LoadUint32(&q.tail) - q.head.Load()) }

// IsFull tells whether there is no room for one more.
func (q *Queue[T]) IsFull() bool { return q.Len() >= Room }

// Push is for the owner. False: there is no room.
func (q *Queue[T]) Push(x *T) bool {
	t := atomic.LoadUint32(&q.tail)
	if t-q.head.Load() >= Room {
		return false
	}
	race.StorePointer(&q.ring[t%Room], x)
	asm.StoreRelease(&q.tail, t+1)
	return true
}

// Pop takes the first one, by STL2; nil: there is none.
func (q *Queue[T]) Pop() *T {
	for {
		h := q.head.Load()
		if h == atomic.LoadUint32(&q.tail) {
			return nil
		}
		x := race.LoadPointer(&q.ring[h%Room])
		if q.Alone {
			asm.StoreRelease((*uint32)(unsafe.Pointer(&q.head)), h+1)
			return x
		}
		if q.head.CompareAndSwap(h, h+1) {
			return x
		}
	}
}

// Span is where the entries are, for the owner's Rotate: it may if 0 < tail-head < Room.
func (q *Queue[T]) Span() (head, tail uint32) { return q.head.Load(), atomic.LoadUint32(&q.tail) }

// Rotate is Push and then Pop, for the owner. False: another taker was quicker, and x was pushed.
// The two are apart from Span, and small, so that both are inlined.
func (q *Queue[T]) Rotate(head, tail uint32, x *T) (first *T, taken bool) {
	race.StorePointer(&q.ring[tail%Room], x)
	first = race.LoadPointer(&q.ring[head%Room])
	taken = q.head.CompareAndSwap(head, head+1) // STL2
	asm.StoreReleaseAfterCAS(&q.tail, tail+1)   // STL1
	return first, taken
}

// StealFrom moves half of v's queue, and no more than most, to q, the caller's own, as far as there
// is room.
func (q *Queue[T]) StealFrom(v *Queue[T], most uint32) bool {
	for {
		h := v.head.Load()
		n := atomic.LoadUint32(&v.tail) - h
		n -= n / 2
		if n > Room/2 { // head has moved meanwhile
			return false
		}
		t := atomic.LoadUint32(&q.tail)
		n = min(n, most, Room-(t-q.head.Load()))
		if n == 0 {
			return false
		}
		for i := range n {
			x := race.LoadPointer(&v.ring[(h+i)%Room])
			race.StorePointer(&q.ring[(t+i)%Room], x)
		}
		if v.head.CompareAndSwap(h, h+n) {
			asm.StoreRelease(&q.tail, t+n)
			return true
		}
	}
}

// Forget is for the owner of an empty queue: what was in it may be garbage.
func (q *Queue[T]) Forget() {
	for i := range q.ring {
		race.StorePointer(&q.ring[i], nil)
	}
}

// A List is a queue without a bound, for one goroutine at a time. The zero value is ready.
type List[T any] struct {
	buf  []*T // a power of two
	head int
	n    int
}

// Len is how many there are.
func (l *List[T]) Len() int { return l.n }

// Push puts x at the back.
func (l *List[T]) Push(x *T) {
	if l.n == len(l.buf) {
		buf := make([]*T, max(64, 2*len(l.buf)))
		for i := range l.n {
			buf[i] = l.buf[(l.head+i)&(len(l.buf)-1)]
		}
		l.buf, l.head = buf, 0
	}
	l.buf[(l.head+l.n)&(len(l.buf)-1)] = x
	l.n++
}

// Pop takes the first one. There is one.
func (l *List[T]) Pop() *T {
	x := l.buf[l.head]
	l.buf[l.head] = nil
	l.head = (l.head + 1) & (len(l.buf) - 1)
	l.n--
	return x
}
