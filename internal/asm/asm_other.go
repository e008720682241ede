//go:build !amd64 && !arm64

// Package asm is not called where the core is not built in.
package asm

func Goroutine() uintptr { return 0 }

func StoreRelease(p *uint32, v uint32) { *p = v }
