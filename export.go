package coro

import (
	"context"
	"reflect"
	"runtime"
	"strings"
	"unsafe"

	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/offload"
	"github.com/organzine/coro/internal/plain"
	"github.com/organzine/coro/internal/table"
)

// A FuncID names a Go function for C bodies, which know it as a coro_go_id. It may be part of their
// argument, and stays valid as long as the process lives. 0 names no function.
type FuncID uint32

// ExportFunc makes a Go function one that C bodies can call, with coro_call_go or, if it is short
// and never blocks, with coro_call_go_inline; see coro.h and [docs/calls.md]. A and R are the types
// of the argument and the result in C: they hold no pointers, and C must give exactly the bytes of
// an A; or they are []byte, for any number of bytes; or None. The function gets copies, and may
// keep them. An A may have Slices, as a Bytes where C gives a coro_bytes: by them the function sees
// the caller's memory itself, and only until it returns.
//
// The function's context has the values and the deadline of the context that the calling coroutine
// was started with (StartContext, or a Group), and ends with it, with its Err and its cause. A
// coroutine that a C body has spawned has none. The context also ends when the scheduler is closed
// with a context that ends. That of an offloaded call also ends when the coroutine is canceled in
// another way (Task.Cancel, coro_cancel), with ErrCanceled for its cause, and when the call ends.
// In a shield section (coro_shield_begin) none of this ends the context of an offloaded call but
// the section's deadline, and the end of the call. An error and a panic come to the caller as
// CORO_EFAILED, with up to 16 KiB of their text; neither ends the process.
//
// A function stays exported as long as the process lives: export each once, for example in a
// package variable, not for each call. It returns an *OptionError for a type that holds Go pointers
// and for a nil function, or ErrNoCgo.
//
// [docs/calls.md]: https://github.com/organzine/coro/blob/main/docs/calls.md
func ExportFunc[A, R any](f func(ctx context.Context, arg A) (R, error)) (FuncID, error) {
	g, err := newGoFunc("ExportFunc", f)
	if err != nil {
		return 0, err
	}
	return FuncID(offload.Add(g)), nil
}

// MustExportFunc is ExportFunc that panics, for package variables.
func MustExportFunc[A, R any](f func(ctx context.Context, arg A) (R, error)) FuncID {
	id, err := ExportFunc(f)
	if err != nil {
		panic(err)
	}
	return id
}

// ExportFuncNamed is ExportFunc, and coro_go_function(name) finds the function. A name can be given
// once: the second time is an *OptionError. It may return ErrNoMemory too.
func ExportFuncNamed[A, R any](
	name string, f func(ctx context.Context, arg A) (R, error),
) (FuncID, error) {
	if name == "" || strings.ContainsRune(name, 0) {
		return 0, &OptionError{"ExportFuncNamed", name,
			"must not be empty or contain a zero byte"}
	}
	g, err := newGoFunc("ExportFuncNamed", f)
	if err != nil {
		return 0, err
	}
	g.Name = name
	id, taken, status := offload.AddNamed(g)
	if taken {
		return 0, &OptionError{"ExportFuncNamed", name,
			"is the name of another: choose one of its own"}
	}
	return FuncID(id), statusError(status, ofScheduler)
}

func newGoType[T any](what string, isArg bool) (offload.Type, error) {
	t := reflect.TypeFor[T]()
	if t == reflect.TypeFor[[]byte]() {
		return offload.Type{Varying: true}, nil
	}
	why := plain.Refusal(t)
	if isArg {
		_, why = plain.Slices(t)
	}
	if why != "" {
		return offload.Type{}, &OptionError{what, t, why + "; any number of bytes is a []byte"}
	}
	return offload.Type{Bytes: t.Size()}, nil
}

func newGoFunc[A, R any](
	what string, f func(context.Context, A) (R, error),
) (*offload.Func, error) {
	if !core.Available {
		return nil, ErrNoCgo
	}
	if f == nil {
		return nil, &OptionError{what, "nil", "needs a function"}
	}
	arg, err := newGoType[A](what, true)
	if err != nil {
		return nil, err
	}
	res, err := newGoType[R](what, false)
	if err != nil {
		return nil, err
	}
	g := &offload.Func{Name: runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name(), Arg: arg,
		Result: res}
	f, results, err := carrying(what, f)
	if err != nil {
		return nil, err
	}
	g.Call = func(ctx context.Context, c *core.Call) error {
		var a A
		switch {
		case arg.Varying:
			*(*[]byte)(unsafe.Pointer(&a)) = append([]byte{},
				unsafe.Slice((*byte)(c.Arg()), c.ArgBytes())...)
		case arg.Bytes > 0:
			a = *(*A)(c.Arg())
		}
		r, err := f(ctx, a)
		if err != nil {
			return err
		}
		switch to := c.Result(); {
		case res.Varying:
			returnBytes(c, *(*[]byte)(unsafe.Pointer(&r)))
			return nil
		case to != nil && res.Bytes > 0:
			*(*R)(to) = r
		default: // nobody wants them
			core.DropBuffers(unsafe.Pointer(&r), results)
		}
		c.End(core.OK, res.Bytes)
		return nil
	}
	g.Inline = func(ctx context.Context, calls core.Calls, i, n int) int {
		c := calls.At(i)
		id := c.ID()
		for {
			calls.Begin(i, c)
			if from, to := argResult(c); arg.Varying || res.Varying ||
				unsafe.Sizeof(*new(A)) == 0 || to == nil {
				if err := g.Call(ctx, c); err != nil {
					offload.Failed(c, err)
				}
			} else if r, err := f(ctx, *(*A)(from)); err != nil {
				offload.Failed(c, err)
			} else {
				*(*R)(to) = r
				c.End(core.OK, unsafe.Sizeof(r))
			}
			if i++; i == n {
				return i
			}
			if c = calls.At(i); c.ID() != id || !g.Accepts(c) {
				return i
			}
		}
	}
	return g, nil
}

// argResult returns where the argument lies and where the result goes.
func argResult(c *core.Call) (arg, result unsafe.Pointer) { return c.Arg(), c.Result() }

// Other packages, in which generic functions of this one are compiled, inline those functions of
// core and offload that code which is not generic calls here, too. This is that code.
var _ = func(f *offload.Func, calls core.Calls) bool {
	c := calls.At(0)
	calls.Begin(0, c)
	return f.Accepts(c) && calls.Len() == int(c.ID())
}

func returnBytes(c *core.Call, b []byte) {
	status := core.OK
	if to := c.Result(); to != nil {
		if uintptr(len(b)) <= c.Room() {
			copy(unsafe.Slice((*byte)(to), len(b)), b)
		} else {
			status = core.TooBig
		}
	}
	c.End(status, uintptr(len(b)))
}

// A BodyID names a Go function with which C bodies start coroutines; they know it as a coro_go_id.
// It may be part of their argument, and stays valid as long as the process lives. 0 names no
// function.
type BodyID uint32

// ExportBody makes a Go function one that C bodies can start as a coroutine's body, with
// coro_spawn_go, as Go does in Go. A and R hold no pointers and have at most InlineBytes bytes, or
// are None. The body's context ends when the body is canceled, as that of every other body. A C
// body that joins it gets the result, or CORO_EFAILED after an error or a panic, and
// coro_join_error has the first 1023 bytes of the error's text. A [Buffer] in an A is the
// function's when that begins, and freed if it never begins; one in an R is then the joiner's, and
// freed if nobody joins.
//
// A function stays exported as long as the process lives: export each once, for example in a
// package variable. It returns an *OptionError for types that do not fit and for a nil function,
// ErrNoMemory, or ErrNoCgo.
func ExportBody[A, R any](f func(c *Coroutine, arg A) (R, error)) (BodyID, error) {
	if !core.Available {
		return 0, ErrNoCgo
	}
	if f == nil {
		return 0, &OptionError{"ExportBody", "nil", "needs a function"}
	}
	argBytes, err := inlineBytes("ExportBody", reflect.TypeFor[A]())
	if err != nil {
		return 0, err
	}
	resultBytes, err := inlineBytes("ExportBody", reflect.TypeFor[R]())
	if err != nil {
		return 0, err
	}
	buffers, _ := plain.Buffers(reflect.TypeFor[A](), InlineBytes)
	resultBuffers, _ := plain.Buffers(reflect.TypeFor[R](), InlineBytes)
	name := bodyName(f)
	return addBody(&goBodyType{argBytes, resultBytes, uint8(mask(buffers)),
		uint8(mask(resultBuffers)), func(s *Scheduler, it core.GoWorkerItem) *Coroutine {
			var arg A
			body := func(c *Coroutine) (R, error) { return f(c, arg) }
			// Until the body begins the core has the argument's buffers, and the
			// result's lie in the same place.
			if argBytes > 0 && len(buffers)+len(resultBuffers) > 0 {
				body = func(c *Coroutine) (R, error) {
					c.join.TakeArg(unsafe.Pointer(&arg), unsafe.Sizeof(arg))
					return f(c, arg)
				}
			} else if argBytes > 0 {
				arg = *(*A)(it.Arg())
			}
			b := newBody(s, name, body)
			b.bytes = resultBytes
			b.ctx, b.fromC = context.Background(), true
			b.enter(it.Joinable())
			return &b.Coroutine
		}})
}

// MustExportBody is ExportBody that panics, for package variables.
func MustExportBody[A, R any](f func(c *Coroutine, arg A) (R, error)) BodyID {
	id, err := ExportBody(f)
	if err != nil {
		panic(err)
	}
	return id
}

// A goBodyType is a function that was exported by ExportBody.
type goBodyType struct {
	argBytes, resultBytes     uint8
	argBuffers, resultBuffers uint8 // a bit for each word that is one
	// makes the coroutine that C has asked for
	start func(*Scheduler, core.GoWorkerItem) *Coroutine
}

// goBodies has all functions that were exported by ExportBody: that of a BodyID is at the id
// without core.GoBody.
var goBodies table.Table[goBodyType]

func addBody(b *goBodyType) (BodyID, error) {
	id := core.GoBody | goBodies.Add(b)
	if status := core.ExportBody(id, b.argBytes, b.resultBytes, b.argBuffers,
		b.resultBuffers); status != core.OK {
		if status == core.NoMemory && b.argBuffers|b.resultBuffers != 0 {
			return 0, &memoryError{"coro: no memory for another Go body, or " + tooManyCarry}
		}
		return 0, statusError(status, ofScheduler)
	}
	return BodyID(id), nil
}

// findBody is for an id that C knows.
func findBody(id uint32) *goBodyType { return goBodies.At(id &^ core.GoBody) }
