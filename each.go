package coro

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"

	"github.com/organzine/coro/internal/ctxerr"
)

// A MapOption is for one [Map] or [ForEach], of Go bodies or of a Func.
type MapOption func(*mapOptions)

type mapOptions struct {
	limit int
	all   bool
}

// AtMost has at most n bodies at a time, 1 or more. Without it there are 64 for each worker of the
// scheduler.
func AtMost(n int) MapOption { return func(o *mapOptions) { o.limit = n } }

// AllErrors lets the other bodies go on after one has failed. The error is all of theirs, each a
// *CallError, joined by [errors.Join] in the order of the elements.
func AllErrors() MapOption { return func(o *mapOptions) { o.all = true } }

// Map calls f with each element of args, each as a coroutine with a Go body, and returns the
// results in the order of args. [slices.Values] makes args of a slice. At most as many bodies as
// [AtMost] says are there at a time: the next element is asked for when there is room. Map returns
// when all have ended.
//
// The first error cancels the others, and args is left: Map returns it as a *CallError, which has
// the index of the element. With [AllErrors] the others go on. When ctx ends first, the bodies are
// canceled, and Map returns the cause of ctx. Next to an error stand the results of those that have
// ended without one; the others are zero. If args panics, all bodies have been canceled, and have
// ended, before the panic goes on. While args has not yielded, Map hears of no error: an args that
// waits hears of ctx by itself.
//
// Each element costs what [Go] does in a Group. Besides these errors Map returns an *OptionError;
// those of Go; and ErrPaused for a scheduler made WithPaused. A Go body that calls Map keeps its
// executor.
func Map[A, R any](
	ctx context.Context, s *Scheduler, args iter.Seq[A], f func(*Coroutine, A) (R, error),
	opts ...MapOption,
) ([]R, error) {
	if f == nil {
		return nil, &OptionError{"Map", "nil", "needs a function"}
	}
	return mapEach(ctx, "Map", s, args, opts, goEach(f))
}

// ForEach is [Map] without results.
func ForEach[A any](
	ctx context.Context, s *Scheduler, args iter.Seq[A], f func(*Coroutine, A) error,
	opts ...MapOption,
) error {
	if f == nil {
		return &OptionError{"ForEach", "nil", "needs a function"}
	}
	return forEach(ctx, "ForEach", s, args, opts, goEach(func(c *Coroutine, a A) (None, error) {
		return None{}, f(c, a)
	}))
}

// Map is [Map] of coroutines with the C body f. Each element costs what Start does in a Group. For
// a slice of brief bodies CallN costs a fraction.
func (f Func[A, R]) Map(
	ctx context.Context, s *Scheduler, args iter.Seq[A], opts ...MapOption,
) ([]R, error) {
	return mapEach(ctx, "Func.Map", s, args, opts, f.startEach)
}

// ForEach is [Func.Map] without results.
func (f Func[A, R]) ForEach(
	ctx context.Context, s *Scheduler, args iter.Seq[A], opts ...MapOption,
) error {
	return forEach(ctx, "Func.ForEach", s, args, opts, f.startEach)
}

// A starter starts the coroutine of an element; ended is called when it has ended, before the group
// hears of it.
type starter[A, R any] func(g *Group, arg A, ended func(error)) (*Task[R], error)

func (f Func[A, R]) startEach(g *Group, arg A, ended func(error)) (*Task[R], error) {
	return startMember(background, g, f.spec.Loan.Borrows(), true, func() (*Task[R], error) {
		return telling[R](ended)(f.startOf(g, &arg))
	})
}

func goEach[A, R any](f func(*Coroutine, A) (R, error)) starter[A, R] {
	return func(g *Group, arg A, ended func(error)) (*Task[R], error) {
		return startMember(background, g, false, true, func() (*Task[R], error) {
			return telling[R](ended)(start(startContext{ctx: g.ctx}, g.s,
				func(c *Coroutine) (R, error) { return f(c, arg) }, false, nil))
		})
	}
}

// telling has a task that was started tell of its end.
func telling[R any](ended func(error)) func(*Task[R], error) (*Task[R], error) {
	return func(t *Task[R], err error) (*Task[R], error) {
		if err == nil {
			t.whenDone(func() { ended(t.Err()) })
		}
		return t, err
	}
}

func mapEach[A, R any](
	ctx context.Context, what string, s *Scheduler, args iter.Seq[A], opts []MapOption,
	start starter[A, R],
) ([]R, error) {
	var tasks []*Task[R]
	err := each(ctx, what, s, args, opts, start, func(t *Task[R]) { tasks = append(tasks, t) })
	results := make([]R, len(tasks))
	for i, t := range tasks {
		if r, err := t.Wait(background); err == nil { // it has ended
			results[i] = r
		}
	}
	return results, err
}

func forEach[A, R any](
	ctx context.Context, what string, s *Scheduler, args iter.Seq[A], opts []MapOption,
	start starter[A, R],
) error {
	return each(ctx, what, s, args, opts, start, func(*Task[R]) {})
}

// each starts the coroutines, and returns when all have ended.
func each[A, R any](
	ctx context.Context, what string, s *Scheduler, args iter.Seq[A], opts []MapOption,
	start starter[A, R], started func(*Task[R]),
) error {
	m, err := newMapping(ctx, what, s, args == nil, opts)
	if err != nil {
		return err
	}
	defer m.end() // args may panic
	i := 0
	for arg := range args {
		n := i
		t, err := start(m.g, arg, func(err error) { m.ended(n, err) })
		if err != nil {
			m.refused(err)
			break
		}
		started(t)
		i++
	}
	_ = m.g.Wait(background)
	return m.err()
}

// A mapping is a Map or a ForEach that goes on.
type mapping struct {
	g     *Group
	all   bool
	mu    sync.Mutex
	errs  []*CallError // of the bodies; without all the first one
	cause error        // why others were canceled, or not started
}

func newMapping(
	ctx context.Context, what string, s *Scheduler, none bool, opts []MapOption,
) (*mapping, error) {
	if err := makable(s, what); err != nil {
		return nil, err
	}
	o := mapOptions{limit: 64 * s.Workers()}
	for _, opt := range opts {
		if opt == nil {
			return nil, nilOption(what)
		}
		opt(&o)
	}
	switch {
	case none:
		return nil, &OptionError{what, "nil", "needs a sequence"}
	case o.limit < 1:
		return nil, &OptionError{"AtMost", o.limit, "must be 1 or more"}
	case s.paused:
		return nil, ErrPaused
	}
	m := &mapping{g: NewGroup(ctx, s), all: o.all}
	m.g.goesOn = o.all
	return m, m.g.SetLimit(o.limit)
}

// ended hears of the end of a body. It does not wait.
func (m *mapping) ended(index int, err error) {
	if err == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.g.ctx.Err() != nil:
		m.causeIs(ctxerr.Of(m.g.ctx))
	case m.all || len(m.errs) == 0:
		m.errs = append(m.errs, &CallError{index, err})
	}
}

// refused hears that nothing more can be started.
func (m *mapping) refused(err error) {
	m.mu.Lock()
	m.causeIs(err)
	m.mu.Unlock()
	m.g.Cancel(err)
}

func (m *mapping) causeIs(err error) {
	if m.cause == nil {
		m.cause = err
	}
}

// end sees to it that all bodies have ended.
func (m *mapping) end() {
	m.g.Cancel(nil)
	_ = m.g.Wait(background)
}

func (m *mapping) err() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.errs) == 0 {
		return m.cause
	}
	if !m.all {
		return m.errs[0]
	}
	slices.SortFunc(m.errs, func(a, b *CallError) int { return a.Index - b.Index })
	all := make([]error, len(m.errs), len(m.errs)+1)
	for i, err := range m.errs {
		all[i] = err
	}
	return errors.Join(append(all, m.cause)...)
}
