// Package history is what the test of linearizability needs in C: the clients that are C
// coroutines, and the memory that all clients share.
package history

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -I${SRCDIR}/../../csrc/include
#include <stdlib.h>
#include "client.h"
void history_client(void *arg, void *result);
*/
import "C"

import (
	"sync/atomic"
	"unsafe"

	_ "github.com/organzine/coro/internal/core" // the symbols that the clients call
)

// The sizes of a world.
const (
	Clients = C.HISTORY_CLIENTS
	Chans   = C.HISTORY_CHANS
)

// The kinds of calls, as client.h has them.
const (
	Send     = C.HISTORY_SEND
	Recv     = C.HISTORY_RECV
	CloseC   = C.HISTORY_CLOSE
	Select   = C.HISTORY_SELECT
	Acquire  = C.HISTORY_ACQUIRE
	Release  = C.HISTORY_RELEASE
	Lock     = C.HISTORY_LOCK
	Unlock   = C.HISTORY_UNLOCK
	Read     = C.HISTORY_READ
	Write    = C.HISTORY_WRITE
	RWUnlock = C.HISTORY_RWUNLOCK
	Park     = C.HISTORY_PARK
	Wake     = C.HISTORY_WAKE
	Join     = C.HISTORY_JOIN
	End      = C.HISTORY_END
)

// Skipped is the status of a call that was not made.
const Skipped = C.HISTORY_SKIPPED

// ClientBody is the C body of a client. Its argument is a Client.
var ClientBody = unsafe.Pointer(C.history_client)

// An Op is a call and what came of it, as client.h has it.
type Op struct {
	Kind, Object int32
	Value        [Chans]int64
	Sends        uint32
	Index        int32
	WaitNS       int64
	Got          int64
	Call, Back   int64
	Status       int32
	_            int32
}

// A World is what the clients of a history share, as client.h has it. It lies in C's memory.
type World struct {
	Clock               int64
	Ready, Open         int32
	Handle              [Clients]uint64
	Chan                [Chans]uintptr
	Sem, Mutex, RWMutex uintptr
}

// A Client is the argument of ClientBody, as client.h has it.
type Client struct {
	world, op   uintptr
	ops, number int64
}

// The structures have the sizes of their twins in C.
var (
	_ [C.sizeof_struct_history_op]struct{}     = [unsafe.Sizeof(Op{})]struct{}{}
	_ [C.sizeof_struct_history_world]struct{}  = [unsafe.Sizeof(World{})]struct{}{}
	_ [C.sizeof_struct_history_client]struct{} = [unsafe.Sizeof(Client{})]struct{}{}
)

// NewWorld returns a world for one history at a time, and for each client the memory of its calls.
// All of it is C's, and stays.
func NewWorld(ops int) (*World, [Clients][]Op) {
	w := (*World)(C.calloc(1, C.sizeof_struct_history_world))
	var of [Clients][]Op
	for i := range of {
		p := (*Op)(C.calloc(C.size_t(ops), C.sizeof_struct_history_op))
		of[i] = unsafe.Slice(p, ops)
	}
	return w, of
}

// Of returns the argument for client number i, which makes the calls ops.
func (w *World) Of(i int, ops []Op) Client {
	return Client{
		world:  uintptr(unsafe.Pointer(w)),
		op:     uintptr(unsafe.Pointer(unsafe.SliceData(ops))),
		ops:    int64(len(ops)),
		number: int64(i),
	}
}

// Tick returns the time, which differs from each other time.
func (w *World) Tick() int64 { return atomic.AddInt64(&w.Clock, 1) }
