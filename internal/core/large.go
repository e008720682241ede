//go:build cgo && linux && (amd64 || arm64)

package core

// #cgo noescape large_block
// #cgo nocallback large_block
// #cgo noescape large_lend
// #cgo nocallback large_lend
// #include "base/sys.h"
// #include "border/large.h"
//
// // As lend_call of lend.go. The bytes have no type: cgo looks at what a pointer of any type has.
// static inline void large_lend(struct coroi_lend *l, const unsigned char *arg, size_t arg_bytes,
//                               unsigned char *result, size_t result_bytes) {
//	l->outcome = coroi_large_lend(l, arg, arg_bytes, result, result_bytes);
// }
// static inline void large_block(struct coroi_large_arg *a, size_t arg_bytes,
//                                size_t result_bytes) {
//	coroi_large_block(a, arg_bytes, result_bytes);
// }
import "C"

import (
	"sync/atomic"
	"time"
	"unsafe"
)

// LargeBytes is the most bytes of an argument, and of a result, that a Loan has.
const LargeBytes = C.CORO_LARGE_BYTES

// LargeBody is the C function that runs a function with such an argument, or result.
var LargeBody = uintptr(unsafe.Pointer(C.coroi_large))

// largeBlocks is a count alone: nothing else is read by what it tells.
var largeBlocks atomic.Int64

// LargeBlocks is the number of blocks that loans have.
func LargeBlocks() int { return int(largeBlocks.Load()) }

// A largeArg is the struct coroi_large_arg of large.h.
type largeArg = C.struct_coroi_large_arg

// newBlock makes the block of l, and copies the argument there. False: there is no memory.
func (l *Loan) newBlock(arg unsafe.Pointer) bool {
	t := l.terms
	crossing()
	C.large_block(&l.large, C.size_t(t.ArgBytes), C.size_t(t.ResultBytes))
	if l.block() == nil {
		return false
	}
	largeBlocks.Add(1)
	l.large.fn = *(*C.coro_fn)(unsafe.Pointer(&t.Fn))
	copyValue(l.large.arg, arg, t.ArgBytes)
	return true
}

// block is nil if there is none.
func (l *Loan) block() unsafe.Pointer {
	if l.large.result != nil {
		return l.large.result
	}
	return l.large.arg
}

func (l *Loan) freeBlock() {
	largeBlocks.Add(-1)
	crossing()
	C.coroi_release(l.block())
	l.large = largeArg{}
}

// LendLarge is Lend of a coroutine with a large argument or result, whose block C makes. If the
// coroutine has ended with a result, that is copied. If it goes on, the block is to be taken (With).
func (s *Scheduler) LendLarge(l *Lend, spec *Spec, arg, result unsafe.Pointer,
	budget time.Duration,
) Outcome {
	c, t := &l.c, spec.Loan.terms
	c.sched = C.uint64_t(uintptr(unsafe.Pointer(s.c)))
	c.fn = C.uint64_t(t.Fn)
	c.class = C.uint8_t(spec.Class)
	c.id = C.uint32_t(JoinLender)
	c.budget_ns = C.uint32_t(budget)
	crossing()
	C.large_lend(c, (*C.uchar)(arg), C.size_t(t.ArgBytes), (*C.uchar)(result),
		C.size_t(t.ResultBytes))
	crossing()
	return Outcome(c.outcome)
}
