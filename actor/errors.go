package actor

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/organzine/coro/internal/panicked"
)

// Errors that calls of this package return, mostly within an [Error]: test with [errors.Is]. Where
// a context ends a call, errors.Is finds context.Cause of it in the error, and its Err.
var (
	// ErrStopped: the actor, or its system, has ended, or is ending. The message was not
	// accepted; from Ask: or has become a dead letter.
	ErrStopped = errors.New("stopped: it takes no more messages")
	// ErrFull: the mailbox has as many messages as it has room for. The message was not
	// accepted.
	ErrFull = errors.New("its mailbox is full: Send waits for room")
	// ErrDeadlock: the caller would wait for itself. See DeadlockError.
	ErrDeadlock = errors.New("it would wait for itself: use AskThen, or Tell")
	// ErrWaits: a behaviour that is not Waiting has called what waits. Nothing was done.
	ErrWaits = errors.New("its behaviour may not wait: " +
		"spawn it with Waiting, or use AskThen, After or Tell")
	// ErrNoRef: the reference is the zero Ref, or one that has no end of its own.
	ErrNoRef = errors.New("the reference is no actor's: use one that Spawn has returned")
	// ErrName: the name is taken; from Lookup: no actor has the name, or its messages are of
	// another type.
	ErrName = errors.New("name")
	// ErrAnswered: the question was answered already, or nobody waits for the answer any more.
	ErrAnswered = errors.New("answered already, or given up by its asker")
	// ErrNoAnswer: a Topic was asked. Nothing was sent.
	ErrNoAnswer = errors.New("a topic has many receivers, and no answer: " +
		"ask an actor, or a group of them")
	// ErrGoexit: a behaviour has called runtime.Goexit, as t.FailNow does.
	ErrGoexit = errors.New("the behaviour has called runtime.Goexit")
	// ErrBubble: the caller is in a bubble of testing/synctest, and the System was made outside
	// of it, or the other way round. Nothing was done.
	ErrBubble = errors.New("a System works in the bubble of testing/synctest alone that it was " +
		"made in, or in none")
	// ErrOption: an option, or an argument, is wrong.
	ErrOption = errors.New("wrong option")
)

// An Error is an error of one actor.
type Error struct {
	Actor string // as [Ref.Name]
	Err   error
}

func (e *Error) Error() string { return fmt.Sprintf("actor: %s: %v", e.Actor, e.Err) }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

func errorOf(a *actor, err error) error { return &Error{a.name(), err} }

func errorf(of error, format string, args ...any) error {
	return fmt.Errorf("actor: %w: %s", of, fmt.Sprintf(format, args...))
}

// A DeadlockError is an [ErrDeadlock] with the actors that would wait for each other: the first one
// for the second one, and so on, and the last one for the first one.
type DeadlockError struct{ Circle []string }

func (e *DeadlockError) Error() string {
	return fmt.Sprintf("actor: %s: %v", strings.Join(slices.Concat(e.Circle, e.Circle[:1]),
		" waits for "), ErrDeadlock)
}

// Unwrap returns ErrDeadlock.
func (e *DeadlockError) Unwrap() error { return ErrDeadlock }

// A PanicError is a panic of a behaviour: Value (any) is the argument of panic, and Stack ([]byte)
// is that of the goroutine, as debug.Stack formats it. The verb %+v prints the stack too. It wraps
// the value if that is an error. It is the same type as coro.PanicError.
type PanicError = panicked.Error

// A Failure is how a behaviour has failed: by an error that it has returned, a [PanicError], or
// ErrGoexit.
type Failure struct {
	Actor string // whose behaviour
	Err   error
}

func (e *Failure) Error() string { return fmt.Sprintf("actor: %s failed: %v", e.Actor, e.Err) }

// Unwrap returns Err.
func (e *Failure) Unwrap() error { return e.Err }
