package testbody

// #include "typed.h"
import "C"

import "unsafe"

// The descriptions of the typed bodies, as typed.h describes these.
var (
	Plus      = unsafe.Pointer(&C.testbody_plus_body)
	Idle      = unsafe.Pointer(&C.testbody_idle_body)
	DeepRoom  = unsafe.Pointer(&C.testbody_deep_room_body)
	DenseRoom = unsafe.Pointer(&C.testbody_dense_room_body)
	Stuck     = unsafe.Pointer(&C.testbody_stuck_body)

	PlainPlus = unsafe.Pointer(C.testbody_plus) // the function itself
)

// Pair has the layout of struct testbody_pair.
type Pair struct {
	Small int32
	Large int64
}

// StrangeWays is the number of ways of Strange; MagicWay is the last one.
const (
	StrangeWays = C.TESTBODY_WAYS
	MagicWay    = C.TESTBODY_MAGIC
)

// Strange is a description of Idle that CORO_BODY never makes, and the same one each time.
func Strange(way int) unsafe.Pointer { return unsafe.Pointer(C.testbody_strange(C.int(way))) }
