package coro

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/organzine/coro/csrc"
)

// A poller is the goroutine that hears from the workers: which tasks have ended, and that everything has come to rest.
// They ring an eventfd, only while it sleeps; it sleeps in Go's network poller, so no thread is held.
type poller struct {
	bell    *os.File
	onStall func(int)
	stopped chan struct{}

	mu    sync.Mutex
	tasks []completer   // by id
	free  []uint32      // ids not in use
	rest  chan struct{} // closed at the next rest; nil: nobody waits for one
}

// A completer is a task, or a goroutine that waits.
type completer interface {
	complete()
	cancelIfEnded() bool // in deadline.go
}

func (p *poller) open(s *Scheduler, onStall func(int)) error {
	fd, status := s.core.OpenBell()
	if status != csrc.OK {
		return statusError(status, ofScheduler)
	}
	p.bell = os.NewFile(uintptr(fd), "coro bell")
	p.onStall = onStall
	p.stopped = make(chan struct{})
	if onStall != nil {
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
	var next time.Time      // when it is looked at; zero: it sleeps
	look := func() {
		if next = (time.Time{}); s.executors.lookAround() {
			pause = min(2*pause, lookMost)
			next = time.Now().Add(pause)
		}
		p.bell.SetReadDeadline(next)
	}
	for {
		// First say that we sleep, then look once more: whoever comes after the look rings.
		s.core.Arm()
		ids = s.core.GoWaiters(s.core.Done(ids[:0]))
		p.completeAll(ids)
		s.credit.serve(s)
		s.offload.kick()
		if s.core.CallsCanceled() {
			s.offload.cancelCalls()
		}
		rests = p.heedRest(s, rests)
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

func (p *poller) completeAll(ids []uint32) {
	for _, id := range ids {
		p.release(id).complete()
	}
}

// reserve makes a id for a task that is to be completed; release takes it back.
func (p *poller) reserve(t completer) uint32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) == 0 {
		p.free = append(p.free, uint32(len(p.tasks)))
		p.tasks = append(p.tasks, nil)
	}
	id := p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	p.tasks[id] = t
	return id
}

func (p *poller) release(id uint32) completer {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.tasks[id]
	p.tasks[id] = nil
	p.free = append(p.free, id)
	return t
}

// all returns those that have ids now.
func (p *poller) all() (list []completer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range p.tasks {
		if t != nil {
			list = append(list, t)
		}
	}
	return list
}

// register puts a task on the list of those to be completed, under a id. False: it has ended already, or somebody else joins it.
func (p *poller) register(j csrc.Joinable, t completer) (uint32, bool) {
	id := p.reserve(t)
	if j.Register(id) {
		return id, true
	}
	p.release(id)
	return 0, false
}

// heedRest wakes those who wait for a rest, if there was one since the last call.
func (p *poller) heedRest(s *Scheduler, seen uint32) uint32 {
	rests := s.core.Rests()
	if rests == seen {
		return seen
	}
	p.mu.Lock()
	if p.rest != nil {
		close(p.rest)
		p.rest = nil
	}
	p.mu.Unlock()
	if p.onStall != nil && s.core.AtRest() && !s.paused {
		if live := s.core.Live(); live > 0 && s.core.AtRest() && s.core.Rests() == rests {
			go p.onStall(live)
		}
	}
	return rests
}

// awaitRest waits for a rest at which finished holds.
func (p *poller) awaitRest(ctx context.Context, s *Scheduler) error {
	select {
	case <-s.ended:
		return nil
	default:
	}
	if s.core.Finished() {
		return nil
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
		select {
		case <-rest:
		case <-s.ended:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
