package actorc

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/bubble"
	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/inside"
	"github.com/organzine/coro/internal/panicked"
	"github.com/organzine/coro/internal/race"
)

// receiver.go - actors in C whose messages Go handles.

// batchMost is the most messages that a receiver is given by one call, and the most that C gives
// (docs/go-actors.md; bench actor).
const batchMost = 64

// A Message is a message to an actor that Spawn has made. It is good for the call that it is an
// argument of.
type Message struct{ m *core.Message }

// Kind is the sender's.
func (m Message) Kind() uint32 { return m.m.Kind() }

// Payload is the message's bytes. They are C's memory: copy what is to be kept.
func (m Message) Payload() []byte { return m.m.Payload() }

// Asker is what waits for an answer to the message. It may be kept, and then has to be answered.
// False: the message does not ask, or was answered, or Asker was called before; or it lends
// (coro_actor_ask_lend): Answer answers it.
func (m Message) Asker() (Asker, bool) {
	words, ok := m.m.Keep()
	return Asker{words}, ok
}

// Answer answers the message during the call that it is an argument of, with up to AnswerBytes
// bytes, once. A message of coro_actor_ask_lend is answered so alone: it has no Asker, and what it
// lends is not to be touched after the answer. Errors: as of Asker.Answer, and ErrAnswered for a
// message that does not ask.
func (m Message) Answer(payload []byte) error {
	if len(payload) > AnswerBytes {
		return refused("actorc.Message.Answer", len(payload), "an answer has up to %d bytes",
			AnswerBytes)
	}
	race.Handles.Release()
	_, asks := m.m.AnswerBuffers()
	return answered(m.m.Answer(payload), asks)
}

// answered is the error of an answer. asks: there was somebody to answer.
func answered(status core.Status, asks bool) error {
	switch {
	case status == core.OK:
		return nil
	case status == core.Stale || !asks:
		return ErrAnswered
	case status == core.Invalid:
		return errStaleBuffer
	case status == core.Busy:
		return errBusyBuffer
	}
	return inside.Error(status)
}

// An Asker waits for an answer.
type Asker struct{ words [2]uint64 }

// Answer answers, with up to AnswerBytes bytes, once. Errors: ErrAnswered: it was answered before,
// or nobody waits any more; coro.ErrNoMemory; and a *coro.OptionError for an answer that is too
// large, and for a zero Asker.
func (a Asker) Answer(payload []byte) error {
	if len(payload) > AnswerBytes {
		return refused("actorc.Asker.Answer", len(payload), "an answer has up to %d bytes",
			AnswerBytes)
	}
	if a == (Asker{}) {
		return refused("actorc.Asker.Answer", "zero value",
			"use one that Message.Asker has returned")
	}
	race.Handles.Release()
	return answered(core.AnswerAsker(a.words, payload), true)
}

// A Receiver handles the messages of an actor in C. Its methods are called by one goroutine at a
// time.
type Receiver interface {
	// Receive handles messages, 1 to 64, oldest first, and returns how many: the first ones.
	// It is to take a microsecond, and must not wait (coro_call_go_inline). A panic makes the
	// first message a dead letter, and the others come again.
	Receive(messages []Message) int
	// Wait handles the first message that Receive has left. It may wait, and the end of the
	// actor waits for it: by Stop, Drain, and a Close whose context has not ended. ctx ends
	// when a Close whose context has ended cancels what is left. An error, and a panic, makes
	// the message a dead letter.
	Wait(ctx context.Context, m Message) error
	// Ended is called once, when the actor has ended, or its scheduler has. A panic there, or
	// a runtime.Goexit, is counted (coro.Stats.HookFailures), and harms nothing else.
	Ended()
}

// Spawn makes an actor of s whose messages r handles. C coroutines, other actors in C and Go send
// to it as to any actor in C. [In] makes one of a Ref. It costs some 2 µs. Errors: coro.ErrClosed,
// coro.ErrNoMemory, coro.ErrBubble, and a *coro.OptionError for an option.
func Spawn(s *coro.Scheduler, r Receiver, opts ...SpawnOption) (Actor, error) {
	if r == nil {
		return 0, refused("actorc.Spawn", nil, "needs a receiver")
	}
	if bubble.In() { // r is called outside of it
		return 0, coro.ErrBubble
	}
	ids, err := goActorFuncs()
	if err != nil {
		return 0, err
	}
	for _, set := range opts {
		if err := set(&ids); err != nil {
			return 0, err
		}
	}
	in := inside.Of(s)
	if in.Closed() {
		return 0, coro.ErrClosed
	}
	a := &goActor{receiver: r, number: goActorLast.Add(1), ends: in.Ended}
	goActors.Store(a.number, a)
	a.stop = context.AfterFunc(in.Life, a.end)
	ids.Number = a.number
	in.Edge.Release()
	ref, status := in.Core.SpawnGoActor(&ids)
	if status != core.OK {
		a.stop()
		goActors.Delete(a.number)
		return 0, actorError(status)
	}
	return Actor(ref), nil
}

// A goActor is an actor in C whose messages a receiver handles.
type goActor struct {
	receiver Receiver
	number   uint64
	stop     func() bool
	ends     *panicked.Hook[inside.Ender]
	ended    atomic.Bool
	batch    [batchMost]Message
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
	deliver, err := coro.ExportFunc(func(_ context.Context, b core.GoBatch) (uint32, error) {
		a, n := goActorOf(b.Number), int(b.N)
		for i := range n {
			a.batch[i] = Message{b.At(i)}
		}
		return uint32(min(max(a.receiver.Receive(a.batch[:n]), 0), n)), nil
	})
	if err != nil {
		return a, err
	}
	await, err := coro.ExportFunc(func(ctx context.Context, b core.GoBatch) (uint32, error) {
		return 1, goActorOf(b.Number).receiver.Wait(ctx, Message{b.At(0)})
	})
	if err != nil {
		return a, err
	}
	ended, err := coro.ExportFunc(func(_ context.Context, number uint64) (coro.None, error) {
		a := goActorOf(number)
		a.stop()
		a.end()
		return coro.None{}, nil
	})
	return core.GoActor{Deliver: uint32(deliver), Await: uint32(await),
		Ended: uint32(ended)}, err
})
