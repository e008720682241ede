package coro

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/ctxerr"
	"github.com/organzine/coro/internal/table"
)

// A poller is the goroutine that hears from the workers which tasks have ended, and that everything
// has come to rest. Workers ring an eventfd, and only while the poller sleeps. It sleeps in Go's
// network poller, so it holds no thread.
type poller struct {
	bell    *os.File
	stopped chan struct{}

	mu    sync.Mutex
	tasks table.List[completer]
	rest  chan struct{} // closed at the next rest; nil: nobody waits
}

// A completer is a task, or a goroutine that waits.
type completer interface {
	complete()
	cancelIfEnded() bool // in deadline.go
	// the context that the coroutine was started with; nil: none
	startContext() context.Context
	forgetDeadline(id uint32) // the id is about to be another's
}

func (p *poller) open(s *Scheduler) error {
	fd, status := s.core.OpenBell()
	if status != core.OK {
		return statusError(status, ofScheduler)
	}
	p.bell = os.NewFile(uintptr(fd), "coro bell")
	p.stopped = make(chan struct{})
	if s.hooks.stall.IsThere() {
		s.core.WaitRest(1)
	}
	go p.poll(s)
	return nil
}

// close ends the goroutine. The core is closed: nobody rings any more.
func (p *poller) close(s *Scheduler) {
	s.core.DropBell()
	p.bell.Close()
	<-p.stopped
}

func (p *poller) poll(s *Scheduler) {
	defer close(p.stopped)
	var ring [8]byte
	var ids []uint32
	var rests uint32
	var pause time.Duration // between looks at the pool
	var next time.Time      // look at the pool; zero: the pool sleeps
	look := func() {
		if next = (time.Time{}); s.executors.lookAround() {
			pause = min(2*pause, lookMost)
			next = time.Now().Add(pause)
		}
		p.bell.SetReadDeadline(next)
	}
	for {
		// Say first that the poller sleeps, then look once more: an event after that look
		// rings the bell.
		s.core.Arm()
		ids = s.core.GoWaiters(s.core.Done(ids[:0]))
		p.completeAll(ids)
		s.credit.serve(s)
		s.offload.Kick()
		if s.core.CallsCanceled() {
			s.offload.CancelCalls()
		}
		rests = p.heedRest(s, rests)
		s.hooks.tellLate()
		if s.executors.claimed() {
			pause = lookLeast
			next = time.Now().Add(pause)
			p.bell.SetReadDeadline(next)
		}
		if len(ids) > 0 {
			if !next.IsZero() && time.Now().After(next) {
				look()
			}
			continue
		}
		_, err := p.bell.Read(ring[:])
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			look()
		default:
			p.completeAll(s.core.GoWaiters(s.core.Done(nil)))
			p.heedRest(s, rests)
			return
		}
	}
}

// tellLate tells the hook which functions are brief no longer.
func (h *hooks) tellLate() {
	if !h.late.IsThere() {
		return
	}
	for fn := core.TakeLate(); fn != 0; fn = core.TakeLate() {
		go h.late.Call(funcName(fn))
	}
}

func (p *poller) completeAll(ids []uint32) {
	for _, id := range ids {
		p.release(id).complete()
	}
}

// reserve gives a task that is to be completed an id; release takes the id back.
func (p *poller) reserve(t completer) uint32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tasks.Add(t)
}

func (p *poller) release(id uint32) completer {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tasks.At(id).forgetDeadline(id)
	return p.tasks.Remove(id)
}

// startContext is the context that the task of an id was started with, or nil.
func (p *poller) startContext(id uint32) context.Context {
	p.mu.Lock()
	t := p.tasks.At(id)
	p.mu.Unlock()
	if t == nil {
		return nil
	}
	return t.startContext()
}

// all returns the tasks that have ids now.
func (p *poller) all() []completer {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tasks.All()
}

// register gives a task that is to be completed an id. False: the task has ended already, or
// somebody else joins it.
func (p *poller) register(j core.Joinable, t completer) (uint32, bool) {
	id := p.reserve(t)
	if j.Register(id) {
		return id, true
	}
	p.release(id)
	return 0, false
}

// heedRest wakes the waiters for a rest, if there was one since the last call.
func (p *poller) heedRest(s *Scheduler, seen uint32) uint32 {
	rests := s.core.RestsTold()
	if rests == seen {
		return seen
	}
	p.mu.Lock()
	if p.rest != nil {
		close(p.rest)
		p.rest = nil
	}
	p.mu.Unlock()
	if s.hooks.stall.IsThere() && s.core.AtRest() && !s.paused {
		if live := s.core.Others(); live > 0 && s.core.AtRest() &&
			s.core.RestsTold() == rests {
			go s.hooks.stall.Call(max(live-int(s.leaders.Load()), 1))
		}
	}
	return rests
}

// awaitRest waits for a rest at which the scheduler is finished.
func (p *poller) awaitRest(ctx context.Context, s *Scheduler) error {
	return p.awaitRestOr(ctx, s, func() error { return nil })
}

// awaitRestOr is awaitRest that ends, too, at a rest at which look returns an error.
func (p *poller) awaitRestOr(ctx context.Context, s *Scheduler, look func() error) error {
	if s.life.Err() != nil || s.core.Finished() {
		return nil
	}
	if len(s.callers()) > 0 {
		return ErrInside
	}
	if err := outside(); err != nil {
		return err
	}
	s.core.WaitRest(1)
	defer s.core.WaitRest(-1)
	for {
		p.mu.Lock()
		if p.rest == nil {
			p.rest = make(chan struct{})
		}
		rest := p.rest
		p.mu.Unlock()
		if s.core.Finished() {
			return nil
		}
		if err := look(); err != nil {
			return err
		}
		select {
		case <-rest:
		case <-s.life.Done():
			return nil
		case <-ctx.Done():
			return ctxerr.Of(ctx)
		}
	}
}
