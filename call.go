package coro

import (
	"context"
	"runtime"
	"unsafe"

	"github.com/organzine/coro/csrc"
	"github.com/organzine/coro/internal/leak"
)

// Call runs f on s with a copy of arg, and returns the result: what [Func.Start] and [Task.Wait] do,
// for about the price of two cgo calls. If a worker of s sleeps, the coroutine runs on the calling
// goroutine's thread, which stands in for that worker: no thread is woken, and there is no Task.
// Else, and in a scheduler made WithPaused, WithAffinity or WithoutLending, Call is StartContext and
// Wait. docs/border.md says what it means for C code to run on a goroutine's thread.
//
// Call returns when the coroutine ends. What the coroutine has spawned goes on on the workers. If
// the coroutine suspends, Call runs what it has spawned for some 15 µs at most, until it can go on;
// then the goroutine waits as Task.Wait does. A call into Go that the coroutine makes is made by the
// calling goroutine, if ctx never ends.
//
// The context belongs to the coroutine, as that of StartContext does: its end cancels the coroutine.
// If the coroutine computes then, Call returns when it ends or suspends. Its result stands, if it
// ends with one; else Call returns the cause of the context, and the canceled coroutine goes on to
// its end. A context with a deadline costs about 500 ns more, since the body may ask for the
// deadline.
//
// The errors are those of StartContext and Task.Wait. Within a Go body, or a Go function that a
// coroutine has called, Call holds its executor, or the thread of an inline call, as Task.Wait does.
func (f Func[A, R]) Call(ctx context.Context, s *Scheduler, arg A) (R, error) {
	t, result, err := f.begin(ctx, s, arg)
	if t != nil {
		return t.Wait(ctx)
	}
	return result, err
}

// begin is Call up to where the goroutine waits for the task. Without a task, it is the whole Call.
func (f *Func[A, R]) begin(ctx context.Context, s *Scheduler, arg A) (t *Task[R], r R, err error) {
	if ctx.Err() != nil {
		return nil, r, context.Cause(ctx)
	}
	if err := f.ready(s); err != nil {
		return nil, r, err
	}
	if s.closed.Load() {
		return nil, r, ErrClosed
	}
	if _, has := ctx.Deadline(); has || f.spec.Flags != 0 {
		t, err = f.StartContext(ctx, s, arg)
		return t, r, err
	}
	if leak.On() {
		leak.Meet(leakable{s})
	}
	var l csrc.Lend
	s.edge.Release()
	out := s.core.Lend(&l, &f.spec, unsafe.Pointer(&arg), csrc.JoinLender, false)
	if out != csrc.LendEnded {
		return f.goOn(ctx, s, arg, l, out)
	}
	r, err = ended[R](s, &l)
	return nil, r, err
}

// ended is the result of a coroutine that has ended in a lend.
func ended[R any](s *Scheduler, l *csrc.Lend) (r R, err error) {
	s.edge.Acquire()
	runtime.KeepAlive(s)
	if status, failure := l.Ended(); status != csrc.OK {
		return r, endError(status, failure)
	}
	return *(*R)(l.Result()), nil
}

// goOn is the rest of begin, for a coroutine that has not ended at once. It is given a copy of the
// lend: so that of begin stays on the stack.
//
//go:noinline
func (f *Func[A, R]) goOn(ctx context.Context, s *Scheduler, arg A, l csrc.Lend, out csrc.Outcome) (
	t *Task[R], r R, err error,
) {
	var own startContext
	if out == csrc.LendCalls || out == csrc.LendSuspended {
		own = s.contextOf(ctx, &l, out)
	}
	for out == csrc.LendCalls && own.ctx.Done() == nil {
		out = s.callHere(own.ctx, &l)
	}
	switch out {
	case csrc.LendNone:
		t, err = f.StartContext(ctx, s, arg)
	case csrc.LendCalls:
		t = taskOf[R](own, s, &l)
		s.offload.Give(l.Call())
	case csrc.LendSuspended:
		t = taskOf[R](own, s, &l)
	case csrc.LendEnded:
		r, err = ended[R](s, &l)
	default:
		err = statusError(csrc.Status(out), ofScheduler)
	}
	return t, r, err
}

// startHere is Start of a brief function, on the calling thread. Without a Task and an error it
// cannot be done.
func (f *Func[A, R]) startHere(s *Scheduler, arg A) (*Task[R], error) {
	if err := f.ready(s); err != nil {
		return nil, err
	}
	if s.closed.Load() {
		return nil, ErrClosed
	}
	if !s.core.MayLend() {
		return nil, nil
	}
	var l csrc.Lend
	s.edge.Release()
	out := s.core.Lend(&l, &f.spec, unsafe.Pointer(&arg), csrc.JoinLender, true)
	switch out {
	case csrc.LendEnded:
		t := &Task[R]{s: s, handle: Handle(l.Handle())}
		t.result, t.err = ended[R](s, &l)
		t.finished.Store(true)
		return t, nil
	case csrc.LendSuspended:
		t := &Task[R]{s: s, join: l.Joinable(), handle: Handle(l.Handle())}
		t.made()
		t.clean = runtime.AddCleanup(t, drop, ref{s, uint64(t.handle)})
		return t, nil
	case csrc.LendNone:
		return nil, nil
	}
	return nil, statusError(csrc.Status(out), ofScheduler)
}

// endError is the error of a coroutine that has ended with a status.
func endError(status csrc.Status, failure *csrc.Failure) error {
	if failure != nil {
		return newBodyError(failure)
	}
	return statusError(status, ofScheduler)
}

// contextOf asks ctx for what l's coroutine needs. If a method of a user's context panics, the
// coroutine goes on without the goroutine, canceled.
func (s *Scheduler) contextOf(ctx context.Context, l *csrc.Lend, out csrc.Outcome) startContext {
	asked := false
	defer func() {
		if asked {
			return
		}
		t := abandon(s, l)
		t.Cancel()
		if out == csrc.LendCalls {
			s.offload.Give(l.Call())
		}
	}()
	own := newStartContext(ctx)
	asked = true
	return own
}

// callHere makes the call into Go of l's coroutine, and goes on with the coroutine. ctx is tame.
func (s *Scheduler) callHere(ctx context.Context, l *csrc.Lend) csrc.Outcome {
	call := l.Call()
	s.offload.Here(ctx, call, func() { _ = abandon(s, l) })
	s.edge.Release()
	out := s.core.LendOn(l)
	if out == csrc.LendNone {
		s.core.Complete(call)
		return csrc.LendSuspended
	}
	return out
}

// taskOf makes the task of a coroutine that was started by a lend and goes on elsewhere.
func taskOf[R any](own startContext, s *Scheduler, l *csrc.Lend) *Task[R] {
	t := &Task[R]{s: s, registered: true, join: l.Joinable(), handle: Handle(l.Handle()),
		hooks: &taskHooks{ctx: own.ctx}}
	if !s.offload.Contexts.Load() {
		s.offload.Contexts.Store(true)
	}
	if t.takeOver(); own.ctx.Done() != nil {
		t.bind(own, false)
	}
	return t
}

// takeOver has the poller complete t, or takes the end that has come.
func (t *Task[R]) takeOver() {
	t.mu.Lock() // keeps complete waiting
	defer t.mu.Unlock()
	t.id = t.s.poller.reserve(t)
	if !t.join.Adopt(t.id) {
		t.s.poller.release(t.id)
		t.finish()
		t.tell()
	}
	t.made()
}

// abandon is for a goroutine that leaves l's coroutine to itself: nobody waits for the end.
func abandon(s *Scheduler, l *csrc.Lend) *Task[None] {
	t := &Task[None]{s: s, registered: true, join: l.Joinable(), handle: Handle(l.Handle())}
	t.takeOver()
	return t
}
