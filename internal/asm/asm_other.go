//go:build !amd64 && !arm64

// Package asm is not called where the core is not built in.
package asm

import "unsafe"

const NotCalled = 3

func Goroutine() uintptr  { return 0 }
func GoroutineID() uint64 { return 0 }

func Leaf(uintptr, unsafe.Pointer, unsafe.Pointer) int32 { return 0 }
