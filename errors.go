package coro

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/ctxerr"
	"github.com/organzine/coro/internal/panicked"
)

// Errors that calls of this package return, alone or wrapped: test with [errors.Is].
//
// Where a context ends a call, or a coroutine that was started with it, the error is the context's:
// errors.Is finds context.Cause of it in that, and its Err, also where the cause was set by
// context.WithCancelCause and the like. It reads as the cause. Package actor and x/nats do the
// same.
var (
	// ErrClosed: the scheduler takes no more work. Nothing was started.
	ErrClosed = errors.New("coro: scheduler is closed")
	// ErrGroupOver: Wait of the group has returned: the group takes no more tasks. Nothing was
	// started.
	ErrGroupOver = errors.New("coro: the group is over, its Wait has returned: make a new group")
	// ErrGroupFull: the group has as many tasks as its SetLimit allows, and the start does not
	// wait. Nothing was started.
	ErrGroupFull = errors.New("coro: the group is at its limit: start when a task has ended")
	// ErrNoMemory: there is no record for a new coroutine; from Task.Wait: there was never a
	// stack for it. Raise the limit, let coroutines end, or use SpawnWait, which waits. Where
	// something else is made, or waited for: the system has no memory for that.
	ErrNoMemory = errors.New("coro: out of memory: raise the limit (of the scheduler, or the " +
		"system's), or wait for coroutines to end")
	// ErrCanceled: the coroutine was canceled, or its scheduler closed, and the coroutine never
	// started, or was told so and ended without coro_exit_finished.
	// It is a context.Canceled, too.
	ErrCanceled error = &ctxerr.Sentinel{Text: "coro: canceled", Err: context.Canceled}
	// ErrAborted: the coroutine ended by coro_abort.
	ErrAborted = errors.New("coro: coroutine aborted")
	// ErrStale: the coroutine has ended, or never was; from a Buffer: it was sent or freed.
	ErrStale = errors.New("coro: stale handle: its coroutine has ended")
	// ErrBusy: another caller runs the coroutine, or waits for it; from Free: others wait at
	// the object, or hold it; from a Buffer: a Use goes on.
	ErrBusy = errors.New("coro: in use by another caller")
	// ErrPaused: Run is for schedulers made WithPaused, Wait is for the others.
	ErrPaused = errors.New(
		"coro: Run needs a scheduler made WithPaused, Wait one made without it")
	// ErrNoMain: the scheduler has no main worker.
	ErrNoMain = errors.New("coro: the scheduler has no main worker: make it WithMainThread")
	// ErrThread: the system refused a thread or a descriptor. Raise RLIMIT_NPROC or
	// RLIMIT_NOFILE, or use fewer workers.
	ErrThread = errors.New("coro: the system refused a thread or a descriptor: " +
		"raise its limit or use fewer workers")
	// ErrOverflow: a count is at its limit and was not changed: the 2²⁸ permits of a coroutine
	// (Wake), the 2⁶⁰ permits of a Semaphore (Release), the count of 2⁶⁰ of a WaitGroup (Add).
	ErrOverflow = errors.New("coro: a count is at its limit: let some be taken first")
	// ErrChanClosed: the channel is closed; from Recv: and nothing is left in the channel.
	ErrChanClosed = errors.New("coro: channel is closed")
	// ErrNotLocked: the lock is not locked, or not by the caller, or not in that way. Nothing
	// was unlocked.
	ErrNotLocked = errors.New("coro: not locked by the caller: " +
		"unlock in the goroutine or body that has locked, once")
	// ErrLockedAlready: the caller would wait for itself: it holds the lock, or is within the
	// function of the Once.
	ErrLockedAlready = errors.New("coro: locked by the caller already: " +
		"it would wait for itself; unlock first")
	// ErrOwnerEnded: the caller holds the lock. Its last owner, a coroutine, ended without
	// unlocking, so that what the lock guards may be half changed. Put that in order, call
	// MarkConsistent, and unlock.
	ErrOwnerEnded = errors.New("coro: locked, and its last owner ended without unlocking: " +
		"repair what it guards, call MarkConsistent, and unlock")
	// ErrNotRecoverable: the lock was unlocked after ErrOwnerEnded without MarkConsistent.
	// Nobody can lock it any more.
	ErrNotRecoverable = errors.New("coro: unlocked after ErrOwnerEnded without MarkConsistent: " +
		"make a new one")
	// ErrNegativeWaitGroup: the count would be below zero. It was not changed.
	ErrNegativeWaitGroup = errors.New("coro: a wait group below zero: " +
		"add before what is counted begins, and count each end once")
	// ErrDestroyed: the object was freed, or a C body has destroyed it.
	ErrDestroyed = errors.New("coro: destroyed, by Free or by a C body: " +
		"make a new one, or free it when nobody needs it any more")
	// ErrNotCurrent: a method of Coroutine was called by a goroutine that is not its body's.
	ErrNotCurrent = errors.New("coro: not the body of this coroutine: " +
		"its methods are for its own goroutine, until it ends")
	// ErrGoexit: the body called runtime.Goexit, as t.FailNow does.
	ErrGoexit = errors.New("coro: the body called runtime.Goexit")
	// ErrInside: the caller is a coroutine, or a Go function that a coroutine has called, and
	// would wait for the end of that coroutine: in Await or Wait of its own Task, in Wait of
	// its own Group, and in Wait and Close of its own Scheduler. Or coro_call_go_inline has
	// called the function, and it has called New or Run. Nothing was done. Call from a
	// goroutine for which the coroutine does not wait. What cannot be told waits without end: a
	// goroutine that does not run the body or the function itself, but for which it waits;
	// Task.Done; Completions.
	ErrInside = errors.New("coro: within what a coroutine runs or waits for: " +
		"call from a goroutine for which the coroutine does not wait")
	// ErrBubble: the caller is in a bubble of testing/synctest, and would wait for what is
	// outside of it, where time does not pass as in the bubble. Nothing was done, but that a
	// Call or CallN may have started its coroutines, which are canceled.
	ErrBubble = errors.New("coro: within a bubble of testing/synctest, where package coro does not " +
		"work: call it from a test without a bubble; package actor works in one")
	// ErrNoCgo: this binary was built without the C core. The go command turns cgo off without
	// a word in a cross build, and where it finds no C compiler. RequiresCgo makes that an
	// error of the build. It is an errors.ErrUnsupported, too.
	ErrNoCgo error = &ctxerr.Sentinel{Text: "coro: built without its C core: " +
		"it needs linux on amd64 or arm64, CGO_ENABLED=1 and a C compiler; " +
		"a cross build to arm64 needs CGO_ENABLED=1 CC=aarch64-linux-gnu-gcc, for example",
		Err: errors.ErrUnsupported}
)

// A kind is what a status of the core is about: some statuses mean different things.
type kind uint8

const (
	ofScheduler kind = iota // a scheduler or a coroutine
	ofChan
	ofObject    // a semaphore, a lock, a condition, a once
	ofWaitGroup // a wait group that was not destroyed
)

// statusError is the one map from the core's status codes to errors.
func statusError(s core.Status, k kind) error {
	if s == core.OK { // mostly: then there is no call
		return nil
	}
	return notOK(s, k)
}

func notOK(s core.Status, k kind) error {
	switch s {
	case core.Closed:
		if k == ofChan {
			return ErrChanClosed
		}
		return ErrClosed
	case core.Perm:
		if k == ofScheduler {
			return ErrPaused
		}
		return ErrNotLocked
	case core.NoMemory:
		return ErrNoMemory
	case core.Canceled:
		return ErrCanceled
	case core.Aborted:
		return ErrAborted
	case core.Stale:
		return ErrStale
	case core.Busy:
		return ErrBusy
	case core.Again:
		return ErrThread
	case core.Overflow:
		return ErrOverflow
	case core.OwnerDead:
		return ErrOwnerEnded
	case core.NotRecoverable:
		return ErrNotRecoverable
	}
	switch {
	case s == core.Deadlock && k == ofObject:
		return ErrLockedAlready
	case s == core.Invalid && (k == ofObject || k == ofChan):
		return ErrDestroyed
	case s == core.Invalid && k == ofWaitGroup:
		return ErrNegativeWaitGroup
	}
	return fmt.Errorf("coro: %s", s.Text())
}

// An OptionError names the option, the argument or the type that a call refuses.
type OptionError struct {
	What   string // for example "WithWorkers"
	Value  any
	Reason string // what is wrong, and a remedy
}

func (e *OptionError) Error() string {
	return fmt.Sprintf("coro: %s(%v): %s", e.What, e.Value, e.Reason)
}

// A memoryError is an ErrNoMemory that says for what.
type memoryError struct{ text string }

func (e *memoryError) Error() string { return e.text }
func (e *memoryError) Unwrap() error { return ErrNoMemory }

// A BlockedCoroutine waits.
type BlockedCoroutine struct {
	Handle Handle
	// the name given by FuncName, or the address of the C function; the name of a Go body. Of a
	// call of CallN, a child of a scope and the turn of an actor in C: of the user's function,
	// too
	Func   string
	Worker int // the number of its home worker; -1: it has a Go body, which has none

	// Waits is the call that the coroutine waits in. Of a C body: "park", "join", "sleep",
	// "call" (of a Go function), "blocking call", "send", "receive", "stream read", "stream
	// write", "select", "select with a descriptor", "input", "output", "semaphore", "mutex",
	// "read lock", "write lock", "condition", "latch" (a WaitGroup) or "once". Of a Go body:
	// "park", or "await" for every other wait.
	Waits  string
	Daemon bool // see Func.Daemon
}

// String is one line: the handle, the function, what it waits in, and where; "daemon" if it is one.
func (b BlockedCoroutine) String() string {
	where := "a Go body"
	if b.Worker >= 0 {
		where = "worker " + strconv.Itoa(b.Worker)
	}
	if b.Daemon {
		where += ", daemon"
	}
	return fmt.Sprintf("%v %s in %s, %s", b.Handle, b.Func, b.Waits, where)
}

// A DeadlockError tells, exactly, that coroutines are left that nothing can wake any more.
type DeadlockError struct {
	Count   int                // of the coroutines, without daemons
	Blocked []BlockedCoroutine // the first of them
}

func (e *DeadlockError) Error() string {
	var b strings.Builder
	wait := "coroutines wait"
	if e.Count == 1 {
		wait = "coroutine waits"
	}
	fmt.Fprintf(&b, "coro: deadlock: %d %s for ever", e.Count, wait)
	for i, c := range e.Blocked {
		if i == 8 {
			b.WriteString("; …")
			break
		}
		fmt.Fprintf(&b, "; %s in %s", c.Func, c.Waits)
	}
	return b.String()
}

// A RunningError is returned by Close when coroutines do not end although they were canceled, or
// look-ups of names go on that they have begun.
type RunningError struct {
	// names of the C and Go functions that are running, that other threads call for coroutines
	// (those of coro_blocking, coro_getaddrinfo, coro_pread and their like), or that wait in
	// shield sections; a name for each. If there are none, those of coroutines that are left.
	Funcs []string
	Cause error // why Close stopped waiting
}

func (e *RunningError) Error() string {
	if len(e.Funcs) == 0 {
		return fmt.Sprintf("coro: close: threads are still ending: %v", e.Cause)
	}
	return fmt.Sprintf("coro: close: still running: %s: %v",
		strings.Join(counted(e.Funcs), ", "), e.Cause)
}

// counted returns each name once, with how often it is there.
func counted(names []string) (list []string) {
	count := map[string]int{}
	for _, name := range names {
		if count[name]++; count[name] == 1 {
			list = append(list, name)
		}
	}
	for i, name := range list {
		if n := count[name]; n > 1 {
			list[i] = fmt.Sprintf("%s (%d times)", name, n)
		}
	}
	return list
}

func (e *RunningError) Unwrap() error { return e.Cause }

// A BodyError is the error of a C body that has ended by coro_fail.
type BodyError struct {
	Func string // the name given by FuncName, or the address of the C function
	Code int    // as the body has given it; CORO_THREW (-1000): an exception left a C++ body
	Text string // the first 1023 bytes of the text that the body has given; "" if it gave none
}

// Error is one line if the text is.
func (e *BodyError) Error() string {
	if e.Text == "" {
		return fmt.Sprintf("coro: %s failed: code %d", e.Func, e.Code)
	}
	return fmt.Sprintf("coro: %s failed: %s (code %d)", e.Func, e.Text, e.Code)
}

func newBodyError(f *core.Failure) *BodyError {
	return &BodyError{funcName(f.Fn), f.Code, f.Text}
}

// A PanicError is a panic in the body of a coroutine: Value (any) is the argument of panic, and
// Stack ([]byte) is that of the goroutine, as debug.Stack formats it. Its text is that of the
// value, without the stack; the verb %+v prints both. It wraps the value if that is an error. A
// panic of an actor's behaviour is the same type (actor.PanicError).
type PanicError = panicked.Error
