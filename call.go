package coro

import (
	"context"
	"runtime"
	"unsafe"

	"github.com/organzine/coro/internal/bubble"
	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/ctxerr"
	"github.com/organzine/coro/internal/leak"
)

// How a Call goes: it is one machine. What has become of the coroutine is its state, and mostly
// what the last lend has come to (core.Outcome). callOn does what the state asks for, which gives
// the next one.
//
//	state              what is done, and the next state
//	CAL1  it begins lend looks at ctx, f and s, and lends the thread to the coroutine: CAL2 to
//	                   CAL4, CAL6 or CAL7. If ctx has a deadline, if f is pinned or a daemon, or
//	                   if s lends nothing, nothing is lent: CAL2
//	CAL2  LendNone no worker sleeps. The coroutine is started as by StartContext: CAL5. If ctx
//	                   has a deadline, and a worker sleeps, the start is a lend: CAL5 or CAL6.
//	                   The task comes first there, since the body may ask for the deadline,
//	                   which is the task's
//	CAL3  LendCalls the coroutine calls Go. If ctx never ends, the goroutine makes the call,
//	                   and lends its thread once more (callHere): CAL3, CAL4 or CAL6. Else the
//	                   coroutine gets a task, and the offload pool makes the call: CAL5
//	CAL4  LendSuspended the coroutine goes on on the workers, and gets a task: CAL5
//	CAL5  callWaits the goroutine waits for the task: the end
//	CAL6  LendEnded the result is there: the end
//	CAL7  below 0 nothing was started, and the outcome is an error: the end
//
// An error of CAL1 or CAL2 is the end, too: nothing was started.
//
// CAL1 asks ctx whether it has ended, may end, and has a deadline; it asks context.Background()
// nothing. What a task needs of ctx (startcontext.go) is asked in CAL2, or the first time that CAL3
// or CAL4 comes. There the coroutine runs already. If ctx then panics, or if the function that CAL3
// calls ends the goroutine, the coroutine goes on without the goroutine (leave).
//
// In a bubble of testing/synctest CAL2 refuses a context that may end. Nobody outside is to ask
// such a context: CAL3 makes the call in any case, and the task of CAL4 has another context. CAL5
// cancels the coroutine, since the goroutine cannot wait.

// callWaits is CAL5.
const callWaits = core.LendNone + 1

// Call runs f on s with a copy of arg, and returns the result: what [Func.Start] and [Task.Wait]
// do, for about the price of three cgo calls. If a worker of s sleeps, the coroutine runs on the
// calling goroutine's thread, which stands in for that worker: no thread is woken, and there is no
// Task. If none sleeps, and in a scheduler made WithPaused, WithAffinity or WithoutLending, Call is
// StartContext and Wait.
// [docs/border.md] says what it means for C code to run on a goroutine's thread.
//
// Call returns when the coroutine ends. What the coroutine has spawned goes on on the workers. If
// the coroutine suspends, Call runs what it has spawned, until it can go on: for some 10 ms at
// most, 100 µs if ctx may end, and 15 µs while something else is to be started on that worker. Then
// the goroutine waits as Task.Wait does. A call into Go that the coroutine makes is made by the
// calling goroutine, if ctx never ends.
//
// The context belongs to the coroutine, as that of StartContext does: its end cancels the
// coroutine. If the coroutine computes then, Call returns when it ends or suspends. Its result
// stands, if it ends with one; else Call returns the cause of the context, and the canceled
// coroutine goes on to its end. It may still use the memory that the argument has the address of.
// So where ctx may end, use StartContext, wait for the Task with context.WithoutCancel(ctx), and
// free the memory then. A context with a deadline costs as much as some ten cgo calls more.
//
// The errors are those of StartContext and Task.Wait. Within a Go body, Call holds its executor, as
// Task.Wait does. Within a Go function that was called inline, the coroutine runs on the worker
// that makes the inline call, so that such calls may nest; if the coroutine suspends, or ctx may
// end and the coroutine calls Go, Call holds that worker, as Task.Wait does.
//
// [docs/border.md]: https://github.com/organzine/coro/blob/main/docs/border.md
func (f Func[A, R]) Call(ctx context.Context, s *Scheduler, arg A) (R, error) {
	if l := f.spec.Loan; l.Borrows() {
		return f.callBorrowing(ctx, s, &arg)
	} else if l != nil {
		return f.callLoan(ctx, s, &arg, nil)
	}
	var l core.Lend
	if at, err := s.lend(ctx, &f.spec, unsafe.Pointer(&arg), nil, &l); at != core.LendEnded {
		_, r, err := f.callOn(ctx, s, &arg, &l, at, err, nil)
		return r, err
	}
	s.edge.Acquire() // as ended does
	runtime.KeepAlive(s)
	if !l.IsOK() {
		return *new(R), errorOf(l.Ended())
	}
	return *(*R)(l.Result()), nil
}

// lend is CAL1. On an error it returns LendNone. result is nil unless the argument or the result is
// large.
func (s *Scheduler) lend(ctx context.Context, spec *core.Spec, arg, result unsafe.Pointer,
	l *core.Lend,
) (core.Outcome, error) {
	background := isBackground(ctx)
	if !background && ctx.Err() != nil {
		return core.LendNone, ctxerr.Of(ctx)
	}
	if err := s.ready(spec); err != nil {
		return core.LendNone, err
	}
	if s.closed.Load() {
		return core.LendNone, ErrClosed
	}
	if spec.Flags != 0 || !s.core.Lends() {
		return core.LendNone, nil
	}
	if !background {
		if _, has := ctx.Deadline(); has {
			return core.LendNone, nil
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
	if result != nil {
		return s.core.LendLarge(l, spec, arg, result, budget), nil
	}
	return s.core.Lend(l, spec, arg, core.JoinLender, false, budget), nil
}

// callOn is Call from the state at on, or from an error of CAL1. It returns the task, if it has
// waited for that. left is given the task of a coroutine that goes on without the goroutine.
//
//go:noinline
func (f *Func[A, R]) callOn(ctx context.Context, s *Scheduler, arg *A, l *core.Lend,
	at core.Outcome, err error, left func(*Task[None]),
) (t *Task[R], r R, _ error) {
	var own startContext
	defer func() {
		if at == core.LendCalls || at == core.LendSuspended {
			s.leave(own, l, at, f.takeLoan(), left)
		}
	}()
	for err == nil {
		switch at {
		case core.LendNone: // CAL2
			at = callWaits
			if t, err = f.startWith(ctx, s, arg, l); t == nil {
				at = core.LendEnded
				break
			}
			f.spec.Loan = nil // the task has it
			if l.Outcome() == core.LendCalls {
				s.offload.Give(l.Call())
			}
		case core.LendCalls: // CAL3
			if own.ask(ctx); own.ctx.Done() == nil || bubble.In() {
				at = s.callHere(own.ctx, l)
				break
			}
			t, at = taskOf[R](own, s, l, f.takeLoan()), callWaits
			s.offload.Give(l.Call())
		case core.LendSuspended: // CAL4
			if own.ask(ctx); bubble.In() {
				own.drop()
				own = startContext{ctx: background}
			}
			t, at = taskOf[R](own, s, l, f.takeLoan()), callWaits
		case callWaits: // CAL5
			if r, err = t.Wait(ctx); err == ErrBubble {
				t.Cancel()
			}
			return t, r, err
		case core.LendEnded: // CAL6
			own.drop()
			r, err = ended[R](s, l, f.spec.Loan)
			return nil, r, err
		default: // CAL7
			err = statusError(core.Status(at), ofScheduler)
		}
	}
	return nil, r, err
}

// callHere makes the call into Go of l's coroutine, and goes on with the coroutine. ctx is tame.
func (s *Scheduler) callHere(ctx context.Context, l *core.Lend) core.Outcome {
	call := l.Call()
	var caller context.Context // nil: the background's
	if !isBackground(ctx) {
		caller = ctx
	}
	s.offload.Here(caller, call)
	s.edge.Release()
	at := s.core.LendOn(l)
	if at == core.LendNone {
		s.core.Complete(call)
		return core.LendSuspended
	}
	return at
}

// taskOf makes the task of a coroutine that was started by a lend, and is at CAL3 or CAL4.
func taskOf[R any](own startContext, s *Scheduler, l *core.Lend, loan *core.Loan) *Task[R] {
	t := &Task[R]{s: s, registered: true, join: l.Joinable(), handle: Handle(l.Handle()),
		hooks: &taskHooks{ctx: own.ctx}}
	t.borrow(loan)
	t.mu.Lock() // keeps complete waiting
	t.enlist()
	if !t.join.Adopt(t.id) { // it has ended
		s.poller.release(t.id)
		t.finish()
		t.tell()
	}
	t.made()
	t.mu.Unlock()
	if own.ctx.Done() != nil {
		t.bind(own, false)
	}
	return t
}

// leave is for a goroutine that leaves its call in CAL3 or CAL4, by a panic or by runtime.Goexit:
// the coroutine goes on, and nobody waits for it. It is canceled if its context has panicked. If it
// borrows, it is canceled, and leave returns at its end: what the goroutine has deferred may free
// the memory.
func (s *Scheduler) leave(own startContext, l *core.Lend, at core.Outcome, loan *core.Loan,
	left func(*Task[None]),
) {
	t := taskOf[None](startContext{ctx: background}, s, l, loan)
	if own.ctx == nil {
		t.Cancel()
		if at == core.LendCalls {
			s.offload.Give(l.Call())
		}
	}
	own.drop()
	if t.borrows {
		t.endHere()
	}
	if left != nil {
		left(t)
	}
}

// ended is the result of a coroutine that has ended in a lend.
func ended[R any](s *Scheduler, l *core.Lend, loan *core.Loan) (r R, err error) {
	s.edge.Acquire()
	runtime.KeepAlive(s)
	if !l.IsOK() {
		status, failure := l.Ended()
		loan.Name(failure)
		return r, errorOf(status, failure)
	}
	if loan.Large() {
		loan.Result(unsafe.Pointer(&r), unsafe.Sizeof(r))
		return r, nil
	}
	return *(*R)(l.Result()), nil
}

// errorOf is the error of a coroutine that has ended with a status.
func errorOf(status core.Status, failure *core.Failure) error {
	if failure != nil {
		return newBodyError(failure)
	}
	return statusError(status, ofScheduler)
}
