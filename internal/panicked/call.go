package panicked

import (
	"errors"
	"log/slog"
	"sync/atomic"
)

// ErrGoexit: the function has called runtime.Goexit, as t.FailNow does.
var ErrGoexit = errors.New("it has called runtime.Goexit, as t.FailNow does")

// Call calls f, a function of the program's, and returns how it has failed: an *Error for a panic,
// ErrGoexit, or nil. f runs on a goroutine of its own, since none outlives a Goexit; Call waits for
// it. The caller holds no lock: f may take as long as it wants. It costs some 0.5 µs.
// docs/hooks.md says which of the program's functions are called so.
func Call(f func()) error {
	failure := make(chan error, 1)
	go func() {
		err := ErrGoexit
		defer func() {
			if v := recover(); v != nil {
				err = New(v)
			}
			failure <- err
		}()
		f()
		err = nil
	}()
	return <-failure
}

// A Hook is a function of the program's that belongs to nobody, no actor and no coroutine: when it
// fails, that is nobody's failure. It is counted, and the first one is logged.
type Hook[A any] struct {
	Name     string  // as users know it: "coro.WithLateHook"
	F        func(A) // nil: there is no hook
	failures atomic.Uint64
}

// IsThere tells whether the hook has a function.
func (h *Hook[A]) IsThere() bool { return h.F != nil }

// Call calls the hook, as the function Call does. It never fails.
func (h *Hook[A]) Call(a A) {
	if h.F == nil {
		return
	}
	err := Call(func() { h.F(a) })
	if err != nil && h.failures.Add(1) == 1 {
		_ = Call(func() { Log(slog.Default(), h.Name, err) }) // a handler is the program's too
	}
}

// Failures is how many calls of the hook have failed.
func (h *Hook[A]) Failures() uint64 { return h.failures.Load() }

// Log tells the error that Call has returned, with the stack of a panic, in one record.
func Log(to *slog.Logger, name string, err error) {
	args := []any{"hook", name, "error", err.Error()}
	if e := (*Error)(nil); errors.As(err, &e) {
		args = append(args, "stack", string(e.Stack))
	}
	to.Error("coro: a hook of the program's has failed; nothing else has, "+
		"and further failures of it are only counted", args...)
}
