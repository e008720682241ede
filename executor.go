package coro

import (
	"iter"
	"runtime"
	"sync/atomic"

	"github.com/organzine/coro/internal/asm"
	"github.com/organzine/coro/internal/race"
	"github.com/organzine/coro/internal/spin"
	"github.com/organzine/coro/internal/steal"
	"github.com/organzine/coro/internal/table"
	"github.com/organzine/coro/internal/turnclock"
)

// An executor is a goroutine that resumes the bodies of a pool in turn.
type executor struct {
	pool      *executorPool
	wakeup    chan struct{}
	queue     steal.Queue[Coroutine]
	next      atomic.Pointer[Coroutine] // woken last: it runs next, ahead of the queue
	handovers uint32                    // times that next ran since the queue had its turn
	random    uint32
	before    []uint32 // turns of the others when this one had nothing last

	clock turnclock.Clock

	turns   uint32     // resumes; without order: the poller looks
	current *Coroutine // without order: the poller looks

	active bool   // with pool.mu
	seen   uint32 // turns at the poller's last look; with pool.mu
}

// main resumes one body after the other, until the pool is closed.
func (e *executor) main() {
	defer func() {
		// The body of current has called runtime.Goexit, which goes on in the goroutine
		// that resumed it.
		if c := e.current; c != nil {
			race.StorePointer(&e.current, nil)
			left := c.goroutine.leave()
			c.goroutine = nil
			c.end()
			left.look()
			go e.main()
		}
	}()
	// There is one frame only between the resume and the loop, since the processor predicts no
	// return rightly after a switch.
	for c := e.pick(); c != nil; {
		if c.next == nil && !c.start() {
			c.end()
			c = e.pick()
			continue
		}
		if c.exec != e {
			c.exec = e
		}
		race.StorePointer(&e.current, c)
		c.next()
		switch c.op {
		case opYield:
			// c is pushed, and the next one picked. If only the queue has others, this
			// is done here.
			turn := e.turns + 1
			head, tail := e.queue.Span()
			if n := tail - head; e.next.Load() != nil || n == 0 || n >= steal.Room ||
				e.clock.IsDue(turn) || e.pool.spare.Load() > 0 {
				e.push(c)
				break
			}
			race.StoreUint32(&e.turns, turn)
			if e.handovers > 0 {
				e.handovers = 0
			}
			var taken bool
			if c, taken = e.queue.Rotate(head, tail, c); taken {
				continue
			}
		case opWait:
			// Only now may others see that c waits: its waker may see to it that c is
			// resumed at once.
			if !c.publishWait() {
				e.push(c)
			}
		case opEnd:
			race.StorePointer(&e.current, nil)
			c.end()
		}
		c = e.pick()
	}
}

// push puts a runnable coroutine at the back of the queue. If there is no room, half of the queue
// goes to the pool's.
func (e *executor) push(c *Coroutine) {
	if !e.queue.Push(c) {
		e.pool.mu.Lock()
		for range steal.Room / 2 {
			if c := e.queue.Pop(); c != nil {
				e.pool.queue.Push(c)
			}
		}
		e.pool.mu.Unlock()
		e.queue.Push(c)
	}
	if e.pool.spare.Load() > 0 && e.queue.Len() > 1 { // spare first: it is seldom written
		e.pool.feed()
	}
}

// hand makes a coroutine that has just been woken the next one, so that a chain of wake-ups stays
// in cache. The former next one goes to the back of the queue.
func (e *executor) hand(c *Coroutine) {
	if old := e.next.Swap(c); old != nil {
		e.push(old)
	}
}

// pick returns the coroutine to resume, and waits for one. nil: the pool is closed.
func (e *executor) pick() *Coroutine {
	race.StoreUint32(&e.turns, e.turns+1)
	if e.clock.IsDue(e.turns) {
		if c, open := e.look(); c != nil || !open {
			return c
		}
	}
	for {
		if e.next.Load() != nil && e.handovers < e.clock.Every() {
			if c := e.next.Swap(nil); c != nil {
				e.handovers++
				return c
			}
		}
		if e.handovers > 0 {
			e.handovers = 0
		}
		if c := e.queue.Pop(); c != nil {
			return c
		}
		if e.next.Load() != nil {
			continue
		}
		race.StorePointer(&e.current, nil)
		if !e.find() && !e.idle() {
			return nil
		}
	}
}

// look does what has to be done now and then: it lets other goroutines run, takes from an executor
// that has far more to do, shares, or lets e retire. It returns what is to run next, if that has
// come from outside. False: the pool is closed.
func (e *executor) look() (next *Coroutine, open bool) {
	if _, letsGo := e.clock.Look(e.turns); letsGo {
		e.clock.Gosched()
		e.stir()
		e.clock.GoOn()
	}
	p := e.pool
	if p.extra.Load() <= 0 || p.extra.Add(-1) < 0 {
		return e.letIn(), true
	}
	p.mu.Lock()
	if p.active <= p.most {
		p.mu.Unlock()
		return nil, true
	}
	p.rescue(e) // e has stood in for another executor, which goes on
	return nil, e.rest()
}

// letIn takes in what has come from the core, and returns the first of that, to run next. The
// others are shared; where turns are long they are not, as behind the queue they would wait for
// long: each is let in at a look. If nothing has come, and the queue has no room for any of the
// pool's, the first of the pool's runs next: when that yields, half of the queue goes to the pool.
func (e *executor) letIn() (first *Coroutine) {
	p := e.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drain()
	if p.come.Len() > 0 {
		first = p.come.Pop()
	} else if p.queue.Len() > 0 && e.queue.IsFull() {
		first = p.queue.Pop()
	}
	if e.clock.TurnsAreLong() && p.come.Len() > 0 {
		e.fillLocked(min(p.queue.Len(), poolShare), p.queue.Pop)
	} else {
		e.shareLocked()
	}
	return first
}

// stir takes from another executor if that has far more to do. All are busy then: nobody steals.
func (e *executor) stir() {
	others := e.pool.all()
	v := others[e.roll()%uint32(len(others))]
	if own, his := e.queue.Len(), v.queue.Len(); v != e && his > 2*own+stirLess {
		e.queue.StealFrom(&v.queue, uint32(his-own)/2)
	}
}

// roll returns a random number below 2²⁴.
func (e *executor) roll() uint32 {
	e.random = e.random*1664525 + 1013904223
	return e.random >> 8
}

// share takes the executor's part of the pool's queue, and of what has come from the core. False:
// there is nothing.
func (e *executor) share() bool {
	p := e.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drain()
	return e.shareLocked()
}

func (e *executor) shareLocked() bool {
	p := e.pool
	return e.fillLocked(min(p.waiting()/p.active+1, poolShare, p.waiting()), p.pop)
}

// fillLocked puts n that it pops into the executor's queue, as far as there is room. If any body is
// left for that, one more executor works. False: it has popped none.
func (e *executor) fillLocked(n int, pop func() *Coroutine) (got bool) {
	for ; n > 0 && !e.queue.IsFull(); n-- {
		e.queue.Push(pop())
		got = true
	}
	if p := e.pool; p.waiting() > 0 && p.spare.Load() > 0 {
		p.start()
	}
	return got
}

// find looks for work: on the pool's queue, with the other executors, and for a moment in the
// inbox.
func (e *executor) find() bool {
	if e.share() || e.steal() {
		return true
	}
	e.note()
	for range poolSpins {
		if e.pool.core.HasItems() {
			return e.share()
		}
		for range spin.Turns {
		}
	}
	runtime.Gosched()
	return e.share() || e.steal() || e.stealNext()
}

func (p *executorPool) all() []*executor {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.executors // only ever grows
}

// note remembers how many turns the others have made.
func (e *executor) note() {
	e.before = e.before[:0]
	for _, v := range e.pool.all() {
		e.before = append(e.before, atomic.LoadUint32(&v.turns))
	}
}

// stealNext takes the next one of an executor that has not moved since note.
func (e *executor) stealNext() bool {
	for i, v := range e.pool.all() {
		if v == e || i >= len(e.before) || atomic.LoadUint32(&v.turns) != e.before[i] {
			continue
		}
		if c := v.next.Load(); c != nil && v.next.CompareAndSwap(c, nil) {
			e.queue.Push(c)
			return true
		}
	}
	return false
}

// steal takes half of another executor's queue.
func (e *executor) steal() bool {
	others := e.pool.all()
	first := e.roll()
	for i := range others {
		v := others[(uint32(i)+first)%uint32(len(others))]
		if v != e && e.queue.StealFrom(&v.queue, steal.Room) {
			return true
		}
	}
	return false
}

// idle sleeps until there is work. False: the pool is closed.
func (e *executor) idle() bool {
	p := e.pool
	p.mu.Lock()
	p.drain()
	if e.shareLocked() {
		p.mu.Unlock()
		return true
	}
	if p.active == 1 && !p.core.Park() {
		p.mu.Unlock()
		return true
	}
	return e.rest()
}

// rest sleeps until there is work; e has nothing left to run. It unlocks mu. False: the pool is
// closed.
func (e *executor) rest() bool {
	p := e.pool
	race.StorePointer(&e.current, nil)
	p.active--
	p.spare.Add(1)
	e.active = false
	if p.closed {
		p.mu.Unlock()
		return false
	}
	p.idle = append(p.idle, e)
	p.mu.Unlock()
	e.queue.Forget()
	_, open := <-e.wakeup
	return open
}

// A bodyGoroutine runs bodies, one after the other.
type bodyGoroutine struct {
	next func() (struct{}, bool)
	stop func()
	body *Coroutine

	owner uint64    // the body, as the owner of a lock
	holds heldLocks // by the body
	budget
}

// bodyGoroutines has the goroutines that run bodies, by asm.Goroutine.
var bodyGoroutines table.Words[bodyGoroutine]

func newBodyGoroutine() *bodyGoroutine {
	k := &bodyGoroutine{budget: newBudget()}
	k.next, k.stop = iter.Pull(k.run)
	return k
}

func (k *bodyGoroutine) run(yield func(struct{}) bool) {
	me := asm.Goroutine()
	bodyGoroutines.Put(me, k)
	defer bodyGoroutines.Remove(me) // also after a runtime.Goexit
	for {
		k.body.yield = yield
		k.owner = k.body.join.Owner()
		k.body.run()
		k.body = nil
		if !yield(struct{}{}) {
			return
		}
	}
}
