#include "textflag.h"

// func Goroutine() uintptr: the address of the goroutine's descriptor
TEXT ·Goroutine(SB), NOSPLIT, $0-8
	MOVQ (TLS), AX
	MOVQ AX, ret+0(FP)
	RET

// func StoreRelease(p *uint32, v uint32): every store of amd64 is a release
TEXT ·StoreRelease(SB), NOSPLIT, $0-12
	MOVQ p+0(FP), AX
	MOVL v+8(FP), CX
	MOVL CX, (AX)
	RET
