package testbody

// #include "actor.h"
import "C"

import "unsafe"

// The bodies of actor.c.
var (
	ActorSpawn  = unsafe.Pointer(C.tb_actor_spawn)  // Actor, uint64
	ActorFlood  = unsafe.Pointer(C.tb_actor_flood)  // Flood, uint64
	ActorAsk    = unsafe.Pointer(C.tb_actor_ask)    // Question, ActorAnswer
	ActorBuffer = unsafe.Pointer(C.tb_actor_buffer) // Flood, uint64
)

// The kinds of messages of an actor.
const (
	ActorAdd     = C.TB_ADD
	ActorSum     = C.TB_SUM
	ActorHalf    = C.TB_HALF
	ActorNothing = C.TB_NOTHING
	ActorStop    = C.TB_STOP
)

// The kind of the actors of ActorSpawn, and one without a behaviour.
var (
	ActorKind   = unsafe.Pointer(&C.tb_adder)
	ActorNoKind = unsafe.Pointer(&C.tb_no_kind)
)

// ActorState makes a state for an actor of ActorKind, which frees it at its end.
func ActorState(sum uint64) unsafe.Pointer { return C.tb_adder_state(C.uint64_t(sum)) }

// An Actor is what ActorSpawn makes: one that adds, and tells the next one, if that is not 0.
type Actor struct {
	Next        uint64
	Brief, Room uint32
}

// A Flood is N messages to an actor, or one of N bytes.
type Flood struct{ To, N uint64 }

// A Question is asked by ActorAsk, and ActorAnswer is what comes of it.
type (
	Question struct {
		To, Word uint64
		Kind     uint32
		_        uint32
	}
	ActorAnswer struct {
		Status      int64
		Word, Bytes uint64
	}
)
