#include "funcdata.h"
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

// func Leaf(fn uintptr, a, b unsafe.Pointer) int32: the frame is what the C function has for its own
TEXT ·Leaf(SB), 0, $1024-28
	NO_LOCAL_POINTERS
	MOVQ fn+0(FP), AX
	MOVQ a+8(FP), DI
	MOVQ b+16(FP), SI
	MOVQ SP, BX // which C preserves
	LEAQ 1024(SP), SP
	ANDQ $~15, SP
	CALL AX
	MOVQ BX, SP
	MOVL AX, ret+24(FP)
	RET
