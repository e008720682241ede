package coro

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"unsafe"

	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/ctxerr"
	"github.com/organzine/coro/internal/race"
)

// A RangeFunc is a C function that works on a part of a range of numbers, for [For]:
//
//	void scale(int64_t from, int64_t to, void *arg); // from, to - 1, and all between
//
// arg points to a copy of an A, which all parts share, and which none of them writes; it is NULL
// for a type of no size. A holds no pointers and at most InlineBytes bytes: for more, pass the
// address of C memory, or of pinned Go memory, as a uintptr. The zero RangeFunc is not usable.
type RangeFunc[A any] struct {
	spec core.Spec
}

// NewRangeFunc makes a RangeFunc of a C function, whose entry is unsafe.Pointer(C.scale). It cannot
// check the function's parameters, nor A: they must be what the function takes its pointer for.
// FuncName is its only option. It returns an *OptionError or ErrNoCgo.
func NewRangeFunc[A any](entry unsafe.Pointer, opts ...FuncOption) (RangeFunc[A], error) {
	c, err := newRangeConfig(entry, reflect.TypeFor[A](), opts)
	if err != nil {
		return RangeFunc[A]{}, err
	}
	c.keepName()
	return RangeFunc[A]{c.Spec}, nil
}

// newRangeConfig is what entry, the type and the options say.
func newRangeConfig(entry unsafe.Pointer, arg reflect.Type, opts []FuncOption) (*funcConfig, error) {
	const what = "NewRangeFunc"
	if !core.Available {
		return nil, ErrNoCgo
	}
	if entry == nil {
		return nil, &OptionError{what, "nil", "needs a C function"}
	}
	body, status := core.LookBody(entry)
	if status != core.OK || body.Described {
		return nil, &OptionError{what, fmt.Sprintf("%#x", uintptr(entry)),
			"is a variable, or what CORO_BODY defines: pass unsafe.Pointer(C.x) for a C " +
				"function void x(int64_t from, int64_t to, void *arg)"}
	}
	c := &funcConfig{Spec: core.Spec{Fn: body.Fn, Class: classDefault}, body: body}
	var err error
	if c.ArgBytes, err = inlineBytes(what, arg); err != nil {
		return nil, err
	}
	plain := c.Spec
	for _, o := range opts {
		if o == nil {
			return nil, nilOption(what)
		}
		if err := o(c); err != nil {
			return nil, err
		}
	}
	if c.Spec != plain {
		return nil, &OptionError{what, "FuncStack, FuncDense or FuncBrief",
			"does not go with a RangeFunc: its parts have the scheduler's stacks " +
				"(WithStack), and run on any worker"}
	}
	return c, nil
}

// MustRangeFunc is NewRangeFunc that panics, for package variables.
func MustRangeFunc[A any](entry unsafe.Pointer, opts ...FuncOption) RangeFunc[A] {
	f, err := NewRangeFunc[A](entry, opts...)
	if err != nil {
		panic(err)
	}
	return f
}

// For runs f(from, to, &arg) on s for parts of [0, n) that together are all of it, of at most grain
// numbers each; a grain below 1 is 1. It returns when no part runs any more. The first part begins
// on the calling goroutine's thread, if a worker sleeps, as in [Func.Call]. A worker that has
// nothing to do takes the upper half of what another one has left, so what is divided unevenly is
// divided again. For costs about three Calls, and a C call for each part: a grain of some
// microseconds of work is enough.
//
// A part is a piece of a coroutine: it may wait, lock, fork (coro_fork_begin) and call Go. While it
// waits, other workers take what else its coroutine has left. C bodies have the same by coro_for of
// coro_fork.h. A Go function cannot be a part: its stack is Go's. Start Go bodies in a [Group], at
// the price of a task for each. [docs/fork.md] tells when to fork.
//
// If parts end otherwise than by returning, For returns the error of the lowest of them, as
// Task.Wait does: ErrAborted, a *BodyError. Then some numbers were perhaps left out. If ctx ends
// first, For returns its cause: no further part begins, waits of those that run end with
// CORO_ECANCELED, and For waits until all of them have returned. So what arg has the address of may
// be freed after For, and Go memory unpinned. If each part has run, and none was told of the end,
// For returns nil. An n of 0 or less starts nothing. The other errors are those of Call; after
// ErrBubble parts may go on. Within a Go function that was called inline, For holds the worker until
// all parts have ended: where each worker is held so, that is for ever.
//
// [docs/fork.md]: https://github.com/organzine/coro/blob/main/docs/fork.md
func For[A any](ctx context.Context, s *Scheduler, n, grain int, f RangeFunc[A], arg A) error {
	if f.spec.Fn == 0 {
		return &OptionError{"RangeFunc", "zero value", "make it with NewRangeFunc"}
	}
	if n <= 0 {
		if ctx.Err() != nil {
			return ctxerr.Of(ctx)
		}
		if s.closed.Load() {
			return ErrClosed
		}
		return nil
	}
	// After this no user's code can panic, while C has the loop.
	ctx, free := settle(ctx)
	defer free()
	loop, ok := core.NewLoop(&f.spec, n, grain, unsafe.Pointer(&arg))
	if !ok {
		return ErrNoMemory
	}
	return s.runLoop(ctx, loop, f.spec.Fn)
}

// runLoop is For of a loop, which it frees.
func (s *Scheduler) runLoop(ctx context.Context, loop core.Loop, fn uintptr) error {
	later := false // the end of the leader frees the loop
	stop := cancelLoop(ctx, loop)
	defer func() {
		stop()
		if !later {
			loop.Free()
		}
	}()
	lead := Func[uintptr, None]{core.Spec{Fn: core.LoopLeader, Class: s.class, ArgBytes: 8}}
	address := loop.Address()
	var l core.Lend
	at, err := s.lend(ctx, &lead.spec, unsafe.Pointer(&address), nil, &l)
	if err != nil {
		return err
	}
	t, _, err := lead.callOn(ctx, s, &address, &l, at, nil, func(t *Task[None]) {
		later = true
		t.whenDone(loop.Free)
	})
	if t != nil {
		if err == ErrBubble { // the parts go on
			later = true
			t.whenDone(loop.Free)
			return err
		}
		_, err = t.Wait(background) // where ctx has ended, too
	}
	if err == nil {
		err = errorOf(loop.Ended())
	}
	var body *BodyError
	switch {
	case err == ErrCanceled && ctx.Err() != nil:
		return ctxerr.Of(ctx)
	case errors.As(err, &body):
		body.Func = funcName(fn)
	}
	return err
}

// cancelLoop sees to it that the end of ctx, which is tame, cancels the loop until stop is called.
func cancelLoop(ctx context.Context, loop core.Loop) (stop func()) {
	if ctx.Done() == nil {
		return func() {}
	}
	done := make(chan struct{})
	unbind := context.AfterFunc(ctx, func() {
		race.Handles.Release()
		loop.Cancel()
		close(done)
	})
	return func() {
		if !unbind() {
			<-done
		}
	}
}
