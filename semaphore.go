package coro

import (
	"context"
	"runtime"

	"github.com/organzine/coro/csrc"
)

// A Semaphore counts permits, between coroutines, C or Go, and goroutines: the same for C bodies, which get its Address, as a
// coro_sem. Who waits is served in the order of coming. Where nobody waits, each call costs some 20 ns, without a cgo call. See Chan
// for who is suspended by waiting, and how long its memory lives.
type Semaphore struct {
	object
	core csrc.Sem
}

// NewSemaphore makes one of s, with so many permits. It returns an *OptionError, ErrNoMemory or ErrNoCgo.
func NewSemaphore(s *Scheduler, permits int) (*Semaphore, error) {
	if !csrc.Available {
		return nil, ErrNoCgo
	}
	if permits < 0 || permits > 1<<60 {
		return nil, &OptionError{"NewSemaphore", permits, "needs 0 to 2⁶⁰ permits"}
	}
	core, status := csrc.NewSem(uint64(permits))
	m := &Semaphore{core: core}
	return adopt(m, &m.object, s, core, status)
}

// Acquire takes a permit, as soon as there is one. It returns the cause, if the context ends first, or the Go body is canceled; or
// ErrClosed, if the scheduler is closed meanwhile: then no permit was taken.
func (m *Semaphore) Acquire(ctx context.Context) error {
	if status := m.core.TryAcquire(); status != csrc.TimedOut {
		return m.taken(status)
	}
	return m.await(ctx, waitOp{try: m.core.TryAcquire, begin: m.core.Acquire})
}

// TryAcquire is Acquire that does not wait: it tells whether a permit was taken.
func (m *Semaphore) TryAcquire() bool {
	return m.took(m.core.TryAcquire())
}

// Release gives n permits, 1 or more. It returns an *OptionError, or ErrTooManyPermits.
func (m *Semaphore) Release(n int) error {
	if n < 1 {
		return &OptionError{"Release", n, "needs 1 permit or more"}
	}
	m.edge.release()
	defer runtime.KeepAlive(m)
	status := m.core.Release(uint64(n))
	if status == csrc.Overflow {
		return ErrTooManyPermits
	}
	return objectError(status)
}
