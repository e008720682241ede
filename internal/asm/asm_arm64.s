#include "funcdata.h"
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

// func Leaf(fn uintptr, a, b unsafe.Pointer) int32: the frame is what the C function has for its own
TEXT ·Leaf(SB), 0, $1032-28
	NO_LOCAL_POINTERS
	MOVD fn+0(FP), R2
	MOVD a+8(FP), R0
	MOVD b+16(FP), R1
	MOVD RSP, R19 // which C preserves
	ADD  $1024, R19, R3
	MOVD R3, RSP
	CALL (R2)
	MOVD R19, RSP
	MOVW R0, ret+24(FP)
	RET
