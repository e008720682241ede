package core

import (
	"runtime"
	"sync"
	"unsafe"
)

// A Loan is what a coroutine has of its caller's until it has ended: memory that it borrows, which
// is pinned. A pinner that is dropped while it pins ends the process. So a loan that no frame of a
// goroutine holds is in a table of this package (Keep), whatever becomes of tasks and schedulers.
//
// The Loan of a Func has terms alone. Each coroutine has one of its own (For).
type Loan struct {
	terms          *Terms
	pins           runtime.Pinner
	live, kept     bool
	next, previous *Loan // in the table
}

// Terms say what an argument has of the caller's.
type Terms struct {
	Slices []uintptr // offsets of the addresses of what is borrowed
}

// NewLoan is the Loan of a Func.
func NewLoan(t *Terms) *Loan { return &Loan{terms: t} }

// Borrows tells whether memory is borrowed.
func (l *Loan) Borrows() bool { return l != nil && len(l.terms.Slices) > 0 }

var (
	loanPool = sync.Pool{New: func() any { return new(Loan) }}
	loans    struct {
		mu    sync.Mutex
		first *Loan
		n     int
	}
)

// For is the loan of one coroutine, whose argument arg points to: from now on what it borrows is
// pinned. The loan of a coroutine is itself.
func (l *Loan) For(arg unsafe.Pointer) *Loan {
	if l == nil || l.live {
		return l
	}
	own := l.Fresh()
	own.Pin(arg)
	return own
}

// Fresh is a loan on these terms that pins nothing yet.
func (l *Loan) Fresh() *Loan {
	own := loanPool.Get().(*Loan)
	own.terms, own.live = l.terms, true
	return own
}

// Pin pins what an argument borrows. Memory that is none of Go's stays as it is.
func (l *Loan) Pin(arg unsafe.Pointer) {
	for _, at := range l.terms.Slices {
		if p := *(*unsafe.Pointer)(unsafe.Add(arg, at)); p != nil {
			l.pins.Pin(p)
		}
	}
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
	l.pins.Unpin()
	l.terms, l.live = nil, false
	loanPool.Put(l)
}

// Loans is the number of loans in the table.
func Loans() int {
	loans.mu.Lock()
	defer loans.mu.Unlock()
	return loans.n
}
