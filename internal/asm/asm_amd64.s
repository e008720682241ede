#include "funcdata.h"
#include "textflag.h"

// func Goroutine() uintptr: the address of the goroutine's descriptor
TEXT ·Goroutine(SB), NOSPLIT, $0-8
	MOVQ (TLS), AX
	MOVQ AX, ret+0(FP)
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

// func Code() (text, etext, leaf uintptr)
TEXT ·Code(SB), NOSPLIT, $0-24
	LEAQ runtime·text(SB), AX
	MOVQ AX, text+0(FP)
	LEAQ runtime·etext(SB), AX
	MOVQ AX, etext+8(FP)
	LEAQ ·Leaf(SB), AX
	MOVQ AX, leaf+16(FP)
	RET
