package coro

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/organzine/coro/internal/ctxerr"
	"github.com/organzine/coro/internal/table"
)

// A Group is tasks that belong together: Wait waits for all of them, the first error cancels the
// rest, and no task outlives the group. A coroutine that a C body spawns by itself is not in it.
// Several goroutines may call its methods, and the Go bodies of its own tasks may call all but
// Wait, which is ErrInside there.
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

	// as many as SetLimit allows; a task has one until it ends. nil: any number
	slots  chan struct{}
	goesOn bool // after errors of tasks

	free func() // of the tame context that ctx is derived from; nil: there is nothing to free

	deadline    time.Time // of ctx, if it has one
	hasDeadline bool

	mu       sync.Mutex
	members  table.List[member]
	count    int // of tasks that have not ended
	borrows  int // of those, the tasks that borrow memory
	starting int // of those, the tasks that are no members yet
	// members will be canceled by the deadline: a pending-work token is held
	awaits    bool
	canceled  bool
	over      bool // Wait has returned
	err       error
	ended     chan struct{} // closed when count is zero; nil: nobody waits
	givenBack []func()      // to be called when borrows is zero, with mu held
}

// A member is a task of any type, and of any kind of coroutine.
type member interface {
	Cancel()
	Err() error
	Handle() Handle
	whenDone(func())
}

// NewGroup makes an empty group of tasks of s. When the context ends, all are canceled. In the
// group of a context that has ended nothing is started: each start returns the cause. Wait must be
// called. In a bubble of testing/synctest a group is canceled, with ErrBubble for its cause.
func NewGroup(ctx context.Context, s *Scheduler) *Group {
	g := &Group{s: s}
	g.deadline, g.hasDeadline = ctx.Deadline()
	ctx, g.free = tame(ctx)
	g.ctx, g.quit = context.WithCancelCause(ctx)
	g.stop = context.AfterFunc(g.ctx, g.cancelAll)
	if err := outside(); err != nil {
		g.fail(err)
	}
	return g
}

// Context ends when the group is canceled, with the first error as its cause, or when Wait returns.
func (g *Group) Context() context.Context { return g.ctx }

// Scheduler is the scheduler that the tasks run on.
func (g *Group) Scheduler() *Scheduler { return g.s }

// Cancel cancels all tasks of the group, as an error of one of them does: Wait then returns the
// cause.
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

// SetLimit lets at most n tasks of the group be there at a time, 1 or more; without it, and with n
// below 0, there is no limit. At the limit a start waits until a task has ended, the group is
// canceled, or the context given to the start ends; [Func.TryStart] and [TryGo] do not wait. A
// start within a task of the group, and in a scheduler made WithPaused, returns [ErrGroupFull]
// instead: a wait could not end. SetLimit returns ErrBusy while tasks go on, or starts wait;
// ErrBubble in a bubble of testing/synctest; or an *OptionError.
func (g *Group) SetLimit(n int) error {
	if n == 0 {
		return &OptionError{"Group.SetLimit", n, "must be 1 or more, or below 0 for none"}
	}
	if err := outside(); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.count > 0 {
		return ErrBusy
	}
	g.slots = nil
	if n > 0 {
		g.slots = make(chan struct{}, n)
	}
	return nil
}

// startMember calls start, which starts a task of the group. borrows: the task borrows memory.
// waits: at the limit, until ctx ends.
func startMember[R any](
	ctx context.Context, g *Group, borrows, waits bool, start func() (*Task[R], error),
) (*Task[R], error) {
	if err := g.enter(ctx, borrows, waits); err != nil {
		return nil, err
	}
	defer g.s.deadlineOver(g.s.awaitIf(g.hasDeadline)) // by then t is a member
	member := false
	defer func() {
		if !member { // nothing was started, or a context given to start has panicked
			g.mu.Lock()
			g.starting--
			g.mu.Unlock()
			g.leave(nil, borrows)
		}
	}()
	t, err := start()
	if err != nil {
		return nil, err
	}
	g.add(t, borrows)
	member = true
	return t, nil
}

// enter counts a task that is about to start.
func (g *Group) enter(ctx context.Context, borrows, waits bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.refusalLocked(); err != nil {
		return err
	}
	g.count++
	if borrows {
		g.borrows++
	}
	if g.slots != nil {
		g.mu.Unlock()
		err := g.takeSlot(ctx, waits)
		g.mu.Lock()
		if err != nil {
			g.leaveLocked(borrows)
			return err
		}
	}
	g.starting++
	return nil
}

// refusalLocked is why no task is started any more; nil: one may be.
func (g *Group) refusalLocked() error {
	switch {
	case g.over:
		return ErrGroupOver
	case g.ctx.Err() != nil:
		return ctxerr.Of(g.ctx)
	}
	return nil
}

// takeSlot waits until there are fewer tasks than the limit allows.
func (g *Group) takeSlot(ctx context.Context, waits bool) error {
	select {
	case g.slots <- struct{}{}:
		return nil
	default:
	}
	if !waits || g.s.paused || g.isCaller() {
		return ErrGroupFull
	}
	if err := outside(); err != nil {
		return err
	}
	select {
	case g.slots <- struct{}{}:
	case <-g.ctx.Done():
		return ctxerr.Of(g.ctx)
	case <-ctx.Done():
		return ctxerr.Of(ctx)
	}
	if g.ctx.Err() != nil {
		<-g.slots
		return ctxerr.Of(g.ctx)
	}
	return nil
}

// leave counts a task that has ended.
func (g *Group) leave(err error, borrows bool) {
	if err != nil && !g.goesOn {
		g.fail(err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.slots != nil {
		<-g.slots
	}
	g.leaveLocked(borrows)
}

// leaveLocked is leave of a task that has no slot.
func (g *Group) leaveLocked(borrows bool) {
	if borrows {
		g.borrows--
		if g.borrows == 0 {
			for _, f := range g.givenBack {
				f()
			}
			g.givenBack = nil
		}
	}
	g.count--
	if g.count == 0 && g.ended != nil {
		close(g.ended)
		g.ended = nil
	}
}

// fail cancels the group: the first error counts.
func (g *Group) fail(err error) {
	g.mu.Lock()
	first := g.err == nil && !g.over
	if first {
		g.err = err
	}
	g.mu.Unlock()
	if first {
		g.quit(err) // calls cancelAll, on another goroutine
	}
}

// add keeps a task that has started, until the task ends.
func (g *Group) add(t member, borrows bool) {
	g.mu.Lock()
	id := g.members.Add(t)
	g.starting--
	canceled := g.canceled
	if !canceled && !g.awaits {
		g.awaits = g.s.awaitIf(g.hasDeadline)
	}
	g.mu.Unlock()
	if canceled { // just now: cancelAll has not seen it
		t.Cancel()
	}
	t.whenDone(func() {
		g.mu.Lock()
		g.members.Remove(id)
		awaits := g.members.Len() == 0 && g.awaitsNoMoreLocked()
		g.mu.Unlock()
		g.leave(t.Err(), borrows)
		g.s.deadlineOver(awaits)
	})
}

// awaitsNoMoreLocked tells whether there is a token to be given back.
func (g *Group) awaitsNoMoreLocked() bool {
	awaits := g.awaits
	g.awaits = false
	return awaits
}

// cancelAll cancels the members. It is called once, when the context ends.
func (g *Group) cancelAll() {
	g.mu.Lock()
	g.canceled = true
	awaits := g.awaitsNoMoreLocked()
	all := g.members.All()
	g.mu.Unlock()
	g.s.canceling(awaits, func() {
		for _, t := range all {
			t.Cancel()
		}
	})
}

// Wait waits until every task has ended, those included that were started in the group meanwhile.
// It returns the first error that one of them ended with, or the cause of the group's cancel if
// that came first. It returns nil if all ended without an error, even if the group's context has
// ended meanwhile: a result stands. Wait does not end before its tasks do: bodies have to heed
// CORO_ECANCELED or coro_canceled, or their contexts. Then the group is over. Wait may be called
// again, and returns the same.
//
// If ctx ends first, Wait returns its cause: the tasks go on, the group is not over, and Wait must
// be called again. So context.Background() is the context for a caller that frees what the tasks
// use. If tasks borrow memory (see [Slice]), the end of ctx cancels the group, and Wait returns
// when those have ended: with the cause, or, if the group is over then, as above. A Wait in a
// bubble of testing/synctest does so too, with ErrBubble.
//
// A Go body that calls Wait keeps its executor. Within a task of the group, or a Go function that
// such a task has called, Wait returns ErrInside, and the group is not over.
func (g *Group) Wait(ctx context.Context) error {
	g.mu.Lock()
	for g.count > 0 {
		if err := outside(); err != nil {
			g.mu.Unlock()
			if !g.isCaller() {
				g.endBorrowers(err)
			}
			return err
		}
		if g.ended == nil {
			g.ended = make(chan struct{})
		}
		ended := g.ended
		g.mu.Unlock()
		if g.isCaller() {
			return ErrInside
		}
		select {
		case <-ended:
		case <-ctx.Done():
			if err := ctxerr.Of(ctx); !g.endBorrowers(err) {
				return err
			}
		}
		g.mu.Lock()
	}
	again := g.over
	g.over = true
	err := g.err
	g.mu.Unlock()
	if !again {
		g.stop()
		g.quit(context.Canceled)
		if g.free != nil {
			g.free()
		}
	}
	return err
}

// endBorrowers cancels the group, if tasks of it borrow memory, and waits for their ends: in a
// bubble too, as Task.endHere does. It tells whether it has waited, and all tasks have ended then.
func (g *Group) endBorrowers(cause error) (all bool) {
	g.mu.Lock()
	if g.borrows == 0 {
		g.mu.Unlock()
		return false
	}
	var over sync.Mutex
	over.Lock()
	g.givenBack = append(g.givenBack, over.Unlock)
	g.mu.Unlock()
	if g.ctx.Err() == nil {
		g.fail(cause)
	}
	over.Lock()
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.count == 0
}

// isCaller tells whether a task of the group cannot end before the caller returns.
func (g *Group) isCaller() bool {
	callers := g.s.callers()
	if len(callers) == 0 {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.starting > 0 { // it may be the caller, which runs already
		g.mu.Unlock()
		runtime.Gosched()
		g.mu.Lock()
	}
	return slices.ContainsFunc(g.members.All(), func(t member) bool {
		return slices.Contains(callers, t.Handle())
	})
}
