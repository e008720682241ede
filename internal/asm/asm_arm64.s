#include "funcdata.h"
#include "go_asm.h"
#include "textflag.h"

// func Goroutine() uintptr: the address of the goroutine's descriptor
TEXT ·Goroutine(SB), NOSPLIT, $0-8
	MOVD g, R0
	MOVD R0, ret+0(FP)
	RET

// func goroutineWord(at uintptr) uint64: the word of the descriptor at that offset
TEXT ·goroutineWord(SB), NOSPLIT, $0-16
	MOVD at+0(FP), R1
	MOVD (g)(R1), R0
	MOVD R0, ret+8(FP)
	RET

// func storeRelease(p *uint32, v uint32)
TEXT ·storeRelease(SB), NOSPLIT, $0-12
	MOVD  p+0(FP), R0
	MOVW  v+8(FP), R1
	STLRW R1, (R0)
	RET

// func Leaf(fn uintptr, a, b unsafe.Pointer) int32: the frame is what the C function has for its
// own. The stack pointer is raised by a constant that the assembler sees, and the return address
// lies where the runtime then looks for it: so the runtime knows the frame while C runs, and a
// fault of C can become a panic.
TEXT ·Leaf(SB), 0, $1032-28
	NO_LOCAL_POINTERS
	MOVD a+8(FP), R0
	CBZ  R0, nothing
	MOVD fn+0(FP), R2
	MOVD b+16(FP), R1
	MOVD R30, 1024(RSP)
	ADD  $1024, RSP
	CALL (R2)
	SUB  $1024, RSP
	MOVW R0, ret+24(FP)
	RET

nothing:
	MOVD $const_NotCalled, R0
	MOVW R0, ret+24(FP)
	RET

// func Code() (text, etext, leaf uintptr)
TEXT ·Code(SB), NOSPLIT, $0-24
	MOVD $runtime·text(SB), R0
	MOVD R0, text+0(FP)
	MOVD $runtime·etext(SB), R0
	MOVD R0, etext+8(FP)
	MOVD $·Leaf(SB), R0
	MOVD R0, leaf+16(FP)
	RET
