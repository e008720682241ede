//go:build amd64 || arm64

// Package asm has what Go itself does not offer: the identity of a goroutine, a call of C without
// leaving Go, and stores with other orders, or in other memory, than those of sync/atomic.
package asm

import (
	"sync/atomic"
	"unsafe"
)

// Goroutine is a number that differs between any two goroutines that are alive. It costs about 1
// ns.
func Goroutine() uintptr

// Leaf calls fn(a, b), a C function that returns an int, on the goroutine's own stack. It costs
// some ns, where a cgo call costs 50. The function uses at most 1000 bytes of the stack, calls
// nothing that could use more, and does not block: all goroutines of this P wait for it, and it is
// not preempted. If a is nil, Leaf does nothing, and returns NotCalled.
//
// A fault of the function before it has moved the stack pointer is a panic, as in Go. A later one
// ends the process with Go's report: the runtime cannot read C's frame.
//
//go:noescape
func Leaf(fn uintptr, a, b unsafe.Pointer) int32

// NotCalled is what Leaf returns where it has called nothing.
const NotCalled = 3

// Code tells where Go's code lies, from text on and before etext, and where Leaf begins, which has
// at most LeafBytes of code.
func Code() (text, etext, leaf uintptr)

// LeafBytes is more than the code of Leaf takes.
const LeafBytes = 160

func storeRelease(p *uint32, v uint32)

// StoreSeq stores v before anything that follows is loaded, in any memory. So does atomic.Store;
// but under the race detector it is a mere release (Go 1.26) where the memory is C's, and the next
// load may overtake it.
func StoreSeq(p *uint32, v uint32) { atomic.SwapUint32(p, v) }
