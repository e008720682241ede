//go:build race || !(amd64 || arm64)

package asm

import "sync/atomic"

func StoreRelease(p *uint32, v uint32)           { atomic.StoreUint32(p, v) }
func StoreReleaseAfterCAS(p *uint32, v uint32)   { atomic.StoreUint32(p, v) }
func StoreReleaseAfterCAS64(p *uint64, v uint64) { atomic.StoreUint64(p, v) }
