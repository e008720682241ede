// Package generator resumes single C coroutines by hand, from Go, without a scheduler.
package generator

import (
	"errors"
	"fmt"
	"iter"
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/inside"
	"github.com/organzine/coro/internal/leak"
	"github.com/organzine/coro/internal/zero"
)

// ErrEnded: the generator has finished or aborted. Reset it first.
var ErrEnded = errors.New("coro: generator has ended: reset it first")

func errorOf(s core.Status) error {
	switch s {
	case core.OK:
		return nil
	case core.Ended:
		return ErrEnded
	}
	return inside.Error(s)
}

func refused(what string, value any, reason string, args ...any) error {
	return &coro.OptionError{What: what, Value: value, Reason: fmt.Sprintf(reason, args...)}
}

// A Generator is one C coroutine that Go resumes by hand, without a scheduler:
//
//	intptr_t body(void *arg, intptr_t first);
//
// The body runs on the calling goroutine's thread until it calls coro_yield_value or returns, and
// passes one number each way each time. It must not call into Go, and scheduler calls in it return
// CORO_EPERM. A Resume costs a cgo call and two switches, about 40 ns. A Generator is for one
// goroutine at a time; a second one gets coro.ErrBusy. A method of a zero value panics. A copy is
// the same generator.
type Generator struct {
	self   *Generator // the original, which a copy keeps alive and stands for; nil: a zero value
	core   core.Coroutine
	busy   atomic.Bool
	closed bool
	clean  runtime.Cleanup
	leak   *leak.Flag // nil: nobody verifies
}

// New makes a generator of a C function. arg is the number given to the body as its void pointer:
// the address of C memory, a handle, or 0. stack is in bytes, coro.StackMin to coro.StackMax, or 0
// for coro.StackDefault. It returns a *coro.OptionError, coro.ErrNoMemory or coro.ErrNoCgo.
func New(body unsafe.Pointer, arg uintptr, stack int) (*Generator, error) {
	switch {
	case !core.Available:
		return nil, coro.ErrNoCgo
	case body == nil:
		return nil, refused("generator.New", "nil", "needs a C function")
	case stack != 0 && (stack < coro.StackMin || stack > coro.StackMax):
		return nil, refused("generator.New", stack, "the stack must be 0 or from %d to %d",
			coro.StackMin, coro.StackMax)
	}
	inner, status := core.NewCoroutine(body, arg, stack)
	if status != core.OK {
		return nil, errorOf(status)
	}
	g := &Generator{core: inner}
	g.self = g
	if leak.On() {
		g.leak = &leak.Flag{What: "generator that is not closed, and its stack"}
		leak.Made(g.leak)
	}
	flag := g.leak
	g.clean = runtime.AddCleanup(g, func(c core.Coroutine) { c.Free(); flag.Done() }, inner)
	return g, nil
}

// original is the generator that New has made.
func (g *Generator) original() *Generator {
	if g.self == nil {
		zero.Value("generator.New")
	}
	return g.self
}

// hold makes the caller the only user of an original, or returns why it cannot.
func (g *Generator) hold() error {
	if !g.busy.CompareAndSwap(false, true) {
		return coro.ErrBusy
	}
	if g.closed {
		g.busy.Store(false)
		return coro.ErrClosed
	}
	return nil
}

// Resume runs the body until it yields or ends. send is what its coro_yield_value stores, or the
// first number that the body is called with. Resume returns the number that the body yields and
// more = true, or the number that it returns and more = false. The error is coro.ErrAborted if the
// body ended by coro_abort, a *coro.BodyError if by coro_fail, ErrEnded if it had ended before,
// coro.ErrBusy, or coro.ErrClosed.
func (g *Generator) Resume(send int64) (value int64, more bool, err error) {
	g = g.original()
	if err := g.hold(); err != nil {
		return 0, false, err
	}
	defer g.busy.Store(false)
	value, status := g.core.Resume(send)
	switch status {
	case core.MayResume:
		return value, true, nil
	case core.Finished:
		return value, false, nil
	case core.Abort:
		return 0, false, coro.ErrAborted
	case core.FailedEnd:
		return 0, false, inside.BodyError(g.core.Failure())
	}
	return 0, false, errorOf(status)
}

// All yields the values that the body yields from now on, each with a nil error, sending it 0 each
// time, until the body returns. If Resume fails, one last pair is 0 and its error.
func (g *Generator) All() iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		for {
			value, more, err := g.Resume(0)
			if err == nil && !more || !yield(value, err) || err != nil {
				return
			}
		}
	}
}

// Reset makes the generator as new with another body, on the same stack. The functions that the old
// body deferred run, and its arena is freed; its frames are not unwound. It returns an
// *coro.OptionError, coro.ErrBusy or coro.ErrClosed.
func (g *Generator) Reset(body unsafe.Pointer, arg uintptr) error {
	g = g.original()
	if body == nil {
		return refused("Generator.Reset", "nil", "needs a C function")
	}
	if err := g.hold(); err != nil {
		return err
	}
	defer g.busy.Store(false)
	return errorOf(g.core.Reset(body, arg))
}

// Close frees the generator, like Reset without a new body. A second Close does nothing. The
// garbage collector closes a generator to which nothing refers. Close returns coro.ErrBusy, or nil.
func (g *Generator) Close() error {
	g = g.original()
	if err := g.hold(); err != nil {
		if err == coro.ErrClosed {
			return nil
		}
		return err
	}
	defer g.busy.Store(false)
	g.closed = true
	g.clean.Stop()
	g.leak.Done()
	return errorOf(g.core.Free())
}
