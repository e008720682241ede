//go:build corohostile && cgo && linux && (amd64 || arm64)

package core

import (
	"runtime"
	"sync/atomic"
	"time"
)

var (
	epoch = time.Now()
	quiet atomic.Int64 // ns since the epoch: no collection before this time
)

// crossing is called at each crossing of Go and C, on both ways. In this build the garbage
// collector runs there: it frees what is not referred to, and moves stacks. After a collection,
// crossings are left out for as long as the collection took. So chance tells which crossings are
// hit, and the tests take twice as long, not a hundred times.
func crossing() {
	began, until := time.Since(epoch), quiet.Load()
	if int64(began) < until || !quiet.CompareAndSwap(until, 1<<62) {
		return
	}
	runtime.GC()
	ended := time.Since(epoch)
	quiet.Store(int64(ended + (ended - began)))
}
