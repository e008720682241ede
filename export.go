package coro

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/organzine/coro/csrc"
)

// A FuncID names a Go function for C bodies, which know it as a coro_go_id. It may be part of their argument, and is good
// for ever. 0 names none.
type FuncID uint32

// ExportFunc makes a Go function one that C bodies can call, with coro_call_go or, if it is short and never blocks, with
// coro_call_go_inline; see coro.h and docs/calls.md. A and R are
// the types of the argument and the result in C: they hold no pointers, and C must give exactly the bytes of an A; or they
// are []byte, for any number of bytes; or None. The function's own arguments are copies, and its own for ever.
//
// The context ends when the scheduler whose coroutine calls is closed with a context that ends. Of an offloaded call, it also ends when
// that coroutine is canceled (Task.Cancel, the context of StartContext, coro_cancel), and when the call does. An error and a panic
// come to the caller as CORO_EFAILED, with the text; nothing of them is lost, and neither ends the process.
//
// A function stays exported as long as the process lives: export each once, for example in a package variable, not for
// each call. It returns an *OptionError for a type that holds Go pointers and for a nil function, or ErrNoCgo.
func ExportFunc[A, R any](f func(ctx context.Context, arg A) (R, error)) (FuncID, error) {
	g, err := newGoFunc("ExportFunc", f)
	if err != nil {
		return 0, err
	}
	return goFuncs.add(g), nil
}

// MustExportFunc is ExportFunc that panics, for package variables.
func MustExportFunc[A, R any](f func(ctx context.Context, arg A) (R, error)) FuncID {
	id, err := ExportFunc(f)
	if err != nil {
		panic(err)
	}
	return id
}

// ExportFuncNamed is ExportFunc, and coro_go_function(name) finds the function. A name can be given once: the second time is an
// *OptionError. It may return ErrNoMemory too.
func ExportFuncNamed[A, R any](name string, f func(ctx context.Context, arg A) (R, error)) (FuncID, error) {
	if name == "" || strings.ContainsRune(name, 0) {
		return 0, &OptionError{"ExportFuncNamed", name, "must not be empty or contain a zero byte"}
	}
	g, err := newGoFunc("ExportFuncNamed", f)
	if err != nil {
		return 0, err
	}
	g.name = name
	return goFuncs.addNamed(g)
}

// goFunc is an exported function.
type goFunc struct {
	name string
	arg  goType
	res  goType
	call func(context.Context, *csrc.Call) error // the argument has the right size; ends the call unless there is an error

	// inline makes the call at i of a worker's, which it accepts, and those after it that are of the same kind. It returns how far it has come.
	inline func(ctx context.Context, calls csrc.Calls, i int) int
}

// goType is how a type goes from and to C.
type goType struct {
	bytes   uintptr // that it has, or
	varying bool    // it is []byte
}

func newGoType[T any](what string) (goType, error) {
	t := reflect.TypeFor[T]()
	if t == reflect.TypeFor[[]byte]() {
		return goType{varying: true}, nil
	}
	if bad := pointerIn(t); bad != nil {
		return goType{}, &OptionError{what, t, fmt.Sprintf(
			"contains %v, which points into Go: use []byte, numbers, arrays and structs of them, or a runtime/cgo.Handle", bad)}
	}
	return goType{bytes: t.Size()}, nil
}

func newGoFunc[A, R any](what string, f func(context.Context, A) (R, error)) (*goFunc, error) {
	if !csrc.Available {
		return nil, ErrNoCgo
	}
	if f == nil {
		return nil, &OptionError{what, "nil", "needs a function"}
	}
	arg, err := newGoType[A](what)
	if err != nil {
		return nil, err
	}
	res, err := newGoType[R](what)
	if err != nil {
		return nil, err
	}
	g := &goFunc{name: runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name(), arg: arg, res: res}
	g.call = func(ctx context.Context, c *csrc.Call) error {
		var a A
		switch {
		case arg.varying:
			*(*[]byte)(unsafe.Pointer(&a)) = append([]byte{}, unsafe.Slice((*byte)(c.Arg()), c.ArgBytes())...)
		case arg.bytes > 0:
			a = *(*A)(c.Arg())
		}
		r, err := f(ctx, a)
		if err != nil {
			return err
		}
		switch to := c.Result(); {
		case res.varying:
			returnBytes(c, *(*[]byte)(unsafe.Pointer(&r)))
			return nil
		case to != nil && res.bytes > 0:
			*(*R)(to) = r
		}
		c.End(csrc.OK, res.bytes)
		return nil
	}
	g.inline = func(ctx context.Context, calls csrc.Calls, i int) int {
		c := calls.At(i)
		id, n := c.ID(), calls.Len()
		for {
			calls.Begin(i, c)
			if from, to := argResult(c); arg.varying || res.varying || unsafe.Sizeof(*new(A)) == 0 || to == nil {
				if err := g.call(ctx, c); err != nil {
					failed(c, err)
				}
			} else if r, err := f(ctx, *(*A)(from)); err != nil {
				failed(c, err)
			} else {
				*(*R)(to) = r
				c.End(csrc.OK, unsafe.Sizeof(r))
			}
			if i++; i == n {
				return i
			}
			if c = calls.At(i); c.ID() != id || !g.accepts(c) {
				return i
			}
		}
	}
	return g, nil
}

// argResult returns where the argument lies and where the result goes. (Functions of csrc that only generic ones use are not inlined for others.)
func argResult(c *csrc.Call) (arg, result unsafe.Pointer) { return c.Arg(), c.Result() }

func returnBytes(c *csrc.Call, b []byte) {
	status := csrc.OK
	if to := c.Result(); to != nil {
		if uintptr(len(b)) <= c.Room() {
			copy(unsafe.Slice((*byte)(to), len(b)), b)
		} else {
			status = csrc.TooBig
		}
	}
	c.End(status, uintptr(len(b)))
}

// accepts tells whether the call fits the function, which may be nil.
func (g *goFunc) accepts(c *csrc.Call) bool {
	return g != nil && (g.arg.varying || c.ArgBytes() == g.arg.bytes) && (c.Room() >= g.res.bytes || c.Result() == nil)
}

// refuse ends a call that does not.
func (g *goFunc) refuse(c *csrc.Call) {
	switch {
	case g == nil:
		c.End(csrc.Invalid, 0)
	case !g.arg.varying && c.ArgBytes() != g.arg.bytes:
		c.End(csrc.Invalid, g.arg.bytes)
	default:
		c.End(csrc.TooBig, g.res.bytes)
	}
}

// failed ends a call whose function has returned an error.
func failed(c *csrc.Call, err error) { c.Fail(errorText(fmt.Sprint(err))) }

// panicked ends a call whose function has panicked. Deferred functions call it.
func panicked(c *csrc.Call, value any) {
	c.Fail(errorText(fmt.Sprintf("panic: %v\n\n%s", value, debug.Stack())))
}

// errorText is as much of a text as is kept.
func errorText(s string) string { return s[:min(len(s), 16<<10)] }

// goFuncTable has all exported functions. Looking one up takes no lock.
type goFuncTable struct {
	mu    sync.Mutex
	names map[string]bool
	list  atomic.Pointer[[]*goFunc] // the function of id is at id-1; what is there stays
}

var goFuncs goFuncTable

func (t *goFuncTable) add(g *goFunc) FuncID {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []*goFunc
	if old := t.list.Load(); old != nil {
		list = *old
	}
	list = append(list, g) // readers of the old one do not see so far
	t.list.Store(&list)
	return FuncID(len(list))
}

func (t *goFuncTable) addNamed(g *goFunc) (FuncID, error) {
	t.mu.Lock()
	if t.names[g.name] {
		t.mu.Unlock()
		return 0, &OptionError{"ExportFuncNamed", g.name, "is the name of another: choose one of its own"}
	}
	if t.names == nil {
		t.names = map[string]bool{}
	}
	t.names[g.name] = true
	t.mu.Unlock()
	id := t.add(g)
	if status := csrc.ExportName(g.name, uint32(id)); status != csrc.OK {
		t.mu.Lock()
		delete(t.names, g.name)
		t.mu.Unlock()
		return 0, statusError(status, ofScheduler)
	}
	return id, nil
}

// find returns nil for an unknown id.
func (t *goFuncTable) find(id uint32) *goFunc {
	list := t.list.Load()
	if list == nil || id-1 >= uint32(len(*list)) {
		return nil
	}
	return (*list)[id-1]
}

// schedulerTable has the schedulers that are open, by id. Looking one up takes no lock.
type schedulerTable struct {
	mu   sync.Mutex
	free []uint32
	list atomic.Pointer[[]atomic.Pointer[Scheduler]]
}

var schedulers schedulerTable

func (t *schedulerTable) add(s *Scheduler) uint32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	var old []atomic.Pointer[Scheduler]
	if p := t.list.Load(); p != nil {
		old = *p
	}
	if len(t.free) == 0 {
		list := make([]atomic.Pointer[Scheduler], 2*len(old)+4)
		for i := range list {
			if i < len(old) {
				list[i].Store(old[i].Load())
			} else {
				t.free = append(t.free, uint32(i))
			}
		}
		t.list.Store(&list)
		old = list
	}
	id := t.free[len(t.free)-1]
	t.free = t.free[:len(t.free)-1]
	old[id].Store(s)
	return id
}

func (t *schedulerTable) drop(id uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	(*t.list.Load())[id].Store(nil)
	t.free = append(t.free, id)
}

func (t *schedulerTable) find(id uint32) *Scheduler { return (*t.list.Load())[id].Load() }

func init() { csrc.RegisterInline(inlineCalls) }

// inlineCalls makes a worker's inline calls, on its thread, as long as that lives. It is locked to it, as the runtime then never
// starts a thread from this one, which would have the worker's name and CPU.
func inlineCalls(calls csrc.Calls) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for s := schedulers.find(calls.ID()); !inlineUntilPanic(s, &calls); {
	}
}

// inlineUntilPanic returns false after a panic, which has ended its call.
func inlineUntilPanic(s *Scheduler, calls *csrc.Calls) (ended bool) {
	defer func() {
		if !ended {
			c := calls.At(calls.Begun() - 1)
			if p := recover(); p != nil {
				panicked(c, p)
			} else {
				leftInline(goFuncs.find(c.ID()))
			}
		}
	}()
	for {
		s.edge.acquire()
		for i, n := calls.Begun(), calls.Len(); i < n; {
			c := calls.At(i)
			if g := goFuncs.find(c.ID()); g.accepts(c) {
				i = g.inline(s.ctx, *calls, i)
			} else {
				calls.Begin(i, c)
				g.refuse(c)
				i++
			}
		}
		s.edge.release()
		if !calls.Next() {
			return true
		}
	}
}

// leftInline says why the process is about to end. It cannot be helped: the goroutine is that of a C thread.
func leftInline(g *goFunc) {
	fmt.Fprintf(os.Stderr, "coro: runtime.Goexit (or FailNow of a test) in the Go function %s, which was called inline, "+
		"by coro_call_go_inline: this ends the process\n", g.name)
}

// A BodyID names a Go function for C bodies that start coroutines with it, which know it as a coro_go_id. It may be part of their
// argument, and is good for ever. 0 names none.
type BodyID uint32

// ExportBody makes a Go function one that C bodies can start as a coroutine's body, with coro_spawn_go: what Go does for
// Go. A and R hold no pointers and have at most InlineBytes bytes, or are None. The body's context ends when it is canceled, as
// every other's. A C body that joins it gets the result, or CORO_EABORTED after an error or a panic: of these it gets no
// text, so a body that can fail has that in R.
//
// A function stays exported as long as the process lives: export each once, for example in a package variable. It returns an
// *OptionError for types that do not fit and for a nil function, ErrNoMemory, or ErrNoCgo.
func ExportBody[A, R any](f func(c *Coroutine, arg A) (R, error)) (BodyID, error) {
	if !csrc.Available {
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
	name := bodyName(f)
	return goBodies.add(&goBodyType{argBytes, resultBytes, func(s *Scheduler, it csrc.GoWorkerItem) *Coroutine {
		var arg A
		if argBytes > 0 {
			arg = *(*A)(it.Arg())
		}
		b := newBody(s, name, func(c *Coroutine) (R, error) { return f(c, arg) })
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

// goBodyType is a function that was exported by ExportBody.
type goBodyType struct {
	argBytes, resultBytes uint8
	start                 func(*Scheduler, csrc.GoWorkerItem) *Coroutine // makes what C has asked for
}

// goBodyTable has all of them. Looking one up takes no lock.
type goBodyTable struct {
	mu   sync.Mutex
	list atomic.Pointer[[]*goBodyType] // that of an id is at its number; what is there stays
}

var goBodies goBodyTable

func (t *goBodyTable) add(b *goBodyType) (BodyID, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []*goBodyType
	if old := t.list.Load(); old != nil {
		list = *old
	}
	id := csrc.GoBody | uint32(len(list))
	list = append(list, b) // readers of the old one do not see so far
	t.list.Store(&list)
	if status := csrc.ExportBody(id, b.argBytes, b.resultBytes); status != csrc.OK {
		return 0, statusError(status, ofScheduler)
	}
	return BodyID(id), nil
}

// find is for an id that C knows.
func (t *goBodyTable) find(id uint32) *goBodyType { return (*t.list.Load())[id&^csrc.GoBody] }
