package coro

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"unsafe"

	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/plain"
)

// borrow.go - memory that coroutines borrow.

// A Slice is memory that a coroutine borrows from the one that starts it: a member of the argument.
// T holds no Go pointers. In C it is a struct of an address and a size_t, the number of elements:
// coro_bytes for a Slice[byte], and what CORO_SLICE of coro.h defines for another T.
//
// The memory is lent until the coroutine has ended, and is not to be used for anything else in that
// time. Go memory stays where it is until then, and is kept. Memory of C's, or a mapping, is the
// caller's own care. Call, CallN, Task.Wait and Await of a coroutine that borrows return only when
// it has ended: when their context ends, they cancel the coroutine and wait on, as a read does with
// its buffer. Who must leave early uses Start, and hears of the end by Task.Done.
type Slice[T any] struct {
	_  [0]T
	at unsafe.Pointer
	n  uintptr
}

// Bytes is memory of any kind: in C a coro_bytes.
type Bytes = Slice[byte]

// SliceOf is s, as a member of an argument. An empty slice is NULL and 0. It costs nothing, but s
// is not on a goroutine's stack: the compiler has it allocated.
func SliceOf[T any](s []T) Slice[T] {
	if len(s) == 0 {
		return Slice[T]{}
	}
	at := unsafe.Pointer(unsafe.SliceData(s))
	escape(at)
	return Slice[T]{at: at, n: uintptr(len(s))}
}

// Slice is the memory as Go sees it; nil: there is none.
func (s Slice[T]) Slice() []T { return unsafe.Slice((*T)(s.at), s.n) }

// Len is the number of elements.
func (s Slice[T]) Len() int { return int(s.n) }

// escaped is where what escape is given might be stored, as far as the compiler knows.
var escaped struct {
	never bool
	at    unsafe.Pointer
}

// escape has what p points to be on the heap: the array of a goroutine's stack moves with the
// stack, and cannot be pinned.
func escape(p unsafe.Pointer) {
	if escaped.never {
		escaped.at = p
	}
}

// lendable checks the type of an argument, or of a result, and says where it has Slices.
func lendable(t reflect.Type, isArg bool) (slices []uintptr, _ error) {
	if t.Size() > LargeBytes {
		return nil, tooLarge("NewFunc", t, LargeBytes)
	}
	why := ""
	if isArg {
		slices, why = plain.Slices(t)
	} else {
		why = plain.Refusal(t)
	}
	if why != "" {
		return nil, &OptionError{"NewFunc", t, why}
	}
	return slices, nil
}

// take has the types of the argument and of the result.
func (c *funcConfig) take(arg, result reflect.Type) error {
	slices, err := lendable(arg, true)
	if err == nil {
		_, err = lendable(result, false)
	}
	if err != nil {
		return err
	}
	c.ArgBytes, c.ResultBytes = uint8(arg.Size()), uint8(result.Size()) // or see finish
	large := max(arg.Size(), result.Size()) > InlineBytes
	buffers, err := bufferWords("NewFunc", arg, InlineBytes)
	if err != nil {
		return err
	}
	resultBuffers, err := bufferWords("NewFunc", result, InlineBytes)
	if err != nil {
		return err
	}
	carries := len(buffers)+len(resultBuffers) > 0
	if carries && large {
		return &OptionError{"NewFunc", arg, fmt.Sprintf("has a coro.Buffer beside an argument or "+
			"a result of more than %d bytes: put what is large into a Buffer, too", InlineBytes)}
	}
	if large || carries || len(slices) > 0 {
		c.terms = &core.Terms{Slices: slices, Large: large, Buffers: buffers,
			ResultBuffers: resultBuffers}
	}
	if large {
		c.terms.ArgBytes, c.terms.ResultBytes = arg.Size(), result.Size()
	}
	return nil
}

// finish is the spec of the function, when all else is known.
func (c *funcConfig) finish() core.Spec {
	if c.terms != nil {
		c.Loan = core.NewLoan(c.terms)
	}
	if c.Loan.Large() {
		c.terms.Fn = c.Fn
		core.Enlarge(&c.Spec)
	}
	if len(c.Loan.Buffers())+len(c.Loan.ResultBuffers()) > 0 {
		c.Flags |= core.Carries
	}
	return c.Spec
}

// cannotLend is the error of a start that would not hear of the end.
func cannotLend(what string, l *core.Loan) error {
	why := "borrows memory, until its coroutine ends"
	switch {
	case l.Borrows():
	case len(l.Buffers())+len(l.ResultBuffers()) > 0:
		return &OptionError{what, "Func", "has a coro.Buffer, which one coroutine owns: use " +
			"Spawn, SpawnSeq, Start, Call, CallN or a Group, once for each Buffer"}
	default:
		why = fmt.Sprintf("has an argument or a result of more than %d bytes, which is kept "+
			"until its coroutine ends", InlineBytes)
	}
	return &OptionError{what, "Func", why + ": use Start, StartContext, Call, CallN or a Group"}
}

// makeLoan makes the loan of a coroutine that is about to start. made is false if the caller has
// made it, or there is none. ErrNoMemory: nothing is to be started.
func (f *Func[A, R]) makeLoan(arg *A) (made bool, _ error) {
	before := f.spec.Loan
	if before == nil {
		return false, nil
	}
	own := before.For(unsafe.Pointer(arg))
	if own == nil {
		return false, ErrNoMemory
	}
	f.spec.Loan = own
	return own != before, nil
}

// callBorrowing is Call of a Func that borrows. As long as a lend runs the coroutine, this frame
// has the pins; a loan has them from then on.
func (f *Func[A, R]) callBorrowing(ctx context.Context, s *Scheduler, arg *A) (R, error) {
	var pins runtime.Pinner
	defer pins.Unpin()
	f.spec.Loan.PinBy(&pins, unsafe.Pointer(arg))
	return f.callLoan(ctx, s, arg, &pins)
}

// callLoan is Call of a Func that has a loan. As long as a lend runs the coroutine, C has the block
// of a large argument, too.
func (f *Func[A, R]) callLoan(ctx context.Context, s *Scheduler, arg *A, pins *runtime.Pinner) (
	r R, err error,
) {
	var result unsafe.Pointer // a lend leaves a large one there
	if f.spec.Loan.Large() {
		result = unsafe.Pointer(&r)
	}
	var l core.Lend
	at, err := s.lend(ctx, &f.spec, unsafe.Pointer(arg), result, &l)
	if at != core.LendEnded {
		return f.callOnLoan(ctx, s, arg, pins, &l, at, err)
	}
	if result != nil && l.IsOK() {
		s.edge.Acquire() // as ended does
		runtime.KeepAlive(s)
		return r, nil
	}
	return ended[R](s, &l, f.spec.Loan)
}

// callOnLoan is callOn with a loan of the coroutine's own.
func (f *Func[A, R]) callOnLoan(ctx context.Context, s *Scheduler, arg *A, pins *runtime.Pinner,
	l *core.Lend, at core.Outcome, err error,
) (r R, _ error) {
	ofFunc := f.spec.Loan
	defer func() {
		if f.spec.Loan != ofFunc && f.spec.Loan != nil { // no task has it
			f.spec.Loan.End()
		}
	}()
	switch {
	case at == core.LendSuspended, at == core.LendCalls:
		f.spec.Loan = ofFunc.With(pins, l)
	case err == nil && at == core.LendNone:
		_, err = f.makeLoan(arg)
	}
	_, r, err = f.callOn(ctx, s, arg, l, at, err, nil)
	return r, err
}

// takeLoan is the loan of f's coroutine, which is the caller's from now on; nil: there is none.
func (f *Func[A, R]) takeLoan() *core.Loan {
	l := f.spec.Loan
	f.spec.Loan = nil
	return l
}

// borrow gives the task the loan of f's coroutine, which it ends.
func (t *Task[R]) borrow(l *core.Loan) {
	if l != nil {
		t.loan, t.borrows = l, l.Borrows()
		l.Keep()
	}
}

// giveBack takes the loan of a task that has not started, or has ended in a lend, from it. over: it
// ends.
func (t *Task[R]) giveBack(over bool) {
	switch l := t.loan; {
	case over:
		l.End()
	case l != nil:
		l.Unkeep()
	}
	t.loan = nil
}

// endHere cancels the coroutine, and waits for its end, in a bubble too: a mutex is none of the
// bubble's.
func (t *Task[R]) endHere() {
	t.Cancel()
	var over sync.Mutex
	over.Lock()
	t.whenDone(over.Unlock)
	over.Lock()
}
