//go:build cgo && linux && (amd64 || arm64)

package core

// #cgo noescape coro_actor_send
// #cgo noescape coroi_go_send
// #include "actor/actors.h"
// #include "actor/gobridge.h"
import "C"

import "unsafe"

// actor.go - actors in C.

// Most bytes of a message to an actor in C, and of one that asks; and the first kind that no sender
// may use.
const (
	MessageBytes = C.CORO_MESSAGE_BYTES
	AskBytes     = C.CORO_ASK_BYTES
	SystemKinds  = C.CORO_MESSAGE_SYSTEM
)

// SendActor sends a message to an actor in C. Status: OK, Invalid, Stale, NoMemory, Closed,
// Overflow. Thread: no worker that runs a coroutine. The actor's turn may run meanwhile, if it is
// brief.
func SendActor(to uint64, kind uint32, payload []byte) Status {
	crossing()
	return Status(C.coro_actor_send(C.coro_actor(to), C.uint32_t(kind),
		unsafe.Pointer(unsafe.SliceData(payload)), C.size_t(len(payload))))
}

// SendActorValue sends the bytes of a value, n of them, with buffers in these words. Status: as of
// SendActor; Perm: the actor's kind has buffers in others; Invalid, Busy: of a buffer.
func SendActorValue(to uint64, kind uint32, value unsafe.Pointer, n uintptr, buffers uint64) Status {
	crossing()
	return Status(C.coroi_go_send(C.coro_actor(to), C.uint32_t(kind), value, C.size_t(n),
		C.uint64_t(buffers)))
}

// FitsActor tells whether messages of n bytes with buffers in these words, and such answers, fit an
// actor's kind. Status: OK, Perm, Stale, Closed.
func FitsActor(to uint64, n uintptr, buffers uint64, answerBytes uintptr, answerBuffers uint64) Status {
	crossing()
	return Status(C.coroi_go_fits(C.coro_actor(to), C.size_t(n), C.uint64_t(buffers),
		C.size_t(answerBytes), C.uint64_t(answerBuffers)))
}

// StopActor stops an actor in C; DrainActor lets it end when it has handled what it has accepted.
// Status: OK, Stale, NoMemory.
func StopActor(a uint64) Status  { crossing(); return Status(C.coro_actor_stop(C.coro_actor(a))) }
func DrainActor(a uint64) Status { crossing(); return Status(C.coro_actor_drain(C.coro_actor(a))) }

// SpawnActor makes an actor of a kind, a coro_actor_kind, with a state, on any worker, or on one: its
// number + 1. Status: OK, Invalid, NoMemory, Closed.
func (s *Scheduler) SpawnActor(worker uint32, kind, state unsafe.Pointer) (ref uint64, status Status) {
	crossing()
	var out C.coro_actor
	status = Status(C.coro_actor_spawn_on(s.c, C.uint32_t(worker),
		(*C.coro_actor_kind)(kind), state, &out))
	return uint64(out), status
}

// A GoActor is an actor in C whose messages Go handles: a struct coroi_go_actor.
type GoActor struct {
	Number                uint64
	Deliver, Await, Ended uint32
	Buffers, Answers      uint16 // which words have buffers
}

// A GoBatch is the argument of Deliver and Await: a struct coroi_go_batch.
type GoBatch struct {
	Number   uint64
	messages uint64
	N        uint64
}

var (
	_ [unsafe.Sizeof(GoActor{})]byte = [unsafe.Sizeof(C.struct_coroi_go_actor{})]byte{}
	_ [unsafe.Sizeof(GoBatch{})]byte = [unsafe.Sizeof(C.struct_coroi_go_batch{})]byte{}
	_ [unsafe.Sizeof(Ask{})]byte     = [unsafe.Sizeof(C.struct_coroi_go_ask{})]byte{}
)

// SpawnGoActor makes one. Status: OK, NoMemory, Closed.
func (s *Scheduler) SpawnGoActor(a *GoActor) (ref uint64, status Status) {
	crossing()
	var out C.coro_actor
	status = Status(C.coroi_go_actor_spawn(s.c, (*C.struct_coroi_go_actor)(unsafe.Pointer(a)),
		&out))
	return uint64(out), status
}

// At is message i of a batch, until the call with the batch is over.
func (b *GoBatch) At(i int) *Message {
	list := *(**[1 << 20]*Message)(unsafe.Pointer(&b.messages))
	return list[i]
}

// A Message is one to an actor in C: a coro_message.
type Message struct{ c C.coro_message }

// Kind is the sender's.
func (m *Message) Kind() uint32 { return uint32(m.c.kind) }

// Payload is the message's bytes, or those of the block that the message owns.
func (m *Message) Payload() []byte {
	if m.c.flags_&C.COROI_M_BLOCK != 0 {
		b := (*C.coro_block)(unsafe.Pointer(&m.c.anon0))
		return unsafe.Slice((*byte)(b.data), b.bytes)
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&m.c.anon0)), m.c.bytes)
}

// last is the word that says where the buffers are, of a message that asks or carries.
func (m *Message) last() uint64 {
	return (*[C.CORO_MESSAGE_BYTES / 8]uint64)(unsafe.Pointer(&m.c.anon0))[5]
}

// Buffers are the words of the payload that have buffers.
func (m *Message) Buffers() uint64 {
	if m.c.flags_&C.COROI_M_CARRIES == 0 {
		return 0
	}
	return m.last() >> C.COROI_CARRIES_SHIFT & C.COROI_CARRY_WORDS
}

// AnswerBuffers are the words of the answer that have buffers. False: the message does not ask.
func (m *Message) AnswerBuffers() (words uint64, asks bool) {
	if m.c.flags_&C.COROI_M_ASK == 0 {
		return 0, false
	}
	return AskerBuffers([2]uint64{1: m.last()}), true
}

// AskerBuffers are the words of the answer that have buffers.
func AskerBuffers(asker [2]uint64) uint64 {
	return asker[1] >> C.COROI_ANSWERS_SHIFT & C.COROI_CARRY_WORDS
}

// Keep takes the right to answer, once. False: the message does not ask, or was answered.
func (m *Message) Keep() (asker [2]uint64, ok bool) {
	var out C.coro_asker
	ok = C.coro_message_keep(&m.c, &out) == C.CORO_OK
	return [2]uint64{uint64(out.words[0]), uint64(out.words[1])}, ok
}

// Answer answers the message itself, once. Status: OK, Invalid, Stale, NoMemory.
func (m *Message) Answer(payload []byte) Status {
	crossing()
	return Status(C.coro_message_answer(&m.c, unsafe.Pointer(unsafe.SliceData(payload)),
		C.size_t(len(payload))))
}

// AnswerAsker answers one that asks. Status: OK, Invalid, Stale, NoMemory.
func AnswerAsker(asker [2]uint64, payload []byte) Status {
	crossing()
	c := C.coro_asker{words: [2]C.uint64_t{C.uint64_t(asker[0]), C.uint64_t(asker[1])}}
	return Status(C.coro_asker_answer(&c, unsafe.Pointer(unsafe.SliceData(payload)),
		C.size_t(len(payload))))
}

// An Ask is a question to an actor in C, the argument of AskBody: a struct coroi_go_ask.
type Ask struct {
	AskHead
	Payload [AskBytes]byte
}

// An AskHead is what lies before its payload.
type AskHead struct {
	To      uint64
	Kind    uint32
	Bytes   uint8  // of the payload
	Wants   uint8  // bytes of the answer
	Buffers uint16 // the words of the payload that have buffers, and 8 bits further of the answer
}

// An Answer is the result of AskBody.
type Answer [MessageBytes]byte

// AskBody is the C function of a coroutine that asks. It fails with a Status.
func AskBody() unsafe.Pointer { return unsafe.Pointer(C.coroi_go_ask) }

// AskBodies are how many functions there are that do the same, and AskBodyOf is one of them.
const AskBodies = C.COROI_GO_ASKS

func AskBodyOf(i int) unsafe.Pointer { return unsafe.Pointer(C.coroi_go_asks[i]) }

// CarryBytes is the most bytes of a message with buffers.
const CarryBytes = C.CORO_CARRY_BYTES
