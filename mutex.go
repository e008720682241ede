package coro

import (
	"context"
	"runtime"

	"github.com/organzine/coro/csrc"
	"github.com/organzine/coro/internal/asm"
)

// A Mutex is a lock between coroutines, C or Go, and goroutines: the same for C bodies, which get its Address, as a coro_mutex. Who
// waits is served in the order of coming, and nobody overtakes.
//
// It has an owner, who alone unlocks it: a C coroutine, a thread of C, or a goroutine; a Go body is the goroutine that it runs on. So
// unlike a [sync.Mutex] it is not handed from one goroutine to another, and nobody is let in by an Unlock too many: that is
// ErrNotLocked. To pass the right to go on to somebody else, use a Semaphore. What an owner that has ended did not unlock stays locked.
//
// Where nobody waits, Lock and Unlock cost some 10 ns each, without a cgo call. See Chan for who is suspended by waiting, and how long
// the memory lives.
type Mutex struct {
	object
	core csrc.Mutex
}

// NewMutex makes one of s, unlocked. It returns ErrNoMemory or ErrNoCgo.
func NewMutex(s *Scheduler) (*Mutex, error) {
	if !csrc.Available {
		return nil, ErrNoCgo
	}
	core, status := csrc.NewMutex()
	m := &Mutex{core: core}
	return adopt(m, &m.object, s, core, status)
}

// owner is who the caller is, as the owner of a lock.
func owner() uint64 { return csrc.LockOwner(asm.Goroutine()) }

// Lock locks m, as soon as nobody else holds it. It returns ErrLockedAlready if the caller does; the cause, if the context ends first, or
// the Go body is canceled; ErrClosed, if the scheduler is closed meanwhile: then the caller does not hold it.
func (m *Mutex) Lock(ctx context.Context) error {
	me := owner()
	if status := m.core.TryLock(me); status != csrc.TimedOut {
		return m.taken(status)
	}
	return m.await(ctx, m.lockOp(me))
}

func (m *Mutex) lockOp(me uint64) waitOp {
	return waitOp{
		try:   func() csrc.Status { return m.core.TryLock(me) },
		begin: func(g csrc.GoWaiter) csrc.Status { return m.core.Lock(g, me) },
	}
}

// relock is Lock that nothing ends, by one who has unlocked m to wait for something.
func (m *Mutex) relock(ctx context.Context, me uint64) error {
	op := m.lockOp(me)
	op.committed = true
	for {
		err := m.await(ctx, op)
		if err != ErrNoMemory {
			return err
		}
		runtime.Gosched()
	}
}

// TryLock is Lock that does not wait: it tells whether the caller has locked m now.
func (m *Mutex) TryLock() bool { return m.took(m.core.TryLock(owner())) }

// Unlock gives m to the first who waits. It returns ErrNotLocked if the caller does not hold it: then nothing was unlocked.
func (m *Mutex) Unlock() error {
	m.edge.release()
	defer runtime.KeepAlive(m)
	return objectError(m.core.Unlock(owner()))
}

// An RWMutex is a lock that many readers or one writer hold, between coroutines and goroutines as a Mutex is; for C bodies it is a
// coro_rwlock. Who comes after a writer that waits, waits behind it: so one who holds it for reading must not ask again.
//
// A writer is its owner, as a Mutex has one. Readers are only counted: any of them may unlock for any other. Where nobody waits,
// each call costs some 20 ns, without a cgo call.
type RWMutex struct {
	object
	core  csrc.RWLock
	reads raceEdge // from readers to the next writer
}

// NewRWMutex makes one of s, unlocked. It returns ErrNoMemory or ErrNoCgo.
func NewRWMutex(s *Scheduler) (*RWMutex, error) {
	if !csrc.Available {
		return nil, ErrNoCgo
	}
	core, status := csrc.NewRWLock()
	m := &RWMutex{core: core}
	return adopt(m, &m.object, s, core, status)
}

// Lock locks m for writing, as soon as nobody else holds it. It returns what Mutex.Lock does.
func (m *RWMutex) Lock(ctx context.Context) error {
	err := m.lock(ctx, true)
	m.reads.acquire()
	return err
}

// RLock locks m for reading, as soon as there is no writer that holds it, or waits before. It returns what Mutex.Lock does;
// ErrLockedAlready only of one who holds it for writing.
func (m *RWMutex) RLock(ctx context.Context) error { return m.lock(ctx, false) }

func (m *RWMutex) lock(ctx context.Context, write bool) error {
	me := owner()
	if status := m.core.TryLock(write, me); status != csrc.TimedOut {
		return m.taken(status)
	}
	return m.await(ctx, waitOp{
		try:   func() csrc.Status { return m.core.TryLock(write, me) },
		begin: func(g csrc.GoWaiter) csrc.Status { return m.core.Lock(g, write, me) },
	})
}

// TryLock is Lock that does not wait: it tells whether the caller has locked m for writing now.
func (m *RWMutex) TryLock() bool {
	ok := m.took(m.core.TryLock(true, owner()))
	m.reads.acquire()
	return ok
}

// TryRLock is RLock that does not wait: it tells whether m is locked for one reader more now.
func (m *RWMutex) TryRLock() bool { return m.took(m.core.TryLock(false, owner())) }

// Unlock ends Lock. It returns ErrNotLocked if the caller does not hold m for writing: then nothing was unlocked.
func (m *RWMutex) Unlock() error {
	m.edge.release()
	defer runtime.KeepAlive(m)
	return objectError(m.core.Unlock(true, owner()))
}

// RUnlock ends RLock. It returns ErrNotLocked if nobody holds m for reading: then nothing was unlocked.
func (m *RWMutex) RUnlock() error {
	m.reads.release()
	defer runtime.KeepAlive(m)
	return objectError(m.core.Unlock(false, owner()))
}
