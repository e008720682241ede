//go:build corohostile && cgo && linux && (amd64 || arm64)

package csrc

import (
	"runtime"
	"sync/atomic"
	"time"
)

var (
	epoch = time.Now()
	quiet atomic.Int64 // ns since the epoch: there is no collection before that
)

// crossing stands at each border of Go and C, on both ways: in this build the garbage collector runs there, which frees what nobody
// holds any more, and moves stacks. It leaves crossings out for as long as it took: so which ones it hits is a matter
// of chance, and the tests take twice as long, and not a hundred times.
func crossing() {
	began, until := time.Since(epoch), quiet.Load()
	if int64(began) < until || !quiet.CompareAndSwap(until, 1<<62) {
		return
	}
	runtime.GC()
	ended := time.Since(epoch)
	quiet.Store(int64(ended + (ended - began)))
}
