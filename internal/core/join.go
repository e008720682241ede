//go:build cgo && linux && (amd64 || arm64)

package core

// #cgo noescape coroi_failed
// #cgo nocallback coroi_failed
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
	joinDetached  = uint64(C.COROI_JOIN_FINAL)<<joinKindShift | C.COROI_FINAL_DETACHED
	joinTaken     = uint64(C.COROI_JOIN_FINAL)<<joinKindShift | C.COROI_FINAL_TAKEN
)

func joinWord(r *record) *uint64 { return (*uint64)(unsafe.Pointer(&cold(r).join)) }

// Joinable is a joinable coroutine, until its result is taken. Its scheduler is not destroyed yet.
type Joinable struct {
	r   *record
	gen uint64 // the generation, << genShift
}

// Handle names the coroutine.
func (j Joinable) Handle() uint64 {
	at := uintptr(unsafe.Pointer(j.r))
	place := at % chunkBytes
	chunk := (*C.struct_coroi_chunk)(unsafe.Add(unsafe.Pointer(j.r), -int(place)))
	return j.gen | uint64(chunk.id)<<C.COROI_CHUNK_INDEX_BITS |
		uint64(place/C.sizeof_struct_coroi_rec)
}

// Ended tells whether j has ended, and its result was not taken.
func (j Joinable) Ended() bool { return atomic.LoadUint64(joinWord(j.r)) == j.gen|joinDone }

// IsFresh tells whether j has not run yet. It may be called at any time.
func (j Joinable) IsFresh() bool {
	// permits, home, state and flags are one word. It is read before the generation.
	word := atomic.LoadUint64((*uint64)(unsafe.Pointer(&j.r.permits)))
	wake := atomic.LoadUint64((*uint64)(unsafe.Pointer(&j.r.wake)))
	return wake>>genShift<<genShift == j.gen && word>>48&0xff == C.COROI_FRESH
}

// WakeComes tells whether a coro_wake of j has begun that no Take has returned yet.
func (j Joinable) WakeComes() bool {
	return atomic.LoadUint64((*uint64)(unsafe.Pointer(&j.r.wake)))&C.COROI_COUNT_MASK != 0
}

// Fate tells whether j is alive, that is, has not ended; and if j has ended, whether its result is
// held, that is, was not taken. Fate may be called at any time, after the result was taken too.
func (j Joinable) Fate() (alive, held bool) {
	word := atomic.LoadUint64(joinWord(j.r)) // before the generation
	wake := atomic.LoadUint64((*uint64)(unsafe.Pointer(&j.r.wake)))
	if wake>>genShift<<genShift != j.gen || wake&escaped == 0 {
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

// A Failure is how a body has ended by coro_fail.
type Failure struct {
	Fn   uintptr // the C function
	Code int
	Text string
}

// takeFailure is coroi_failed and the end of its text, for the owner of the end.
func (j Joinable) takeFailure() *Failure {
	crossing()
	f := C.coroi_failed(j.r)
	out := &Failure{Fn: uintptr(unsafe.Pointer(j.r.fn)), Code: int(f.code)}
	if f.text != nil {
		out.Text = C.GoString(f.text)
		C.coroi_release(unsafe.Pointer(f.text))
	}
	return out
}

// Take copies n bytes of the result if there is one, frees the coroutine and returns how it ended,
// with Failed also by what. Stale: another caller has taken the result. Busy: another caller waits
// for it. After Register, the caller takes the result only when the id was on the list.
func (j Joinable) Take(result unsafe.Pointer, n uintptr) (Status, *Failure) {
	word := joinWord(j.r)
	if !atomic.CompareAndSwapUint64(word, j.gen|joinDone, j.gen|joinTaken) &&
		!atomic.CompareAndSwapUint64(word, j.gen|joinForGo, j.gen|joinTaken) {
		w := atomic.LoadUint64(word)
		if w>>genShift<<genShift == j.gen && w>>joinKindShift&7 != C.COROI_JOIN_FINAL {
			return Busy, nil
		}
		return Stale, nil
	}
	return j.collect(result, n)
}

// collect is JOI3 of join.c. The caller owns the end.
func (j Joinable) collect(result unsafe.Pointer, n uintptr) (Status, *Failure) {
	crossing()
	status := Status(C.coroi_join_status(j.r))
	var failure *Failure
	if status == Failed {
		failure = j.takeFailure()
	}
	if n > 0 && status == OK { // else the payload is the argument, or half a result
		payload := unsafe.Pointer(&cold(j.r).payload)
		copy(unsafe.Slice((*byte)(result), n), unsafe.Slice((*byte)(payload), n))
	}
	if j.r.arg_bytes&C.COROI_CARRIES != 0 && failure == nil && (n == 0 || status != OK) {
		crossing()
		C.coroi_carry_drop_result(j.r, 0)
	}
	crossing()
	C.coroi_join_free(j.r)
	return status, failure
}

// Arm asks for a ring of the bell at each end from now on: Go is about to sleep. The caller looks
// once more at what came before.
func (s *Scheduler) Arm() { asm.StoreSeq((*uint32)(unsafe.Pointer(&s.border().bell.go_sleeps)), 1) }

// WaitRest counts the goroutines that want the bell at each rest.
func (s *Scheduler) WaitRest(n int32) {
	atomic.AddUint32((*uint32)(unsafe.Pointer(&s.c.rest_watchers)), uint32(n))
}

// Done takes the list of coroutines that have ended, and appends the ids that were registered with
// them.
func (s *Scheduler) Done(ids []uint32) []uint32 {
	node := atomic.SwapUint64((*uint64)(unsafe.Pointer(&s.border().bell.done)), 0)
	for node != 0 {
		r := *(**record)(unsafe.Pointer(&node))
		node = uint64(r.next)
		ids = append(ids, uint32(r.permits))
	}
	return ids
}

// RestsTold changes at each rest while WaitRest has counted somebody.
func (s *Scheduler) RestsTold() uint32 {
	return atomic.LoadUint32((*uint32)(unsafe.Pointer(&s.c.rests_told)))
}
