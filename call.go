package coro

import (
	"context"
	"runtime"
	"time"
	"unsafe"

	"github.com/organzine/coro/csrc"
	"github.com/organzine/coro/internal/bubble"
	"github.com/organzine/coro/internal/ctxerr"
	"github.com/organzine/coro/internal/leak"
	"github.com/organzine/coro/internal/policy"
)

// Call runs f on s with a copy of arg, and returns the result: what [Func.Start] and [Task.Wait]
// do, for about the price of three cgo calls. If a worker of s sleeps, the coroutine runs on the
// calling goroutine's thread, which stands in for that worker: no thread is woken, and there is no
// Task. If none sleeps, Call tries again for up to 50 µs while that often pays. Else, and in a
// scheduler made WithPaused, WithAffinity or WithoutLending, Call is StartContext and Wait.
// [docs/border.md] says what it means for C code to run on a goroutine's thread.
//
// Call returns when the coroutine ends. What the coroutine has spawned goes on on the workers. If
// the coroutine suspends, Call runs what it has spawned, until it can go on: for some 10 ms at
// most, 100 µs if ctx may end, and 15 µs while something else is to be started on that worker. Then
// the goroutine waits as Task.Wait does. A call into Go that the coroutine makes is made by the
// calling goroutine, if ctx never ends.
//
// The context belongs to the coroutine, as that of StartContext does: its end cancels the
// coroutine. If the coroutine computes then, Call returns when it ends or suspends: a body that asks
// coro_canceled is told after a coro_yield. Its result stands, if it ends with one; else Call returns
// the cause of the context, and the canceled coroutine goes on to its end. It may still use the
// memory that the argument has the address of. So where ctx may end, use StartContext, wait for the
// Task with context.WithoutCancel(ctx), and free the memory then. A context with a deadline costs
// some 300 ns more, since the body may ask for the deadline.
//
// The errors are those of StartContext and Task.Wait. Within a Go body, Call holds its executor, as
// Task.Wait does. Within a Go function that was called inline, the coroutine runs on the worker
// that makes the inline call, so that such calls may nest; if the coroutine suspends, or ctx may
// end and the coroutine calls Go, Call holds that worker, as Task.Wait does.
//
// [docs/border.md]: https://github.com/organzine/coro/blob/main/docs/border.md
func (f Func[A, R]) Call(ctx context.Context, s *Scheduler, arg A) (R, error) {
	var l csrc.Lend
	if out, err := s.lend(ctx, &f.spec, unsafe.Pointer(&arg), &l); out != csrc.LendEnded {
		return f.callOn(ctx, s, &arg, &l, out, err)
	}
	s.edge.Acquire()
	runtime.KeepAlive(s)
	if !l.IsOK() {
		return *new(R), endError(&l)
	}
	return *(*R)(l.Result()), nil
}

// lend checks what Call is given, and starts the coroutine in a lend. With a deadline it comes to
// LendNone.
func (s *Scheduler) lend(ctx context.Context, spec *csrc.Spec, arg unsafe.Pointer, l *csrc.Lend) (
	csrc.Outcome, error,
) {
	background := isBackground(ctx)
	if !background && ctx.Err() != nil {
		return csrc.LendNone, ctxerr.Of(ctx)
	}
	if err := s.ready(spec); err != nil {
		return csrc.LendNone, err
	}
	if s.closed.Load() {
		return csrc.LendNone, ErrClosed
	}
	if spec.Flags != 0 || !s.core.Lends() {
		return csrc.LendNever, nil
	}
	if !background {
		if _, has := ctx.Deadline(); has {
			return csrc.LendNone, nil
		}
	}
	if leak.On() {
		leak.Meet(leakable{s})
	}
	budget := helps
	if !background && ctx.Done() != nil {
		budget = helpsBriefly
	}
	s.edge.Release()
	return s.core.Lend(l, spec, arg, csrc.JoinLender, false, budget), nil
}

// How long the thread of a Call or CallN runs what the coroutine has spawned, while nothing else
// wants the worker. To go on on the worker's own thread would cost two wake-ups. helps: after that,
// Go's monitor takes the goroutine's P away in any case. helpsBriefly: the context may end, and is
// not heard meanwhile.
const (
	helps        = 10 * time.Millisecond
	helpsBriefly = 100 * time.Microsecond
)

// soon is how long Call tries again: as long as it takes to wake a worker's thread.
const soon = 50 * time.Microsecond

// lendSoon is lend for a call that found no worker asleep. As long as that pays, it tries again for
// a while, and lets other goroutines run meanwhile: a worker that is lent, or has one short
// coroutine to run, sleeps sooner than a thread is woken. A thread that is woken also competes with
// the lenders for CPUs; their calls then take longer, and more calls find no worker asleep. If ctx
// has a deadline, lendSoon only waits: lendUntil lends.
func (s *Scheduler) lendSoon(ctx context.Context, spec *csrc.Spec, arg unsafe.Pointer,
	l *csrc.Lend,
) (out csrc.Outcome, err error) {
	_, until := ctx.Deadline()
	if !policy.HasTryAgain || until && s.core.MayLend() || !s.again.Try() {
		return csrc.LendNone, nil
	}
	if err := outside(); err != nil {
		return csrc.LendNone, err
	}
	out = csrc.LendNone
	sleeps := false
	for end := time.Now().Add(soon); !sleeps && time.Now().Before(end); {
		runtime.Gosched()
		if sleeps = s.core.MayLend(); sleeps && !until {
			out, err = s.lend(ctx, spec, arg, l)
			sleeps = out != csrc.LendNone || err != nil
		}
	}
	s.again.Tell(sleeps)
	return out, err
}

// callOn is the rest of Call, for a coroutine that has not ended at once.
//
//go:noinline
func (f *Func[A, R]) callOn(ctx context.Context, s *Scheduler, arg *A, l *csrc.Lend,
	out csrc.Outcome, err error,
) (R, error) {
	if err != nil {
		return *new(R), err
	}
	t, r, err := f.goOn(ctx, s, arg, l, out)
	if t != nil {
		r, err = t.waitIn(ctx)
	}
	return r, err
}

// waitIn is Wait for a call, whose coroutine is of no use if nobody can wait for it.
func (t *Task[R]) waitIn(ctx context.Context) (R, error) {
	r, err := t.Wait(ctx)
	if err == ErrBubble {
		t.Cancel()
	}
	return r, err
}

// begin is Call up to where the goroutine waits for the task. Without a task, it is the whole Call.
func (f *Func[A, R]) begin(ctx context.Context, s *Scheduler, arg A) (t *Task[R], r R, err error) {
	var l csrc.Lend
	out, err := s.lend(ctx, &f.spec, unsafe.Pointer(&arg), &l)
	if err != nil {
		return nil, r, err
	}
	return f.goOn(ctx, s, &arg, &l, out)
}

// ended is the result of a coroutine that has ended in a lend.
func ended[R any](s *Scheduler, l *csrc.Lend) (r R, err error) {
	s.edge.Acquire()
	runtime.KeepAlive(s)
	if !l.IsOK() {
		return r, endError(l)
	}
	return *(*R)(l.Result()), nil
}

// goOn does the rest of a call whose lend has come out so. It does not wait for the coroutine.
func (f *Func[A, R]) goOn(ctx context.Context, s *Scheduler, arg *A, l *csrc.Lend,
	out csrc.Outcome,
) (t *Task[R], r R, err error) {
	if out == csrc.LendNone {
		if out, err = s.lendSoon(ctx, &f.spec, unsafe.Pointer(arg), l); err != nil {
			return nil, r, err
		}
	}
	if isBackground(ctx) {
		for out == csrc.LendCalls {
			out = s.callHere(noContext, l)
		}
	}
	if out == csrc.LendEnded {
		r, err = ended[R](s, l)
		return nil, r, err
	}
	var own startContext
	if out == csrc.LendCalls || out == csrc.LendSuspended {
		own = s.contextOf(ctx, l, out)
	}
	for out == csrc.LendCalls && (own.ctx.Done() == nil || bubble.In()) {
		out = s.callHere(own.ctx, l)
	}
	if out == csrc.LendSuspended && bubble.In() { // nobody outside is to ask ctx: waitIn cancels
		own.drop()
		own = startContext{ctx: background}
	}
	switch out {
	case csrc.LendNone, csrc.LendNever:
		if _, has := ctx.Deadline(); has && f.spec.Flags == 0 && s.core.MayLend() {
			return f.lendUntil(ctx, s, *arg)
		}
		t, err = f.StartContext(ctx, s, *arg)
	case csrc.LendCalls:
		t = taskOf[R](own, s, l)
		s.offload.Give(l.Call())
	case csrc.LendSuspended:
		t = taskOf[R](own, s, l)
	case csrc.LendEnded:
		own.drop()
		r, err = ended[R](s, l)
	default:
		err = statusError(csrc.Status(out), ofScheduler)
	}
	return t, r, err
}

// endError is the error of a coroutine that has ended in a lend, and not with OK.
func endError(l *csrc.Lend) error { return errorOf(l.Ended()) }

// errorOf is the error of a coroutine that has ended with a status.
func errorOf(status csrc.Status, failure *csrc.Failure) error {
	if failure != nil {
		return newBodyError(failure)
	}
	return statusError(status, ofScheduler)
}

// lendUntil is begin with a context that has a deadline. The body may ask for the deadline, which
// the core knows under the id of a task: so the task is made first.
func (f *Func[A, R]) lendUntil(ctx context.Context, s *Scheduler, arg A) (
	task *Task[R], r R, err error,
) {
	if err := outside(); err != nil {
		return nil, r, err
	}
	own := newStartContext(ctx)
	awaited := s.awaitIf(true)
	t := &Task[R]{s: s, registered: true, hasDeadline: true, hooks: &taskHooks{ctx: own.ctx}}
	var l csrc.Lend
	out, err := f.lendTask(t, own, &arg, &l)
	if err == nil && (out == csrc.LendSuspended || out == csrc.LendCalls) {
		t.bind(own, awaited)
		if out == csrc.LendCalls {
			s.offload.Give(l.Call())
		}
		return t, r, nil
	}
	s.deadlineOver(awaited)
	switch {
	case err != nil:
		own.drop()
		return nil, r, err
	case out == csrc.LendEnded:
		own.drop()
		r, err = ended[R](s, &l)
		return nil, r, err
	}
	t, err = f.startBound(own, s, arg, false)
	if err != nil {
		own.drop()
	}
	return t, r, err
}

// lendTask lends the thread to the coroutine of t. If that goes on elsewhere, the poller hears of
// its end.
func (f *Func[A, R]) lendTask(t *Task[R], own startContext, arg *A, l *csrc.Lend) (
	csrc.Outcome, error,
) {
	s := t.s
	t.mu.Lock() // keeps complete waiting
	defer t.mu.Unlock()
	if !s.offload.Contexts.Load() {
		s.offload.Contexts.Store(true)
	}
	t.id = s.poller.reserve(t)
	if !s.core.SetDeadline(t.id, time.Until(own.deadline)) {
		t.hasDeadline = false
		s.poller.release(t.id)
		return csrc.LendNone, ErrNoMemory
	}
	s.edge.Release()
	out := s.core.Lend(l, &f.spec, unsafe.Pointer(arg), t.id, false, helpsBriefly)
	if out == csrc.LendSuspended || out == csrc.LendCalls {
		t.join, t.handle = l.Joinable(), Handle(l.Handle())
		t.made()
		return out, nil
	}
	s.poller.release(t.id)
	if out < 0 {
		return out, statusError(csrc.Status(out), ofScheduler)
	}
	return out, nil
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

// noContext stands for the background's.
var noContext context.Context

// callHere makes the call into Go of l's coroutine, and goes on with the coroutine. ctx is tame, or
// noContext.
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
