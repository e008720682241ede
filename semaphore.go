package coro

import (
	"context"
	"runtime"

	"github.com/organzine/coro/internal/core"
)

// A Semaphore counts permits, between coroutines, C or Go, and goroutines. C bodies get its
// Address, as a coro_sem *. Waiters are served in the order in which they came. Where nobody waits,
// each call costs some 20 ns, without a cgo call. See Chan for what waiting suspends, and for how
// long the memory lives.
type Semaphore struct {
	object
	core core.Sem
}

// NewSemaphore makes a semaphore of s with the given number of permits, 0 to 2⁶⁰. It returns an
// *OptionError, ErrNoMemory or ErrNoCgo.
func NewSemaphore(s *Scheduler, permits int) (*Semaphore, error) {
	if err := makable(s, "NewSemaphore"); err != nil {
		return nil, err
	}
	if permits < 0 || uint64(permits) > 1<<60 {
		return nil, &OptionError{"NewSemaphore", permits, "needs 0 to 2⁶⁰ permits"}
	}
	inner, status := core.NewSem(uint64(permits))
	m := &Semaphore{core: inner}
	return adopt(m, &m.object, s, inner, status)
}

// Acquire takes a permit, as soon as there is one. Without having taken one it returns the cause,
// if the context ends first or the Go body is canceled; ErrClosed, if the scheduler is closed
// meanwhile; or ErrDestroyed.
func (m *Semaphore) Acquire(ctx context.Context) error {
	if !isBackground(ctx) && m.isSampled(m.core.Count()) {
		m.spend(ctx)
	}
	if status := m.core.TryAcquire(); status != core.TimedOut {
		return m.taken(status)
	}
	return m.await(ctx, waitOp{try: m.core.TryAcquire, begin: m.core.Acquire})
}

// TryAcquire is Acquire that does not wait: it tells whether a permit was taken. It returns
// ErrDestroyed, or nil.
func (m *Semaphore) TryAcquire() (bool, error) { return m.tried(m.core.TryAcquire()) }

// Release gives n permits, 1 or more. Without having given any it returns an *OptionError,
// ErrOverflow, if there would be more than 2⁶⁰, or ErrDestroyed.
func (m *Semaphore) Release(n int) error {
	if n < 1 {
		return &OptionError{"Release", n, "needs 1 permit or more"}
	}
	m.edge.Release()
	defer runtime.KeepAlive(m)
	return statusError(m.core.Release(uint64(n)), ofObject)
}
