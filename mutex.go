package coro

import (
	"context"
	"runtime"

	"github.com/organzine/coro/csrc"
	"github.com/organzine/coro/internal/asm"
	"github.com/organzine/coro/internal/race"
	"github.com/organzine/coro/internal/zero"
)

// A Mutex is a lock between coroutines, C or Go, and goroutines. C bodies get its Address, as a
// coro_mutex *. Waiters are served in the order in which they came; none is overtaken.
//
// A Mutex has an owner, which alone unlocks it: a C coroutine, a thread of C, or a goroutine. A Go
// body is the goroutine that it runs on. So unlike a [sync.Mutex] a Mutex is not handed from one
// goroutine to another, and an Unlock too many lets nobody in: it returns ErrNotLocked. To pass the
// right to go on to another, use a Semaphore. An owner that ends without unlocking leaves the Mutex
// locked.
//
// Where nobody waits, Lock and Unlock cost some 10 ns each, without a cgo call. See Chan for what
// waiting suspends, and for how long the memory lives.
type Mutex struct {
	object
	core csrc.Mutex
}

// NewMutex makes a mutex of s, unlocked. It returns ErrNoMemory, ErrNoCgo, or an *OptionError if s is
// nil.
func NewMutex(s *Scheduler) (*Mutex, error) {
	if err := makable(s, "NewMutex"); err != nil {
		return nil, err
	}
	core, status := csrc.NewMutex()
	m := &Mutex{core: core}
	return adopt(m, &m.object, s, core, status)
}

// check panics for a zero value.
func (m *Mutex) check() {
	if m.core.Address() == 0 {
		zero.Value("NewMutex")
	}
}

// owner is the caller's number, as the owner of a lock.
func owner() uint64 { return csrc.LockOwner(asm.Goroutine()) }

// Lock locks m, as soon as nobody else holds it. Without having locked m it returns
// ErrLockedAlready, if the caller holds it; the cause, if the context ends first or the Go body is
// canceled; ErrClosed, if the scheduler is closed meanwhile; or ErrDestroyed.
func (m *Mutex) Lock(ctx context.Context) error {
	m.check()
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

// relock is Lock that nothing ends, for a caller that has unlocked m to wait for something.
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

// TryLock is Lock that does not wait: it tells whether the caller has locked m now. It returns
// ErrLockedAlready, ErrDestroyed, or nil.
func (m *Mutex) TryLock() (bool, error) {
	m.check()
	status := m.core.TryLock(owner())
	// TryLock does not tell a dead lock from a held one
	if status == csrc.TimedOut && m.core.IsDead() {
		status = csrc.Invalid
	}
	return m.tried(status)
}

// Unlock gives m to the first waiter. It returns ErrNotLocked if the caller does not hold m, or
// ErrDestroyed; nothing was unlocked then.
func (m *Mutex) Unlock() error {
	m.check()
	m.edge.Release()
	defer runtime.KeepAlive(m)
	return statusError(m.core.Unlock(owner()), ofObject)
}

// An RWMutex is a lock that many readers or one writer hold, between coroutines and goroutines as a
// Mutex is. C bodies get its Address, as a coro_rwlock *. A reader that comes after a waiting
// writer waits behind it: so a caller that holds the lock for reading must not ask for it again.
//
// A writer is the owner, as a Mutex has one. Readers are only counted: any of them may unlock for
// any other. Where nobody waits, each call costs some 20 ns, without a cgo call. See Chan for what
// waiting suspends, and for how long the memory lives.
type RWMutex struct {
	object
	core  csrc.RWLock
	reads *race.Edge // from readers to the next writer
}

// NewRWMutex makes a lock of s, unlocked. It returns what NewMutex does.
func NewRWMutex(s *Scheduler) (*RWMutex, error) {
	if err := makable(s, "NewRWMutex"); err != nil {
		return nil, err
	}
	core, status := csrc.NewRWLock()
	m := &RWMutex{core: core, reads: new(race.Edge)}
	return adopt(m, &m.object, s, core, status)
}

// Lock locks m for writing, as soon as nobody else holds it. It returns what Mutex.Lock does.
func (m *RWMutex) Lock(ctx context.Context) error {
	err := m.lock(ctx, true)
	m.reads.Acquire()
	return err
}

// RLock locks m for reading, as soon as no writer holds it or came before and waits. It returns
// what Mutex.Lock does; ErrLockedAlready only if the caller holds m for writing.
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

// TryLock is Lock that does not wait: it tells whether the caller has locked m for writing now. It
// returns ErrLockedAlready, ErrDestroyed, or nil.
func (m *RWMutex) TryLock() (bool, error) {
	ok, err := m.tried(m.core.TryLock(true, owner()))
	m.reads.Acquire()
	return ok, err
}

// TryRLock is RLock that does not wait: it tells whether m is locked for one reader more now. It
// returns ErrLockedAlready, ErrDestroyed, or nil.
func (m *RWMutex) TryRLock() (bool, error) { return m.tried(m.core.TryLock(false, owner())) }

// Unlock ends Lock. It returns ErrNotLocked if the caller does not hold m for writing, or
// ErrDestroyed; nothing was unlocked then.
func (m *RWMutex) Unlock() error {
	m.edge.Release()
	defer runtime.KeepAlive(m)
	return statusError(m.core.Unlock(true, owner()), ofObject)
}

// RUnlock ends RLock. It returns ErrNotLocked if nobody holds m for reading, or ErrDestroyed;
// nothing was unlocked then.
func (m *RWMutex) RUnlock() error {
	m.reads.Release()
	defer runtime.KeepAlive(m)
	return statusError(m.core.Unlock(false, owner()), ofObject)
}
