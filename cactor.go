package coro

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/panicked"
	"github.com/organzine/coro/internal/plain"
	"github.com/organzine/coro/internal/race"
)

// A CActor is the reference of an actor in C, a coro_actor ([docs/actors.md]). It may be part of
// the argument of a C body, and of a message. Package actorc makes of it a Ref of package actor.
//
// [docs/actors.md]: https://github.com/organzine/coro/blob/main/docs/actors.md
type CActor uint64

// Most bytes of a message to an actor in C, of a question, and of an answer.
const (
	CMessageBytes  = core.MessageBytes
	CQuestionBytes = core.AskBytes
	CAnswerBytes   = core.MessageBytes
)

// Send sends a message of a kind, which is the sender's choice, below 1<<32 - 1<<16; and of up to
// CMessageBytes bytes, which are copied. The order of one goroutine's messages to one actor is
// kept. Send does not wait. If the actor is declared brief (CORO_ACTOR_BRIEF) and a worker sleeps,
// the actor handles the message on this thread before Send returns. Send costs some 0.1 µs, and
// some µs where a worker must be woken.
//
// Errors: ErrActorEnded, ErrMailboxFull, ErrNoMemory, ErrClosed, and an *OptionError for a message
// that is too large, and for a kind that no sender may use.
func (a CActor) Send(kind uint32, payload []byte) error {
	if len(payload) > CMessageBytes {
		return &OptionError{"CActor.Send", len(payload),
			fmt.Sprintf("a message has up to %d bytes", CMessageBytes)}
	}
	if err := userKind("CActor.Send", kind); err != nil {
		return err
	}
	race.Handles.Release()
	return actorError(core.SendActor(uint64(a), kind, payload))
}

// userKind is an error if no sender may use the kind.
func userKind(what string, kind uint32) error {
	if kind < core.SystemKinds {
		return nil
	}
	return &OptionError{what, kind, fmt.Sprintf("is the core's: use a kind below %d",
		uint32(core.SystemKinds))}
}

// Stop has the actor end after the call of its behaviour that is under way. What waits becomes dead
// letters. Stop does not wait. Errors: ErrActorEnded, ErrNoMemory.
func (a CActor) Stop() error {
	race.Handles.Release()
	return actorError(core.StopActor(uint64(a)))
}

// Drain has the actor end when it has handled all that it has accepted by now. Drain does not wait.
// Errors: ErrActorEnded, ErrNoMemory.
func (a CActor) Drain() error {
	race.Handles.Release()
	return actorError(core.DrainActor(uint64(a)))
}

func actorError(s core.Status) error { return statusError(s, ofActor) }

// AskC sends a question to an actor in C, and waits for the answer. The question has up to
// CQuestionBytes bytes, and the answer up to CAnswerBytes; neither has Go pointers; and the actor
// must answer with the bytes of an R. A coroutine of s asks: the question counts as work of s
// until it is answered, and where the actor is brief, and of s, this thread runs both (Func.Call).
// The end of ctx ends the wait.
//
// Errors: ErrActorEnded, ErrMailboxFull; ErrNoAnswer: the actor has handled the question without an
// answer, or was stopped; ErrAnswerSize; those of Func.Call; and an *OptionError for the types,
// and for a kind that no sender may use.
func AskC[Q, R any](
	ctx context.Context, s *Scheduler, a CActor, kind uint32, question Q,
) (R, error) {
	var r R
	if err := fitsC[Q]("AskC", CQuestionBytes); err != nil {
		return r, err
	}
	if err := fitsC[R]("AskC", CAnswerBytes); err != nil {
		return r, err
	}
	if err := userKind("AskC", kind); err != nil {
		return r, err
	}
	f, err := askFunc()
	if err != nil {
		return r, err
	}
	race.Handles.Release() // the actor may be another scheduler's
	ask := core.Ask{To: uint64(a), Kind: kind, Bytes: uint8(unsafe.Sizeof(question)),
		Wants: uint8(unsafe.Sizeof(r))}
	copy(ask.Payload[:], bytesOf(&question))
	answer, err := f.Call(ctx, s, ask)
	if err != nil {
		if b := (*BodyError)(nil); errors.As(err, &b) {
			switch core.Status(b.Code) {
			case core.Ended:
				err = ErrNoAnswer
			case core.TooBig:
				err = ErrAnswerSize
			default:
				err = actorError(core.Status(b.Code))
			}
		}
		return r, err
	}
	copy(bytesOf(&r), answer[:])
	return r, nil
}

// askFunc is the coroutine that asks.
var askFunc = sync.OnceValues(func() (Func[core.Ask, core.Answer], error) {
	return NewFunc[core.Ask, core.Answer](core.AskBody(), FuncName("coro.AskC"), FuncBrief())
})

func bytesOf[T any](v *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v))
}

// CheckCMessage returns an *OptionError if the bytes of an M cannot be a message to an actor in C:
// it has Go pointers, or more than CMessageBytes bytes.
func CheckCMessage[M any]() error { return fitsC[M]("CheckCMessage", CMessageBytes) }

// fitsC is an error if a T cannot be a message of up to most bytes.
func fitsC[T any](what string, most int) error {
	t := reflect.TypeFor[T]()
	if bad := plain.PointerIn(t); bad != nil {
		return &OptionError{what, t, fmt.Sprintf(pointsIntoGo, bad)}
	}
	if t.Size() > uintptr(most) {
		return &OptionError{what, t,
			fmt.Sprintf("has %d bytes, and a message here up to %d",
				t.Size(), most)}
	}
	return nil
}

// ------------------------------------------------------------------------- actors that Go serves

// A CMessage is a message to an actor that SpawnCActor has made, as long as the call lasts that it
// is an argument of.
type CMessage struct{ m *core.Message }

// Kind is the sender's.
func (m CMessage) Kind() uint32 { return m.m.Kind() }

// Payload is the message's bytes. They are C's memory: copy what is to be kept.
func (m CMessage) Payload() []byte { return m.m.Payload() }

// Asker is what waits for an answer to the message. It may be kept, and then has to be answered.
// False: the message does not ask, or Asker was called before.
func (m CMessage) Asker() (CAsker, bool) {
	words, ok := m.m.Keep()
	return CAsker{words}, ok
}

// A CAsker waits for an answer.
type CAsker struct{ words [2]uint64 }

// Answer answers, with up to CAnswerBytes bytes, once. Errors: ErrAnswered: it was answered before,
// or nobody waits any more; ErrNoMemory; and an *OptionError for an answer that is too large, and
// for a zero CAsker.
func (a CAsker) Answer(payload []byte) error {
	if len(payload) > CAnswerBytes {
		return &OptionError{"CAsker.Answer", len(payload),
			fmt.Sprintf("an answer has up to %d bytes", CAnswerBytes)}
	}
	if a == (CAsker{}) {
		return &OptionError{"CAsker.Answer", "zero value",
			"use one that CMessage.Asker has returned"}
	}
	race.Handles.Release()
	return statusError(core.AnswerAsker(a.words, payload), ofAnswer)
}

// A CReceiver handles the messages of an actor in C. Its methods are called by one goroutine at a
// time.
type CReceiver interface {
	// Receive handles messages, 1 to 64, oldest first, and returns how many: the first ones.
	// It is to take a microsecond, and must not wait (coro_call_go_inline). A panic makes the
	// first message a dead letter, and the others come again.
	Receive(messages []CMessage) int
	// Wait handles the first message that Receive has left. It may wait, and the end of the
	// actor waits for it: by Stop, Drain, and a Close whose context has not ended. ctx ends
	// when a Close whose context has ended cancels what is left. An error, and a panic, makes
	// the message a dead letter.
	Wait(ctx context.Context, m CMessage) error
	// Ended is called once, when the actor has ended, or its scheduler has. A panic there, or
	// a runtime.Goexit, is counted (Stats.HookFailures), and harms nothing else.
	Ended()
}

// SpawnCActor makes an actor of s whose messages r handles. C coroutines, other actors in C and Go
// send to it as to any actor in C. Package actorc makes one of a Ref. It costs some 2 µs.
// Errors: ErrClosed, ErrNoMemory, ErrNoCgo, ErrBubble.
func (s *Scheduler) SpawnCActor(r CReceiver) (CActor, error) {
	if r == nil {
		return 0, &OptionError{"SpawnCActor", nil, "needs a receiver"}
	}
	if err := outside(); err != nil { // r is called there
		return 0, err
	}
	ids, err := goActorFuncs()
	if err != nil {
		return 0, err
	}
	if s.closed.Load() {
		return 0, ErrClosed
	}
	a := &goActor{receiver: r, number: goActorLast.Add(1), ends: &s.hooks.ended}
	goActors.Store(a.number, a)
	a.stop = context.AfterFunc(s.life, a.end)
	ids.Number = a.number
	s.edge.Release()
	ref, status := s.core.SpawnGoActor(&ids)
	if status != core.OK {
		a.stop()
		goActors.Delete(a.number)
		return 0, actorError(status)
	}
	return CActor(ref), nil
}

// A goActor is an actor in C whose messages a receiver handles.
type goActor struct {
	receiver CReceiver
	number   uint64
	stop     func() bool
	ends     *panicked.Hook[CReceiver]
	ended    atomic.Bool
	batch    [cBatch]CMessage
}

// goActors has them by number.
var (
	goActors    sync.Map
	goActorLast atomic.Uint64
)

func (a *goActor) end() {
	goActors.Delete(a.number)
	if !a.ended.Swap(true) {
		a.ends.Call(a.receiver)
	}
}

func goActorOf(number uint64) *goActor {
	a, _ := goActors.Load(number)
	return a.(*goActor) // it is there until it has ended
}

// goActorFuncs are the functions that C calls.
var goActorFuncs = sync.OnceValues(func() (a core.GoActor, err error) {
	deliver, err := ExportFunc(func(_ context.Context, b core.GoBatch) (uint32, error) {
		a, n := goActorOf(b.Number), int(b.N)
		for i := range n {
			a.batch[i] = CMessage{b.At(i)}
		}
		return uint32(min(max(a.receiver.Receive(a.batch[:n]), 0), n)), nil
	})
	if err != nil {
		return a, err
	}
	await, err := ExportFunc(func(ctx context.Context, b core.GoBatch) (uint32, error) {
		return 1, goActorOf(b.Number).receiver.Wait(ctx, CMessage{b.At(0)})
	})
	if err != nil {
		return a, err
	}
	ended, err := ExportFunc(func(_ context.Context, number uint64) (None, error) {
		a := goActorOf(number)
		a.stop()
		a.end()
		return None{}, nil
	})
	return core.GoActor{Deliver: uint32(deliver), Await: uint32(await),
		Ended: uint32(ended)}, err
})
