#include "textflag.h"

// func Goroutine() uintptr: the address of the goroutine's descriptor
TEXT ·Goroutine(SB), NOSPLIT, $0-8
	MOVD g, R0
	MOVD R0, ret+0(FP)
	RET

// func StoreRelease(p *uint32, v uint32)
TEXT ·StoreRelease(SB), NOSPLIT, $0-12
	MOVD  p+0(FP), R0
	MOVW  v+8(FP), R1
	STLRW R1, (R0)
	RET
