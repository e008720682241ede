package coro

import (
	"sync"
	"sync/atomic"

	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/race"
	"github.com/organzine/coro/internal/steal"
	"github.com/organzine/coro/internal/table"
)

// An executorPool runs a scheduler's coroutines with Go bodies. The core sees it as one more worker
// (csrc/border/goworker.h): wake-ups, joins and the end go through it as through the others. Here
// it is a set of executors, goroutines that resume bodies in turn. Each has a queue and a next one
// of its own, from which the others steal when they have nothing.
//
// The pool is awake in the core's sense while one executor is active. The last executor to become
// idle parks the pool, with a second look; a caller that has something for a parked pool rings the
// bell, and the poller starts an executor. While the pool is awake, the poller looks around now and
// then, as a worker on standby does: so a body that computes, or waits in Go, keeps its executor
// and nothing else.
type executorPool struct {
	s      *Scheduler
	core   core.GoWorker
	most   int                    // executors, besides those that stand in for stuck ones
	bodies table.Table[Coroutine] // by the number of their records
	// executors idle or not made yet: an executor with a surplus wakes one
	spare atomic.Int32
	quits atomic.Bool // the scheduler is being canceled
	ends  bodyEnds
	extra atomic.Int32 // executors that are to retire, by the poller's last look

	mu         sync.Mutex
	come       steal.List[Coroutine] // runnable coroutines that have come from the core
	queue      steal.List[Coroutine] // and others that no executor has
	turn       bool                  // see pop
	executors  []*executor           // that exist
	idle       []*executor
	active     int // executors that are not idle; 0: the pool sleeps
	goroutines []*bodyGoroutine
	closed     bool
	items      [itemsAtOnce]core.GoWorkerItem
}

// A bodyEnds counts the ends of bodies that came to no result.
type bodyEnds struct {
	failed, panicked atomic.Uint64 // with an error, and of those by a panic
	canceled, closed atomic.Uint64 // before they started: alone, and with the scheduler
}

func (e *bodyEnds) unstarted(closed bool) {
	if closed {
		e.closed.Add(1)
	} else {
		e.canceled.Add(1)
	}
}

func (p *executorPool) init(s *Scheduler, executors int) {
	p.s, p.core, p.most = s, s.core.GoWorker(), executors
	p.spare.Store(int32(executors))
}

// claimed has an executor work if the pool was woken. The poller calls it.
func (p *executorPool) claimed() bool {
	if !p.core.IsClaimed() {
		return false
	}
	p.mu.Lock() // an executor that parks, and then finds work, takes the claim itself
	defer p.mu.Unlock()
	if !p.core.Claimed() {
		return false
	}
	p.start()
	return true
}

// start has one more executor work, an idle or a new one. With mu held.
func (p *executorPool) start() {
	p.active++
	p.spare.Add(-1)
	if n := len(p.idle); n > 0 {
		e := p.idle[n-1]
		p.idle = p.idle[:n-1]
		e.active = true
		e.wakeup <- struct{}{}
		return
	}
	e := &executor{pool: p, wakeup: make(chan struct{}, 1), active: true}
	p.executors = append(p.executors, e)
	go e.main()
}

// feed has one more executor work, since there is a surplus.
func (p *executorPool) feed() {
	p.mu.Lock()
	if p.spare.Load() > 0 {
		p.start()
	}
	p.mu.Unlock()
}

// deliver takes in what has come from the core: afterwards no executor is in the middle of it. It
// is called by a body.
func (p *executorPool) deliver() {
	p.mu.Lock()
	p.drain()
	p.mu.Unlock()
}

// drain takes what has come from the core. With mu held, by an active executor.
func (p *executorPool) drain() {
	for p.core.HasItems() {
		items := p.core.Take(p.items[:])
		p.s.edge.Acquire()
		for _, it := range items {
			c := p.find(Handle(it.Handle))
			if it.Body != 0 { // a start that C has asked for
				c = findBody(it.Body).start(p.s, it)
			}
			if c == nil {
				continue
			}
			runnable := true
			switch it.Kind {
			case core.GoWorkerEvent:
				runnable, _ = c.signal(hasEvent, it.N)
			case core.GoWorkerWake:
				runnable, _ = c.signal(0, it.N)
			}
			if it.N > 0 && c.isFull() {
				c.tellFullLocked()
			}
			if runnable {
				p.come.Push(c)
			}
			if it.Canceled != 0 {
				c.cancel(c.reason())
			}
		}
	}
}

// waiting is how many runnable coroutines no executor has. With mu held, as for pop.
func (p *executorPool) waiting() int { return p.come.Len() + p.queue.Len() }

// pop takes one of these, by turns one that has come and another. There is one.
func (p *executorPool) pop() *Coroutine {
	p.turn = !p.turn
	if p.queue.Len() == 0 || (p.turn && p.come.Len() > 0) {
		return p.come.Pop()
	}
	return p.queue.Pop()
}

// lookAround gives work that no executor gets to, to executors that are not stuck: to an idle one,
// or to one that stands in. The poller calls it, at times, while the pool is awake. False: the pool
// sleeps.
func (p *executorPool) lookAround() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.active == 0 {
		return false
	}
	moving := 0
	for _, e := range p.executors {
		turns := atomic.LoadUint32(&e.turns)
		switch {
		case !e.active:
		case turns != e.seen:
			moving++
		default: // stuck, and the others may be too busy to steal from it
			p.rescue(e)
		}
		e.seen = turns
	}
	p.extra.Store(int32(max(moving-p.most, 0)))
	waiting := p.waiting() > 0 || p.core.HasItems()
	if waiting && (moving == 0 || p.spare.Load() > 0) && p.active < p.most+poolStandIns {
		p.start()
	}
	return true
}

// rescue puts what e has to run on the pool's queue: e is stuck. With mu held.
func (p *executorPool) rescue(e *executor) {
	if c := e.next.Swap(nil); c != nil {
		p.queue.Push(c)
	}
	for c := e.queue.Pop(); c != nil; c = e.queue.Pop() {
		p.queue.Push(c)
	}
}

// goroutine returns a goroutine for a body.
func (p *executorPool) goroutine() *bodyGoroutine {
	p.mu.Lock()
	n := len(p.goroutines)
	if n == 0 {
		p.mu.Unlock()
		return newBodyGoroutine()
	}
	k := p.goroutines[n-1]
	p.goroutines = p.goroutines[:n-1]
	p.mu.Unlock()
	return k
}

// dismiss keeps a goroutine for the next body, or ends it. nil: there is none.
func (p *executorPool) dismiss(k *bodyGoroutine) {
	p.mu.Lock()
	if k != nil && !p.closed && len(p.goroutines) < goroutinesKept {
		p.goroutines = append(p.goroutines, k)
		k = nil
	}
	p.mu.Unlock()
	if k != nil {
		k.stop()
	}
}

// cancel has every present and future wait of every body return ErrCanceled.
func (p *executorPool) cancel() {
	p.quits.Store(true)
	p.bodies.Each(func(c *Coroutine) { c.cancel(ErrCanceled) })
}

// close ends the goroutines. The core is closed: no coroutine is left.
func (p *executorPool) close() {
	p.mu.Lock()
	p.closed = true
	idle, goroutines := p.idle, p.goroutines
	p.idle, p.goroutines = nil, nil
	p.mu.Unlock()
	for _, e := range idle {
		close(e.wakeup)
	}
	for _, k := range goroutines {
		k.stop()
	}
}

// running returns the names of the bodies that are being executed, or wait in a shield section.
func (p *executorPool) running() (names []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.executors {
		if c := race.LoadPointer(&e.current); c != nil {
			names = append(names, c.name)
		}
	}
	p.bodies.Each(func(c *Coroutine) {
		if c.state.Load()&(isParked|isAwaiting|isCommitted) != 0 && c.isShielded() {
			names = append(names, c.name)
		}
	})
	return names
}

// caller returns the coroutine whose body the caller is, or nil.
func (p *executorPool) caller() *Coroutine {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.executors {
		if c := race.LoadPointer(&e.current); c.check() == nil {
			return c
		}
	}
	return nil
}

// find returns the coroutine of this pool that a handle names, or nil. The lower half of a handle
// numbers the coroutine's record: a small number, and no other coroutine's until this one has
// ended.
func (p *executorPool) find(h Handle) *Coroutine {
	if e := p.bodies.Entry(uint32(h)); e != nil {
		if c := e.Load(); c != nil && c.handle == h {
			return c
		}
	}
	return nil
}

// stats fills in what st has of bodies and is known here.
func (p *executorPool) stats(st *Stats) {
	p.mu.Lock()
	defer p.mu.Unlock()
	st.Bodies.Failed, st.Bodies.Panicked = p.ends.failed.Load(), p.ends.panicked.Load()
	st.Bodies.Executors, st.Bodies.Busy = len(p.executors), p.active
}

// blocked lists at most limit of the bodies that wait, and are daemons or not, and counts all of
// these.
func (p *executorPool) blocked(limit int, daemons bool) (list []BlockedCoroutine, count int) {
	p.bodies.Each(func(c *Coroutine) {
		if c.daemon != daemons {
			return
		}
		waits := ""
		switch state := c.state.Load(); {
		case state&isParked != 0:
			waits = "park"
		case state&(isAwaiting|isCommitted) != 0:
			waits = "await"
		default:
			return
		}
		count++
		if len(list) < limit {
			list = append(list, BlockedCoroutine{c.Handle(), c.name, -1, waits,
				c.daemon})
		}
	})
	return list, count
}
