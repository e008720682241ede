package testbody

/*
#include "gobodies.h"
*/
import "C"

import "unsafe"

// The bodies of gobodies.h.
var (
	SpawnGo = unsafe.Pointer(C.testbody_spawn_go)
	SumGo   = unsafe.Pointer(C.testbody_sum_go)
	PairGo  = unsafe.Pointer(C.testbody_pair_go)
	FillGo  = unsafe.Pointer(C.testbody_fill_go)
)

// SpawnGoArg has the layout of struct testbody_spawn_go, SpawnedGo of testbody_spawned_go, SumGoArg
// of testbody_sum_go.
type (
	SpawnGoArg struct {
		ID, How  uint32
		Number   int64
		ArgBytes uint32
	}
	SpawnedGo struct {
		Status, Joined int32
		Number         int64
		Handle         uint64
	}
	SumGoArg struct {
		ID uint32
		N  int64
	}
)

// What SpawnGo does with the Go body that it has started.
const (
	GoJoin = uint32(iota)
	GoUnnamed
	GoDetach
	GoLeave
	GoCancel
)

// SpawnGoHere does what SpawnGo does on the calling thread, whatever it is.
func SpawnGoHere(a SpawnGoArg) SpawnedGo {
	s := C.testbody_spawn_go_here(*(*C.struct_testbody_spawn_go)(unsafe.Pointer(&a)))
	return *(*SpawnedGo)(unsafe.Pointer(&s))
}
