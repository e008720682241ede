package coro

import (
	"iter"
	"runtime"
	"sync/atomic"

	"github.com/organzine/coro/internal/asm"
)

// An executor is a goroutine that resumes the bodies of a lane in turn.
type executor struct {
	lane      *lane
	wakeup    chan struct{}
	queue     stealQueue
	slot      atomic.Pointer[Coroutine] // the one that was woken last: it runs next, ahead of the queue
	handovers int                       // how often that has happened since the queue had its turn
	random    uint32
	before    []uint32 // turns of the others when it had nothing last

	turns   uint32     // resumes; atomic, relaxed: the poller looks
	current *Coroutine // atomic, relaxed: likewise

	active bool   // with lane.mu
	seen   uint32 // turns at the poller's last look, with lane.mu
}

const handoverBudget = 256

// main resumes one after the other, until the lane is closed.
func (e *executor) main() {
	defer func() {
		if c := e.current; c != nil { // its body has called runtime.Goexit, which goes on in whoever resumed it
			storeCoroutine(&e.current, nil)
			c.carrier = nil
			c.end()
			go e.main()
		}
	}()
	// One frame only between the resume and the loop: after a switch the processor predicts no return rightly.
	for c := e.next(); c != nil; {
		if c.next == nil && !c.start() {
			c.end()
			c = e.next()
			continue
		}
		if c.exec != e {
			c.exec = e
		}
		storeCoroutine(&e.current, c)
		c.next()
		switch c.op {
		case opYield:
			// It is pushed and the next one taken. Where there is nothing but others in the queue this is done here, at once.
			q := &e.queue
			turn, head, tail := e.turns+1, q.head.Load(), atomic.LoadUint32(&q.tail)
			if n := tail - head; e.slot.Load() != nil || n == 0 || n >= uint32(len(q.ring)) || turn%laneTurns == 0 || e.lane.spare.Load() > 0 {
				e.push(c)
				break
			}
			storeUint32(&e.turns, turn)
			if e.handovers > 0 {
				e.handovers = 0
			}
			storeCoroutine(&q.ring[tail%uint32(len(q.ring))], c)
			c = loadCoroutine(&q.ring[head%uint32(len(q.ring))])
			taken := q.head.CompareAndSwap(head, head+1) // Q2
			asm.StoreReleaseAfterCAS(&q.tail, tail+1)    // Q1
			if taken {
				continue
			}
		case opWait:
			// Only now may others see that it waits: whoever wakes it may resume it at once.
			if !c.settle() {
				e.push(c)
			}
		case opEnd:
			storeCoroutine(&e.current, nil)
			c.end()
		}
		c = e.next()
	}
}

// push puts a runnable one at the back, and half of the queue on the lane's if there is no room.
func (e *executor) push(c *Coroutine) {
	if !e.queue.push(c) {
		e.lane.mu.Lock()
		for range len(e.queue.ring) / 2 {
			if c := e.queue.pop(); c != nil {
				e.lane.queue.push(c)
			}
		}
		e.lane.mu.Unlock()
		e.queue.push(c)
	}
	if e.lane.spare.Load() > 0 && e.queue.len() > 1 { // spare first: it is seldom written
		e.lane.feed()
	}
}

// hand puts one that has just been woken into the slot, so that a chain of wake-ups stays in cache; who was there goes to the back.
func (e *executor) hand(c *Coroutine) {
	if old := e.slot.Swap(c); old != nil {
		e.push(old)
	}
}

// next returns what to resume, and waits for it; nil: the lane is closed.
func (e *executor) next() *Coroutine {
	storeUint32(&e.turns, e.turns+1)
	if e.turns%laneTurns == 0 && !e.look() {
		return nil
	}
	for {
		if e.slot.Load() != nil && e.handovers < handoverBudget {
			if c := e.slot.Swap(nil); c != nil {
				e.handovers++
				return c
			}
		}
		if e.handovers > 0 {
			e.handovers = 0
		}
		if c := e.queue.pop(); c != nil {
			return c
		}
		if e.slot.Load() != nil {
			continue
		}
		storeCoroutine(&e.current, nil)
		if !e.find() && !e.idle() {
			return nil
		}
	}
}

// look is for what only comes up now and then. False: the lane is closed.
func (e *executor) look() bool {
	l := e.lane
	if l.extra.Load() <= 0 || l.extra.Add(-1) < 0 {
		e.share()
		return true
	}
	l.mu.Lock()
	if l.active <= l.most {
		l.mu.Unlock()
		return true
	}
	l.rescue(e) // it has stood in for another one, who goes on
	return e.rest()
}

// share takes this executor's part of what is on the lane's queue, and of what has come from the core. False: there is nothing.
func (e *executor) share() bool {
	l := e.lane
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drain()
	return e.shareLocked()
}

func (e *executor) shareLocked() bool {
	l := e.lane
	n := min(l.queue.len()/l.active+1, laneShare, l.queue.len())
	got := false
	for ; n > 0 && !e.queue.full(); n-- {
		e.queue.push(l.queue.pop())
		got = true
	}
	if l.queue.len() > 0 && l.spare.Load() > 0 {
		l.start()
	}
	return got
}

// find looks for work: on the lane's queue, with the others, and for a moment in the inbox.
func (e *executor) find() bool {
	if e.share() || e.steal() {
		return true
	}
	e.note()
	for range laneSpins {
		if e.lane.core.HasItems() {
			return e.share()
		}
		for range spinTurns {
		}
	}
	runtime.Gosched()
	return e.share() || e.steal() || e.stealSlot()
}

func (l *lane) all() []*executor {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.executors // only ever grows
}

// note remembers how far the others are.
func (e *executor) note() {
	e.before = e.before[:0]
	for _, v := range e.lane.all() {
		e.before = append(e.before, atomic.LoadUint32(&v.turns))
	}
}

// stealSlot takes what is in the slot of another one that has not moved since note.
func (e *executor) stealSlot() bool {
	for i, v := range e.lane.all() {
		if v == e || i >= len(e.before) || atomic.LoadUint32(&v.turns) != e.before[i] {
			continue
		}
		if c := v.slot.Load(); c != nil && v.slot.CompareAndSwap(c, nil) {
			e.queue.push(c)
			return true
		}
	}
	return false
}

// steal takes half of another one's queue.
func (e *executor) steal() bool {
	others := e.lane.all()
	e.random = e.random*1664525 + 1013904223
	for i := range others {
		v := others[(uint32(i)+e.random>>8)%uint32(len(others))]
		if v != e && e.queue.stealFrom(&v.queue) {
			return true
		}
	}
	return false
}

// idle sleeps until there is work. False: the lane is closed.
func (e *executor) idle() bool {
	l := e.lane
	l.mu.Lock()
	l.drain()
	if e.shareLocked() {
		l.mu.Unlock()
		return true
	}
	if l.active == 1 && !l.core.Park() {
		l.mu.Unlock()
		return true
	}
	return e.rest()
}

// rest sleeps until there is work, with nothing left to run. It unlocks mu. False: the lane is closed.
func (e *executor) rest() bool {
	l := e.lane
	storeCoroutine(&e.current, nil)
	l.active--
	l.spare.Add(1)
	e.active = false
	if l.closed {
		l.mu.Unlock()
		return false
	}
	l.idle = append(l.idle, e)
	l.mu.Unlock()
	for i := range e.queue.ring { // it is empty: what it has held may be garbage
		storeCoroutine(&e.queue.ring[i], nil)
	}
	_, open := <-e.wakeup
	return open
}

// A carrier is a goroutine that bodies run on, one after the other.
type carrier struct {
	next func() (struct{}, bool)
	stop func()
	body *Coroutine
}

func newCarrier() *carrier {
	k := &carrier{}
	k.next, k.stop = iter.Pull(k.run)
	return k
}

func (k *carrier) run(yield func(struct{}) bool) {
	for {
		k.body.yield = yield
		k.body.run()
		k.body = nil
		if !yield(struct{}{}) {
			return
		}
	}
}

// A stealQueue is a ring of runnable coroutines: its owner pushes to the back, and anybody takes from the front.
//
//	Q1  owner: writes the entry, then tail (a release)
//	Q2  anybody: reads head, tail (an acquire), the entry, then advances head by a compare-and-swap: if that succeeds nobody else
//	    has taken the entry, and the owner has not written over it, since it writes only where head has passed
type stealQueue struct {
	head atomic.Uint32
	_    [60]byte // head is the thieves' line too
	tail uint32
	ring [256]*Coroutine // atomic, relaxed
}

func (q *stealQueue) len() int   { return int(atomic.LoadUint32(&q.tail) - q.head.Load()) }
func (q *stealQueue) full() bool { return q.len() >= len(q.ring) }

// push is the owner's. False: there is no room.
func (q *stealQueue) push(c *Coroutine) bool {
	t := atomic.LoadUint32(&q.tail)
	if t-q.head.Load() >= uint32(len(q.ring)) {
		return false
	}
	storeCoroutine(&q.ring[t%uint32(len(q.ring))], c)
	asm.StoreRelease(&q.tail, t+1)
	return true
}

// pop takes one from the front, by Q2.
func (q *stealQueue) pop() *Coroutine {
	for {
		h := q.head.Load()
		if h == atomic.LoadUint32(&q.tail) {
			return nil
		}
		c := loadCoroutine(&q.ring[h%uint32(len(q.ring))])
		if q.head.CompareAndSwap(h, h+1) {
			return c
		}
	}
}

// stealFrom moves half of v's queue here, where there is nothing. Both are whole queues, and the caller owns this one.
func (q *stealQueue) stealFrom(v *stealQueue) bool {
	for {
		h := v.head.Load()
		n := atomic.LoadUint32(&v.tail) - h
		n -= n / 2
		if n == 0 || n > uint32(len(v.ring))/2 { // nothing, or head has moved meanwhile
			return false
		}
		t := atomic.LoadUint32(&q.tail)
		for i := range n {
			c := loadCoroutine(&v.ring[(h+i)%uint32(len(v.ring))])
			storeCoroutine(&q.ring[(t+i)%uint32(len(q.ring))], c)
		}
		if v.head.CompareAndSwap(h, h+n) {
			asm.StoreRelease(&q.tail, t+n)
			return true
		}
	}
}

// A ring is a queue without bounds.
type ring struct {
	buf  []*Coroutine // a power of two
	head int
	n    int
}

func (r *ring) len() int { return r.n }

func (r *ring) push(c *Coroutine) {
	if r.n == len(r.buf) {
		buf := make([]*Coroutine, max(64, 2*len(r.buf)))
		for i := range r.n {
			buf[i] = r.buf[(r.head+i)&(len(r.buf)-1)]
		}
		r.buf, r.head = buf, 0
	}
	r.buf[(r.head+r.n)&(len(r.buf)-1)] = c
	r.n++
}

func (r *ring) pop() *Coroutine {
	c := r.buf[r.head]
	r.buf[r.head] = nil
	r.head = (r.head + 1) & (len(r.buf) - 1)
	r.n--
	return c
}
