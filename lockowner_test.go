//go:build cgo

package coro_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An ownedLock is what a Mutex and an RWMutex, for writing, have in common.
type ownedLock interface {
	Lock(context.Context) error
	TryLock() (bool, error)
	Unlock() error
	MarkConsistent() error
	Address() uintptr
}

// ofOwnedLocks runs a test with each kind of lock. leaves is what a C body does that leaves the
// lock locked.
func ofOwnedLocks(
	t *testing.T, test func(t *testing.T, s *coro.Scheduler, made func() ownedLock, leaves int64),
) {
	s := newScheduler(t, coro.WithWorkers(1), coro.WithExecutors(1))
	t.Run("Mutex", func(t *testing.T) {
		test(t, s, func() ownedLock { return made[coro.Mutex](t)(coro.NewMutex(s)) },
			testbody.LeaveMutex)
	})
	t.Run("RWMutex", func(t *testing.T) {
		test(t, s, func() ownedLock { return made[coro.RWMutex](t)(coro.NewRWMutex(s)) },
			testbody.LeaveRWLock)
	})
}

// inBody has f done by a Go body, and returns its error.
func inBody(t testing.TB, s *coro.Scheduler, f func(context.Context) error) error {
	t.Helper()
	task, err := coro.Go(s, func(c *coro.Coroutine) (int, error) { return 0, f(c.Context()) })
	require.NoError(t, err)
	_, err = task.Wait(soon(t))
	return err
}

// An owner that has ended is never another coroutine or goroutine, and the next that locks is told.
func TestLockOwnerThatHasEnded(t *testing.T) {
	ofOwnedLocks(t, func(t *testing.T, s *coro.Scheduler, made func() ownedLock, leaves int64) {
		failure := errors.New("a failure")
		for name, left := range map[string]func(ownedLock){
			"body": func(m ownedLock) { require.NoError(t, inBody(t, s, m.Lock)) },
			"body with TryLock": func(m ownedLock) {
				require.NoError(t, inBody(t, s, func(context.Context) error {
					_, err := m.TryLock()
					return err
				}))
			},
			"body that fails": func(m ownedLock) {
				require.ErrorIs(t, inBody(t, s, func(ctx context.Context) error {
					return errors.Join(m.Lock(ctx), failure)
				}), failure)
			},
			"body that panics": func(m ownedLock) {
				var panicked *coro.PanicError
				require.ErrorAs(t, inBody(t, s, func(ctx context.Context) error {
					require.NoError(t, m.Lock(ctx))
					panic(failure)
				}), &panicked)
			},
			"body that exits": func(m ownedLock) {
				require.ErrorIs(t, inBody(t, s, func(ctx context.Context) error {
					require.NoError(t, m.Lock(ctx))
					runtime.Goexit()
					return nil
				}), coro.ErrGoexit)
			},
			"C body": func(m ownedLock) {
				require.Equal(t, testbody.OK, misuse(t, s, m.Address(), leaves))
			},
		} {
			t.Run(name, func(t *testing.T) {
				m := made()
				left(m)
				for range 3 { // on the goroutine, and in the record, of the owner
					assert.ErrorIs(t, inBody(t, s, func(context.Context) error {
						return m.Unlock()
					}), coro.ErrNotLocked)
				}
				assert.ErrorIs(t, m.MarkConsistent(), coro.ErrNotLocked)
				assert.ErrorIs(t, inBody(t, s, m.Lock), coro.ErrOwnerEnded)
				assert.Equal(t, testbody.EOWNERDEAD, misuse(t, s, m.Address(), leaves))
				require.ErrorIs(t, m.Lock(background), coro.ErrOwnerEnded)
				assert.ErrorIs(t, m.Lock(background), coro.ErrLockedAlready, "it is locked")
				require.NoError(t, m.MarkConsistent())
				require.NoError(t, m.Unlock())
				require.NoError(t, m.Lock(background))
				require.NoError(t, m.Unlock())

				left(m)
				ok, err := m.TryLock()
				assert.True(t, ok)
				require.ErrorIs(t, err, coro.ErrOwnerEnded)
				require.NoError(t, m.Unlock(), "without MarkConsistent")
				assert.ErrorIs(t, m.Lock(background), coro.ErrNotRecoverable)
				_, err = m.TryLock()
				assert.ErrorIs(t, err, coro.ErrNotRecoverable)
				assert.ErrorIs(t, m.Unlock(), coro.ErrNotLocked)
			})
		}
	})
}

// The end of a Go body tells those that wait for its locks, in their order.
func TestLockOwnerBodyTellsThoseThatWait(t *testing.T) {
	ofOwnedLocks(t, func(t *testing.T, s *coro.Scheduler, made func() ownedLock, leaves int64) {
		m, other := made(), made()
		owner, err := coro.Go(s, func(c *coro.Coroutine) (int, error) {
			err := errors.Join(other.Lock(c.Context()), m.Lock(c.Context()))
			err = errors.Join(err, other.Unlock(), c.Park(c.Context()))
			if err != nil {
				return 0, err
			}
			panic("with the lock")
		})
		require.NoError(t, err)
		parked(t, s, 1)
		body, err := coro.Go(s, func(c *coro.Coroutine) (int, error) {
			return 0, m.Lock(c.Context())
		})
		require.NoError(t, err)
		parked(t, s, 2)
		cBody, err := misuses.Start(s, flow{m.Address(), leaves})
		require.NoError(t, err)
		parked(t, s, 3)
		require.NoError(t, owner.Wake())
		_, err = body.Wait(soon(t))
		assert.ErrorIs(t, err, coro.ErrOwnerEnded)
		status, err := cBody.Wait(soon(t)) // the body was told, and has ended too
		require.NoError(t, err)
		assert.EqualValues(t, testbody.EOWNERDEAD, status)
		require.ErrorIs(t, m.Lock(background), coro.ErrOwnerEnded, "and so has the C body")
		require.NoError(t, other.Lock(background), "it was unlocked")
		require.NoError(t, other.Unlock())
	})
}

// locksElsewhere has a goroutine lock m, mark it consistent and unlock it.
func locksElsewhere(m ownedLock) <-chan error {
	waiter := make(chan error, 1)
	go func() { waiter <- errors.Join(m.Lock(background), m.MarkConsistent(), m.Unlock()) }()
	return waiter
}

// The end of a C body tells those that wait for its locks, whatever they are, and nobody else
// comes.
func TestLockOwnerCBodyTellsThoseThatWait(t *testing.T) {
	ofOwnedLocks(t, func(t *testing.T, s *coro.Scheduler, made func() ownedLock, leaves int64) {
		bodyLocks := func(m ownedLock) func(t *testing.T) error {
			task, err := coro.Go(s, func(c *coro.Coroutine) (int, error) {
				return 0, errors.Join(m.Lock(c.Context()), m.MarkConsistent(), m.Unlock())
			})
			require.NoError(t, err)
			parked(t, s, 2)
			return func(t *testing.T) error { _, err := task.Wait(soon(t)); return err }
		}
		goroutineLocks := func(m ownedLock) func(t *testing.T) error {
			waiter := locksElsewhere(m)
			eventually(t, sleepsIn("locksElsewhere.func1"), "it waits")
			return func(t *testing.T) error { return receive(t, waiter) }
		}
		cBodyLocks := func(m ownedLock) func(t *testing.T) error {
			task, err := misuses.Start(s, flow{m.Address(), leaves})
			require.NoError(t, err)
			parked(t, s, 2)
			return func(t *testing.T) error {
				status, err := task.Wait(soon(t))
				require.NoError(t, err)
				if status == int64(testbody.EOWNERDEAD) {
					return coro.ErrOwnerEnded
				}
				return nil
			}
		}
		for name, locks := range map[string]func(ownedLock) func(*testing.T) error{
			"Go body": bodyLocks, "goroutine": goroutineLocks, "C body": cBodyLocks,
		} {
			t.Run(name, func(t *testing.T) {
				m := made()
				require.NoError(t, m.Lock(background))
				owner, err := misuses.Start(s, flow{m.Address(), leaves})
				require.NoError(t, err)
				parked(t, s, 1)
				waiter := locks(m)
				require.NoError(t, m.Unlock())
				_, err = owner.Wait(soon(t))
				require.NoError(t, err)
				assert.ErrorIs(t, waiter(t), coro.ErrOwnerEnded)
			})
		}
	})
}

// A goroutine that has ended is no other goroutine either, though nobody is told.
func TestLockOwnerGoroutineThatHasEnded(t *testing.T) {
	ofOwnedLocks(t, func(t *testing.T, s *coro.Scheduler, made func() ownedLock, _ int64) {
		m := made()
		require.NoError(t, elsewhere(func() error { return m.Lock(background) }))
		var all sync.WaitGroup
		for range 1000 {
			all.Go(func() {
				assert.ErrorIs(t, m.Unlock(), coro.ErrNotLocked)
				ok, err := m.TryLock()
				assert.False(t, ok)
				assert.NoError(t, err)
			})
		}
		all.Wait()
		assert.ErrorIs(t, inBody(t, s, func(context.Context) error {
			return m.Unlock()
		}), coro.ErrNotLocked)
	})
}

// One goroutine, and one record, is used for one body after the other: no body is the owner of what
// another has locked.
func TestLockOwnerBodyIsNeverAnother(t *testing.T) {
	ofOwnedLocks(t, func(t *testing.T, s *coro.Scheduler, made func() ownedLock, leaves int64) {
		m := made()
		require.NoError(t, inBody(t, s, m.Lock))
		for range 1000 {
			require.ErrorIs(t, inBody(t, s, func(context.Context) error {
				return m.Unlock()
			}), coro.ErrNotLocked)
		}
		for i := range 1000 {
			if i%2 == 0 {
				require.ErrorIs(t, inBody(t, s, m.Lock), coro.ErrOwnerEnded)
			} else {
				require.Equal(t, testbody.EOWNERDEAD, misuse(t, s, m.Address(), leaves))
			}
		}
	})
}

// A reader is told too, until a writer has repaired what the lock guards.
func TestRWMutexTellsReaders(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1), coro.WithExecutors(1))
	m := made[coro.RWMutex](t)(coro.NewRWMutex(s))
	require.NoError(t, inBody(t, s, m.Lock))
	for range 2 {
		require.ErrorIs(t, m.RLock(background), coro.ErrOwnerEnded)
		assert.ErrorIs(t, m.MarkConsistent(), coro.ErrNotLocked)
		require.NoError(t, m.RUnlock())
		ok, err := m.TryRLock()
		assert.True(t, ok)
		require.ErrorIs(t, err, coro.ErrOwnerEnded)
		require.NoError(t, m.RUnlock())
	}
	require.ErrorIs(t, m.Lock(background), coro.ErrOwnerEnded)
	require.NoError(t, m.MarkConsistent())
	require.NoError(t, m.Unlock())
	require.NoError(t, m.RLock(background))
	require.NoError(t, m.RUnlock())
}

// A wait at a Cond ends with the mutex, and tells that its last owner has ended.
func TestCondTellsThatTheOwnerHasEnded(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1), coro.WithExecutors(1))
	m := made[coro.Mutex](t)(coro.NewMutex(s))
	c := made[coro.Cond](t)(coro.NewCond(m))
	waiter, err := coro.Go(s, func(co *coro.Coroutine) (int, error) {
		ctx := co.Context()
		if err := m.Lock(ctx); err != nil {
			return 0, err
		}
		err := c.Wait(ctx)
		return 0, errors.Join(err, m.MarkConsistent(), m.Unlock())
	})
	require.NoError(t, err)
	parked(t, s, 1)
	require.NoError(t, inBody(t, s, func(ctx context.Context) error {
		return errors.Join(m.Lock(ctx), c.Signal())
	}))
	_, err = waiter.Wait(soon(t))
	assert.ErrorIs(t, err, coro.ErrOwnerEnded)
	assert.NotErrorIs(t, err, coro.ErrNotLocked)
	require.NoError(t, m.Lock(background))
	require.NoError(t, m.Unlock())
}
