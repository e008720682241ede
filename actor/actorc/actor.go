package actorc

import (
	"context"
	"errors"
	"sync"
	"unsafe"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/inside"
	"github.com/organzine/coro/internal/race"
)

// actor.go - the actors in C, from Go.

// An Actor is the reference of an actor in C, a coro_actor ([docs/actors.md]). It may be part of
// the argument of a C body, and of a message. [Of] makes a Ref of package actor of it.
//
// [docs/actors.md]: https://github.com/organzine/coro/blob/main/docs/actors.md
type Actor uint64

// Most bytes of a message to an actor in C, of a question, and of an answer.
const (
	MessageBytes  = core.MessageBytes
	QuestionBytes = core.AskBytes
	AnswerBytes   = core.MessageBytes
)

// Send sends a message of a kind, which is the sender's choice, below 1<<32 - 1<<16; and of up to
// MessageBytes bytes, which are copied. The order of one goroutine's messages to one actor is
// kept. Send does not wait. If the actor is declared brief (CORO_ACTOR_BRIEF) and a worker sleeps,
// the actor handles the message on this thread before Send returns. Send costs some 0.1 µs, and
// some µs where a worker must be woken. Where the actor's kind has buffers, the words of the payload
// that hold some are passed, as C says (coro_actor.h): [Send] sends Buffers.
//
// Errors: ErrEnded, ErrMailboxFull, coro.ErrNoMemory, coro.ErrClosed, and a *coro.OptionError for a
// message that is too large, and for a kind that no sender may use.
func (a Actor) Send(kind uint32, payload []byte) error {
	if len(payload) > MessageBytes {
		return refused("actorc.Actor.Send", len(payload), "a message has up to %d bytes", MessageBytes)
	}
	if err := userKind("actorc.Actor.Send", kind); err != nil {
		return err
	}
	race.Handles.Release()
	status := core.SendActor(uint64(a), kind, payload)
	switch {
	case status != core.Invalid:
		return actorError(status)
	case len(payload) > core.CarryBytes:
		return refused("actorc.Actor.Send", len(payload), "a message to a kind with buffers has up "+
			"to %d bytes", core.CarryBytes)
	}
	return errStaleBuffer
}

// userKind is an error if no sender may use the kind.
func userKind(what string, kind uint32) error {
	if kind < core.SystemKinds {
		return nil
	}
	return refused(what, kind, "is the core's: use a kind below %d", uint32(core.SystemKinds))
}

// Stop ends the actor after the call of its behaviour that is under way. What waits becomes dead
// letters. Stop does not wait. Errors: ErrEnded, coro.ErrNoMemory.
func (a Actor) Stop() error {
	race.Handles.Release()
	return actorError(core.StopActor(uint64(a)))
}

// Drain ends the actor when it has handled all that it has accepted by now. Drain does not wait.
// Errors: ErrEnded, coro.ErrNoMemory.
func (a Actor) Drain() error {
	race.Handles.Release()
	return actorError(core.DrainActor(uint64(a)))
}

// actorError is the error of a status about an actor in C.
func actorError(s core.Status) error {
	switch s {
	case core.OK:
		return nil
	case core.Stale:
		return ErrEnded
	case core.Overflow:
		return ErrMailboxFull
	case core.Busy:
		return errBusyBuffer
	}
	return inside.Error(s)
}

// Ask sends a question to an actor in C, and waits for the answer. The question has up to
// QuestionBytes bytes, and the answer up to AnswerBytes; neither has Go pointers; and the actor
// must answer with the bytes of an R. A coroutine of s asks: the question counts as work of s
// until it is answered, and where the actor is brief, and of s, this thread runs both
// (coro.Func.Call). The end of ctx ends the wait.
//
// The coro.Buffers of the question are the asking coroutine's, and then the actor's. If the actor
// does not get them they are freed: only with an error from before the coroutine has started are
// they the caller's. Those of the answer are the caller's. A process has up to 16 places of Buffers
// in types of questions and answers.
//
// Errors: ErrEnded, ErrMailboxFull; ErrNoAnswer: the actor has handled the question without an
// answer, or was stopped; ErrAnswerSize; those of coro.Func.Call; and a *coro.OptionError for the
// types, and for a kind that no sender may use.
func Ask[Q, R any](
	ctx context.Context, s *coro.Scheduler, a Actor, kind uint32, question Q,
) (R, error) {
	var r R
	q, err := layoutOf[Q]("actorc.Ask", QuestionBytes)
	if err != nil {
		return r, err
	}
	w, err := layoutOf[R]("actorc.Ask", AnswerBytes)
	if err != nil {
		return r, err
	}
	if err := userKind("actorc.Ask", kind); err != nil {
		return r, err
	}
	race.Handles.Release() // the actor may be another scheduler's
	head := core.AskHead{To: uint64(a), Kind: kind, Bytes: uint8(q.bytes), Wants: uint8(w.bytes),
		Buffers: uint16(q.buffers | w.buffers<<8)}
	if head.Buffers != 0 {
		r, err = askCarrying[Q, R](ctx, s, head, question)
		return r, askError(err, q, w)
	}
	f, err := askFunc()
	if err != nil {
		return r, err
	}
	ask := core.Ask{AskHead: head}
	copy(ask.Payload[:], bytesOf(&question))
	answer, err := f.Call(ctx, s, ask)
	if err != nil {
		return r, askError(err, q, w)
	}
	copy(bytesOf(&r), answer[:])
	return r, nil
}

// askError is the error of a question, by that of its coroutine.
func askError(err error, q, w *layout) error {
	b := (*coro.BodyError)(nil)
	if !errors.As(err, &b) {
		return err
	}
	switch status := core.Status(b.Code); status {
	case core.Ended:
		return ErrNoAnswer
	case core.TooBig:
		return ErrAnswerSize
	case core.Perm:
		return disagrees("actorc.Ask", q, w)
	default:
		return actorError(status)
	}
}

// askFunc is the coroutine that asks.
var askFunc = sync.OnceValues(func() (coro.Func[core.Ask, core.Answer], error) {
	return coro.NewFunc[core.Ask, core.Answer](core.AskBody(), coro.FuncName("actorc.Ask"),
		coro.FuncBrief())
})

func bytesOf[T any](v *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v))
}

// CheckMessage returns a *coro.OptionError if the bytes of an M cannot be a message to an actor in
// C: it has Go pointers, or more than MessageBytes bytes.
func CheckMessage[M any]() error {
	_, err := layoutOf[M]("actorc.CheckMessage", MessageBytes)
	return err
}
