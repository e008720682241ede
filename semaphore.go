package coro

import (
	"context"
	"runtime"

	"github.com/organzine/coro/csrc"
)

// A Semaphore counts permits, between coroutines, C or Go, and goroutines: the same for C bodies, which get its Address, as a
// coro_sem. Who waits is served in the order of coming. See Chan for who is suspended by it, what it costs, and how long its
// memory lives.
type Semaphore struct {
	waitable
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
	if status != csrc.OK {
		return nil, statusError(status)
	}
	m := &Semaphore{core: core}
	m.s, m.free = s, core.Free
	m.clean = runtime.AddCleanup(m, csrc.Sem.Free, core)
	return m, nil
}

// Address is the coro_sem for C bodies, see Chan.Address.
func (m *Semaphore) Address() uintptr {
	m.give()
	return m.core.Address()
}

// Acquire takes a permit, as soon as there is one. It returns the cause, if the context ends first, or the Go body is canceled; or
// ErrClosed, if the scheduler is closed meanwhile: then no permit was taken.
func (m *Semaphore) Acquire(ctx context.Context) error {
	status := m.core.TryAcquire()
	var err error
	if status == csrc.TimedOut {
		status, err = m.wait(ctx, 0, m.core.TryAcquire, m.core.Acquire, func(csrc.Guest) {})
	}
	m.edge.acquire()
	runtime.KeepAlive(m)
	if err != nil {
		return err
	}
	return statusError(status)
}

// TryAcquire is Acquire that does not wait: it tells whether a permit was taken.
func (m *Semaphore) TryAcquire() bool {
	ok := m.core.TryAcquire() == csrc.OK
	m.edge.acquire()
	runtime.KeepAlive(m)
	return ok
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
	return statusError(status)
}
