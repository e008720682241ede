package coro

import (
	"context"
	"runtime"
)

// How a context is bound to what it cancels when it ends. One that has a deadline is certain to end: until it does, or is let go,
// an pending-work token of the scheduler says so, and whoever waits for that alone is in no deadlock. A cancel of a context comes to what is bound
// to it by a goroutine of its own, which may be late: so a run that finds a deadlock asks the contexts before it says so, and once
// that goroutine has begun there is a token until it is through.

// awaitDeadline takes the token, if ctx has a deadline. It is for before anything that is bound to ctx begins to run.
func (s *Scheduler) awaitDeadline(ctx context.Context) (awaited bool) {
	if _, awaited = ctx.Deadline(); awaited {
		s.core.BeginPending(1)
	}
	return awaited
}

// deadlineOver gives the token back, if there is one.
func (s *Scheduler) deadlineOver(awaited bool) {
	if awaited {
		s.core.EndPending()
		runtime.KeepAlive(s)
	}
}

// bind has the end of ctx cancel something, and then give up the token of awaitDeadline. stop lets go of ctx, and of the token,
// unless it has ended.
func (s *Scheduler) bind(ctx context.Context, awaited bool, cancel func()) (stop func() bool) {
	unbind := context.AfterFunc(ctx, func() { s.canceling(awaited, cancel) })
	if !awaited {
		return unbind
	}
	return func() bool {
		stopped := unbind()
		s.deadlineOver(stopped)
		return stopped
	}
}

// canceling calls cancel with a token, which is given back: the one that there is, or another one.
func (s *Scheduler) canceling(awaited bool, cancel func()) {
	if s.paused && !awaited {
		s.core.BeginPending(1)
		awaited = true
	}
	cancel()
	s.deadlineOver(awaited)
}

// cancelEnded is for a run that has come to a deadlock: it cancels all whose context has ended. False: there are none that could go on
// because of that.
func (s *Scheduler) cancelEnded() (any bool) {
	s.executors.table.each(func(c *Coroutine) { any = c.cancelIfEnded() || any })
	for _, t := range s.poller.all() {
		any = t.cancelIfEnded() || any
	}
	return any
}

// cancelIfEnded tells whether c waits though its context has ended, or the one that it waits with.
func (c *Coroutine) cancelIfEnded() bool {
	c.mu.Lock()
	over := c.waitsWith != nil && c.waitsWith.Err() != nil
	c.mu.Unlock()
	ended := causeOf(c.ctx) != nil
	if own := c.own.Load(); own != nil {
		ended = ended || own.Err() != nil
	}
	switch state := c.state.Load(); {
	case ended && state&(isParked|isAwaiting) != 0:
		c.cancel(c.reason())
	case over && state&isAwaiting != 0:
		c.pool.s.core.SendEvent(c.join)
	default:
		return false
	}
	return true
}

func (c *Coroutine) setWaitsWith(ctx context.Context) {
	c.mu.Lock()
	c.waitsWith = ctx
	c.mu.Unlock()
}

// cancelIfEnded is true once, if the context has ended.
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

// A memberContext is what a member of a group starts with that was given a context of its own. Its end
// is that of its own context. The end of the group's is heard of by the group, which cancels the member.
type memberContext struct {
	context.Context
	group context.Context
}

// causeOf is why a context given at a start has ended, or the group's; nil: neither has.
func causeOf(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if m, ok := ctx.(memberContext); ok && m.group.Err() != nil {
		return context.Cause(m.group)
	}
	return nil
}
