//go:build amd64 || arm64

// Package asm has what Go itself does not offer: a goroutine's identity, and a store with release order.
package asm

// Goroutine is a number that differs between any two goroutines that are alive. It costs about 1 ns.
func Goroutine() uintptr

// StoreRelease stores v; whoever loads it atomically sees what was written before. Cheaper than an atomic store, which is an
// exchange on amd64: a later load may overtake it. The race detector does not see it.
func StoreRelease(p *uint32, v uint32)
