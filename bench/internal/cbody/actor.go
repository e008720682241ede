package cbody

// #include "cbody.h"
import "C"

import (
	"time"
	"unsafe"
)

// The entries of actor.c.
var (
	ActorStart = unsafe.Pointer(C.cb_actor_start) // Actors; result int64: how long that took, ns
	ActorIdle  = unsafe.Pointer(C.cb_actor_idle)  // Idle
)

// The programs of actors.
const (
	PingPong   = int64(C.CB_PINGPONG)
	Counting   = int64(C.CB_COUNTING)
	ThreadRing = int64(C.CB_THREADRING)
	Big        = int64(C.CB_BIG_ONE)
	Chameneos  = int64(C.CB_CHAMENEOS)
	FanIn      = int64(C.CB_FANIN)
	FJThrput   = int64(C.CB_FJTHRPUT)

	FJThrputBrief = int64(C.CB_FJTHRPUT_BRIEF)

	ActorsOf = int(C.CB_ACTORS) // of threadring, chameneos and fanin
	ActorBig = int(C.CB_BIG)
	Forks    = int(C.CB_FORKS)
)

// Actors is a program, and its size.
type Actors struct{ Program, N int64 }

// Idle is N actors, each of which gets Burst messages before the next comes to be.
type Idle struct{ N, Burst int64 }

// AskStart asks eight actors: Asks; result int64: how long that took, ns.
var AskStart = unsafe.Pointer(C.cb_ask_start)

// What Asks does.
const (
	AskEach = int32(C.CB_ASK_EACH) // one actor after the other
	AskLend = int32(C.CB_ASK_LEND) // the same, and the questions lend
	AskAll  = int32(C.CB_ASK_ALL)
)

// Asks asks each actor N times. Worker is theirs: its number and 1, or 0: where they are woken.
type Asks struct {
	How    int32
	Worker uint32
	N      int64
}

// ActorsOutside sends n messages to each actor of FJThrput, which ActorStart has made, by this
// thread, `batch` at a time, and is how long it took until all were handled.
func ActorsOutside(n, batch int) (time.Duration, error) {
	return elapsed(C.cb_actor_outside(C.int64_t(n), C.int64_t(batch)))
}

// ActorsWoken is how many messages the actors of ActorIdle have had.
func ActorsWoken() int { return int(C.cb_actor_woken()) }
