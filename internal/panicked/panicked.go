// Package panicked has the error that packages coro and actor make of a panic.
package panicked

import (
	"fmt"
	"runtime/debug"
)

// An Error is coro.PanicError and actor.PanicError.
type Error struct {
	Value any    // the argument of panic
	Stack []byte // of the goroutine, as debug.Stack formats it
}

// New makes the error of a value that the calling goroutine has recovered.
func New(v any) *Error { return &Error{v, debug.Stack()} }

func (e *Error) Error() string { return fmt.Sprintf("coro: panic: %v", e.Value) }

// Format prints the error as a text, and with %+v the stack after that.
func (e *Error) Format(f fmt.State, verb rune) {
	if verb == 'v' && f.Flag('+') {
		fmt.Fprintf(f, "%s\n\n%s", e.Error(), e.Stack)
		return
	}
	fmt.Fprintf(f, fmt.FormatString(f, verb), e.Error())
}

// Unwrap returns the value if that is an error.
func (e *Error) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
