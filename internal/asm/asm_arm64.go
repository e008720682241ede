//go:build !race

package asm

// StoreReleaseAfterCAS is StoreRelease: a compare-and-swap does not keep stores before it from
// being seen after stores that follow.
func StoreReleaseAfterCAS(p *uint32, v uint32) { StoreRelease(p, v) }
