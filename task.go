package coro

import (
	"context"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/ctxerr"
	"github.com/organzine/coro/internal/spin"
)

// A Task is one coroutine whose end can be waited for. Several goroutines may call its methods. A
// Task for which nobody waits keeps its record until the garbage collector finds the Task.
type Task[R any] struct {
	s      *Scheduler
	join   core.Joinable
	handle Handle
	clean  runtime.Cleanup

	isBody      bool // the coroutine has a Go body, which completes the task
	hasDeadline bool // the core knows a deadline under the id
	isLent      bool // the start is a lend, which has not come back; with mu
	borrows     bool // the coroutine borrows memory

	mu          sync.Mutex
	registered  bool   // complete will be called
	joined      bool   // by a body that has registered as the joiner
	counted     bool   // the end holds a pending-work token, until complete has told all
	released    bool   // of a body: the record is given up
	id          uint32 // if the poller completes it
	bodyWaiters []bodyWaiter
	done        chan struct{} // made for a waiter, closed when the result is there
	hooks       *taskHooks    // nil: there are none
	loan        *core.Loan    // nil: there is none, or it has ended
	keeper      *keeper       // of the buffers of the result; nil: there are none
	finished    atomic.Bool
	result      R
	err         error
}

// taskHooks are what is bound to a task besides its waiters.
type taskHooks struct {
	ctx   context.Context // its end cancels the task; nil: none
	stop  func() bool     // unbinds ctx; nil: it is not bound
	told  bool            // a run has canceled the task
	after []func()        // to be called when the task has ended
}

// A ref keeps the scheduler's memory until the record is given up.
type ref struct {
	s      *Scheduler
	handle uint64
}

func drop(r ref) { core.Detach(r.handle) }

// Handle names the task's coroutine, for C bodies and for Wake.
func (t *Task[R]) Handle() Handle { return t.handle }

// Wake gives the coroutine a permit, see Handle.Wake.
func (t *Task[R]) Wake() error { return t.handle.Wake() }

// Cancel tells the coroutine to end, see Handle.Cancel. Wait then tells how the coroutine ended. If
// it has ended already, nothing happens.
func (t *Task[R]) Cancel() { _ = t.handle.Cancel() }

func (t *Task[R]) spin() {
	t.s.spinner.Spin(lookFor, lookLong, spin.Turns, func() bool {
		return t.finished.Load() || !t.isBody && t.join.Ended()
	})
}

// Wait waits for the end and returns the result, each time the same. The error is ErrAborted if the
// body called coro_abort, a *BodyError if it called coro_fail, ErrCanceled if the coroutine was
// canceled and did not start, or was told so and returned without coro_exit_finished (after
// StartContext, if that context has ended, its cause), ErrNoMemory if the coroutine never got a
// stack, ErrStale if a C body has joined it; then the result is zero. Wait may also return ErrBusy,
// if a C body waits for the coroutine now, or the cause, if the context ends first: then the
// coroutine goes on, and Wait may be called again. Within the coroutine itself, or a Go function
// that the coroutine has called, it returns ErrInside. Wait spins for 2 µs, or, where short tasks
// of the scheduler follow each other, up to 50 µs, then sleeps without holding a thread.
//
// A coroutine that borrows memory (see [Slice]) is canceled when the context ends, or by a Wait in a
// bubble of testing/synctest, and Wait returns at its end: with the cause, or ErrBubble, unless the
// coroutine has ended otherwise than by a cancel. It is then canceled for all who wait: the others'
// Wait returns ErrCanceled.
func (t *Task[R]) Wait(ctx context.Context) (R, error) {
	var zero R
	if t.s == nil || !t.finished.Load() {
		t.spin()
	}
	done, err := t.await()
	over := false
	if err != nil {
		if err == ErrBubble && t.borrows && !t.isCaller() {
			t.endHere()
		}
		return zero, err
	}
	if done != nil {
		if t.isCaller() {
			return zero, ErrInside
		}
		select {
		case <-done:
		case <-t.endOf(ctx):
			if !t.borrows {
				return zero, ctxerr.Of(ctx)
			}
			over = true
			t.Cancel()
			<-done
		}
	}
	t.s.edge.Acquire()
	t.releaseRecord()
	t.took()
	if over && t.err == ErrCanceled {
		return zero, ctxerr.Of(ctx)
	}
	return t.result, t.err
}

// endOf is ctx.Done(). If that panics, what borrows has ended before the panic goes on: what the
// caller has deferred may free the memory.
func (t *Task[R]) endOf(ctx context.Context) <-chan struct{} {
	if !t.borrows {
		return ctx.Done()
	}
	asked := false
	defer func() {
		if !asked {
			t.endHere()
		}
	}()
	end := ctx.Done()
	asked = true
	return end
}

// isCaller tells whether the coroutine cannot end before the caller returns.
func (t *Task[R]) isCaller() bool { return slices.Contains(t.s.callers(), t.handle) }

// closed is what Done returns where there is nothing to wait for.
var closed = func() <-chan struct{} { c := make(chan struct{}); close(c); return c }()

// Done returns a channel that is closed when Wait has its answer: when the coroutine has ended. If
// a C body waits for the coroutine, the channel is closed at once, since Wait then returns ErrBusy.
// In a bubble of testing/synctest Done panics with ErrBubble, unless the coroutine has ended.
func (t *Task[R]) Done() <-chan struct{} {
	done, err := t.await()
	if err == ErrBubble {
		panic(err)
	}
	if done == nil {
		return closed
	}
	return done
}

// Err returns the error of Wait; nil as long as the coroutine goes on.
func (t *Task[R]) Err() error {
	if !t.finished.Load() {
		_ = t.s.core // a zero Task panics here: it has no record to look at
		if t.isBody || !t.join.Ended() {
			return nil
		}
		if _, err := t.await(); err != nil {
			return err
		}
	}
	if t.finished.Load() {
		return t.err
	}
	return nil
}

// await returns nil if the result is there, else a channel that is closed when it is. ErrBusy: a C
// body will have the result. ErrBubble: the caller cannot wait.
func (t *Task[R]) await() (<-chan struct{}, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if done, err := t.awaitLocked(); done || err != nil {
		return nil, err
	}
	if err := outside(); err != nil {
		return nil, err
	}
	if t.done == nil {
		t.done = make(chan struct{})
	}
	return t.done, nil
}

// awaitLocked sees to it that complete is called. True: the result is there. ErrBusy: a C body will
// have the result.
func (t *Task[R]) awaitLocked() (bool, error) {
	if t.finished.Load() {
		return true, nil
	}
	if t.register() {
		return false, nil
	}
	if !t.finish() {
		return false, ErrBusy
	}
	return true, nil
}

// enlist gives the task the id by which the poller is told of the end.
func (t *Task[R]) enlist() {
	if !t.s.offload.Contexts.Load() {
		t.s.offload.Contexts.Store(true)
	}
	t.id = t.s.poller.reserve(t)
}

// register sees to it that the task is completed. False: it has ended, or a C body joins it.
func (t *Task[R]) register() bool {
	if !t.registered {
		t.id, t.registered = t.s.poller.register(t.join, t)
	}
	return t.registered
}

// whenDone calls f once when Wait has its answer: now, or when the task is completed, with mu
// held. f must not wait.
func (t *Task[R]) whenDone(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if done, err := t.awaitLocked(); done || err != nil {
		f()
		return
	}
	if t.hooks == nil {
		t.hooks = &taskHooks{}
	}
	t.hooks.after = append(t.hooks.after, f)
}

// isAwaited tells whether complete has something to tell.
func (t *Task[R]) isAwaited() bool {
	return t.done != nil || len(t.bodyWaiters) > 0 || t.hooks != nil
}

// complete takes the result of a registered task that has ended. The poller calls it, once.
func (t *Task[R]) complete() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.isLent {
		t.isLent = false // for launchHere
		return
	}
	t.finish()
	t.tell()
	if t.counted {
		t.s.core.EndPending()
	}
}

// completeBody is complete for a task whose body has set the result. The executor calls it, once.
func (t *Task[R]) completeBody() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.finished.Store(true)
	t.tell()
}

// tell wakes all waiters of a finished task.
func (t *Task[R]) tell() {
	if h := t.hooks; h != nil {
		t.hooks = nil
		if h.stop != nil {
			h.stop()
		}
		for _, f := range h.after {
			f()
		}
	}
	if t.done != nil {
		close(t.done)
		t.done = nil
	}
	for _, w := range t.bodyWaiters {
		w.tell()
	}
	t.bodyWaiters = nil
}

// forget takes a bodyWaiter off the list. False: it has been told.
func (t *Task[R]) forget(w bodyWaiter) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.bodyWaiters, w)
	if i < 0 {
		return false
	}
	t.bodyWaiters = slices.Delete(t.bodyWaiters, i, i+1)
	w.forget()
	return true
}

// releaseRecord gives up the record of a body whose result was taken. As with a C body, no C body
// can join it any more.
func (t *Task[R]) releaseRecord() {
	if !t.isBody {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	// Busy: a C body has the record, or gives it up; then drop detaches it.
	if !t.released && core.Detach(uint64(t.handle)) != core.Busy {
		t.released = true
		t.clean.Stop()
	}
}

// finish takes the result. False: the end has not come, and somebody else has registered for it.
func (t *Task[R]) finish() bool { return t.take(t.join.Take) }

func (t *Task[R]) take(take func(unsafe.Pointer, uintptr) (core.Status, *core.Failure)) bool {
	bytes := reflect.TypeFor[R]().Size()
	inline := bytes
	if t.loan.Large() {
		inline = 0
	}
	status, failure := take(unsafe.Pointer(&t.result), inline)
	if status == core.Busy {
		return false
	}
	t.clean.Stop()
	t.s.edge.Acquire()
	t.loan.Name(failure)
	t.err = errorOf(status, failure)
	if t.loan.Large() && status == core.OK {
		t.loan.Result(unsafe.Pointer(&t.result), bytes)
	}
	if t.loan != nil {
		if status == core.OK {
			t.keepBuffers(t.loan.ResultBuffers())
		}
		t.loan.End()
		t.loan = nil
	}
	if status == core.Canceled && t.hooks != nil {
		if over := overOf(t.hooks.ctx); over != nil {
			t.err = ctxerr.Of(over)
		}
	}
	t.finished.Store(true)
	return true
}

// Await is Task.Wait for the body of c: c is suspended until t has ended, and its executor goes on
// with others. It returns what Wait does; the cause also if c is canceled first: then t goes on.
// But a t that borrows memory (see [Slice]) is canceled, and Await returns at its end. Await of the
// coroutine's own task is ErrInside.
func (t *Task[R]) Await(ctx context.Context, c *Coroutine) (R, error) {
	if err := t.awaitEnd(ctx, c); err != nil {
		return *new(R), err
	}
	return t.outcome()
}

// awaitEnd is Await without the result. It returns an error if c has not waited for the end, or if
// the wait has ended before and has canceled t, which borrows.
func (t *Task[R]) awaitEnd(ctx context.Context, c *Coroutine) error {
	if err := c.check(); err != nil {
		return err
	}
	if err := c.mayWait(ctx); err != nil {
		return err
	}
	if t.s == c.pool.s && t.handle == c.handle {
		return ErrInside
	}
	if t.finished.Load() {
		c.spend()
		return nil
	}
	err := c.bound(ctx, func(end *boundWait) error { return t.awaitBound(c, end) })
	if err != nil && t.borrows {
		t.s.edge.Acquire()
	}
	return err
}

// outcome is what t, which has ended, has come to.
func (t *Task[R]) outcome() (R, error) {
	t.s.edge.Acquire()
	t.releaseRecord()
	t.took()
	return t.result, t.err
}

// awaitBound is await for the Go body c, until end ends, too. nil: there is no end.
func (t *Task[R]) awaitBound(c *Coroutine, end *boundWait) error {
	t.mu.Lock()
	switch {
	case t.finished.Load():
		t.mu.Unlock()
	case !t.registered && t.s == c.pool.s && t.join.JoinBy(c.join):
		t.registered, t.joined = true, true
		t.mu.Unlock()
		return t.awaitJoined(c, end)
	default:
		if !t.register() { // t has ended just now, or a C body joins it
			ok := t.finish()
			t.mu.Unlock()
			if !ok {
				return ErrBusy
			}
			break
		}
		w := bodyWaiter{c, !t.tells(c)}
		t.bodyWaiters = append(t.bodyWaiters, w)
		w.begin()
		t.mu.Unlock()
		if err := c.awaitUntil(end, t.finished.Load); err != nil {
			switch {
			case t.borrows:
				t.Cancel()
				c.awaitCommitted(t.finished.Load)
				if t.err != ErrCanceled { // a result stands
					return nil
				}
			case !t.forget(w):
				c.awaitCommitted(t.finished.Load)
			}
			return err
		}
	}
	return nil
}

// awaitJoined waits as the task's joiner.
func (t *Task[R]) awaitJoined(c *Coroutine, end *boundWait) error {
	if err := c.awaitUntil(end, t.join.JoinedEnd); err != nil {
		if t.unjoin(c) {
			return err
		}
		c.awaitCommitted(t.join.JoinedEnd)
	}
	t.mu.Lock()
	t.take(t.join.TakeJoined)
	t.tell()
	t.mu.Unlock()
	return nil
}

// unjoin ends that c is the task's joiner. False: the end has come, and c must take it.
func (t *Task[R]) unjoin(c *Coroutine) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.isAwaited() {
		if !t.join.Unjoin(c.join) {
			return false
		}
		t.registered, t.joined = false, false
		return true
	}
	// Others rely on c by now. No C body can join in between.
	t.id = t.s.poller.reserve(t)
	if !t.join.Rejoin(c.join, t.id) {
		t.s.poller.release(t.id)
		return false
	}
	t.joined, t.counted = false, true
	return true
}

// tells sees to it that the scheduler of c, which is about to wait, does not rest between the end
// of t and the event for c. False: that cannot be done, since t ends elsewhere, or its end is on
// its way.
func (t *Task[R]) tells(c *Coroutine) bool {
	switch {
	case t.s != c.pool.s:
		return false
	case t.isBody || t.joined: // an executor tells c, and is awake meanwhile
		return true
	case !t.counted:
		t.counted = t.join.Count(t.id)
	}
	return t.counted
}

// A bodyWaiter is a body that waits for a task which Go completes.
type bodyWaiter struct {
	c *Coroutine
	// the event comes from a goroutine that the scheduler does not know: a token is held for
	// it
	pending bool
}

func (w bodyWaiter) begin() {
	if w.pending {
		w.c.pool.s.core.BeginPending(1)
	}
}

func (w bodyWaiter) tell() {
	s := w.c.pool.s
	s.core.SendEvent(w.c.join)
	w.forget()
}

func (w bodyWaiter) forget() {
	if w.pending {
		w.c.pool.s.core.EndPending()
	}
}
