package coro

import (
	"errors"
	"fmt"
	"strings"

	"github.com/organzine/coro/csrc"
)

// What calls of this package return, alone or wrapped: test with [errors.Is].
var (
	// ErrClosed: the scheduler takes no more work. Nothing was started.
	ErrClosed = errors.New("coro: scheduler is closed")
	// ErrNoMemory: no record for a new coroutine, or, from Task.Wait, never a stack for one. Raise the limit, let
	// coroutines end, or use SpawnContext, which waits.
	ErrNoMemory = errors.New("coro: out of memory for coroutines: raise the limit or wait for some to end")
	// ErrCanceled: the coroutine was canceled, or its scheduler closed, and it never started, or ended by
	// coro_exit_canceled.
	ErrCanceled = errors.New("coro: canceled")
	// ErrAborted: the coroutine ended by coro_abort.
	ErrAborted = errors.New("coro: coroutine aborted")
	// ErrStale: the coroutine has ended, or never was.
	ErrStale = errors.New("coro: stale handle: its coroutine has ended")
	// ErrBusy: somebody else runs it, or waits for it.
	ErrBusy = errors.New("coro: in use by another caller")
	// ErrEnded: the generator has finished or aborted. Reset it first.
	ErrEnded = errors.New("coro: generator has ended: reset it first")
	// ErrMode: Run is for schedulers made WithPaused, Wait is for the others.
	ErrMode = errors.New("coro: wrong mode: Run needs WithPaused, Wait a scheduler without it")
	// ErrThread: the system refused a thread or a descriptor. Raise RLIMIT_NPROC or RLIMIT_NOFILE, or use
	// fewer workers.
	ErrThread = errors.New("coro: the system refused a thread or a descriptor: raise its limit or use fewer workers")
	// ErrTooManyWakes: the coroutine has 2²⁸ permits that it has not taken. Let it park before it is woken again.
	ErrTooManyWakes = errors.New("coro: too many wake-ups: let the coroutine park before it is woken again")
	// ErrChanClosed: the channel is closed, and, from Recv, nothing is left in it.
	ErrChanClosed = errors.New("coro: channel is closed")
	// ErrTooManyPermits: the semaphore would have more than 2⁶⁰ permits. Nothing was released.
	ErrTooManyPermits = errors.New("coro: too many permits in a semaphore")
	// ErrNotLocked: what was to be unlocked is not locked, or not by the caller, or not in that way. Nothing was unlocked.
	ErrNotLocked = errors.New("coro: not locked by the caller: unlock in the goroutine or body that has locked, once")
	// ErrLockedAlready: the caller would wait for itself: it holds the lock, or is within the function of the Once.
	ErrLockedAlready = errors.New("coro: locked by the caller already: it would wait for itself; unlock first")
	// ErrNegativeLatch: the count would be below zero. It was not changed.
	ErrNegativeLatch = errors.New("coro: a latch below zero: add before what is counted begins, and count each end once")
	// ErrDestroyed: a C body has destroyed it.
	ErrDestroyed = errors.New("coro: destroyed by a C body: make a new one, or leave it to Go, which frees it when nobody refers to it")
	// ErrNotCurrent: a method of Coroutine was called by somebody else than its body.
	ErrNotCurrent = errors.New("coro: not the body of this coroutine: its methods are for its own goroutine, until it ends")
	// ErrGoexit: the body called runtime.Goexit, as t.FailNow does.
	ErrGoexit = errors.New("coro: the body called runtime.Goexit")
	// ErrInside: the scheduler was to be closed by a Go function that one of its coroutines waits for. Close it from
	// another goroutine, which the function does not wait for.
	ErrInside = errors.New("coro: close from within a Go function that a coroutine has called: close from another goroutine")
	// ErrNoCgo: this binary was built without the C core.
	ErrNoCgo = errors.New("coro: built without its C core: it needs CGO_ENABLED=1, a C compiler, and linux on amd64 or arm64")
)

// statusError is the one mapping from the core's status codes.
func statusError(s csrc.Status) error {
	switch s {
	case csrc.OK:
		return nil
	case csrc.Closed:
		return ErrClosed
	case csrc.NoMemory:
		return ErrNoMemory
	case csrc.Canceled:
		return ErrCanceled
	case csrc.Aborted:
		return ErrAborted
	case csrc.Stale:
		return ErrStale
	case csrc.Busy:
		return ErrBusy
	case csrc.Ended:
		return ErrEnded
	case csrc.Perm:
		return ErrMode
	case csrc.Again:
		return ErrThread
	case csrc.Overflow:
		return ErrTooManyWakes
	}
	return fmt.Errorf("coro: %s", s.Text())
}

// An OptionError names the option, the argument or the type that New, NewFunc or NewGenerator refuses.
type OptionError struct {
	What   string // for example "WithWorkers"
	Value  any
	Reason string // what is wrong, and what to do instead
}

func (e *OptionError) Error() string {
	return fmt.Sprintf("coro: %s(%v): %s", e.What, e.Value, e.Reason)
}

// A Blocked coroutine waits for something that is not in sight.
type Blocked struct {
	Handle Handle
	Func   string // the name given by FuncName, or the address of the C function
	Worker int    // where it is at home
	Waits  string // the call that it waits in: "park", "join", or "call", of a Go function
}

// A DeadlockError tells that coroutines are left that nothing can wake any more, exactly.
type DeadlockError struct {
	Count   int       // how many
	Blocked []Blocked // the first of them
}

func (e *DeadlockError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "coro: deadlock: %d coroutines wait for ever", e.Count)
	for i, c := range e.Blocked {
		if i == 8 {
			b.WriteString("; …")
			break
		}
		fmt.Fprintf(&b, "; %s in %s", c.Func, c.Waits)
	}
	return b.String()
}

// A RunningError is what Close returns when coroutines do not end although they were canceled.
type RunningError struct {
	Funcs []string // what the workers are executing, C functions and Go functions
	Cause error    // why Close stopped waiting
}

func (e *RunningError) Error() string {
	return fmt.Sprintf("coro: close: still running: %s: %v", strings.Join(e.Funcs, ", "), e.Cause)
}

func (e *RunningError) Unwrap() error { return e.Cause }

// A PanicError is a panic in the body of a coroutine.
type PanicError struct {
	Value any    // what panic was given
	Stack []byte // of the goroutine, as debug.Stack formats it
}

func (e *PanicError) Error() string { return fmt.Sprintf("coro: panic: %v\n\n%s", e.Value, e.Stack) }

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
