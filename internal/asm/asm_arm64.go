//go:build !race

package asm

// StoreReleaseAfterCAS is StoreRelease: a compare-and-swap does not keep what comes before it from being seen after what follows.
func StoreReleaseAfterCAS(p *uint32, v uint32) { StoreRelease(p, v) }
