package actorc

import (
	"unsafe"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/inside"
)

// A Kind is a kind of actors in C, a coro_actor_kind ([docs/actors.md]), by which Go spawns them.
//
// [docs/actors.md]: https://github.com/organzine/coro/blob/main/docs/actors.md
type Kind struct {
	kind   unsafe.Pointer
	worker int // its number and 1; 0: any
}

// KindOf is the kind at an address, as unsafe.Pointer(&C.my_kind). It is C's memory, and stays,
// unchanged, while such actors live.
func KindOf(kind unsafe.Pointer) Kind { return Kind{kind: kind} }

// OnWorker is k whose actors are pinned to worker i, as with coro_actor_spawn_on: all their turns
// run there. Workers count from 0; the dedicated ones come after the general ones.
func (k Kind) OnWorker(i int) Kind {
	k.worker = i + 1
	if i < 0 {
		k.worker = -1
	}
	return k
}

// Spawn makes an actor of s, of the kind k. state is what its behaviour is called with: C's memory,
// or nil, which the kind's `end` may free. It is the caller's where Spawn returns an error. An
// actor that has no message needs nothing, and ends by Stop or Drain, or with s. Spawn never
// blocks, and costs about a cgo call.
//
// Errors: coro.ErrClosed, coro.ErrNoMemory, and a *coro.OptionError for a kind that is none, and
// for a worker that s has not.
func (k Kind) Spawn(s *coro.Scheduler, state unsafe.Pointer) (Actor, error) {
	if k.kind == nil {
		return 0, refused("actorc.Kind.Spawn", nil, "needs a kind: use KindOf with the address "+
			"of a coro_actor_kind")
	}
	in := inside.Of(s)
	if in.Closed() {
		return 0, coro.ErrClosed
	}
	if k.worker < 0 {
		return 0, refused("actorc.Kind.OnWorker", k.worker, "workers count from 0")
	}
	in.Edge.Release()
	ref, status := in.Core.SpawnActor(uint32(k.worker), k.kind, state)
	switch {
	case status == core.OK:
		return Actor(ref), nil
	case status == core.Invalid && k.worker > 0:
		return 0, refused("actorc.Kind.OnWorker", k.worker-1, "the scheduler has no such worker, "+
			"or the kind is none: workers count from 0, as many as coro.WithWorkers and "+
			"coro.WithDedicatedWorkers say")
	case status == core.Invalid:
		return 0, refused("actorc.Kind.Spawn", nil, "the kind is none: zero it, and set size, "+
			"behave, a batch of up to 64, a room of up to 1<<30, an idle time of 4 ms or more")
	}
	return 0, actorError(status)
}
