package coro

import (
	"context"
	"runtime"
	"time"
	"unsafe"

	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/leak"
)

// How the coroutine of a Task is started.

// Start starts f in a scheduler or a group with a copy of arg, like Spawn, and returns the Task
// that waits for its result. It costs about 200 ns, most of it for the Task itself.
//
// In a Group it costs little more. The coroutine is canceled with the group, and then has the
// group's cause for its error. Besides the errors of Spawn, Start returns the cause if the group is
// canceled, and ErrGroupOver after Wait of the group has returned; nothing was started then. An
// error of Start is not one of the group. At the limit of [Group.SetLimit] Start waits.
//
// What the coroutine borrows (see [Slice]) is lent until it has ended, whatever becomes of the Task.
// Done and Wait of the Task, and Wait of the group, tell of the end.
//
// A brief function (FuncBrief) that is started in a Scheduler with a worker that sleeps runs on the
// calling goroutine's thread before Start returns, until it ends or suspends. Its result is then
// the Task's: no C body can join it.
func (f Func[A, R]) Start(in Scope, arg A) (*Task[R], error) {
	s, g := in.scope()
	if g != nil {
		return f.startMember(g, arg, true)
	}
	if f.spec.Loan != nil { // somebody is to hear of the end
		return f.startFor(startContext{ctx: background}, s, &arg, false, nil)
	}
	if f.spec.Brief && f.spec.Flags == 0 {
		if t, err := f.startHere(s, arg); t != nil || err != nil {
			return t, err
		}
	}
	t := &Task[R]{s: s}
	if err := f.launch(t, &arg); err != nil {
		return nil, err
	}
	t.clean = runtime.AddCleanup(t, drop, ref{s, uint64(t.handle)})
	return t, nil
}

// TryStart is Start in a group, and does not wait at the limit of [Group.SetLimit]: it returns
// ErrGroupFull.
func (f Func[A, R]) TryStart(g *Group, arg A) (*Task[R], error) {
	return f.startMember(g, arg, false)
}

func (f Func[A, R]) startMember(g *Group, arg A, waits bool) (*Task[R], error) {
	return startMember(background, g, f.spec.Loan.Borrows(), waits, func() (*Task[R], error) {
		return f.startOf(g, &arg)
	})
}

// startOf starts a coroutine whose task is about to become a member of the group.
func (f *Func[A, R]) startOf(g *Group, arg *A) (*Task[R], error) {
	// counted: its error cancels others
	return f.startFor(startContext{ctx: g.ctx, deadline: g.deadline}, g.s, arg, g.s.paused, nil)
}

// startHere is Start of a brief function, on the calling thread. Without a Task and an error it
// cannot be done.
func (f *Func[A, R]) startHere(s *Scheduler, arg A) (*Task[R], error) {
	if err := s.ready(&f.spec); err != nil {
		return nil, err
	}
	if s.closed.Load() {
		return nil, ErrClosed
	}
	if !s.core.MayLend() {
		return nil, nil
	}
	if leak.On() {
		leak.Meet(leakable{s})
	}
	var l core.Lend
	s.edge.Release()
	at := s.core.Lend(&l, &f.spec, unsafe.Pointer(&arg), core.JoinLender, true, 0)
	switch at {
	case core.LendEnded:
		t := &Task[R]{s: s, handle: Handle(l.Handle())}
		t.result, t.err = ended[R](s, &l, nil)
		t.finished.Store(true)
		return t, nil
	case core.LendSuspended:
		t := &Task[R]{s: s, join: l.Joinable(), handle: Handle(l.Handle())}
		t.made()
		t.clean = runtime.AddCleanup(t, drop, ref{s, uint64(t.handle)})
		return t, nil
	case core.LendNone:
		return nil, nil
	}
	return nil, statusError(core.Status(at), ofScheduler)
}

// launch starts the coroutine of t: with its id, if t is registered.
func (f *Func[A, R]) launch(t *Task[R], arg *A) error {
	if err := t.s.ready(&f.spec); err != nil {
		return err
	}
	p := t.s.submitter()
	if p == nil {
		return ErrClosed
	}
	t.s.edge.Release()
	if leak.On() {
		leak.Meet(leakable{t.s})
	}
	var status core.Status
	if t.registered {
		t.join, status = p.StartFor(t.id, t.counted, &f.spec,
			f.spec.Loan.Arg(unsafe.Pointer(arg)))
	} else {
		t.join, status = p.Start(&f.spec, unsafe.Pointer(arg))
	}
	p.Release()
	if status != core.OK {
		return statusError(status, ofScheduler)
	}
	t.handle = Handle(t.join.Handle())
	t.made()
	return nil
}

// startFor is Start of a task that the poller has from the start: nobody else can join it, and its
// end is heard of. counted: the end is heard of before anything rests. l: if own has a deadline,
// and a worker sleeps, the start is a lend; without a Task and an error the coroutine has ended in
// it.
func (f Func[A, R]) startFor(
	own startContext, s *Scheduler, arg *A, counted bool, l *core.Lend,
) (t *Task[R], err error) {
	buffers, err := f.passBuffers(arg)
	if err != nil {
		return nil, err
	}
	if t, err = f.startPassed(own, s, arg, counted, l); err != nil {
		core.UnpassBuffers(unsafe.Pointer(arg), buffers)
	}
	return t, err
}

// startPassed is startFor of a coroutine that has the buffers of its argument.
func (f *Func[A, R]) startPassed(
	own startContext, s *Scheduler, arg *A, counted bool, l *core.Lend,
) (*Task[R], error) {
	isOwn, err := f.makeLoan(arg)
	if err != nil {
		return nil, err
	}
	t := &Task[R]{s: s, registered: true, counted: counted, hooks: &taskHooks{ctx: own.ctx},
		hasDeadline: !own.deadline.IsZero()} // set before the poller has the task
	t.borrow(f.spec.Loan)
	t.mu.Lock() // keeps complete waiting
	defer t.mu.Unlock()
	t.enlist()
	if t.hasDeadline && !s.core.SetDeadline(t.id, time.Until(own.deadline)) {
		t.hasDeadline = false
		s.poller.release(t.id)
		t.giveBack(isOwn)
		return nil, ErrNoMemory
	}
	at, err := f.launchHere(t, arg, l)
	if at == core.LendNone {
		err = f.launch(t, arg)
	}
	if at == core.LendEnded || err != nil {
		s.poller.release(t.id)
		t.giveBack(isOwn)
		return nil, err
	}
	return t, nil
}

// launchHere is launch by a lend, of a task with a deadline. It returns what that has come to. The
// lend may last: the mutex is not held meanwhile, and if complete comes, it leaves the end to
// launchHere, which knows the record then.
func (f *Func[A, R]) launchHere(t *Task[R], arg *A, l *core.Lend) (core.Outcome, error) {
	s := t.s
	if l == nil || !t.hasDeadline || f.spec.Flags != 0 || !s.core.MayLend() {
		return core.LendNone, nil
	}
	if leak.On() {
		leak.Meet(leakable{s})
	}
	s.edge.Release()
	t.isLent = true
	t.mu.Unlock()
	at := s.core.Lend(l, &f.spec, f.spec.Loan.Arg(unsafe.Pointer(arg)), t.id, false, helpsBriefly)
	t.mu.Lock()
	if at < 0 {
		return at, statusError(core.Status(at), ofScheduler)
	}
	if at == core.LendSuspended || at == core.LendCalls {
		t.join, t.handle = l.Joinable(), Handle(l.Handle())
		t.made()
		if !t.isLent {
			t.finish()
			t.tell()
		}
	}
	t.isLent = false
	return at, nil
}

// StartContext is Start with a context, which belongs to the coroutine: when it ends, the coroutine
// is canceled, as by Cancel, in whatever it waits then, or before it starts. It costs about 500 ns
// more, and more still with a context of a user's own type; nothing is left bound to the context
// when the task has ended, or a moment later if the type is a user's. C bodies cannot join the
// coroutine: its end is Go's from the start. In a Group the coroutine is canceled when either
// context ends.
//
// If the coroutine ends by the cancel (it was never started, or was told of the cancel, by
// CORO_ECANCELED, coro_canceled or coro_cancel_cause, and returned), the Task's error is the
// context's cause. If the body was never told, or calls coro_exit_finished, its result stands, with
// no error. The body may ask for the deadline, by coro_deadline. If the context has ended before,
// StartContext returns its cause, and nothing was started. The cancel gives back no memory that the
// coroutine borrows (see [Slice]): its end does.
func (f Func[A, R]) StartContext(ctx context.Context, in Scope, arg A) (*Task[R], error) {
	return f.startWith(ctx, in, &arg, nil)
}

// startWith is StartContext; l is as of startFor.
func (f *Func[A, R]) startWith(ctx context.Context, in Scope, arg *A, l *core.Lend) (
	*Task[R], error,
) {
	own, s, g, err := contextIn(ctx, in)
	if err != nil {
		return nil, err
	}
	var t *Task[R]
	if g != nil {
		t, err = f.startMemberContext(own, g, arg)
	} else {
		t, err = f.startBound(own, s, arg, false, l)
	}
	if t == nil {
		own.drop()
	}
	return t, err
}

func (f Func[A, R]) startMemberContext(
	ctx startContext, g *Group, arg *A,
) (*Task[R], error) {
	return startMember(ctx.ctx, g, f.spec.Loan.Borrows(), true, func() (*Task[R], error) {
		return f.startBound(ctx.in(g), g.s, arg, g.s.paused, nil)
	})
}

// startBound is startFor of a task that the end of ctx cancels.
func (f Func[A, R]) startBound(
	ctx startContext, s *Scheduler, arg *A, counted bool, l *core.Lend,
) (*Task[R], error) {
	if ctx.ctx.Done() == nil {
		return f.startFor(ctx, s, arg, counted, l)
	}
	awaited := s.awaitIf(ctx.hasDeadline)
	t, err := f.startFor(ctx, s, arg, counted, l)
	if t == nil {
		s.deadlineOver(awaited)
		return nil, err
	}
	t.bind(ctx, awaited)
	return t, nil
}

// bind sees to it that the end of the context cancels the task.
func (t *Task[R]) bind(ctx startContext, awaited bool) {
	stop := ctx.stopAnd(t.s.bind(ctx.ctx, awaited, t.Cancel))
	t.mu.Lock()
	hooks := t.hooks
	if hooks != nil {
		hooks.stop = stop
	}
	t.mu.Unlock()
	if hooks == nil { // the task has ended
		stop()
	}
}
