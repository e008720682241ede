package coro

import (
	"fmt"
	"reflect"
	"strconv"
	"sync"
	"unsafe"

	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/plain"
)

// A Func is a C function that runs as a coroutine:
//
//	CORO_BODY(add, struct add_arg, int64_t, 0) { *result = arg->a + arg->b; }
//	void body(void *arg, void *result);
//
// arg points to a copy of an A, result to a zeroed R; each is NULL for a type of no size. A and R
// hold no pointers but those of a [Slice] in A, and at most LargeBytes bytes each. More than
// InlineBytes are kept in a block of C memory, which the library owns until the coroutine has
// ended: [Func.Start], [Func.StartContext], [Func.Call] and [Func.CallN] start such a Func, and no
// other call does. For more still, lend a Slice, or pass a handle or the address of C memory as a
// uintptr, and document which side frees that memory. The zero Func is not usable.
type Func[A, R any] struct {
	spec core.Spec
}

const classDefault = 0xff

// A FuncOption configures NewFunc.
type FuncOption func(*funcConfig) error

// funcConfig is what becomes of a Func.
type funcConfig struct {
	core.Spec
	body  core.Body
	name  string      // "": none was given
	terms *core.Terms // of its loan; nil: it has none
}

// FuncStack sets the size in bytes of the stacks of a Func's coroutines, StackMin to StackMax,
// rounded up to a power of two. Without it the size is that of CORO_BODY_STACK, or the scheduler's
// (WithStack). Another size, and one below that of CORO_BODY_STACK, is an *OptionError of NewFunc.
func FuncStack(bytes int) FuncOption {
	return func(c *funcConfig) error {
		switch {
		case bytes < StackMin || bytes > StackMax:
			return &OptionError{"FuncStack", bytes,
				fmt.Sprintf("must be from %d to %d", StackMin, StackMax)}
		case c.Class == core.ClassDense && c.body.Dense:
			return &OptionError{"FuncStack", bytes,
				"does not go with CORO_DENSE of the C body " + c.body.Name +
					": WithSharedStacks sets the size of its stacks"}
		case c.Class == core.ClassDense:
			return &OptionError{"FuncStack", bytes,
				"does not go with FuncDense: " +
					"WithSharedStacks sets the size of its stacks"}
		case uint64(bytes) < c.body.Stack:
			return &OptionError{"FuncStack", bytes, fmt.Sprintf(
				"is less than the %d bytes that CORO_BODY_STACK says that "+
					"the C body %s needs", c.body.Stack, c.body.Name)}
		}
		c.Class = core.Class(bytes)
		return nil
	}
}

// FuncDense makes a Func's coroutines dense. A dense coroutine owns no stack while it waits, only
// its record, 128 bytes, and a copy of its live frames, often some 100 bytes, so that millions of
// them may wait at once. The dense coroutines of a worker share some stacks (WithSharedStacks). A
// dense coroutine that never waits costs what any other costs. The frames of one that waits are
// copied out only if another needs the stack. Once started a dense coroutine stays with its worker.
//
// While a dense coroutine waits, others use its stack. So its body must give no pointer to a
// variable of its stack to code that uses the pointer meanwhile. See CORO_DENSE in coro.h, and
// [docs/dense.md]. A body that CORO_BODY defines with CORO_DENSE is dense without this option.
//
// [docs/dense.md]: https://github.com/organzine/coro/blob/main/docs/dense.md
func FuncDense() FuncOption {
	return func(c *funcConfig) error {
		switch {
		case c.Class == classDefault || c.Class == core.ClassDense:
			c.Class = core.ClassDense
			return nil
		case c.body.Stack > 0:
			return &OptionError{"FuncDense", true, fmt.Sprintf(
				"does not go with the %d bytes of stack that CORO_BODY_STACK "+
					"says that the C body %s needs", c.body.Stack,
				c.body.Name)}
		}
		return &OptionError{"FuncDense", true,
			"does not go with FuncStack: " +
				"WithSharedStacks sets the size of its stacks"}
	}
}

// FuncBrief declares that the body is brief: between two waits it takes some microseconds, it never
// blocks its thread, and it needs nothing from the thread that woke it. A body that CORO_BODY
// defines with CORO_BRIEF is brief without this option.
//
// A coroutine of a brief function may run on the thread of the goroutine that starts it or wakes
// it, if its worker sleeps: by Start, by Wake, and by the methods of Chan, Semaphore, Mutex and the
// others. So a request and its answer over two channels take two cgo calls instead of two wake-ups
// of threads. The call returns when nothing brief is left to run there, after some 15 µs at most.
// Calls into Go that the coroutine makes inline are made on its worker's own thread.
//
// The promise is the caller's. A function that breaks it keeps its wakers waiting. It is found out
// (WithLateHook, Stats.Lends), and is brief no longer. [docs/border.md] has more. A process may
// have 512 brief functions: for more NewFunc returns an *OptionError.
//
// [docs/border.md]: https://github.com/organzine/coro/blob/main/docs/border.md
func FuncBrief() FuncOption {
	return func(c *funcConfig) error { c.Brief = true; return nil }
}

// FuncName names the function in reports of deadlocks, of coroutines that do not end, and of faults
// in C, which show the first 63 bytes of the name. A later name of the same C function takes the
// place of an earlier one. A body that CORO_BODY defines has its C name without this option.
func FuncName(name string) FuncOption {
	return func(c *funcConfig) error { c.name = name; return nil }
}

var funcNames sync.Map // address -> name

func funcName(fn uintptr) string {
	if name, ok := funcNames.Load(fn); ok {
		return name.(string)
	}
	if name := core.FunctionName(fn); name != "" { // of a body of the core's own
		return name
	}
	return "0x" + strconv.FormatUint(uint64(fn), 16)
}

func init() {
	for fn, name := range core.Functions() {
		funcNames.Store(fn, name)
	}
}

// keepName keeps the name that was given, or else the C name of a function that has none yet.
func (c *funcConfig) keepName() {
	name := c.name
	if name != "" {
		if before, _ := funcNames.Swap(c.Fn, name); before == name {
			return
		}
	} else if name = c.body.Name; name == "" {
		return
	} else if _, named := funcNames.LoadOrStore(c.Fn, name); named {
		return
	}
	core.NameFunction(c.Fn, name) // without memory, reports have the address
}

// NewFunc makes a Func of a C function. What it checks, it checks once; it costs some µs.
//
// entry is unsafe.Pointer(&C.add_body) for a body that CORO_BODY(add, ...) of coro.h defines.
// NewFunc then refuses an A or an R of another size or alignment than the C types. Coro gen
// (github.com/organzine/coro/cmd/coro) writes such calls, and the Go types, for all bodies of a
// package. entry may also be a plain function pointer, unsafe.Pointer(C.body). Of that NewFunc
// cannot check anything: A and R must be what the function takes its pointers for.
//
// It returns an *OptionError or ErrNoCgo.
func NewFunc[A, R any](entry unsafe.Pointer, opts ...FuncOption) (Func[A, R], error) {
	c, err := newFuncConfig(entry, reflect.TypeFor[A](), reflect.TypeFor[R]())
	if err != nil {
		return Func[A, R]{}, err
	}
	for _, o := range opts {
		if o == nil {
			return Func[A, R]{}, nilOption("NewFunc")
		}
		if err := o(c); err != nil {
			return Func[A, R]{}, err
		}
	}
	if c.Brief && core.DeclareBrief(c.Fn) != core.OK {
		return Func[A, R]{}, &OptionError{"FuncBrief", true,
			"does not go with so many others: a process has at most 512 brief functions"}
	}
	c.keepName()
	spec := c.finish()
	if err := declareBuffers(&spec); err != nil {
		return Func[A, R]{}, err
	}
	return Func[A, R]{spec}, nil
}

// newFuncConfig is what entry and the types say.
func newFuncConfig(entry unsafe.Pointer, arg, result reflect.Type) (*funcConfig, error) {
	if !core.Available {
		return nil, ErrNoCgo
	}
	if entry == nil {
		return nil, &OptionError{"NewFunc", "nil", "needs a C function"}
	}
	body, status := core.LookBody(entry)
	if status != core.OK {
		return nil, &OptionError{"NewFunc", fmt.Sprintf("%#x", uintptr(entry)),
			"is a variable, and none that CORO_BODY of this version of coro.h " +
				"defines: pass unsafe.Pointer(&C.x_body), or unsafe.Pointer(C.x) " +
				"for a C function x"}
	}
	c := &funcConfig{Spec: core.Spec{Fn: body.Fn, Class: classDefault}, body: body}
	err := c.take(arg, result)
	if err == nil && body.Described {
		err = c.follow(arg, result)
	}
	return c, err
}

// follow does what the description of the body says.
func (c *funcConfig) follow(arg, result reflect.Type) error {
	b := &c.body
	stack := b.Stack != 0
	if b.Fn == 0 || b.Strange || stack && (b.Dense || b.Stack < uint64(StackMin) ||
		b.Stack > uint64(StackMax)) {
		return &OptionError{"NewFunc", b.Name,
			"is described as CORO_BODY never does: " +
				"do not change what the macro defines"}
	}
	if err := sameLayout(arg, b.Name, "argument", b.ArgBytes, b.ArgAlign); err != nil {
		return err
	}
	if err := sameLayout(result, b.Name, "result", b.ResultBytes, b.ResultAlign); err != nil {
		return err
	}
	c.Brief = b.Brief
	if b.Dense {
		c.Class = core.ClassDense
	} else if stack {
		c.Class = core.Class(int(b.Stack))
	}
	return nil
}

// sameLayout checks that a Go type has the size and the alignment of the C type of a body.
func sameLayout(t reflect.Type, body, what string, bytes, align uintptr) error {
	goBytes, goAlign := t.Size(), uintptr(t.Align())
	switch {
	case bytes == goBytes && (align == goAlign || bytes == 0):
		return nil
	case bytes == 0:
		return &OptionError{"NewFunc", t, fmt.Sprintf("has %s, but the C body %s has no "+
			"%s: use coro.None", layout(goBytes, goAlign), body, what)}
	case goBytes == 0:
		return &OptionError{"NewFunc", t, fmt.Sprintf("has no bytes, but the %s of the C "+
			"body %s has %s: use a type of that size", what, body,
			layout(bytes, align))}
	}
	return &OptionError{"NewFunc", t, fmt.Sprintf("has %s, but the %s of the C body %s has "+
		"%s: use the same type, as coro gen does", layout(goBytes, goAlign), what, body,
		layout(bytes, align))}
}

func layout(bytes, align uintptr) string {
	return fmt.Sprintf("%d bytes, aligned to %d", bytes, align)
}

// MustFunc is NewFunc that panics, for package variables.
func MustFunc[A, R any](entry unsafe.Pointer, opts ...FuncOption) Func[A, R] {
	f, err := NewFunc[A, R](entry, opts...)
	if err != nil {
		panic(err)
	}
	return f
}

// tooLarge is the error for a type of more than so many bytes.
func tooLarge(what string, t reflect.Type, most int) error {
	instead := "pass the address of C memory, or a handle, instead"
	if most == LargeBytes {
		instead = "have a coro.Slice in the argument, or pass the address of C memory, instead"
	}
	return &OptionError{what, t, fmt.Sprintf("has %d bytes, and at most %d fit: %s", t.Size(),
		most, instead)}
}

// inlineBytes checks that a type can live in a record.
func inlineBytes(what string, t reflect.Type) (uint8, error) {
	if t.Size() > InlineBytes {
		return 0, tooLarge(what, t, InlineBytes)
	}
	if why := plain.Refusal(t); why != "" {
		return 0, &OptionError{what, t, why}
	}
	return uint8(t.Size()), nil
}
