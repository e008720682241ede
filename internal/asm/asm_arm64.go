//go:build !race

package asm

import "sync/atomic"

// StoreReleaseAfterCAS is StoreRelease: a compare-and-swap does not keep stores before it from
// being seen after stores that follow.
func StoreReleaseAfterCAS(p *uint32, v uint32) { StoreRelease(p, v) }

// StoreReleaseAfterCAS64 is the same for 8 bytes: the atomic store of arm64 is a release, and costs
// little.
func StoreReleaseAfterCAS64(p *uint64, v uint64) { atomic.StoreUint64(p, v) }
