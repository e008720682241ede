package offload

import (
	"context"
	"sync/atomic"
	"time"
)

// A callContext is what a Go function gets that a C body has called. It ends with the call, with
// the scheduler, with the context that the calling coroutine was started with, if there is one, or
// when that coroutine is canceled. Its values and its deadline are those of that context. In a
// shield section of the caller it ends by no cancel, and its deadline is the section's.
//
// Most functions do not look at theirs: it becomes a context of package context, which costs as
// much as the call, for those that do.
type callContext struct {
	pool   *Pool
	caller context.Context // that the coroutine was started with; nil: none
	until  uint64          // the shield section's deadline, by core.Now; 0: in none

	real atomic.Pointer[realContext] // nil: the function has not asked, and the call goes on
}

// A realContext is a callContext that was asked for, or has ended.
type realContext struct {
	context.Context       // nil: it was not asked for before it ended
	cause           error // of that end
	quit            context.CancelCauseFunc
	free            []func() // to be called at the end, perhaps several times
}

// returned is of a call that has returned, and was not asked for before.
var returned = &realContext{cause: context.Canceled}

func (c *callContext) get() context.Context {
	for {
		r := c.real.Load()
		if r != nil && r.Context != nil {
			return r.Context
		}
		asked := c.make()
		if r != nil {
			asked.end(r.cause)
		}
		if c.real.CompareAndSwap(r, asked) {
			return asked.Context
		}
		asked.end(context.Canceled)
	}
}

func (c *callContext) make() *realContext {
	r := &realContext{}
	parent := c.pool.Context
	from := parent
	if c.caller != nil {
		from = c.caller
	}
	if c.until != 0 {
		var free context.CancelFunc
		from, free = context.WithDeadline(context.WithoutCancel(from), timeOf(c.until))
		r.free = append(r.free, free)
	}
	r.Context, r.quit = context.WithCancelCause(from)
	if c.caller != nil && c.until == 0 {
		stop := context.AfterFunc(parent, func() { r.quit(context.Cause(parent)) })
		r.free = append(r.free, func() { stop() })
	}
	return r
}

func (r *realContext) end(cause error) {
	r.quit(cause)
	for _, f := range r.free {
		f()
	}
}

// end ends the context, if it has not ended.
func (c *callContext) end(cause error) {
	r := c.real.Load()
	if r == nil {
		ended := returned
		if cause != context.Canceled {
			ended = &realContext{cause: cause}
		}
		if c.real.CompareAndSwap(nil, ended) {
			return
		}
		r = c.real.Load()
	}
	if r.Context != nil {
		r.end(cause)
	}
}

// reason is why the caller is canceled.
func (c *callContext) reason() error { return c.pool.Canceled(c.caller) }

// cancel ends the context since the caller was canceled. If that was by the end of the caller's own
// context, that ends this one, too, with its Err and its cause.
func (c *callContext) cancel() {
	if c.caller == nil || c.caller.Err() == nil {
		c.end(c.reason())
	}
}

func (c *callContext) Deadline() (time.Time, bool) {
	switch {
	case c.until != 0:
		return c.get().Deadline()
	case c.caller != nil:
		return c.caller.Deadline()
	}
	return c.pool.Context.Deadline()
}

func (c *callContext) Done() <-chan struct{} { return c.get().Done() }
func (c *callContext) Err() error            { return c.get().Err() }
func (c *callContext) Value(key any) any     { return c.get().Value(key) }
