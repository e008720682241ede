//go:build cgo

package testbody

// #include "courier.h"
import "C"

import "unsafe"

// The kinds of the actors of courier.c, the second with a room for one message; and a body that
// asks.
var (
	Courier     = unsafe.Pointer(&C.tb_courier)
	CourierRoom = unsafe.Pointer(&C.tb_courier_room)
	CourierAsks = unsafe.Pointer(C.tb_courier_asks) // CourierAsk, uint64
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

// CourierHeld is how many CarryHolds have begun.
func CourierHeld() uint64 { return uint64(C.tb_courier_held()) }

// CourierGo ends one.
func CourierGo() { C.coro_sem_release(&C.tb_courier_go, 1) }

// A CourierAsk is a question of CourierAsks, with a buffer of so many bytes.
type CourierAsk struct{ To, Bytes uint64 }
