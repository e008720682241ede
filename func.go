package coro

import (
	"fmt"
	"reflect"
	"strconv"
	"sync"
	"unsafe"

	"github.com/organzine/coro/csrc"
)

// A Func is a C function that runs as a coroutine:
//
//	void body(void *arg, void *result);
//
// arg points to a copy of an A, result to a zeroed R; each is NULL for a type of no size. A and R
// hold no pointers and at most InlineBytes bytes each: for more, pass a handle or the address of C
// memory as a uintptr, and document which side frees that memory. The zero Func is not usable.
type Func[A, R any] struct {
	spec csrc.Spec
}

const classDefault = 0xff

// A FuncOption configures NewFunc.
type FuncOption func(*csrc.Spec) error

// FuncStack sets the size in bytes of the stacks of a Func's coroutines, StackMin to StackMax,
// rounded up to a power of two. Without it the scheduler's default applies. Another size is an
// *OptionError of NewFunc.
func FuncStack(bytes int) FuncOption {
	return func(s *csrc.Spec) error {
		if bytes < StackMin || bytes > StackMax {
			return &OptionError{"FuncStack", bytes,
				fmt.Sprintf("must be from %d to %d", StackMin, StackMax)}
		}
		if s.Class == csrc.ClassDense {
			return &OptionError{"FuncStack", bytes,
				"does not go with FuncDense: " +
					"WithSharedStacks sets the size of its stacks"}
		}
		s.Class = csrc.Class(bytes)
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
// docs/dense.md.
func FuncDense() FuncOption {
	return func(s *csrc.Spec) error {
		if s.Class != classDefault {
			return &OptionError{"FuncDense", true,
				"does not go with FuncStack: " +
					"WithSharedStacks sets the size of its stacks"}
		}
		s.Class = csrc.ClassDense
		return nil
	}
}

// FuncName names the function in reports of deadlocks, of coroutines that do not end, and of faults
// in C, which show the first 63 bytes of the name. A later name of the same C function takes the
// place of an earlier one.
func FuncName(name string) FuncOption {
	return func(s *csrc.Spec) error {
		if before, _ := funcNames.Swap(s.Fn, name); before != name {
			csrc.NameFunction(s.Fn, name) // without memory, reports have the address
		}
		return nil
	}
}

var funcNames sync.Map // address -> name

func funcName(fn uintptr) string {
	if name, ok := funcNames.Load(fn); ok {
		return name.(string)
	}
	return "0x" + strconv.FormatUint(uint64(fn), 16)
}

// NewFunc makes a Func of a C function pointer, as unsafe.Pointer(C.body). It checks A and R once.
// It returns an *OptionError or ErrNoCgo.
func NewFunc[A, R any](entry unsafe.Pointer, opts ...FuncOption) (Func[A, R], error) {
	if !csrc.Available {
		return Func[A, R]{}, ErrNoCgo
	}
	if entry == nil {
		return Func[A, R]{}, &OptionError{"NewFunc", "nil", "needs a C function"}
	}
	spec := csrc.Spec{Fn: uintptr(entry), Class: classDefault}
	var err error
	if spec.ArgBytes, err = inlineBytes("NewFunc", reflect.TypeFor[A]()); err != nil {
		return Func[A, R]{}, err
	}
	if spec.ResultBytes, err = inlineBytes("NewFunc", reflect.TypeFor[R]()); err != nil {
		return Func[A, R]{}, err
	}
	for _, o := range opts {
		if err := o(&spec); err != nil {
			return Func[A, R]{}, err
		}
	}
	return Func[A, R]{spec}, nil
}

// MustFunc is NewFunc that panics, for package variables.
func MustFunc[A, R any](entry unsafe.Pointer, opts ...FuncOption) Func[A, R] {
	f, err := NewFunc[A, R](entry, opts...)
	if err != nil {
		panic(err)
	}
	return f
}

// pointsIntoGo refuses a type that holds the type %v.
const pointsIntoGo = "contains %v, which points into Go: " +
	"pass numbers, arrays and structs of them, a runtime/cgo.Handle, or C memory as a uintptr"

// inlineBytes checks that a type can live in a record.
func inlineBytes(what string, t reflect.Type) (uint8, error) {
	if t.Size() > InlineBytes {
		return 0, &OptionError{what, t, fmt.Sprintf("has %d bytes, and at most %d fit: "+
			"pass the address of C memory, or a handle, instead", t.Size(),
			InlineBytes)}
	}
	if bad := pointerIn(t); bad != nil {
		return 0, &OptionError{what, t, fmt.Sprintf(pointsIntoGo, bad)}
	}
	return uint8(t.Size()), nil
}

// pointerIn returns a type inside t that holds a Go pointer, or nil.
func pointerIn(t reflect.Type) reflect.Type {
	switch t.Kind() {
	case reflect.Array:
		if t.Len() > 0 {
			return pointerIn(t.Elem())
		}
	case reflect.Struct:
		for i := range t.NumField() {
			if bad := pointerIn(t.Field(i).Type); bad != nil {
				return bad
			}
		}
	case reflect.Pointer, reflect.UnsafePointer, reflect.String, reflect.Slice, reflect.Map,
		reflect.Chan, reflect.Func, reflect.Interface:
		return t
	}
	return nil
}
