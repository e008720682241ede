package coro

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"

	"github.com/organzine/coro/internal/ctxerr"
)

// How a context is bound to what its end cancels. A context with a deadline is certain to end:
// until it ends, or is unbound, a pending-work token of the scheduler says so, and a wait for that
// alone is no deadlock. The cancel of a context comes by a goroutine of its own, which may be late:
// so a run that finds a deadlock asks the contexts first, and once that goroutine has begun it
// holds a token until it is done.

// awaitDeadline takes the token, if ctx has a deadline. It is called before anything that is bound
// to ctx begins to run.
func (s *Scheduler) awaitDeadline(ctx context.Context) (awaited bool) {
	_, has := ctx.Deadline()
	return s.awaitIf(has)
}

// awaitIf is awaitDeadline of a context that has a deadline, or has none.
func (s *Scheduler) awaitIf(has bool) (awaited bool) {
	if has {
		s.core.BeginPending(1)
	}
	return has
}

// deadlineOver gives the token back, if there is one.
func (s *Scheduler) deadlineOver(awaited bool) {
	if awaited {
		s.core.EndPending()
		runtime.KeepAlive(s)
	}
}

// bind sees to it that the end of ctx calls cancel, and then gives back the token of awaitDeadline.
// stop unbinds ctx, and gives back the token, unless ctx has ended. The methods of ctx may be the
// user's own, and panic: the token is given back then, too. The caller holds nothing that a panic
// would leave held.
func (s *Scheduler) bind(ctx context.Context, awaited bool, cancel func()) (stop func() bool) {
	bound := false
	defer func() {
		if !bound {
			s.deadlineOver(awaited)
		}
	}()
	unbind := context.AfterFunc(ctx, func() { s.canceling(awaited, cancel) })
	bound = true
	if !awaited {
		return unbind
	}
	return func() bool {
		stopped := unbind()
		s.deadlineOver(stopped)
		return stopped
	}
}

// canceling calls cancel with a token held, and gives the token back: the one that there is, or
// another.
func (s *Scheduler) canceling(awaited bool, cancel func()) {
	if s.paused && !awaited {
		s.core.BeginPending(1)
		awaited = true
	}
	cancel()
	s.deadlineOver(awaited)
}

// cancelEnded is for a run that has come to a deadlock: it cancels all whose context has ended.
// False: there is none.
func (s *Scheduler) cancelEnded() (any bool) {
	s.executors.bodies.Each(func(c *Coroutine) { any = c.cancelIfEnded() || any })
	for _, t := range s.poller.all() {
		any = t.cancelIfEnded() || any
	}
	return any
}

// cancelIfEnded cancels c, or ends its wait, if c waits though its context has ended, or the
// context of the wait. False: c does not.
func (c *Coroutine) cancelIfEnded() bool {
	c.mu.Lock()
	wait := c.boundWait
	c.mu.Unlock()
	over := wait != nil && wait.ctx.Err() != nil
	ended := causeOf(c.ctx) != nil
	if own := c.own.Load(); own != nil {
		ended = ended || own.Err() != nil
	}
	switch state := c.state.Load(); {
	case ended && state&(isParked|isAwaiting) != 0:
		c.cancel(c.reason())
	case over && state&isAwaiting != 0:
		wait.end()
	default:
		return false
	}
	return true
}

// A boundWait is a wait of a body that ends when a context does, which is not the body's own. It is
// made before the body is on any list of waiters, and asks the context for the cause when the body
// is on none: the context's methods may panic.
type boundWait struct {
	c    *Coroutine
	ctx  context.Context
	over atomic.Bool // ctx has ended
	stop func() bool
}

// bound calls wait, and returns its error, or the cause of ctx if ctx has ended first. wait waits
// until its boundWait ends, too. nil: there is none, as c hears of ctx's end anyway, or ctx never
// ends.
func (c *Coroutine) bound(ctx context.Context, wait func(*boundWait) error) error {
	if c.isOwn(ctx) {
		return wait(nil)
	}
	w := c.bindWait(ctx)
	defer w.unbind()
	return causeOfWait(ctx, wait(w))
}

// bindWait begins a boundWait.
func (c *Coroutine) bindWait(ctx context.Context) *boundWait {
	s := c.pool.s
	w := &boundWait{c: c, ctx: ctx}
	if ctx.Err() != nil {
		w.over.Store(true)
	}
	w.stop = s.bind(ctx, s.awaitDeadline(ctx), w.end)
	c.setBoundWait(w)
	return w
}

// end makes the body look whether its wait is over: it is.
func (w *boundWait) end() {
	w.over.Store(true)
	w.c.pool.s.core.SendEvent(w.c.join)
}

// unbind ends what bindWait began.
func (w *boundWait) unbind() {
	w.c.setBoundWait(nil)
	w.stop()
}

// errOver says that the context of a wait has ended.
var errOver = errors.New("coro: the context of a wait has ended")

// causeOfWait is the error of a wait with ctx that has ended with err.
func causeOfWait(ctx context.Context, err error) error {
	if err == errOver {
		return ctxerr.Of(ctx)
	}
	return err
}

func (c *Coroutine) setBoundWait(w *boundWait) {
	c.mu.Lock()
	c.boundWait = w
	c.mu.Unlock()
}

// cancelIfEnded cancels the task if its context has ended. It is true once.
func (t *Task[R]) cancelIfEnded() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.hooks
	if h == nil || h.ctx == nil || causeOf(h.ctx) == nil || h.told {
		return false
	}
	h.told = true
	t.Cancel()
	return true
}

func (t *Task[R]) forgetDeadline(id uint32) {
	if t.hasDeadline {
		t.s.core.ForgetDeadline(id)
	}
}

func (t *Task[R]) startContext() context.Context {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.hooks == nil {
		return nil
	}
	return t.hooks.ctx
}
