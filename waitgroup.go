package coro

import (
	"context"
	"runtime"

	"github.com/organzine/coro/internal/core"
)

// waitgroup.go - counts that callers wait for until they are zero.

// waitGroupMax is the highest count of a WaitGroup.
const waitGroupMax = 1 << 60

// A WaitGroup is a count for which coroutines, C or Go, and goroutines wait until it is zero. C
// bodies get its Address: in coro.h it is called a latch, a coro_latch *. A WaitGroup that is zero
// may be used again. Where nobody waits, each call costs some 20 ns, without a cgo call. See Chan
// for what waiting suspends, and for how long the memory lives.
type WaitGroup struct {
	object
	core core.Latch
}

// NewWaitGroup makes a wait group of s with a count from 0 to 2⁶⁰. It returns an *OptionError,
// ErrNoMemory or ErrNoCgo.
func NewWaitGroup(s *Scheduler, count int) (*WaitGroup, error) {
	if err := makable(s, "NewWaitGroup"); err != nil {
		return nil, err
	}
	if count < 0 || uint64(count) > waitGroupMax {
		return nil, &OptionError{"NewWaitGroup", count, "needs a count from 0 to 2⁶⁰"}
	}
	inner, status := core.NewLatch(uint64(count))
	w := &WaitGroup{core: inner}
	return adopt(w, &w.object, s, inner, status)
}

// Add changes the count by n, which may be negative. At zero, all waiters go on. Without having
// changed the count it returns ErrNegativeWaitGroup, if the count would be negative; ErrOverflow,
// if it would be more than 2⁶⁰; or ErrDestroyed.
func (w *WaitGroup) Add(n int) error {
	w.edge.Release()
	defer runtime.KeepAlive(w)
	status, about := w.core.Add(int64(n)), ofObject
	if status == core.Invalid && !w.core.IsDead() {
		about = ofWaitGroup
	}
	return statusError(status, about)
}

// Done is Add(-1).
func (w *WaitGroup) Done() error { return w.Add(-1) }

// Wait returns nil when the count is zero. Before, it returns the cause, if the context ends first
// or the Go body is canceled; ErrClosed, if the scheduler is closed meanwhile; or ErrDestroyed.
func (w *WaitGroup) Wait(ctx context.Context) error {
	if !isBackground(ctx) && w.isSampled(w.core.Count()) {
		w.spend(ctx)
	}
	if status := w.core.TryWait(); status != core.TimedOut {
		return w.taken(status)
	}
	return w.await(ctx, waitOp{try: w.core.TryWait, begin: w.core.Wait})
}
