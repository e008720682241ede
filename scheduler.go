package coro

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/ctxerr"
	"github.com/organzine/coro/internal/inside"
	"github.com/organzine/coro/internal/leak"
	"github.com/organzine/coro/internal/offload"
	"github.com/organzine/coro/internal/race"
	"github.com/organzine/coro/internal/spin"
)

// A Scheduler runs coroutines on worker threads of its own. Several goroutines may call its
// methods. It holds threads and memory until Close.
type Scheduler struct {
	core       *core.Scheduler
	ledger     core.Ledger      // of buffers
	submitters []core.Submitter // a power of two of them
	class      uint8            // of default stacks
	paused     bool
	hasMain    bool        // WithMainThread
	hosted     atomic.Bool // a thread runs the main worker
	poller     poller
	hooks      hooks
	spinner    spin.Spinner
	credit     creditQueue
	executors  executorPool
	edge       race.Edge
	ctx        context.Context // of Go functions that C bodies call
	cancel     context.CancelCauseFunc
	offload    offload.Pool
	exposures  exposures
	leaders    atomic.Int64 // coroutines that lead a CallN (border/many.h)

	runs   sync.RWMutex  // held for reading by a run
	closed atomic.Bool   // nothing is spawned from Go any more
	shut   chan struct{} // closed when no submitter can be had any more

	// life ends by end when every coroutine has ended and the threads are joined
	life context.Context
	end  context.CancelFunc
}

func init() {
	inside.Of = func(scheduler any) inside.Scheduler {
		s := scheduler.(*Scheduler)
		return inside.Scheduler{Core: s.core, Edge: &s.edge, Life: s.life, Closed: s.closed.Load,
			Ended: &s.hooks.ended}
	}
	inside.BodyError = func(f *core.Failure) error { return newBodyError(f) }
	inside.Error = func(status core.Status) error { return statusError(status, ofScheduler) }
}

// New makes a scheduler and starts its workers, which sleep until there is work. It costs about 50
// µs a worker. It returns an *OptionError, ErrNoMemory, ErrThread, ErrNoCgo or ErrBubble; and
// ErrInside if a function calls it that coro_call_go_inline has called, on the thread of a worker.
func New(opts ...Option) (*Scheduler, error) {
	if !core.Available {
		return nil, ErrNoCgo
	}
	if err := outside(); err != nil {
		return nil, err
	}
	c, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	inner, status := core.New(c.Options)
	if status == core.Perm {
		return nil, ErrInside
	}
	if status != core.OK {
		return nil, statusError(status, ofScheduler)
	}
	s := &Scheduler{core: inner, class: core.Class(c.Stack), paused: c.Paused,
		hasMain: c.MainWorker, shut: make(chan struct{})}
	s.ledger = inner.Ledger()
	s.executors.init(s, c.executors)
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.life, s.end = context.WithCancel(context.Background())
	n := 1
	for n < submittersPerP*runtime.GOMAXPROCS(0) {
		n *= 2
	}
	s.offload.Core, s.offload.Edge, s.offload.Context = inner, &s.edge, s.ctx
	s.offload.Max = c.callLimit
	s.offload.Caller, s.offload.Canceled = s.poller.startContext, causeOfCancel
	s.offload.Open()
	if s.submitters, status = inner.NewSubmitters(n); status == core.OK {
		s.hooks.set(c)
		err = s.poller.open(s)
	} else {
		err = statusError(status, ofScheduler)
	}
	if err != nil {
		s.offload.Close()
		inner.Close(true)
		inner.Destroy()
		return nil, err
	}
	if leak.On() {
		leak.Made(leakable{s})
	}
	if s.hooks.slow.IsThere() {
		go s.offload.Watch(s.life.Done(), c.slowLimit, func(name string, d time.Duration,
			inline bool) {
			s.hooks.slow.Call(SlowCall{name, d, inline})
		})
	}
	if s.hooks.crowd.IsThere() {
		go s.watchCrowds(c.crowdLimit)
	}
	return s, nil
}

// submitter holds one of the submitters, probably one that this goroutine has had before:
// goroutines have stacks of their own, and the choice is by the address of a variable. It returns
// nil after Close.
func (s *Scheduler) submitter() *core.Submitter {
	var here byte
	i := uint32(uintptr(unsafe.Pointer(&here)) >> 11 * 0x9e3779b1 >> 16)
	for !s.closed.Load() && len(s.submitters) > 0 {
		for range s.submitters {
			p := &s.submitters[i%uint32(len(s.submitters))]
			switch p.Acquire() {
			case core.OK:
				return p
			case core.Closed:
				return nil
			}
			i++
		}
		runtime.Gosched()
	}
	return nil
}

// Workers is the number of worker threads, the dedicated ones included.
func (s *Scheduler) Workers() int { return s.core.Workers() }

// Wait returns when every coroutine that was spawned has ended, and those that they spawned, but
// for daemons ([Func.Daemon], [AsDaemon]). A coroutine that is spawned meanwhile is waited for too.
// A coroutine that parks and is never woken keeps Wait waiting: see Stats.Stalled and
// WithStallHook. What a daemon was asked for before Wait was called, it has done or spawned when
// Wait returns; the end is not told while a daemon runs. Wait returns the cause, if the context
// ends first, ErrPaused for a scheduler made WithPaused, or ErrInside, within a Go body of s or a
// Go function that a coroutine of s has called. After Close it returns nil.
func (s *Scheduler) Wait(ctx context.Context) error {
	if s.paused {
		return ErrPaused
	}
	err := s.poller.awaitRest(ctx, s)
	s.edge.Acquire()
	runtime.KeepAlive(s)
	return err
}

// Rest is Wait that also tells a deadlock: it returns when nothing can happen any more. It returns
// nil if every coroutine has ended but daemons; and a *DeadlockError if some are left that nothing
// can wake but a goroutine: there was a moment at which all of them waited, and nothing was under
// way that would end a wait. What a goroutine is about to do is not known. So Rest is for programs
// whose goroutines begin a job and wait for the rest, again and again. In all else it is as Wait.
func (s *Scheduler) Rest(ctx context.Context) error {
	if s.paused {
		return ErrPaused
	}
	err := s.poller.awaitRestOr(ctx, s, func() error {
		if s.core.AtRest() && s.core.Others() > 0 && !s.cancelEnded() {
			return s.deadlock()
		}
		return nil
	})
	s.edge.Acquire()
	runtime.KeepAlive(s)
	return err
}

// Run lets the workers of a scheduler made WithPaused run all that was spawned, and what that
// spawns, until nothing can happen any more, and pauses them again. It returns nil if every
// coroutine has ended but daemons; a *DeadlockError if some are left that nothing can wake (a
// wake-up from Go and another Run may free them); ErrPaused for a scheduler made without
// WithPaused; ErrBusy if another Run goes on; ErrClosed; or ErrInside, as New. If the context ends
// first, Run returns its cause, and the run goes on.
//
// Run waits for events that are certain to come: time, Go functions and calls under way, and the
// deadline of a context that a coroutine is bound to, or waits with; those of daemons too. The
// cancel of a context is not certain to come, no more than a wake-up from Go. But a cancel that
// came before everything was at rest, from a body or by an error in a Group, has its effect in this
// run.
func (s *Scheduler) Run(ctx context.Context) error {
	if !s.paused {
		return ErrPaused
	}
	if ctx.Err() != nil {
		return ctxerr.Of(ctx)
	}
	if err := outside(); err != nil {
		return err
	}
	if ctx.Done() == nil {
		return s.run()
	}
	result := make(chan error, 1)
	go func() { result <- s.run() }()
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return ctxerr.Of(ctx)
	}
}

func (s *Scheduler) run() error {
	if !s.runs.TryRLock() { // Close waits for a run, and so may not let this one in
		return ErrClosed
	}
	status := s.runLocked()
	s.edge.Acquire()
	runtime.KeepAlive(s)
	switch {
	case status == core.Deadlock:
		return s.deadlock()
	case status == core.Perm:
		return ErrInside
	}
	return statusError(status, ofScheduler)
}

// runLocked is run with runs held, which it gives back.
func (s *Scheduler) runLocked() core.Status {
	defer s.runs.RUnlock() // a context that is asked may panic
	status := s.core.Run()
	for status == core.Deadlock && s.cancelEnded() {
		status = s.core.Run()
	}
	return status
}

func (s *Scheduler) deadlock() error {
	list, n := s.Blocked(blockedShown)
	first := slices.IndexFunc(list, func(b BlockedCoroutine) bool { return b.Daemon })
	if first >= 0 {
		list = list[:first]
	}
	return &DeadlockError{n - s.core.Stats().Daemons, list}
}

// Blocked returns the coroutines that wait now, at most limit of them, daemons last, and how many
// there are. It stops each worker while it looks at every record.
func (s *Scheduler) Blocked(limit int) ([]BlockedCoroutine, int) {
	limit = max(limit, 0)
	list, n := s.core.Blocked(min(limit, s.core.Stats().Records))
	out := make([]BlockedCoroutine, 0, len(list))
	add := func(daemons bool) {
		for _, b := range list {
			if b.Daemon == daemons {
				out = append(out, BlockedCoroutine{Handle(b.Handle), funcName(b.Fn),
					b.Worker, core.WaitName(b.Waits), b.Daemon})
			}
		}
		bodies, more := s.executors.blocked(limit, daemons)
		out = append(out, bodies...)
		n += more
	}
	add(false)
	add(true)
	runtime.KeepAlive(s)
	return out[:min(limit, len(out))], n
}

// callers returns the coroutines of s that the caller would wait for in vain, as they wait for the
// caller: the one whose body it is, or those that have called the Go function that it is.
func (s *Scheduler) callers() (list []Handle) {
	if c := s.executors.caller(); c != nil {
		return []Handle{c.handle}
	}
	for _, h := range s.offload.Callers() {
		list = append(list, Handle(h))
	}
	return list
}
