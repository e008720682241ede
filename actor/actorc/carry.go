package actorc

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"unsafe"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/plain"
	"github.com/organzine/coro/internal/race"
)

// carry.go - Buffers in messages to actors in C, and in answers.

// A layout is what C sees of a Go type.
type layout struct {
	of      reflect.Type
	bytes   uintptr
	buffers uint64 // the words that are Buffers
	refusal string
}

// layouts has them by type.
var layouts sync.Map

// layoutOf is an error if a T cannot be a message of up to most bytes.
func layoutOf[T any](what string, most uintptr) (*layout, error) {
	t := reflect.TypeFor[T]()
	found, ok := layouts.Load(t)
	if !ok {
		found, _ = layouts.LoadOrStore(t, newLayout(t))
	}
	l := found.(*layout)
	switch {
	case l.refusal != "":
		return l, refused(what, t, "%s", l.refusal)
	case l.bytes > most:
		return l, refused(what, t, "has %d bytes, and a message here up to %d", l.bytes, most)
	}
	return l, nil
}

func newLayout(t reflect.Type) *layout {
	l := &layout{of: t, bytes: t.Size(), refusal: plain.Refusal(t)}
	if l.refusal != "" || l.bytes > MessageBytes {
		return l
	}
	offsets, _ := plain.Buffers(t, MessageBytes)
	for _, offset := range offsets {
		l.buffers |= 1 << (offset / 8)
	}
	return l
}

// carriable is an error if the type has Buffers, and is too large for a message with some.
func (l *layout) carriable(what string) error {
	if l.buffers != 0 && l.bytes > core.CarryBytes {
		return refused(what, l.of, "has %d bytes, and a message with a coro.Buffer up to %d", l.bytes,
			core.CarryBytes)
	}
	return nil
}

// disagrees is the error where types have Buffers in other words than the kind of the actor.
func disagrees(what string, types ...*layout) error {
	text := ""
	for _, l := range types {
		text += fmt.Sprintf(", %v has them in words %#x", l.of, l.buffers)
	}
	return refused(what, types[0].of, "the actor's kind has buffers in other words "+
		"(coro_actor_kind.buffers, answer_buffers)%s: use coro.Buffer there, and nowhere else", text)
}

// Send sends the bytes of an M, as Actor.Send does, and the Buffers in it: M has coro.Buffers where
// the actor's kind has buffers, and nowhere else. They are the actor's then, and each later use of
// them is coro.ErrStale. With an error nothing has changed. An M with Buffers has up to 40 bytes.
//
// Errors: those of Actor.Send; coro.ErrStale and coro.ErrBusy: of a Buffer; a *coro.OptionError for
// an M that has Go pointers, or other Buffers than the actor's kind.
func Send[M any](a Actor, kind uint32, m M) error {
	l, err := layoutOf[M]("actorc.Send", MessageBytes)
	if err == nil {
		err = l.carriable("actorc.Send")
	}
	if err == nil {
		err = userKind("actorc.Send", kind)
	}
	if err != nil {
		return err
	}
	return l.send("actorc.Send", a, kind, unsafe.Pointer(&m))
}

func (l *layout) send(what string, a Actor, kind uint32, value unsafe.Pointer) error {
	race.Handles.Release()
	switch status := core.SendActorValue(uint64(a), kind, value, l.bytes, l.buffers); status {
	case core.Perm:
		return disagrees(what, l)
	case core.Invalid:
		return errStaleBuffer
	default:
		return actorError(status)
	}
}

// Value is the message's bytes as an M, which has coro.Buffers where the message has buffers, and
// nowhere else. The Buffers are the receiver's if it handles the message. The error is a
// *coro.OptionError: M is another type.
func Value[M any](m Message) (M, error) {
	var v M
	l, err := layoutOf[M]("actorc.Value", MessageBytes)
	if err != nil {
		return v, err
	}
	payload := m.Payload()
	if uintptr(len(payload)) != l.bytes {
		return v, refused("actorc.Value", l.of, "has %d bytes, and the message %d", l.bytes,
			len(payload))
	}
	if m.m.Buffers() != l.buffers {
		return v, disagrees("actorc.Value", l)
	}
	copy(bytesOf(&v), payload)
	return v, nil
}

// An Answerer is a Message or an Asker.
type Answerer interface {
	Answer(payload []byte) error
	answerBuffers() (words uint64, asks bool)
}

func (m Message) answerBuffers() (uint64, bool) { return m.m.AnswerBuffers() }
func (a Asker) answerBuffers() (uint64, bool)   { return core.AskerBuffers(a.words), a != Asker{} }

// Answer answers with the bytes of an R, as Asker.Answer and Message.Answer do, and with the
// Buffers in it: R has coro.Buffers where the answers of the actor's kind have buffers, and nowhere
// else. They are the asker's then. With an error nothing has changed.
//
// Errors: those of Asker.Answer; coro.ErrStale and coro.ErrBusy: of a Buffer; a *coro.OptionError
// for an R that has Go pointers, or other Buffers.
func Answer[R any](to Answerer, r R) error {
	l, err := layoutOf[R]("actorc.Answer", AnswerBytes)
	if err != nil {
		return err
	}
	if words, asks := to.answerBuffers(); asks && words&(1<<(l.bytes/8)-1) != l.buffers {
		return disagrees("actorc.Answer", l)
	}
	return to.Answer(bytesOf(&r))
}

// A SpawnOption is for Spawn and In.
type SpawnOption func(*core.GoActor) error

// MessagesOf says that messages to the actor have coro.Buffers where an M has, which has up to 40
// bytes. Other messages than Ms may be sent, with Buffers, or zeros, in the same places. Value
// makes an M of one. Without this option messages have no Buffers.
func MessagesOf[M any]() SpawnOption {
	return func(a *core.GoActor) error {
		l, err := layoutOf[M]("actorc.MessagesOf", MessageBytes)
		if err == nil {
			err = l.carriable("actorc.MessagesOf")
		}
		a.Buffers = uint16(l.buffers)
		return err
	}
}

// AnswersOf says that answers of the actor have coro.Buffers where an R has.
func AnswersOf[R any]() SpawnOption {
	return func(a *core.GoActor) error {
		l, err := layoutOf[R]("actorc.AnswersOf", AnswerBytes)
		a.Answers = uint16(l.buffers)
		return err
	}
}

// ------------------------------------------------------------------------------------- questions

// A question is a core.Ask with Buffers.
type question[Q any] struct {
	core.AskHead
	Payload Q
}

// askCarrying asks by a coroutine that has the Buffers of the question, and of the answer.
func askCarrying[Q, R any](ctx context.Context, s *coro.Scheduler, head core.AskHead, q Q) (r R,
	err error,
) {
	switch core.FitsActor(head.To, uintptr(head.Bytes), uint64(head.Buffers&0xff),
		uintptr(head.Wants), uint64(head.Buffers>>8)) {
	case core.Stale:
		return r, ErrEnded
	case core.Perm:
		ql, _ := layoutOf[Q]("", MessageBytes)
		rl, _ := layoutOf[R]("", MessageBytes)
		return r, disagrees("actorc.Ask", ql, rl)
	}
	key := [2]reflect.Type{reflect.TypeFor[Q](), reflect.TypeFor[R]()}
	found, ok := askFuncs.Load(key)
	if !ok {
		body, err := askBody(head.Buffers)
		if err != nil {
			return r, err
		}
		f, err := coro.NewFunc[question[Q], R](body, coro.FuncName("actorc.Ask"), coro.FuncBrief())
		if err != nil {
			return r, err
		}
		found, _ = askFuncs.LoadOrStore(key, f)
	}
	return found.(coro.Func[question[Q], R]).Call(ctx, s, question[Q]{head, q})
}

var (
	askFuncs sync.Map // a coro.Func for each pair of types

	askBodies struct {
		sync.Mutex
		of []uint16 // AskHead.Buffers
	}
)

// askBody is the C function of the coroutines that ask with Buffers in these words.
func askBody(buffers uint16) (unsafe.Pointer, error) {
	askBodies.Lock()
	defer askBodies.Unlock()
	for i, of := range askBodies.of {
		if of == buffers {
			return core.AskBodyOf(i), nil
		}
	}
	n := len(askBodies.of)
	if n == core.AskBodies {
		return nil, refused("actorc.Ask", buffers, "a process has up to %d places of Buffers in "+
			"questions and answers: use the same places in several types", n)
	}
	askBodies.of = append(askBodies.of, buffers)
	return core.AskBodyOf(n), nil
}
