package coro

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/organzine/coro/csrc"
)

// An executorPool runs a scheduler's coroutines with Go bodies. The core sees it as one more worker (csrc/goworker.h): wake-ups, joins and
// the end go through it as through the others. Here it is a set of executors, goroutines that resume bodies in turn, each with
// a queue and a next one of its own, from which the others steal when they have nothing.
//
// The pool is awake in the core's sense while one executor is active. The last one to become idle parks it, with a second look,
// and whoever then has something for it rings the bell: the poller starts an executor. While the pool is awake, the poller looks
// around now and then, as a worker on standby does: a body that computes, or waits in Go, keeps its executor and nothing else.
type executorPool struct {
	s     *Scheduler
	core  csrc.GoWorker
	most  int          // executors, but for those that stand in for stuck ones
	table bodyTable    // coroutines by record
	spare atomic.Int32 // executors that are idle, or not made yet: whoever has a surplus wakes one
	quits atomic.Bool  // the scheduler is being canceled
	extra atomic.Int32 // executors too many at the poller's last look: so many retire

	mu         sync.Mutex
	queue      ring        // runnable ones that no executor has
	executors  []*executor // that exist
	idle       []*executor
	active     int // executors that are not idle. 0: the pool sleeps
	goroutines []*bodyGoroutine
	closed     bool
	items      [64]csrc.GoWorkerItem
}

const (
	poolShare      = 64  // most that an executor takes from the pool's queue at once
	poolTurns      = 61  // turns after which it looks at the pool's queue and the inbox
	poolSpins      = 40  // looks at the inbox before it becomes idle
	poolStandIns   = 256 // most executors besides those that the user wants, while those are stuck
	goroutinesKept = 256 // idle goroutines of ended bodies, for the next ones
	lookLeast      = 200 * time.Microsecond
	lookMost       = 10 * time.Millisecond
)

func (p *executorPool) init(s *Scheduler, executors int) {
	p.s, p.core, p.most = s, s.core.GoWorker(), executors
	p.spare.Store(int32(executors))
}

// claimed is called by the poller: if the pool was woken, an executor gets to work.
func (p *executorPool) claimed() bool {
	if !p.core.IsClaimed() {
		return false
	}
	p.mu.Lock() // an executor that parks, and finds more to do, takes such a claim itself
	defer p.mu.Unlock()
	if !p.core.Claimed() {
		return false
	}
	p.start()
	return true
}

// start has one more executor work, an idle one or a new one. With mu held.
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

// feed has one more executor work, as there is a surplus.
func (p *executorPool) feed() {
	p.mu.Lock()
	if p.spare.Load() > 0 {
		p.start()
	}
	p.mu.Unlock()
}

// drain takes what has come from the core. With mu held, by somebody active.
func (p *executorPool) drain() {
	for p.core.HasItems() {
		items := p.core.Take(p.items[:])
		p.s.edge.acquire()
		for _, it := range items {
			c := p.table.find(Handle(it.Handle))
			if it.Body != 0 { // of a start: C has asked for it
				c = goBodies.find(it.Body).start(p.s, it)
			}
			if c == nil {
				continue
			}
			runnable := true
			switch it.Kind {
			case csrc.GoWorkerEvent:
				runnable, _ = c.signal(hasEvent, it.N)
			case csrc.GoWorkerWake:
				runnable, _ = c.signal(0, it.N)
			}
			if it.N > 0 && c.isFull() {
				c.tellFullLocked()
			}
			if runnable {
				p.queue.push(c)
			}
			if it.Canceled != 0 {
				c.cancel(c.reason())
			}
		}
	}
}

// lookAround is called by the poller, at times, while the pool is awake: work that nobody gets to is given to those that are not
// stuck, to an idle executor, or to one that stands in. It returns false when the pool sleeps.
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
		default: // the others may be too busy to steal from it
			p.rescue(e)
		}
		e.seen = turns
	}
	p.extra.Store(int32(max(moving-p.most, 0)))
	waiting := p.queue.len() > 0 || p.core.HasItems()
	if waiting && (moving == 0 || p.spare.Load() > 0) && p.active < p.most+poolStandIns {
		p.start()
	}
	return true
}

// rescue takes what e, who is stuck, has to run. With mu held.
func (p *executorPool) rescue(e *executor) {
	if c := e.next.Swap(nil); c != nil {
		p.queue.push(c)
	}
	for c := e.queue.pop(); c != nil; c = e.queue.pop() {
		p.queue.push(c)
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

// dismiss keeps a goroutine, if there is one, for the next body, or ends it.
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

// cancel has every present and future wait of a body return ErrCanceled.
func (p *executorPool) cancel() {
	p.quits.Store(true)
	p.table.each(func(c *Coroutine) { c.cancel(ErrCanceled) })
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

// running names the bodies that are being executed.
func (p *executorPool) running() (names []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.executors {
		if c := loadCoroutine(&e.current); c != nil {
			names = append(names, c.name)
		}
	}
	return names
}

// A bodyTable holds coroutines by the lower half of their handles, which numbers their records: a small number, and no other
// coroutine's as long as it has not ended. Looking one up takes no lock.
type bodyTable struct {
	mu    sync.Mutex
	pages atomic.Pointer[[]*bodyPage] // nil: nothing was ever there
}

type bodyPage [1024]atomic.Pointer[Coroutine]

// entry is where the coroutine with this handle is, or nil.
func (t *bodyTable) entry(h Handle) *atomic.Pointer[Coroutine] {
	n := uint32(h)
	pages := t.pages.Load()
	if i := int(n / uint32(len(bodyPage{}))); pages != nil && i < len(*pages) && (*pages)[i] != nil {
		return &(*pages)[i][n%uint32(len(bodyPage{}))]
	}
	return nil
}

// find returns the coroutine of this pool that a handle names, or nil.
func (t *bodyTable) find(h Handle) *Coroutine {
	if p := t.entry(h); p != nil {
		if c := p.Load(); c != nil && c.handle == h {
			return c
		}
	}
	return nil
}

// put puts c in: now others may find it.
func (t *bodyTable) put(c *Coroutine) {
	p := t.entry(c.handle)
	if p == nil {
		p = t.make(c.handle)
	}
	p.Store(c)
}

// make adds the page for a handle, and returns the entry.
func (t *bodyTable) make(h Handle) *atomic.Pointer[Coroutine] {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.entry(h); p != nil {
		return p
	}
	i := int(uint32(h) / uint32(len(bodyPage{})))
	var old []*bodyPage
	if p := t.pages.Load(); p != nil {
		old = *p
	}
	pages := make([]*bodyPage, max(len(old), i+1))
	copy(pages, old)
	pages[i] = new(bodyPage)
	t.pages.Store(&pages)
	return t.entry(h)
}

// remove is for a c that is about to end: then its record may be another's.
func (t *bodyTable) remove(c *Coroutine) { t.entry(c.handle).Store(nil) }

// each calls f for all that are in the table now.
func (t *bodyTable) each(f func(*Coroutine)) {
	pages := t.pages.Load()
	if pages == nil {
		return
	}
	for _, page := range *pages {
		for i := 0; page != nil && i < len(page); i++ {
			if c := page[i].Load(); c != nil {
				f(c)
			}
		}
	}
}

// blocked lists at most limit of those that wait, and counts all.
func (p *executorPool) blocked(limit int) (list []BlockedCoroutine, count int) {
	p.table.each(func(c *Coroutine) {
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
			list = append(list, BlockedCoroutine{c.Handle(), c.name, -1, waits})
		}
	})
	return list, count
}
