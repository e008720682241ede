package coro

import (
	"context"
	"sync"
)

// A Group is tasks that belong together: Wait waits for all of them, the first error cancels the rest, and nothing outlives
// it. What a C body spawns by itself is not in it. Its methods may be called by several goroutines, and all but Wait by the Go
// bodies of its own tasks.
//
//	g := coro.NewGroup(ctx, s)
//	for _, id := range ids {
//		if _, err := work.Start(g, id); err != nil {
//			break // the group is canceled, or s is closed
//		}
//	}
//	err := g.Wait(context.Background()) // until all have ended
type Group struct {
	s    *Scheduler
	ctx  context.Context
	quit context.CancelCauseFunc
	stop func() bool // unbinds cancelAll from ctx

	mu       sync.Mutex
	members  []member // by index; nil: none
	free     []uint32 // indices not in use
	count    int      // of those that have not ended
	awaits   bool     // there are members, and the deadline will cancel them: an pending-work token is held
	canceled bool
	over     bool // Wait has returned
	err      error
	ended    chan struct{} // closed when count comes to zero; nil: nobody waits
}

// A member is a task of any type, and of any kind of coroutine.
type member interface {
	Cancel()
	Err() error
	whenDone(func())
}

// NewGroup makes an empty group of tasks of s. When the context ends, all are canceled. Wait must be called.
func NewGroup(ctx context.Context, s *Scheduler) *Group {
	g := &Group{s: s}
	g.ctx, g.quit = context.WithCancelCause(ctx)
	g.stop = context.AfterFunc(g.ctx, g.cancelAll)
	return g
}

// Context ends when the group is canceled, with the first error as its cause, or when Wait returns.
func (g *Group) Context() context.Context { return g.ctx }

// Scheduler is what the tasks run on.
func (g *Group) Scheduler() *Scheduler { return g.s }

// Cancel cancels all tasks of the group, as an error of one of them does: Wait then returns the cause.
func (g *Group) Cancel(cause error) {
	if cause == nil {
		cause = context.Canceled
	}
	g.fail(cause)
}

// A Scope is where coroutines are started: a *Scheduler or a *Group.
type Scope interface {
	scope() (*Scheduler, *Group) // the group is nil for a scheduler
}

func (s *Scheduler) scope() (*Scheduler, *Group) { return s, nil }
func (g *Group) scope() (*Scheduler, *Group)     { return g.s, g }

// startMember calls start, which starts a task of the group.
func startMember[R any](g *Group, start func() (*Task[R], error)) (*Task[R], error) {
	if err := g.enter(); err != nil {
		return nil, err
	}
	defer g.s.deadlineOver(g.s.awaitDeadline(g.ctx)) // by then it is a member
	t, err := start()
	if err != nil {
		g.leave(nil)
		return nil, err
	}
	g.add(t)
	return t, nil
}

// enter counts one that is about to start.
func (g *Group) enter() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.over:
		return ErrClosed
	case g.ctx.Err() != nil:
		return context.Cause(g.ctx)
	}
	g.count++
	return nil
}

// leave counts one that has ended, and returns the first error of all.
func (g *Group) leave(err error) {
	if err != nil {
		g.fail(err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.count--
	if g.count == 0 && g.ended != nil {
		close(g.ended)
		g.ended = nil
	}
}

// fail cancels the group.
func (g *Group) fail(err error) {
	g.mu.Lock()
	first := g.err == nil && !g.over
	if first {
		g.err = err
	}
	g.mu.Unlock()
	if first {
		g.quit(err) // which has cancelAll called, elsewhere
	}
}

// add keeps one that has started, until it ends.
func (g *Group) add(t member) {
	g.mu.Lock()
	if len(g.free) == 0 {
		g.free = append(g.free, uint32(len(g.members)))
		g.members = append(g.members, nil)
	}
	index := g.free[len(g.free)-1]
	g.free = g.free[:len(g.free)-1]
	g.members[index] = t
	canceled := g.canceled
	if !canceled && !g.awaits {
		g.awaits = g.s.awaitDeadline(g.ctx)
	}
	g.mu.Unlock()
	if canceled { // just now: cancelAll has not seen it
		t.Cancel()
	}
	t.whenDone(func() {
		g.mu.Lock()
		g.members[index] = nil
		g.free = append(g.free, index)
		awaits := len(g.free) == len(g.members) && g.awaitsNoMoreLocked()
		g.mu.Unlock()
		g.leave(t.Err())
		g.s.deadlineOver(awaits)
	})
}

// awaitsNoMoreLocked tells whether there is a token to be given back.
func (g *Group) awaitsNoMoreLocked() bool {
	awaits := g.awaits
	g.awaits = false
	return awaits
}

// cancelAll is called once, when the context ends.
func (g *Group) cancelAll() {
	g.mu.Lock()
	g.canceled = true
	awaits := g.awaitsNoMoreLocked()
	var all []member
	for _, t := range g.members {
		if t != nil {
			all = append(all, t)
		}
	}
	g.mu.Unlock()
	g.s.canceling(awaits, func() {
		for _, t := range all {
			t.Cancel()
		}
	})
}

// Wait waits until every task has ended, those included that they have started in the group meanwhile.
// It returns the first error that one of them ended with, or what the group was canceled with if that
// came first; nil if all ended without an error, even if the group's context has ended meanwhile: a
// result stands. Wait does not end before its tasks do: bodies have to heed CORO_ECANCELED or
// coro_canceled, or their contexts. Then the group is over. Wait may be called again, and returns the
// same.
//
// If ctx ends first, Wait returns its cause: the tasks go on, the group is not over, and Wait must be
// called again. So context.Background() is the context for a caller that frees what the tasks use. A
// Go body that calls Wait keeps its executor.
func (g *Group) Wait(ctx context.Context) error {
	g.mu.Lock()
	for g.count > 0 {
		if g.ended == nil {
			g.ended = make(chan struct{})
		}
		ended := g.ended
		g.mu.Unlock()
		select {
		case <-ended:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		g.mu.Lock()
	}
	g.over = true
	err := g.err
	g.mu.Unlock()
	g.stop()
	g.quit(context.Canceled)
	return err
}
