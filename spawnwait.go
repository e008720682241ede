package coro

import (
	"container/list"
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/ctxerr"
)

// A creditQueue has the goroutines that wait in SpawnWait, the first come in front. Each waits for
// a credit, the right to start one coroutine. The steps CRD1 to CRD4 are told in
// csrc/kernel/slab.h.
type creditQueue struct {
	length atomic.Int32 // of waiting; racy without mu
	busy   atomic.Bool  // demand is not Unwanted; racy without mu

	mu      sync.Mutex
	waiting list.List // of *creditWaiter
	demand  core.Demand
	closed  bool
}

// A creditWaiter is one goroutine in the queue.
type creditWaiter struct {
	place *list.Element
	done  chan struct{} // closed after err is set, when the goroutine is out of the queue
	err   error         // nil: it has the credit
}

// isEmpty tells whether a spawn passes nobody by.
func (q *creditQueue) isEmpty() bool { return q.length.Load() == 0 }

// await returns with a credit, or an error.
func (q *creditQueue) await(ctx context.Context, s *Scheduler) error {
	if err := outside(); err != nil {
		return err
	}
	done := ctx.Done() // of the user's own, it may panic: nobody is in the queue now
	w, first := q.enter(s)
	if first {
		s.unloadSubmitters()
		s.core.Collect()
		q.serve(s)
	}
	select {
	case <-w.done:
		return w.err
	case <-done:
	}
	if !q.leave(w) && w.err == nil {
		s.core.Refund(1)
	}
	return ctxerr.Of(ctx)
}

// enter puts the caller at the back of the queue. first: nobody had waited lately, and credit is to
// be collected.
func (q *creditQueue) enter(s *Scheduler) (w *creditWaiter, first bool) {
	w = &creditWaiter{done: make(chan struct{})}
	q.mu.Lock()
	defer q.mu.Unlock()
	w.place = q.waiting.PushBack(w)
	q.length.Add(1)
	if q.closed {
		q.release(w, ErrClosed)
		return w, false
	}
	first = q.demand == core.Unwanted
	q.want(s, core.Wanted) // CRD1: before the look at what there is
	q.grant(s, first)
	return w, first
}

// leave takes the goroutine out of the queue. False: it is out.
func (q *creditQueue) leave(w *creditWaiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case <-w.done:
		return false
	default:
	}
	q.release(w, nil)
	return true
}

// release takes the goroutine out of the queue, with mu held.
func (q *creditQueue) release(w *creditWaiter, err error) {
	q.waiting.Remove(w.place)
	q.length.Add(-1)
	w.err = err
	close(w.done)
}

func (q *creditQueue) front() *creditWaiter { return q.waiting.Front().Value.(*creditWaiter) }

// want sets the demand, with mu held.
func (q *creditQueue) want(s *Scheduler, d core.Demand) {
	if q.demand != d {
		q.demand = d
		q.busy.Store(d != core.Unwanted)
		s.core.SetDemand(d)
	}
}

// serve is CRD4: credit may have come back.
func (q *creditQueue) serve(s *Scheduler) {
	if !q.busy.Load() {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.grant(s, false); q.waiting.Len() > 0 || q.closed {
		return
	}
	q.want(s, core.WantedLately)
	if s.core.IsRoomy() {
		q.want(s, core.Unwanted)
	}
}

// grant gives credit to those in front, with mu held. If no coroutine is left whose end they could
// wait for, the system has no memory for them. collecting: credit may be in hand somewhere.
func (q *creditQueue) grant(s *Scheduler, collecting bool) {
	for q.waiting.Len() > 0 {
		n := s.core.Grant(uint32(q.waiting.Len()))
		for range n {
			q.release(q.front(), nil)
		}
		if n > 0 {
			continue
		}
		if collecting || s.core.Granted() > 0 {
			return
		}
		// Granted may be 0 because all credit came back after Grant had looked. Then the
		// next Grant has some.
		if s.core.IsExhausted() {
			q.release(q.front(), ErrNoMemory)
		}
	}
}

// close has all waiters, present and later ones, return ErrClosed.
func (q *creditQueue) close(s *Scheduler) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.want(s, core.Unwanted)
	for q.waiting.Len() > 0 {
		q.release(q.front(), ErrClosed)
	}
}

// unloadSubmitters has all submitters give back what they keep in hand. It waits for those that are
// held.
func (s *Scheduler) unloadSubmitters() {
	for i := range s.submitters {
		p := &s.submitters[i]
		status := p.Acquire()
		for ; status == core.Busy; status = p.Acquire() {
			runtime.Gosched()
		}
		if status == core.OK {
			p.Unload()
			p.Release()
		}
	}
}
