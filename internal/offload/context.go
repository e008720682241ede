package offload

import (
	"context"
	"sync"
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
	parent context.Context                    // the scheduler's
	caller context.Context                    // that the coroutine was started with; nil: none
	why    func(caller context.Context) error // Canceled of the pool
	until  time.Time                          // the deadline of the shield section; zero: none

	mu    sync.Mutex
	real  context.Context // nil: the function has not asked
	quit  context.CancelCauseFunc
	free  []func() // to be called at the end
	cause error    // why it has ended
}

func (c *callContext) get() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.real == nil {
		c.make()
	}
	return c.real
}

func (c *callContext) make() {
	from := c.parent
	if c.caller != nil {
		from = c.caller
	}
	if !c.until.IsZero() {
		var free context.CancelFunc
		from, free = context.WithDeadline(context.WithoutCancel(from), c.until)
		c.free = append(c.free, free)
	}
	ctx, quit := context.WithCancelCause(from)
	c.real, c.quit = ctx, quit
	if c.caller != nil && c.until.IsZero() {
		parent := c.parent
		stop := context.AfterFunc(parent, func() { quit(context.Cause(parent)) })
		c.free = append(c.free, func() { stop() })
	}
	if c.cause != nil {
		c.endReal()
	}
}

// end ends the context, if it has not ended.
func (c *callContext) end(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause == nil {
		c.cause = cause
	}
	if c.quit != nil {
		c.endReal()
	}
}

func (c *callContext) endReal() {
	c.quit(c.cause)
	for _, f := range c.free {
		f()
	}
	c.free = nil
}

// reason is why the caller is canceled.
func (c *callContext) reason() error { return c.why(c.caller) }

// cancel ends the context since the caller was canceled. If that was by the end of the caller's own
// context, that ends this one, too, with its Err and its cause.
func (c *callContext) cancel() {
	if c.caller == nil || c.caller.Err() == nil {
		c.end(c.reason())
	}
}

func (c *callContext) Deadline() (time.Time, bool) {
	switch {
	case !c.until.IsZero():
		return c.until, true
	case c.caller != nil:
		return c.caller.Deadline()
	}
	return c.parent.Deadline()
}

func (c *callContext) Done() <-chan struct{} { return c.get().Done() }
func (c *callContext) Err() error            { return c.get().Err() }
func (c *callContext) Value(key any) any     { return c.get().Value(key) }
