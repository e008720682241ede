//go:build cgo && linux && (amd64 || arm64)

package core

// #cgo noescape lend_call
// #cgo nocallback lend_call
// #cgo noescape lend_on
// #cgo nocallback lend_on
// #include "border/brief.h"
// #include "border/lend.h"
// #include "kernel/wait.h"
//
// // They have no result: cgo looks twice where the stack is of one that has.
// static inline void lend_call(struct coroi_lend *l) { l->outcome = coroi_lend_call(l); }
// static inline void lend_on(struct coroi_lend *l) { l->outcome = coroi_lend_on(l); }
import "C"

import (
	"sync/atomic"
	"time"
	"unsafe"
)

// A Lend is one call of a coroutine on the calling goroutine's thread: lend.h. It lies on a stack
// of Go's, which C uses during the call alone.
type Lend struct{ c C.struct_coroi_lend }

// An Outcome of a Lend is what has become of its coroutine, or a Status below 0: nothing was
// started then.
type Outcome int

const (
	LendEnded     = Outcome(C.COROI_LEND_ENDED)     // see Lend.Ended
	LendSuspended = Outcome(C.COROI_LEND_SUSPENDED) // it goes on elsewhere: see Lend.Joinable
	LendCalls     = Outcome(C.COROI_LEND_CALLS)     // Lend.Call is to be made, and then Scheduler.LendOn
	LendNone      = Outcome(C.COROI_LEND_NONE)      // nothing was lent, and nothing done
)

// JoinLender is, with Lend, the id of a coroutine's end that the poller does not hear of.
const JoinLender = uint32(C.COROI_JOIN_LENDER)

// Lend runs a coroutine on the calling thread. arg points to spec.ArgBytes bytes, which are copied.
// Go hears of a later end under the id, or by JoinLender not at all. brief: once the coroutine has
// suspended, the thread runs what is brief, else what the coroutine has spawned, for the budget at
// most; and C may join what is brief. Budget 0: COROI_LEND_NS.
func (s *Scheduler) Lend(l *Lend, spec *Spec, arg unsafe.Pointer, id uint32, brief bool,
	budget time.Duration,
) Outcome {
	c := &l.c
	c.sched = C.uint64_t(uintptr(unsafe.Pointer(s.c)))
	c.fn = C.uint64_t(spec.Fn)
	c.class = C.uint8_t(spec.Class)
	c.arg_bytes = C.uint8_t(spec.ArgBytes)
	c.result_bytes = C.uint8_t(spec.ResultBytes)
	c.brief = 0
	if brief {
		c.brief = 1
	}
	c.id = C.uint32_t(id)
	c.budget_ns = C.uint32_t(budget)
	if spec.ArgBytes > 0 {
		copyValue(l.payload(), arg, uintptr(spec.ArgBytes))
	}
	crossing()
	C.lend_call(c)
	crossing()
	return Outcome(c.outcome)
}

// LendOn goes on with the coroutine of l, whose Call was made. LendNone: the call is to be
// completed, and the coroutine then goes on elsewhere.
func (s *Scheduler) LendOn(l *Lend) Outcome {
	crossing()
	C.lend_on(&l.c)
	crossing()
	return Outcome(l.c.outcome)
}

// Outcome is what the last lend with l has come to; LendEnded if there was none.
func (l *Lend) Outcome() Outcome { return Outcome(l.c.outcome) }

// Lends tells whether workers of s are lent.
func (s *Scheduler) Lends() bool { return s.c.lends != 0 }

// MayLend tells whether a worker of s sleeps that Lend might be lent, or is the caller's, which
// makes an inline call. It is a hint. If there is none, the next worker that has nothing to do
// sleeps at once.
func (s *Scheduler) MayLend() bool {
	if !s.Lends() {
		return false
	}
	for i, n := uint32(0), s.general(); i < n; i += 64 {
		bits := atomic.LoadUint64((*uint64)(unsafe.Pointer(&s.c.sleepers[i>>6])))
		if n-i < 64 {
			bits &= 1<<(n-i) - 1
		}
		if bits != 0 {
			return true
		}
	}
	missed := (*uint32)(unsafe.Pointer(&s.c.lend_missed))
	if atomic.LoadUint32(missed) == 0 {
		atomic.StoreUint32(missed, 1)
	}
	return s.Inside()
}

func (l *Lend) payload() unsafe.Pointer { return unsafe.Pointer(&l.c.payload) }

// Result is where the result lies, if the coroutine has ended with OK.
func (l *Lend) Result() unsafe.Pointer { return l.payload() }

// IsOK tells whether the coroutine, which has ended, has a result.
func (l *Lend) IsOK() bool { return l.c.status == C.CORO_OK }

// Ended is how the coroutine has ended; with Failed also by what.
func (l *Lend) Ended() (Status, *Failure) {
	status := Status(l.c.status)
	if status != Failed {
		return status, nil
	}
	f := &Failure{Fn: uintptr(l.c.fn), Code: int(l.c.code)}
	if text := uintptr(l.c.text); text != 0 {
		p := *(*unsafe.Pointer)(unsafe.Pointer(&text))
		f.Text = C.GoString((*C.char)(p))
		C.coroi_release(p)
	}
	return status, f
}

// Handle is the coroutine's handle; if that has ended, only with brief.
func (l *Lend) Handle() uint64 { return uint64(l.c.handle) }

// Joinable is the coroutine, which has not ended here.
func (l *Lend) Joinable() Joinable {
	r := uintptr(l.c.rec)
	return Joinable{*(**record)(unsafe.Pointer(&r)), uint64(l.c.gen)}
}

// Call is the call into Go that the coroutine waits for.
func (l *Lend) Call() *Call {
	c := uintptr(l.c.call)
	return *(**Call)(unsafe.Pointer(&c))
}

// Adopt is Register for a coroutine that was started with JoinLender. False: the end has come, and
// the caller takes it.
func (j Joinable) Adopt(id uint32) bool {
	return atomic.CompareAndSwapUint64(joinWord(j.r), j.gen|joinGo|uint64(JoinLender),
		j.gen|joinGo|uint64(id))
}

// DeclareBrief declares that fn is brief: brief.h. NoMemory: there are too many.
func DeclareBrief(fn uintptr) Status {
	crossing()
	return Status(C.coroi_brief_declare(C.coro_fn(*(*unsafe.Pointer)(unsafe.Pointer(&fn)))))
}

// LateFunctions is how many functions are brief no longer since they were late.
func LateFunctions() int {
	return int(atomic.LoadUint32((*uint32)(unsafe.Pointer(&C.coroi_brief_revoked))))
}

// TakeLate returns a function that is brief no longer since it was late, each once; 0: there is
// none.
func TakeLate() uintptr {
	if LateFunctions() == 0 {
		return 0
	}
	crossing()
	return uintptr(unsafe.Pointer(C.coroi_brief_taken()))
}

// Push adds c, which no list has, in front of the list that begins with first.
func (c *Call) Push(first *Call) *Call {
	c.next = C.uint64_t(uintptr(unsafe.Pointer(first)))
	return c
}
