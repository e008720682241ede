//go:build cgo

package coro_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/corotest"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type stock struct {
	mutex, cond uintptr
	n           int64
}

var (
	locks    = coro.MustFunc[flow, int64](testbody.Locks, coro.FuncName("locks"))
	reads    = coro.MustFunc[flow, int64](testbody.Reads, coro.FuncName("reads"))
	writes   = coro.MustFunc[flow, int64](testbody.Writes, coro.FuncName("writes"))
	takes    = coro.MustFunc[stock, int64](testbody.Takes, coro.FuncName("takes"))
	counts   = coro.MustFunc[flow, int64](testbody.Counts, coro.FuncName("counts"))
	onceDoes = coro.MustFunc[flow, int64](testbody.OnceDoes, coro.FuncName("once"))
	misuses  = coro.MustFunc[flow, int64](testbody.Misuse)
)

// made checks the results of a New function.
func made[T any](t testing.TB) func(*T, error) *T {
	return func(o *T, err error) *T {
		t.Helper()
		require.NoError(t, err)
		return o
	}
}

// misuse has a C body misuse an object, and returns the status.
func misuse(t testing.TB, s *coro.Scheduler, address uintptr, how int64) int32 {
	t.Helper()
	task, err := misuses.Start(s, flow{address, how})
	require.NoError(t, err)
	status, err := task.Wait(soon(t))
	require.NoError(t, err)
	return int32(status)
}

// crowd has f done by each goroutines and each Go bodies, and returns a wait for their end.
func crowd(t testing.TB, s *coro.Scheduler, each int, f func(context.Context) error) (wait func()) {
	t.Helper()
	var all sync.WaitGroup
	for range each {
		all.Add(1)
		go func() { defer all.Done(); assert.NoError(t, f(background)) }()
		all.Add(1)
		_, err := coro.Go(s, func(c *coro.Coroutine) (int, error) {
			defer all.Done()
			assert.NoError(t, f(c.Context()))
			return 0, nil
		})
		require.NoError(t, err)
	}
	return all.Wait
}

// elsewhere has f done by another goroutine.
func elsewhere[T any](f func() T) T {
	result := make(chan T)
	go func() { result <- f() }()
	return <-result
}

func zeros(t testing.TB, tasks []*coro.Task[int64]) {
	t.Helper()
	for _, task := range tasks {
		v, err := task.Wait(soon(t))
		require.NoError(t, err)
		assert.Zero(t, v)
	}
}

func starts(
	t testing.TB, s *coro.Scheduler, f coro.Func[flow, int64], n int, arg flow,
) (tasks []*coro.Task[int64]) {
	t.Helper()
	for range n {
		task, err := f.Start(s, arg)
		require.NoError(t, err)
		tasks = append(tasks, task)
	}
	return tasks
}

func TestMutexBetweenAll(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithExecutors(2))
	m := made[coro.Mutex](t)(coro.NewMutex(s))
	const each = 2000
	tasks := starts(t, s, locks, 3, flow{m.Address(), each})
	count, plain := 0, testbody.Plain()
	crowd(t, s, 2, func(ctx context.Context) error {
		for range each {
			if err := m.Lock(ctx); err != nil {
				return err
			}
			count++
			plain[0]++
			if err := m.Unlock(); err != nil {
				return err
			}
		}
		return nil
	})()
	zeros(t, tasks)
	assert.Equal(t, 4*each, count)
	require.NoError(t, m.Lock(background))
	assert.EqualValues(t, 7*each, plain[0])
	require.NoError(t, m.Unlock())
}

func TestMutexHasAnOwner(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1), coro.WithExecutors(1))
	m := made[coro.Mutex](t)(coro.NewMutex(s))
	assert.ErrorIs(t, m.Unlock(), coro.ErrNotLocked)
	require.NoError(t, m.Lock(background))
	assert.ErrorIs(t, m.Lock(background), coro.ErrLockedAlready)
	_, err := m.TryLock()
	assert.ErrorIs(t, err, coro.ErrLockedAlready)
	assert.ErrorIs(t, elsewhere(m.Unlock), coro.ErrNotLocked, "by another goroutine")
	assert.Equal(t, testbody.EPERM, misuse(t, s, m.Address(), testbody.UnlockMutex),
		"by a C body")
	assert.Equal(t, testbody.EBUSY, misuse(t, s, m.Address(), testbody.DestroyMutex))
	bodies := func(f func(*coro.Coroutine) error) error {
		task, err := coro.Go(s, func(c *coro.Coroutine) (int, error) { return 0, f(c) })
		require.NoError(t, err)
		_, err = task.Wait(soon(t))
		return err
	}
	assert.ErrorIs(t, bodies(func(*coro.Coroutine) error { return m.Unlock() }),
		coro.ErrNotLocked)
	assert.False(t, elsewhere(func() bool { return tries(t, m.TryLock) }),
		"it is locked as before")
	require.NoError(t, m.Unlock())
	assert.ErrorIs(t, m.Unlock(), coro.ErrNotLocked, "once")

	assert.NoError(t, bodies(func(c *coro.Coroutine) error {
		if err := m.Lock(c.Context()); err != nil {
			return err
		}
		assert.ErrorIs(t, m.Lock(c.Context()), coro.ErrLockedAlready)
		assert.ErrorIs(t, elsewhere(m.Unlock), coro.ErrNotLocked)
		if err := c.Yield(); err != nil {
			return err
		}
		return m.Unlock()
	}))
	assert.True(t, tries(t, m.TryLock))
	require.NoError(t, m.Unlock())
}

func TestMutexEndsOfWaits(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	m := made[coro.Mutex](t)(coro.NewMutex(s))
	require.NoError(t, m.Lock(expired), "what need not wait is done")
	assert.ErrorIs(t, elsewhere(func() error { return m.Lock(expired) }), context.Canceled)
	short, cancel := context.WithTimeout(background, time.Millisecond)
	defer cancel()
	assert.ErrorIs(t, elsewhere(func() error { return m.Lock(short) }),
		context.DeadlineExceeded)
	task, err := coro.Go(s, func(c *coro.Coroutine) (int, error) {
		return 0, m.Lock(c.Context())
	})
	require.NoError(t, err)
	parked(t, s, 1)
	task.Cancel()
	_, err = task.Wait(soon(t))
	assert.ErrorIs(t, err, coro.ErrCanceled)
	require.NoError(t, m.Unlock())
	assert.True(t, elsewhere(func() bool {
		return tries(t, m.TryLock) && m.Unlock() == nil
	}), "the ended waits have not got it")

	require.NoError(t, m.Lock(background))
	result := make(chan error)
	go func() { result <- m.Lock(background) }()
	require.NoError(t, s.Close(background))
	assert.ErrorIs(t, <-result, coro.ErrClosed)
	require.NoError(t, m.Unlock())
	require.NoError(t, m.Lock(background), "what need not wait is done")
	require.NoError(t, m.Unlock())
}

func TestRWMutexBetweenAll(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithExecutors(2))
	m := made[coro.RWMutex](t)(coro.NewRWMutex(s))
	const each = 1000
	tasks := append(starts(t, s, reads, 2, flow{m.Address(), each}),
		starts(t, s, writes, 2, flow{m.Address(), each})...)
	count, plain := 0, testbody.Plain()
	wait := crowd(t, s, 2, func(ctx context.Context) error {
		for range each {
			if err := m.Lock(ctx); err != nil {
				return err
			}
			count++
			plain[0]++
			plain[1]++
			if err := m.Unlock(); err != nil {
				return err
			}
		}
		return nil
	})
	crowd(t, s, 2, func(ctx context.Context) error {
		for range each {
			if err := m.RLock(ctx); err != nil {
				return err
			}
			if plain[0] != plain[1] || count > 4*each {
				return errors.New("a writer is inside")
			}
			if err := m.RUnlock(); err != nil {
				return err
			}
		}
		return nil
	})()
	wait()
	zeros(t, tasks)
	require.NoError(t, m.RLock(background))
	assert.Equal(t, 4*each, count)
	assert.EqualValues(t, 6*each, plain[0])
	require.NoError(t, m.RUnlock())
}

func TestRWMutexMisuse(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	m := made[coro.RWMutex](t)(coro.NewRWMutex(s))
	assert.ErrorIs(t, m.Unlock(), coro.ErrNotLocked)
	assert.ErrorIs(t, m.RUnlock(), coro.ErrNotLocked)
	require.NoError(t, m.Lock(background))
	assert.ErrorIs(t, m.Lock(background), coro.ErrLockedAlready)
	assert.ErrorIs(t, m.RLock(background), coro.ErrLockedAlready)
	for _, try := range []func() (bool, error){m.TryLock, m.TryRLock} {
		_, err := try()
		assert.ErrorIs(t, err, coro.ErrLockedAlready)
	}
	assert.ErrorIs(t, m.RUnlock(), coro.ErrNotLocked, "it is for writing")
	assert.ErrorIs(t, elsewhere(m.Unlock), coro.ErrNotLocked)
	assert.Equal(t, testbody.EPERM, misuse(t, s, m.Address(), testbody.UnlockRWLock))
	assert.Equal(t, testbody.EBUSY, misuse(t, s, m.Address(), testbody.DestroyRWLock))
	assert.False(t, elsewhere(func() bool {
		return tries(t, m.TryRLock)
	}), "it is locked as before")
	require.NoError(t, m.Unlock())
	require.NoError(t, m.RLock(background))
	assert.True(t, tries(t, m.TryRLock))
	assert.False(t, elsewhere(func() bool { return tries(t, m.TryLock) }))
	assert.ErrorIs(t, m.Unlock(), coro.ErrNotLocked, "it is for reading")
	require.NoError(t, elsewhere(m.RUnlock))
	require.NoError(t, m.RUnlock())
	assert.True(t, tries(t, m.TryLock))
	require.NoError(t, m.Unlock())
}

// A waiting writer keeps readers waiting, until it has left.
func TestRWMutexWriterThatLeaves(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1), coro.WithExecutors(1))
	m := made[coro.RWMutex](t)(coro.NewRWMutex(s))
	require.NoError(t, m.RLock(background))
	writer, err := coro.Go(s, func(c *coro.Coroutine) (int, error) {
		return 0, m.Lock(c.Context())
	})
	require.NoError(t, err)
	parked(t, s, 1)
	assert.False(t, tries(t, m.TryRLock))
	reader, err := coro.Go(s, func(c *coro.Coroutine) (int, error) {
		return 0, errors.Join(m.RLock(c.Context()), m.RUnlock())
	})
	require.NoError(t, err)
	sleeper := make(chan error)
	go func() { sleeper <- errors.Join(m.RLock(background), m.RUnlock()) }()
	parked(t, s, 2)
	writer.Cancel()
	_, err = reader.Wait(soon(t))
	require.NoError(t, err)
	require.NoError(t, <-sleeper)
	_, err = writer.Wait(soon(t))
	assert.ErrorIs(t, err, coro.ErrCanceled)
	require.NoError(t, m.RUnlock())
	assert.True(t, tries(t, m.TryLock))
	require.NoError(t, m.Unlock())
}

func TestCondBetweenAll(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithExecutors(2))
	m := made[coro.Mutex](t)(coro.NewMutex(s))
	c := made[coro.Cond](t)(coro.NewCond(m))
	const each = 500
	var tasks []*coro.Task[int64]
	for range 2 {
		task, err := takes.Start(s, stock{m.Address(), c.Address(), each})
		require.NoError(t, err)
		tasks = append(tasks, task)
	}
	taken, plain := 0, testbody.Plain()
	wait := crowd(t, s, 2, func(ctx context.Context) error {
		for range each {
			if err := m.Lock(ctx); err != nil {
				return err
			}
			for plain[0] == 0 {
				if err := c.Wait(ctx); err != nil {
					return errors.Join(err, m.Unlock())
				}
			}
			plain[0]--
			taken++
			if err := m.Unlock(); err != nil {
				return err
			}
		}
		return nil
	})
	for i := range 6 * each {
		require.NoError(t, m.Lock(background))
		plain[0]++
		if i%2 == 0 {
			require.NoError(t, c.Signal())
			require.NoError(t, m.Unlock())
		} else {
			require.NoError(t, m.Unlock())
			require.NoError(t, c.Broadcast())
		}
	}
	wait()
	zeros(t, tasks)
	require.NoError(t, m.Lock(background))
	assert.Equal(t, 4*each, taken)
	assert.Zero(t, plain[0])
	require.NoError(t, m.Unlock())
}

func TestCondEndsOfWaits(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1), coro.WithExecutors(1))
	m := made[coro.Mutex](t)(coro.NewMutex(s))
	c := made[coro.Cond](t)(coro.NewCond(m))
	assert.ErrorIs(t, c.Wait(background), coro.ErrNotLocked)
	require.NoError(t, m.Lock(background))
	assert.ErrorIs(t, elsewhere(func() error { return c.Wait(background) }), coro.ErrNotLocked)
	assert.ErrorIs(t, c.Wait(expired), context.Canceled)
	require.NoError(t, m.Unlock(), "it is held")
	require.NoError(t, c.Signal(), "nobody waits")

	require.NoError(t, m.Lock(background))
	short, cancel := context.WithTimeout(background, time.Millisecond)
	defer cancel()
	assert.ErrorIs(t, c.Wait(short), context.DeadlineExceeded)
	require.NoError(t, m.Unlock(), "it is held again")

	// A canceled waiter waits for the mutex nevertheless.
	task, err := coro.Go(s, func(b *coro.Coroutine) (bool, error) {
		if err := m.Lock(b.Context()); err != nil {
			return false, err
		}
		err := c.Wait(b.Context())
		assert.ErrorIs(t, err, coro.ErrCanceled)
		return m.Unlock() == nil, nil
	})
	require.NoError(t, err)
	parked(t, s, 1)
	require.NoError(t, m.Lock(background))
	task.Cancel()
	assert.Equal(t, testbody.EBUSY, misuse(t, s, m.Address(), testbody.DestroyMutex))
	require.NoError(t, m.Unlock())
	held, err := task.Wait(soon(t))
	require.NoError(t, err)
	assert.True(t, held)

	// So does a waiter whose scheduler is closed.
	inside, result := make(chan bool), make(chan error)
	go func() {
		err := m.Lock(background)
		inside <- true
		if err == nil {
			err = c.Wait(background)
		}
		result <- errors.Join(err, m.Unlock())
	}()
	<-inside
	require.NoError(t, m.Lock(soon(t)), "the waiter has unlocked it")
	require.NoError(t, s.Close(background))
	require.NoError(t, m.Unlock())
	err = <-result
	assert.ErrorIs(t, err, coro.ErrClosed)
	assert.NotErrorIs(t, err, coro.ErrNotLocked)
}

func TestWaitGroup(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithExecutors(2))
	const n = 500
	l := made[coro.WaitGroup](t)(coro.NewWaitGroup(s, n))
	wait := crowd(t, s, 3, l.Wait)
	assert.ErrorIs(t, l.Wait(expired), context.Canceled)
	short, cancel := context.WithTimeout(background, time.Millisecond)
	defer cancel()
	assert.ErrorIs(t, l.Wait(short), context.DeadlineExceeded)
	assert.ErrorIs(t, l.Add(-n-1), coro.ErrNegativeWaitGroup)
	assert.ErrorIs(t, l.Add(1<<60), coro.ErrOverflow)
	zeros(t, starts(t, s, counts, n-1, flow{l.Address(), -1}))
	require.NoError(t, l.Add(1))
	require.NoError(t, l.Done())
	require.NoError(t, l.Done())
	wait()
	assert.ErrorIs(t, l.Done(), coro.ErrNegativeWaitGroup)
	require.NoError(t, l.Wait(expired), "it is zero")
	require.NoError(t, l.Add(1), "and used again")
	assert.ErrorIs(t, l.Wait(expired), context.Canceled)
	_, err := coro.NewWaitGroup(s, -1)
	optionError(t, err, "NewWaitGroup", "count")
}

func TestOnceBetweenAll(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithExecutors(2))
	for i := range scaled(200) {
		o := made[coro.Once](t)(coro.NewOnce(s))
		var tasks []*coro.Task[int64]
		before, done, value := testbody.Sum(), int64(0), 0
		if i%2 == 0 {
			tasks = starts(t, s, onceDoes, 2, flow{o.Address(), 1})
		}
		wait := crowd(t, s, 2, func(ctx context.Context) error {
			err := o.Do(ctx, func() { done++; value = i + 1; runtime.Gosched() })
			if done == 1 && value != i+1 {
				return errors.New("half done")
			}
			return err
		})
		if i%2 != 0 {
			tasks = starts(t, s, onceDoes, 2, flow{o.Address(), 1})
		}
		wait()
		zeros(t, tasks)
		require.EqualValues(t, 1, done+testbody.Sum()-before)
	}
}

func TestOnceOddEnds(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1), coro.WithExecutors(1))
	o := made[coro.Once](t)(coro.NewOnce(s))
	assert.NoError(t, o.Do(expired, func() {
		assert.ErrorIs(t, o.Do(background, func() {
			assert.Fail(t, "again")
		}), coro.ErrLockedAlready)
		assert.ErrorIs(t, elsewhere(func() error {
			return o.Do(expired, func() { assert.Fail(t, "again") })
		}), context.Canceled)
	}))
	assert.NoError(t, o.Do(expired, func() { assert.Fail(t, "again") }))

	panics := made[coro.Once](t)(coro.NewOnce(s))
	assert.PanicsWithValue(t, "out of cheese", func() {
		_ = panics.Do(background, func() { panic("out of cheese") })
	})
	assert.NoError(t, panics.Do(expired, func() {
		assert.Fail(t, "again")
	}), "it is done nevertheless")
	zeros(t, starts(t, s, onceDoes, 1, flow{panics.Address(), 1}))
	assert.Zero(t, testbody.Sum())
}

// Locks whose waits end in all ways at random exclude others, and are free in the end.
func TestStressLocks(t *testing.T) {
	corotest.VerifyNone(t)
	s := newScheduler(t, coro.WithWorkers(2), coro.WithExecutors(2))
	m := made[coro.Mutex](t)(coro.NewMutex(s))
	rw := made[coro.RWMutex](t)(coro.NewRWMutex(s))
	c := made[coro.Cond](t)(coro.NewCond(m))
	each := int64(scaled(2000))
	tasks := append(starts(t, s, locks, 1, flow{m.Address(), each}),
		starts(t, s, writes, 1, flow{rw.Address(), each})...)
	var inside, writers, readers atomic.Int32
	count := 0
	crowd(t, s, 3, func(ctx context.Context) error {
		for i := range each {
			short, cancel := ctx, context.CancelFunc(func() {})
			if i%3 == 0 {
				short, cancel = context.WithTimeout(ctx,
					time.Duration(i%7)*10*time.Microsecond)
			}
			if m.Lock(short) == nil {
				assert.EqualValues(t, 1, inside.Add(1))
				count++
				if i%5 == 0 {
					inside.Add(-1)
					waiting, end := context.WithTimeout(ctx,
						time.Duration(i%9)*10*time.Microsecond)
					_ = c.Wait(waiting)
					end()
					assert.EqualValues(t, 1, inside.Add(1))
				}
				inside.Add(-1)
				if i%4 == 0 {
					assert.NoError(t, c.Signal())
				}
				assert.NoError(t, m.Unlock())
			}
			if i%4 != 0 {
				if rw.RLock(short) == nil {
					readers.Add(1)
					assert.Zero(t, writers.Load())
					readers.Add(-1)
					assert.NoError(t, rw.RUnlock())
				}
			} else if rw.Lock(short) == nil {
				assert.EqualValues(t, 1, writers.Add(1))
				assert.Zero(t, readers.Load())
				writers.Add(-1)
				assert.NoError(t, rw.Unlock())
			}
			cancel()
		}
		return nil
	})()
	zeros(t, tasks)
	assert.True(t, tries(t, m.TryLock))
	assert.Positive(t, count)
	require.NoError(t, m.Unlock())
	assert.True(t, tries(t, rw.TryLock))
	require.NoError(t, rw.Unlock())
}
