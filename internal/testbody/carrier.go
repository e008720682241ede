//go:build cgo

package testbody

// #include "carrier.h"
import "C"

import "unsafe"

// The kinds of the actors of carrier.c, the second with a room for one message; and a body that asks.
var (
	Carrier     = unsafe.Pointer(&C.tb_carrier)
	CarrierRoom = unsafe.Pointer(&C.tb_carrier_room)
	CarrierAsks = unsafe.Pointer(C.tb_carrier_asks) // CarrierAsk, uint64
)

// What such an actor does with a message.
const (
	CarryFree     = C.TB_CARRY_FREE
	CarryEcho     = C.TB_CARRY_ECHO
	CarryEchoMore = C.TB_CARRY_ECHO_MORE
	CarryNext     = C.TB_CARRY_NEXT
	CarryHold     = C.TB_CARRY_HOLD
	CarryAbort    = C.TB_CARRY_ABORT
)

// CarrierGo ends a CarryHold.
func CarrierGo() { C.coro_sem_release(&C.tb_carrier_go, 1) }

// A CarrierAsk is a question of CarrierAsks, with a buffer of so many bytes.
type CarrierAsk struct{ To, Bytes uint64 }
