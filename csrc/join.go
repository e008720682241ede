//go:build cgo && linux && (amd64 || arm64)

package csrc

// #include "kernel/wait.h"
import "C"

import (
	"sync/atomic"
	"unsafe"

	"github.com/organzine/coro/internal/asm"
)

// The join word, see join.c: generation << 32 | kind << 29 | index.
const (
	joinKindShift = C.COROI_JOIN_KIND_SHIFT
	joinCoroutine = uint64(C.COROI_JOIN_COROUTINE) << joinKindShift
	joinGo        = uint64(C.COROI_JOIN_GO) << joinKindShift
	joinDone      = uint64(C.COROI_JOIN_FINAL)<<joinKindShift | C.COROI_FINAL_DONE
	joinForGo     = uint64(C.COROI_JOIN_FINAL)<<joinKindShift | C.COROI_FINAL_FOR_GO
	joinTaken     = uint64(C.COROI_JOIN_FINAL)<<joinKindShift | C.COROI_FINAL_TAKEN
)

func joinWord(r *record) *uint64 { return (*uint64)(unsafe.Pointer(&cold(r).join)) }

// Joinable is a coroutine started by Submitter.Start, until its result is taken. Its scheduler is not destroyed yet.
type Joinable struct {
	r   *record
	gen uint64 // << genShift
}

// Handle names the coroutine.
func (j Joinable) Handle() uint64 {
	at := uintptr(unsafe.Pointer(j.r))
	place := at % chunkBytes
	chunk := (*C.struct_coroi_chunk)(unsafe.Add(unsafe.Pointer(j.r), -int(place)))
	return j.gen | uint64(chunk.id)<<C.COROI_CHUNK_INDEX_BITS | uint64(place/C.sizeof_struct_coroi_rec)
}

// Ended tells whether its end has come, and nobody has taken its result.
func (j Joinable) Ended() bool { return atomic.LoadUint64(joinWord(j.r)) == j.gen|joinDone }

// Fate tells whether it has not ended, or else whether its result is still to be taken. Unlike the other methods it may be
// called at any time.
func (j Joinable) Fate() (alive, held bool) {
	word := atomic.LoadUint64(joinWord(j.r)) // before the generation
	if wake := atomic.LoadUint64((*uint64)(unsafe.Pointer(&j.r.wake))); wake>>genShift<<genShift != j.gen || wake&escaped == 0 {
		return false, false
	}
	switch word - j.gen {
	case joinDone, joinForGo:
		return false, true
	case joinTaken:
		return false, false
	}
	return true, false
}

// Take copies n bytes of the result if there is one, frees the coroutine and returns how it ended; Stale if somebody else has taken
// it, Busy if somebody else waits for it. Whoever has registered takes it only after the id was on the list.
func (j Joinable) Take(result unsafe.Pointer, n uintptr) Status {
	word := joinWord(j.r)
	if !atomic.CompareAndSwapUint64(word, j.gen|joinDone, j.gen|joinTaken) &&
		!atomic.CompareAndSwapUint64(word, j.gen|joinForGo, j.gen|joinTaken) {
		if w := atomic.LoadUint64(word); w>>genShift<<genShift == j.gen && w>>joinKindShift&7 != C.COROI_JOIN_FINAL {
			return Busy
		}
		return Stale
	}
	return j.collect(result, n)
}

// collect is J3 of join.c, for whoever owns the end.
func (j Joinable) collect(result unsafe.Pointer, n uintptr) Status {
	crossing()
	status := Status(C.coroi_join_status(j.r))
	if n > 0 && status == OK { // else the payload is the argument, or half a result
		copy(unsafe.Slice((*byte)(result), n), unsafe.Slice((*byte)(unsafe.Pointer(&cold(j.r).payload)), n))
	}
	crossing()
	C.coroi_join_free(j.r)
	return status
}

// Arm says that the bell is to be rung from now on: Go is about to sleep. What was done before is still to be
// looked at once.
func (s *Scheduler) Arm() { asm.StoreSeq((*uint32)(unsafe.Pointer(&s.c.bell.go_sleeps)), 1) }

// WaitRest counts the goroutines that want the bell at each rest.
func (s *Scheduler) WaitRest(n int32) {
	atomic.AddUint32((*uint32)(unsafe.Pointer(&s.c.bell.waits_rest)), uint32(n))
}

// Done takes the list of ended coroutines and appends the ids that were registered with them.
func (s *Scheduler) Done(ids []uint32) []uint32 {
	node := atomic.SwapUint64((*uint64)(unsafe.Pointer(&s.c.bell.done)), 0)
	for node != 0 {
		r := *(**record)(unsafe.Pointer(&node))
		node = uint64(r.next)
		ids = append(ids, uint32(r.permits))
	}
	return ids
}

// Rests counts the times that everything came to rest.
func (s *Scheduler) Rests() uint32 { return atomic.LoadUint32((*uint32)(unsafe.Pointer(&s.c.rests))) }
