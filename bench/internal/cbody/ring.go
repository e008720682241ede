package cbody

/*
#include "cbody.h"
*/
import "C"

import (
	"embed"
	"time"
	"unsafe"
)

// RingsStart is what starts the rings of one worker; argument uint64: its number.
var RingsStart = unsafe.Pointer(C.cb_rings_start)

// Dense is what Attr has for dense coroutines.
const Dense = uint32(C.CORO_DENSE)

// Rings are R rings of N members, each of which waits for its own event and posts its neighbour's,
// M times.
type Rings struct {
	Rings, Members, Rounds int
	Extra                  int    // bytes of stack that each member uses besides
	Strict                 bool   // one token in each ring, and not one for each member
	LIFO                   bool   // a ring is started when the one before has ended
	Attr                   uint32 // how its members are spawned: flags of coro_attr
	Workers                int    // threads; for Threads not more than one or all CPUs
}

func (r Rings) c() *C.struct_cb_rings {
	var flags C.uint32_t
	if r.Strict {
		flags |= C.CB_RINGS_STRICT
	}
	if r.LIFO {
		flags |= C.CB_RINGS_LIFO
	}
	return &C.struct_cb_rings{
		rings: C.uint64_t(r.Rings), members: C.uint32_t(r.Members),
		rounds: C.uint32_t(r.Rounds),
		extra:  C.uint32_t(r.Extra), flags: flags, attr_flags: C.uint32_t(r.Attr),
		workers: C.uint32_t(r.Workers),
	}
}

// Open sets the coroutines' rings up; Close gives back what that took.
func (r Rings) Open() error { return status(C.cb_rings_open(r.c())) }
func (r Rings) Close()      { C.cb_rings_close() }

// RingsReady is on how many workers all members wait, RingsFire lets them go, and RingsTime is how
// long they took when all have ended.
func RingsReady() int          { return int(C.cb_rings_ready()) }
func RingsFire() error         { return status(C.cb_rings_fire()) }
func RingsTime() time.Duration { return time.Duration(C.cb_rings_ns()) }

// The policies of a pool of dispatchers.
const (
	RoundRobin  = uint32(C.CORO_DISPATCH_RR)
	Locality    = uint32(C.CORO_DISPATCH_LL)
	GlobalQueue = uint32(C.CORO_DISPATCH_GQ)
)

// RingPoolSources are the C files of the pools' rings, for a program of its own.
//
//go:embed cbody.h ringpool.c status.c
var RingPoolSources embed.FS

// PoolOpen sets the same rings up for a pool of dispatchers, PoolStart starts its coroutines;
// PoolClose gives back what both took. PoolReady is on how many threads they wait, and PoolFire
// lets them go, and returns how long they took.
func (r Rings) PoolOpen() error          { return status(C.cb_ring_pool_open(r.c())) }
func (r Rings) PoolStart(p uint32) error { return status(C.cb_ring_pool_start(C.uint32_t(p))) }
func (r Rings) PoolClose()               { C.cb_ring_pool_close() }
func PoolReady() int                     { return int(C.cb_ring_pool_ready()) }
func PoolFire() (time.Duration, error)   { return elapsed(C.cb_ring_pool_fire()) }

// ThreadsOpen starts the same rings with a pthread for each member, and a semaphore. When it
// returns, all are there and wait. ThreadsFire lets them go, returns how long they took, and leaves
// nothing behind.
func (r Rings) ThreadsOpen() error { return status(C.cb_ring_threads_open(r.c())) }

// ThreadsFire ends what ThreadsOpen has begun.
func ThreadsFire() (time.Duration, error) { return elapsed(C.cb_ring_threads_fire()) }
