//go:build !race

package asm

// StoreReleaseAfterCAS is StoreRelease where a compare-and-swap of sync/atomic has come between what it publishes and itself. That
// keeps the compiler's order, and amd64 has no other. So it is a plain store, and costs nothing.
func StoreReleaseAfterCAS(p *uint32, v uint32) { *p = v }
