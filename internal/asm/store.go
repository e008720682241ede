//go:build !race && (amd64 || arm64)

package asm

// StoreRelease stores v; whoever loads it atomically sees what was written before. Cheaper than an atomic store, which is an
// exchange on amd64, and waits for all stores before it: a later load may overtake it. Under the race detector it is one.
func StoreRelease(p *uint32, v uint32) { storeRelease(p, v) }
