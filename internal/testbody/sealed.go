//go:build cgo

package testbody

// #include "sealed.h"
import "C"

import "unsafe"

// Sealed is testbody_sealed.
var Sealed = unsafe.Pointer(&C.testbody_sealed_body)

// What Sealed does: numbers up to SealedDoes. SealedPark waits for its cancel.
const (
	SealedPark = int64(C.TESTBODY_SEALED_PARK)
	SealedDoes = int64(C.TESTBODY_SEALED_DOES)
)
