package offload

import (
	"context"
	"sync"
	"time"
)

// A callContext is what a Go function gets that a C body has called. It ends with the call, with
// its parent, or when the calling coroutine is canceled. Most functions do not look at theirs: it
// becomes a context of package context, which costs as much as the call, for those that do.
type callContext struct {
	parent context.Context // the scheduler's

	mu    sync.Mutex
	real  context.Context // nil: the function has not asked
	quit  context.CancelCauseFunc
	cause error // why it has ended
}

func (c *callContext) get() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.real == nil {
		c.real, c.quit = context.WithCancelCause(c.parent)
		if c.cause != nil {
			c.quit(c.cause)
		}
	}
	return c.real
}

func (c *callContext) end(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause == nil {
		c.cause = cause
	}
	if c.quit != nil {
		c.quit(c.cause)
	}
}

func (c *callContext) Deadline() (time.Time, bool) { return c.parent.Deadline() }
func (c *callContext) Done() <-chan struct{}       { return c.get().Done() }
func (c *callContext) Err() error                  { return c.get().Err() }
func (c *callContext) Value(key any) any           { return c.get().Value(key) }
