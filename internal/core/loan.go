//go:build cgo && linux && (amd64 || arm64)

package core

import (
	"runtime"
	"sync"
	"unsafe"
)

// A Loan is what a coroutine has of its caller's until it has ended: memory that it borrows, which
// is pinned; and a block of C's memory with its argument and its result, if one is large. A pinner
// that is dropped while it pins ends the process. So a loan that no frame of a goroutine holds is
// in a table of this package (Keep), whatever becomes of tasks and schedulers.
//
// The Loan of a Func has terms alone. Each coroutine has one of its own (For).
type Loan struct {
	terms          *Terms
	pins           runtime.Pinner
	live, kept     bool
	next, previous *Loan    // in the table
	large          largeArg // where the block is; zero: there is none
}

// Terms say what an argument has of the caller's.
type Terms struct {
	Slices []uintptr // offsets of the addresses of what is borrowed

	// Of a coroutine with a large argument or result: the function, and how many bytes they
	// have. Large is false else, and the rest zero.
	Large                 bool
	Fn                    uintptr
	ArgBytes, ResultBytes uintptr

	Buffers, ResultBuffers []uintptr // offsets of the buffers in the argument, in the result
}

// Buffers is where the argument has buffers, and ResultBuffers where the result has some.
func (l *Loan) Buffers() []uintptr {
	if l == nil {
		return nil
	}
	return l.terms.Buffers
}

func (l *Loan) ResultBuffers() []uintptr {
	if l == nil {
		return nil
	}
	return l.terms.ResultBuffers
}

// NewLoan is the Loan of a Func.
func NewLoan(t *Terms) *Loan { return &Loan{terms: t} }

// Enlarge changes the spec of a Func with a large argument or result, as its loan's terms say.
func Enlarge(s *Spec) {
	s.Fn, s.ArgBytes, s.ResultBytes = LargeBody, uint8(unsafe.Sizeof(largeArg{})), 0
}

// sizes is how many bytes the argument and the result have, and the function that is called.
func (s *Spec) sizes() (fn, arg, result uintptr) {
	if t := s.Loan.enlarged(); t != nil {
		return t.Fn, t.ArgBytes, t.ResultBytes
	}
	return s.Fn, uintptr(s.ArgBytes), uintptr(s.ResultBytes)
}

// Borrows tells whether memory is borrowed.
func (l *Loan) Borrows() bool { return l != nil && len(l.terms.Slices) > 0 }

// enlarged is the terms, if argument or result are large; or else nil.
func (l *Loan) enlarged() *Terms {
	if l == nil || !l.terms.Large {
		return nil
	}
	return l.terms
}

var (
	loanPool = sync.Pool{New: func() any { return new(Loan) }}
	loans    struct {
		mu    sync.Mutex
		first *Loan
		n     int
	}
)

// For is the loan of one coroutine, whose argument arg points to: from now on what it borrows is
// pinned. The loan of a coroutine is itself. nil: there is no memory.
func (l *Loan) For(arg unsafe.Pointer) *Loan {
	if l.live {
		return l
	}
	own := l.Fresh()
	own.Pin(arg) // before C has the addresses
	if l.terms.Large && !own.newBlock(arg) {
		own.End()
		return nil
	}
	return own
}

// Arg is what the coroutine is started with, whose argument arg points to.
func (l *Loan) Arg(arg unsafe.Pointer) unsafe.Pointer {
	if l.enlarged() == nil {
		return arg
	}
	return unsafe.Pointer(&l.large)
}

// Large tells whether the result, and the argument, are in the loan.
func (l *Loan) Large() bool { return l.enlarged() != nil }

// Result copies n bytes of the result of a coroutine that has ended with one. The loan is large.
func (l *Loan) Result(to unsafe.Pointer, n uintptr) {
	copyValue(to, l.large.result, n)
}

// Name gives a failure the function that has failed. f is nil, or what the core has told.
func (l *Loan) Name(f *Failure) {
	if t := l.enlarged(); t != nil && f != nil {
		f.Fn = t.Fn
	}
}

// Fresh is a loan on these terms that pins nothing yet, and has no block.
func (l *Loan) Fresh() *Loan {
	own := loanPool.Get().(*Loan)
	own.terms, own.live = l.terms, true
	return own
}

// Pin pins what an argument borrows.
func (l *Loan) Pin(arg unsafe.Pointer) { l.PinBy(&l.pins, arg) }

// PinBy has pins pin what an argument borrows. Memory that is none of Go's stays as it is.
func (l *Loan) PinBy(pins *runtime.Pinner, arg unsafe.Pointer) {
	for _, at := range l.terms.Slices {
		if p := *(*unsafe.Pointer)(unsafe.Add(arg, at)); p != nil {
			pins.Pin(p)
		}
	}
}

// With is a loan on these terms that takes over what pins has pinned, and the block of the lend, if
// it is large: the coroutine goes on. pins may be nil.
func (l *Loan) With(pins *runtime.Pinner, lend *Lend) *Loan {
	own := l.Fresh()
	if pins != nil {
		own.pins, *pins = *pins, runtime.Pinner{}
	}
	if l.terms.Large {
		copyValue(unsafe.Pointer(&own.large), lend.payload(), unsafe.Sizeof(own.large))
		largeBlocks.Add(1)
	}
	return own
}

// Keep puts the loan into the table, until its End.
func (l *Loan) Keep() {
	loans.mu.Lock()
	defer loans.mu.Unlock()
	l.kept, l.next, l.previous = true, loans.first, nil
	if l.next != nil {
		l.next.previous = l
	}
	loans.first = l
	loans.n++
}

// Unkeep takes the loan out of the table: the caller has it.
func (l *Loan) Unkeep() {
	loans.mu.Lock()
	defer loans.mu.Unlock()
	if l.next != nil {
		l.next.previous = l.previous
	}
	if l.previous != nil {
		l.previous.next = l.next
	} else {
		loans.first = l.next
	}
	l.kept, l.next, l.previous = false, nil, nil
	loans.n--
}

// End ends the loan, once: the coroutine has ended, or was not started.
func (l *Loan) End() {
	if l.kept {
		l.Unkeep()
	}
	if l.Borrows() {
		l.pins.Unpin()
	}
	if l.block() != nil {
		l.freeBlock()
	}
	l.terms, l.live = nil, false
	loanPool.Put(l)
}

// Loans is the number of loans in the table.
func Loans() int {
	loans.mu.Lock()
	defer loans.mu.Unlock()
	return loans.n
}
