//go:build race

package race

import (
	"runtime"
	"sync/atomic"
	"unsafe"
)

// Enabled tells whether the race detector is built in.
const Enabled = true

// An Edge is one object's hand-overs. A nil Edge has none.
type Edge struct{ at byte }

// Release comes before a hand-over to the C core.
func (e *Edge) Release() {
	if e != nil {
		runtime.RaceReleaseMerge(unsafe.Pointer(e))
	}
}

// Acquire comes after a hand-over from the C core.
func (e *Edge) Acquire() {
	if e != nil {
		runtime.RaceAcquire(unsafe.Pointer(e))
	}
	runtime.RaceAcquire(unsafe.Pointer(&Handles))
}

// StoreUint32 stores without order.
func StoreUint32(p *uint32, v uint32) { atomic.StoreUint32(p, v) }

// LoadPointer loads without order.
func LoadPointer[T any](p **T) *T {
	return (*T)(atomic.LoadPointer((*unsafe.Pointer)(unsafe.Pointer(p))))
}

// StorePointer stores without order.
func StorePointer[T any](p **T, v *T) {
	atomic.StorePointer((*unsafe.Pointer)(unsafe.Pointer(p)), unsafe.Pointer(v))
}
