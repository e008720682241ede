package coro

import (
	"context"
	"runtime"
)

// How a context is bound to what it cancels when it ends. One that has a deadline is certain to end: until it does, or is let go,
// an ext token of the scheduler says so, and whoever waits for that alone is in no deadlock.

// awaitDeadline takes the token, if ctx has a deadline. It is for before anything that is bound to ctx begins to run.
func (s *Scheduler) awaitDeadline(ctx context.Context) (awaited bool) {
	if _, awaited = ctx.Deadline(); awaited {
		s.core.BeginExt(1)
	}
	return awaited
}

// deadlineOver gives the token back, if there is one.
func (s *Scheduler) deadlineOver(awaited bool) {
	if awaited {
		s.core.EndExt()
		runtime.KeepAlive(s)
	}
}

// bind has the end of ctx cancel something, and then give up the token of awaitDeadline. stop lets go of ctx, and of the token,
// unless it has ended.
func (s *Scheduler) bind(ctx context.Context, awaited bool, cancel func()) (stop func() bool) {
	if !awaited {
		return context.AfterFunc(ctx, cancel)
	}
	unbind := context.AfterFunc(ctx, func() {
		cancel()
		s.deadlineOver(true)
	})
	return func() bool {
		stopped := unbind()
		s.deadlineOver(stopped)
		return stopped
	}
}
