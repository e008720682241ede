//go:build cgo && linux && (amd64 || arm64)

package core

// #include "base/sys.h"
// #include "border/large.h"
import "C"

import (
	"sync/atomic"
	"unsafe"
)

// LargeBytes is the most bytes of an argument, and of a result, that a Loan has.
const LargeBytes = C.CORO_LARGE_BYTES

// LargeBody is the C function that runs a function with such an argument, or result.
var LargeBody = uintptr(unsafe.Pointer(C.coroi_large))

// largeBlocks is a count alone: nothing else is read by what it tells.
var largeBlocks atomic.Int64

// AllocLarge gives a block of C's memory, of zeros, aligned to 16. nil: there is none.
func AllocLarge(bytes uintptr) unsafe.Pointer {
	crossing()
	p := C.coroi_alloc(C.size_t(bytes), 16)
	if p != nil {
		largeBlocks.Add(1)
	}
	return p
}

// FreeLarge frees a block of AllocLarge.
func FreeLarge(p uintptr) {
	largeBlocks.Add(-1)
	crossing()
	C.coroi_release(*(*unsafe.Pointer)(unsafe.Pointer(&p)))
}

// LargeBlocks is the number of blocks that there are.
func LargeBlocks() int { return int(largeBlocks.Load()) }
