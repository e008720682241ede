package coro

import (
	"context"
	"runtime"

	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/race"
	"github.com/organzine/coro/internal/zero"
)

// A Mutex is a lock between coroutines, C or Go, and goroutines. C bodies get its Address, as a
// coro_mutex *. Waiters are served in the order in which they came; none is overtaken.
//
// A Mutex has an owner, which alone unlocks it: a coroutine with a C or a Go body, a thread of C,
// or a goroutine. So unlike a [sync.Mutex] a Mutex is not handed from one goroutine to another, and
// an Unlock too many lets nobody in: it returns ErrNotLocked. To pass the right to go on to
// another, use a Semaphore.
//
// If a coroutine ends without unlocking, the next Lock returns ErrOwnerEnded, and has locked the
// Mutex. The caller repairs what the Mutex guards, calls MarkConsistent, and unlocks. An Unlock
// without MarkConsistent makes the Mutex useless: each Lock is ErrNotRecoverable then. The end of a
// coroutine tells the first caller that waits, at once. A goroutine, or a thread of C, that ends
// without unlocking leaves the Mutex locked.
//
// Where nobody waits, Lock and Unlock cost some 10 ns each, without a cgo call. See Chan for what
// waiting suspends, and for how long the memory lives.
type Mutex struct {
	object
	core core.Mutex
}

// NewMutex makes a mutex of s, unlocked. It returns ErrNoMemory, ErrNoCgo, or an *OptionError if s
// is nil.
func NewMutex(s *Scheduler) (*Mutex, error) {
	if err := makable(s, "NewMutex"); err != nil {
		return nil, err
	}
	inner, status := core.NewMutex()
	m := &Mutex{core: inner}
	return adopt(m, &m.object, s, inner, status)
}

// check panics for a zero value.
func (m *Mutex) check() {
	if m.core.Address() == 0 {
		zero.Value("NewMutex")
	}
}

// Lock locks m, as soon as nobody else holds it. Without having locked m it returns
// ErrLockedAlready, if the caller holds it; the cause, if the context ends first or the Go body is
// canceled; ErrClosed, if the scheduler is closed meanwhile; ErrNotRecoverable; or ErrDestroyed.
// With ErrOwnerEnded it has locked m.
func (m *Mutex) Lock(ctx context.Context) error {
	m.check()
	me := ownerThatWaits(ctx)
	if status := m.core.TryLock(me.number); status != core.TimedOut {
		return m.taken(me.got(m, status))
	}
	return m.lock(ctx, me, false)
}

// lock is Lock by me that may have to wait. committed: nothing ends the wait.
func (m *Mutex) lock(ctx context.Context, me lockOwner, committed bool) error {
	status, err := m.wait(ctx, waitOp{
		try:       func() core.Status { return m.core.TryLock(me.number) },
		begin:     func(g core.GoWaiter) core.Status { return m.core.Lock(g, me.number) },
		committed: committed,
	})
	if err != nil {
		return err
	}
	return m.taken(me.got(m, status))
}

// relock is Lock that nothing ends, for a caller that has unlocked m to wait for something.
func (m *Mutex) relock(ctx context.Context, me lockOwner) error {
	for {
		err := m.lock(ctx, me, true)
		if err != ErrNoMemory {
			return err
		}
		runtime.Gosched()
	}
}

func (m *Mutex) released() { m.edge.Release() }

func (m *Mutex) look() {
	m.core.Look()
	runtime.KeepAlive(m)
}

// TryLock is Lock that does not wait: it tells whether the caller has locked m now. It returns
// ErrLockedAlready, ErrNotRecoverable, ErrDestroyed, or nil; and true with ErrOwnerEnded.
func (m *Mutex) TryLock() (bool, error) {
	m.check()
	me := owner()
	status := m.core.TryLock(me.number)
	if status == core.TimedOut { // the core can tell why
		status = m.core.Lock(core.GoWaiter{}, me.number)
	}
	return m.tried(me.got(m, status))
}

// Unlock gives m to the first waiter. It returns ErrNotLocked if the caller does not hold m, or
// ErrDestroyed; nothing was unlocked then.
func (m *Mutex) Unlock() error {
	m.check()
	m.edge.Release()
	defer runtime.KeepAlive(m)
	me := owner()
	return statusError(me.gave(m, m.core.Unlock(me.number)), ofObject)
}

// MarkConsistent says, after ErrOwnerEnded, that what m guards is in order again: from now on m is
// as if its owner had not ended. Otherwise it does nothing. It returns ErrNotLocked if the caller
// does not hold m, ErrDestroyed, or nil.
func (m *Mutex) MarkConsistent() error {
	m.check()
	defer runtime.KeepAlive(m)
	return statusError(m.core.Consistent(owner().number), ofObject)
}

// An RWMutex is a lock that many readers or one writer hold, between coroutines and goroutines as a
// Mutex is. C bodies get its Address, as a coro_rwlock *. A reader that comes after a waiting
// writer waits behind it: so a caller that holds the lock for reading must not ask for it again.
//
// A writer is the owner, as a Mutex has one, and its end is told as there. Readers are only
// counted: any of them may unlock for any other. After the end of a writer they get ErrOwnerEnded
// too, until a writer has called MarkConsistent; they hold the RWMutex then, and need only unlock.
//
// Where nobody waits, each call costs some 20 ns, without a cgo call. See Chan for what waiting
// suspends, and for how long the memory lives.
type RWMutex struct {
	object
	core  core.RWLock
	reads *race.Edge // from readers to the next writer
}

// NewRWMutex makes a lock of s, unlocked. It returns what NewMutex does.
func NewRWMutex(s *Scheduler) (*RWMutex, error) {
	if err := makable(s, "NewRWMutex"); err != nil {
		return nil, err
	}
	inner, status := core.NewRWLock()
	m := &RWMutex{core: inner, reads: new(race.Edge)}
	return adopt(m, &m.object, s, inner, status)
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
	me := ownerThatWaits(ctx)
	status := m.core.TryLock(write, me.number)
	if status == core.TimedOut {
		var err error
		status, err = m.wait(ctx, waitOp{
			try:   func() core.Status { return m.core.TryLock(write, me.number) },
			begin: func(g core.GoWaiter) core.Status { return m.core.Lock(g, write, me.number) },
		})
		if err != nil {
			return err
		}
	}
	if write {
		me.got(m, status)
	}
	return m.taken(status)
}

func (m *RWMutex) released() { m.edge.Release() }

func (m *RWMutex) look() {
	m.core.Look()
	runtime.KeepAlive(m)
}

// TryLock is Lock that does not wait: it tells whether the caller has locked m for writing now. It
// returns what Mutex.TryLock does.
func (m *RWMutex) TryLock() (bool, error) {
	me := owner()
	ok, err := m.tried(me.got(m, m.core.TryLock(true, me.number)))
	m.reads.Acquire()
	return ok, err
}

// TryRLock is RLock that does not wait: it tells whether m is locked for one reader more now. It
// returns what Mutex.TryLock does.
func (m *RWMutex) TryRLock() (bool, error) { return m.tried(m.core.TryLock(false, owner().number)) }

// Unlock ends Lock. It returns ErrNotLocked if the caller does not hold m for writing, or
// ErrDestroyed; nothing was unlocked then.
func (m *RWMutex) Unlock() error {
	m.edge.Release()
	defer runtime.KeepAlive(m)
	me := owner()
	return statusError(me.gave(m, m.core.Unlock(true, me.number)), ofObject)
}

// MarkConsistent is as that of a Mutex, for a caller that holds m for writing.
func (m *RWMutex) MarkConsistent() error {
	defer runtime.KeepAlive(m)
	return statusError(m.core.Consistent(owner().number), ofObject)
}

// RUnlock ends RLock. It returns ErrNotLocked if nobody holds m for reading, or ErrDestroyed;
// nothing was unlocked then.
func (m *RWMutex) RUnlock() error {
	m.reads.Release()
	defer runtime.KeepAlive(m)
	return statusError(m.core.Unlock(false, owner().number), ofObject)
}
