//go:build linux && (amd64 || arm64)

package asm

import (
	"encoding/binary"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// load is the machine code of a C function: int load(int *a, void *b) { return *a; }
var load = map[string][]byte{
	"amd64": {0x8b, 0x07, 0xc3}, // mov (%rdi), %eax; ret
	"arm64": binary.LittleEndian.AppendUint32( // ldr w0, [x0]; ret
		binary.LittleEndian.AppendUint32(nil, 0xb9400000), 0xd65f03c0),
}

// aligned is the machine code of a C function: int aligned(void) returns the last four bits of the
// stack pointer.
var aligned = map[string][]byte{
	"amd64": {0x89, 0xe0, 0x83, 0xe0, 0x0f, 0xc3}, // mov %esp, %eax; and $15, %eax; ret
	"arm64": binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32( // mov x0, sp;
		binary.LittleEndian.AppendUint32(nil, 0x910003e0), // and x0, x0, #15; ret
		0x92400c00), 0xd65f03c0),
}

// executable is code in memory where it can be called.
func executable(t *testing.T, code []byte) uintptr {
	page, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON)
	require.NoError(t, err)
	copy(page, code)
	require.NoError(t, syscall.Mprotect(page, syscall.PROT_READ|syscall.PROT_EXEC))
	t.Cleanup(func() { assert.NoError(t, syscall.Munmap(page)) })
	return uintptr(unsafe.Pointer(&page[0]))
}

func TestLeafCalls(t *testing.T) {
	fn := executable(t, load[runtime.GOARCH])
	v := int32(-7)
	assert.EqualValues(t, -7, Leaf(fn, unsafe.Pointer(&v), nil))
	assert.EqualValues(t, NotCalled, Leaf(fn, nil, nil))
}

// leafAfter calls Leaf with frames of bytes before it, so that the stack pointer of Leaf varies.
func leafAfter(depth int, fn uintptr, a unsafe.Pointer) int32 {
	if depth > 0 {
		return leafAfter(depth-1, fn, a)
	}
	return Leaf(fn, a, nil)
}

func leafAfterOdd(depth int, fn uintptr, a unsafe.Pointer, more uintptr) int32 {
	if depth > 0 {
		return leafAfterOdd(depth-1, fn, a, more) + int32(more)
	}
	return Leaf(fn, a, nil)
}

// C is promised a stack pointer that is a multiple of 16 at the call: on amd64 the return address
// is below it.
func TestLeafAlignsTheStack(t *testing.T) {
	fn := executable(t, aligned[runtime.GOARCH])
	want := int32(0)
	if runtime.GOARCH == "amd64" {
		want = 8
	}
	var v int32
	for depth := range 8 {
		assert.Equal(t, want, leafAfter(depth, fn, unsafe.Pointer(&v)))
		assert.Equal(t, want, leafAfterOdd(depth, fn, unsafe.Pointer(&v), 0))
	}
}

func TestFaultInALeafIsAPanic(t *testing.T) {
	fn := executable(t, load[runtime.GOARCH])
	for range 3 {
		for depth := range 4 {
			ended := false
			func() {
				defer func() {
					err, _ := recover().(runtime.Error)
					require.ErrorContains(t, err, "nil pointer dereference")
					ended = true
				}()
				leafAfter(depth, fn, unsafe.Add(nil, 8))
			}()
			assert.True(t, ended)
		}
	}
}
