package coro

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/organzine/coro/csrc"
)

// A lane runs a scheduler's coroutines with Go bodies. The core sees it as one more worker (csrc/lane.h): wake-ups, joins and
// the end go through it as through the others. Here it is a set of executors, goroutines that resume bodies in turn, each with
// a queue and a next slot of its own, from which the others steal when they have nothing.
//
// The lane is awake in the core's sense while one executor is active. The last one to become idle parks it, with a second look,
// and whoever then has something for it rings the bell: the poller starts an executor. While the lane is awake, the poller looks
// around now and then, as a worker on standby does: a body that computes, or waits in Go, keeps its executor and nothing else.
type lane struct {
	s     *Scheduler
	core  csrc.GoWorker
	most  int          // executors, but for those that stand in for stuck ones
	table bodyTable    // coroutines by slot
	spare atomic.Int32 // executors that are idle, or not made yet: whoever has a surplus wakes one
	quits atomic.Bool  // the scheduler is being canceled
	extra atomic.Int32 // executors too many at the poller's last look: so many retire

	mu        sync.Mutex
	queue     ring        // runnable ones that no executor has
	executors []*executor // that exist
	idle      []*executor
	active    int // executors that are not idle. 0: the lane sleeps
	carriers  []*carrier
	closed    bool
	items     [64]csrc.GoWorkerItem
}

const (
	laneShare    = 64  // most that an executor takes from the lane's queue at once
	laneTurns    = 61  // turns after which it looks at the lane's queue and the inbox
	laneSpins    = 40  // looks at the inbox before it becomes idle
	laneStandIns = 256 // most executors besides those that the user wants, while those are stuck
	carriersKept = 256 // idle goroutines of ended bodies, for the next ones
	lookLeast    = 200 * time.Microsecond
	lookMost     = 10 * time.Millisecond
)

func (l *lane) init(s *Scheduler, executors int) {
	l.s, l.core, l.most = s, s.core.GoWorker(), executors
	l.spare.Store(int32(executors))
}

// claimed is called by the poller: if the lane was woken, an executor gets to work.
func (l *lane) claimed() bool {
	if !l.core.IsClaimed() {
		return false
	}
	l.mu.Lock() // an executor that parks, and finds more to do, takes such a claim itself
	defer l.mu.Unlock()
	if !l.core.Claimed() {
		return false
	}
	l.start()
	return true
}

// start has one more executor work, an idle one or a new one. With mu held.
func (l *lane) start() {
	l.active++
	l.spare.Add(-1)
	if n := len(l.idle); n > 0 {
		e := l.idle[n-1]
		l.idle = l.idle[:n-1]
		e.active = true
		e.wakeup <- struct{}{}
		return
	}
	e := &executor{lane: l, wakeup: make(chan struct{}, 1), active: true}
	l.executors = append(l.executors, e)
	go e.main()
}

// feed has one more executor work, as there is a surplus.
func (l *lane) feed() {
	l.mu.Lock()
	if l.spare.Load() > 0 {
		l.start()
	}
	l.mu.Unlock()
}

// drain takes what has come from the core. With mu held, by somebody active.
func (l *lane) drain() {
	for l.core.HasItems() {
		items := l.core.Take(l.items[:])
		l.s.edge.acquire()
		for _, it := range items {
			c := l.table.find(Handle(it.Handle))
			if it.Body != 0 { // of a start: C has asked for it
				c = goBodies.find(it.Body).start(l.s, it)
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
				l.queue.push(c)
			}
			if it.Canceled != 0 {
				c.cancel(c.reason())
			}
		}
	}
}

// lookAround is called by the poller, at times, while the lane is awake: work that nobody gets to is given to those that are not
// stuck, to an idle executor, or to one that stands in. It returns false when the lane sleeps.
func (l *lane) lookAround() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.active == 0 {
		return false
	}
	moving := 0
	for _, e := range l.executors {
		turns := atomic.LoadUint32(&e.turns)
		switch {
		case !e.active:
		case turns != e.seen:
			moving++
		default: // the others may be too busy to steal from it
			l.rescue(e)
		}
		e.seen = turns
	}
	l.extra.Store(int32(max(moving-l.most, 0)))
	waiting := l.queue.len() > 0 || l.core.HasItems()
	if waiting && (moving == 0 || l.spare.Load() > 0) && l.active < l.most+laneStandIns {
		l.start()
	}
	return true
}

// rescue takes what e, who is stuck, has to run. With mu held.
func (l *lane) rescue(e *executor) {
	if c := e.slot.Swap(nil); c != nil {
		l.queue.push(c)
	}
	for c := e.queue.pop(); c != nil; c = e.queue.pop() {
		l.queue.push(c)
	}
}

// carrier returns a goroutine for a body.
func (l *lane) carrier() *carrier {
	l.mu.Lock()
	n := len(l.carriers)
	if n == 0 {
		l.mu.Unlock()
		return newCarrier()
	}
	k := l.carriers[n-1]
	l.carriers = l.carriers[:n-1]
	l.mu.Unlock()
	return k
}

// dismiss keeps a carrier, if there is one, for the next body, or ends it.
func (l *lane) dismiss(k *carrier) {
	l.mu.Lock()
	if k != nil && !l.closed && len(l.carriers) < carriersKept {
		l.carriers = append(l.carriers, k)
		k = nil
	}
	l.mu.Unlock()
	if k != nil {
		k.stop()
	}
}

// cancel has every present and future wait of a body return ErrCanceled.
func (l *lane) cancel() {
	l.quits.Store(true)
	l.table.each(func(c *Coroutine) { c.cancel(ErrCanceled) })
}

// close ends the goroutines. The core is closed: no coroutine is left.
func (l *lane) close() {
	l.mu.Lock()
	l.closed = true
	idle, carriers := l.idle, l.carriers
	l.idle, l.carriers = nil, nil
	l.mu.Unlock()
	for _, e := range idle {
		close(e.wakeup)
	}
	for _, k := range carriers {
		k.stop()
	}
}

// running names the bodies that are being executed.
func (l *lane) running() (names []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.executors {
		if c := loadCoroutine(&e.current); c != nil {
			names = append(names, c.name)
		}
	}
	return names
}
