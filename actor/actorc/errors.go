package actorc

import (
	"errors"
	"fmt"

	"github.com/organzine/coro"
	"github.com/organzine/coro/actor"
	"github.com/organzine/coro/internal/ctxerr"
)

// Errors that calls of this package return, alone or wrapped: test with [errors.Is].
var (
	// ErrEnded: the actor in C has ended, or the reference never was one. It is an
	// actor.ErrStopped, too.
	ErrEnded error = &ctxerr.Sentinel{Text: "actorc: the actor has ended: " +
		"it takes no more messages", Err: actor.ErrStopped}
	// ErrMailboxFull: the actor in C has as many messages as its kind has room for. The message
	// was not accepted. It is an actor.ErrFull, too.
	ErrMailboxFull error = &ctxerr.Sentinel{Text: "actorc: the actor's mailbox is full: " +
		"send again later", Err: actor.ErrFull}
	// ErrNoAnswer: the actor has handled the question without an answer, or will not handle it.
	ErrNoAnswer = errors.New("actorc: the actor has given no answer")
	// ErrAnswered: the question was answered already, or nobody waits for the answer any more.
	// It is an actor.ErrAnswered, too.
	ErrAnswered error = &ctxerr.Sentinel{Text: "actorc: answered already, or given up by the one " +
		"that has asked: answer once", Err: actor.ErrAnswered}
	errStaleBuffer error = &ctxerr.Sentinel{Text: "actorc: a Buffer of the message is stale: it was " +
		"sent or freed, or never made", Err: coro.ErrStale}
	errBusyBuffer error = &ctxerr.Sentinel{Text: "actorc: a Buffer of the message is in use: a Use, " +
		"or another method, goes on", Err: coro.ErrBusy}
	// ErrAnswerSize: the actor's answer has not the size of the type that was asked for.
	ErrAnswerSize = errors.New("actorc: the actor's answer has another size: use the type that it " +
		"answers with")
)

// refused is the error of an argument.
func refused(what string, value any, reason string, args ...any) error {
	return &coro.OptionError{What: what, Value: value, Reason: fmt.Sprintf(reason, args...)}
}
