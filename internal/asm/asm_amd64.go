//go:build !race

package asm

// StoreReleaseAfterCAS is StoreRelease where a compare-and-swap of sync/atomic comes between the
// data that it publishes and itself. The compare-and-swap keeps the compiler's order, and amd64 has
// no other. So it is a plain store, and costs nothing.
func StoreReleaseAfterCAS(p *uint32, v uint32) { *p = v }

// StoreReleaseAfterCAS64 is the same for 8 bytes. Where data is written after the compare-and-swap,
// what counts is that the compiler keeps the order of stores to memory, as it does.
func StoreReleaseAfterCAS64(p *uint64, v uint64) { *p = v }
