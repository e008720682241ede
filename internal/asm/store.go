//go:build !race && (amd64 || arm64)

package asm

// StoreRelease stores v; a goroutine that loads v atomically sees what was written before. It is
// cheaper than an atomic store, which is an exchange on amd64, and waits for all stores before it;
// a later load may overtake it. Under the race detector it is an atomic store.
func StoreRelease(p *uint32, v uint32) { storeRelease(p, v) }
