package coro

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"unsafe"

	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/ctxerr"
	"github.com/organzine/coro/internal/plain"
	"github.com/organzine/coro/internal/race"
)

// A RangeFunc is a C function that works on a part of a range of numbers, for [For]:
//
//	void scale(int64_t from, int64_t to, void *arg); // from, to - 1, and all between
//
// arg points to a copy of an A, which all parts share, and which none of them writes; it is NULL
// for a type of no size. A has at most InlineBytes bytes, and holds no pointers but those of a
// [Slice]: that memory is lent to all parts until For returns. The zero RangeFunc is not usable.
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
	if err := c.share(what, arg); err != nil {
		return nil, err
	}
	before := c.Spec
	for _, o := range opts {
		if o == nil {
			return nil, nilOption(what)
		}
		if err := o(c); err != nil {
			return nil, err
		}
	}
	if c.Spec != before {
		return nil, &OptionError{what, "FuncStack, FuncDense or FuncBrief",
			"does not go with a RangeFunc: its parts have the scheduler's stacks " +
				"(WithStack), and run on any worker"}
	}
	return c, nil
}

// share has the type of the argument, which all parts share.
func (c *funcConfig) share(what string, arg reflect.Type) error {
	if arg.Size() > InlineBytes {
		return tooLarge(what, arg, InlineBytes)
	}
	slices, why := plain.Slices(arg)
	if why != "" {
		return &OptionError{what, arg, why}
	}
	c.ArgBytes = uint8(arg.Size())
	if len(slices) > 0 {
		c.Loan = core.NewLoan(&core.Terms{Slices: slices})
	}
	return nil
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
// CORO_ECANCELED, and For waits until all of them have returned. So the memory of a [Slice] in arg,
// and what arg has the address of, are the caller's again after For. If each part has run, and none
// was told of the end, For returns nil. An n of 0 or less starts nothing. The other errors are
// those of Call; after ErrBubble parts may go on, but not those that borrow. Within a Go function
// that was called inline, For holds the worker until all parts have ended: where each worker is
// held so, that is for ever.
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
	if f.spec.Loan != nil {
		var pins runtime.Pinner // one for all parts
		defer pins.Unpin()
		f.spec.Loan.PinBy(&pins, unsafe.Pointer(&arg)) // before C has the addresses
	}
	loop, ok := core.NewLoop(&f.spec, n, grain, unsafe.Pointer(&arg))
	if !ok {
		return ErrNoMemory
	}
	return s.runLoop(ctx, loop, f.spec.Fn, f.spec.Loan != nil)
}

// runLoop is For of a loop, which it frees. borrows: the parts borrow memory, and have ended when
// runLoop returns or is left in another way.
func (s *Scheduler) runLoop(ctx context.Context, loop core.Loop, fn uintptr, borrows bool) error {
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
	leave := func(t *Task[None]) { // the goroutine ends in a Go function that a part has called
		if borrows {
			t.endHere()
			return
		}
		later = true
		t.whenDone(loop.Free)
	}
	t, _, err := lead.callOn(ctx, s, &address, &l, at, nil, leave)
	if t != nil {
		if err == ErrBubble {
			leave(t)
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
