#include "funcdata.h"
#include "go_asm.h"
#include "textflag.h"

// func Goroutine() uintptr: the address of the goroutine's descriptor
TEXT ·Goroutine(SB), NOSPLIT, $0-8
	MOVQ (TLS), AX
	MOVQ AX, ret+0(FP)
	RET

// func goroutineWord(at uintptr) uint64: the word of the descriptor at that offset
TEXT ·goroutineWord(SB), NOSPLIT, $0-16
	MOVQ (TLS), AX
	MOVQ at+0(FP), CX
	MOVQ (AX)(CX*1), AX
	MOVQ AX, ret+8(FP)
	RET

// func storeRelease(p *uint32, v uint32): every store of amd64 is a release
TEXT ·storeRelease(SB), NOSPLIT, $0-12
	MOVQ p+0(FP), AX
	MOVL v+8(FP), CX
	MOVL CX, (AX)
	RET

// func Leaf(fn uintptr, a, b unsafe.Pointer) int32: the frame is what the C function has for its
// own. C wants a stack pointer that is a multiple of 16, and Go's is a multiple of 8. Both ways add
// a constant that the assembler sees: so the runtime knows the frame while C runs, and a fault of C
// can become a panic.
TEXT ·Leaf(SB), 0, $1024-28
	NO_LOCAL_POINTERS
	MOVQ  a+8(FP), DI
	TESTQ DI, DI
	JZ    nothing
	MOVQ  fn+0(FP), AX
	MOVQ  b+16(FP), SI
	MOVQ  SP, DX
	TESTB $8, DX
	JNZ   odd
	ADJSP $-1024
	CALL  AX
	ADJSP $1024
	MOVL  AX, ret+24(FP)
	RET

odd:
	ADJSP $-1016
	CALL  AX
	ADJSP $1016
	MOVL  AX, ret+24(FP)
	RET

nothing:
	MOVL $const_NotCalled, ret+24(FP)
	RET

// func Code() (text, etext, leaf uintptr)
TEXT ·Code(SB), NOSPLIT, $0-24
	LEAQ runtime·text(SB), AX
	MOVQ AX, text+0(FP)
	LEAQ runtime·etext(SB), AX
	MOVQ AX, etext+8(FP)
	LEAQ ·Leaf(SB), AX
	MOVQ AX, leaf+16(FP)
	RET
