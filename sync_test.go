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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
	"github.com/organzine/coro/corotest"
	"github.com/organzine/coro/internal/testbody"
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

// An object that a C body has destroyed says so, and nothing happens.
func TestDestroyedByC(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1), coro.WithExecutors(1))
	m := made[coro.Mutex](t)(coro.NewMutex(s))
	rw := made[coro.RWMutex](t)(coro.NewRWMutex(s))
	c := made[coro.Cond](t)(coro.NewCond(m))
	l := made[coro.WaitGroup](t)(coro.NewWaitGroup(s, 1))
	p := made[coro.Semaphore](t)(coro.NewSemaphore(s, 0))
	for _, k := range []struct {
		object interface{ Address() uintptr }
		how    int64
		waits  func(context.Context) error
		lets   func() error
		uses   []func() error
		tries  []func() (bool, error)
	}{
		{
			object: c, how: testbody.DestroyCond,
			waits: func(ctx context.Context) error {
				return errors.Join(m.Lock(ctx), c.Wait(ctx), m.Unlock())
			},
			lets: func() error {
				return errors.Join(m.Lock(background), c.Signal(), m.Unlock())
			},
			uses: []func() error{c.Signal, c.Broadcast, func() error {
				require.NoError(t, m.Lock(background))
				defer m.Unlock()
				return c.Wait(background)
			}},
		},
		{
			object: rw, how: testbody.DestroyRWLock,
			waits: func(ctx context.Context) error {
				return errors.Join(rw.Lock(ctx), rw.Unlock())
			},
			uses: []func() error{
				rw.Unlock, rw.RUnlock,
				func() error { return rw.Lock(background) },
				func() error { return rw.RLock(background) },
			},
			tries: []func() (bool, error){rw.TryLock, rw.TryRLock},
		},
		{
			object: l, how: testbody.DestroyLatch, waits: l.Wait, lets: l.Done,
			uses: []func() error{l.Done, func() error { return l.Wait(background) }},
		},
		{
			object: p, how: testbody.DestroySem, waits: p.Acquire,
			lets: func() error { return p.Release(1) },
			uses: []func() error{
				func() error { return p.Release(1) },
				func() error { return p.Acquire(background) },
			},
			tries: []func() (bool, error){p.TryAcquire},
		},
		{
			object: m, how: testbody.DestroyMutex,
			waits: func(ctx context.Context) error {
				return errors.Join(m.Lock(ctx), m.Unlock())
			},
			uses:  []func() error{m.Unlock, func() error { return m.Lock(background) }},
			tries: []func() (bool, error){m.TryLock},
		},
	} {
		if k.lets != nil {
			task, err := coro.Go(s, func(b *coro.Coroutine) (int, error) {
				return 0, k.waits(b.Context())
			})
			require.NoError(t, err)
			parked(t, s, 1)
			assert.Equal(t, testbody.EBUSY, misuse(t, s, k.object.Address(), k.how),
				"while it is waited at")
			require.NoError(t, k.lets())
			_, err = task.Wait(soon(t))
			require.NoError(t, err)
		}
		require.Equal(t, testbody.OK, misuse(t, s, k.object.Address(), k.how))
		for _, use := range k.uses {
			assert.ErrorIs(t, use(), coro.ErrDestroyed)
		}
		for _, try := range k.tries {
			ok, err := try()
			assert.False(t, ok)
			assert.ErrorIs(t, err, coro.ErrDestroyed)
		}
		task, err := coro.Go(s, func(b *coro.Coroutine) (int, error) {
			return 0, k.waits(b.Context())
		})
		require.NoError(t, err)
		_, err = task.Wait(soon(t))
		assert.ErrorIs(t, err, coro.ErrDestroyed)
	}
	ch := newChan[int64](t, s, 1)
	require.NoError(t, ch.Send(background, 1))
	assert.Equal(t, testbody.EPERM, misuse(t, s, ch.Address(), testbody.FreeChan),
		"Go frees it")
	got, err := ch.Recv(background)
	require.NoError(t, err)
	assert.EqualValues(t, 1, got)
}

// The mutex of a Cond is freed: a wait says that, whoever waits, and whenever it has begun.
func TestCondOfAMutexThatWasFreed(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1), coro.WithExecutors(1))
	m := made[coro.Mutex](t)(coro.NewMutex(s))
	c := made[coro.Cond](t)(coro.NewCond(m))
	waits := func(ctx context.Context) error {
		if err := m.Lock(ctx); err != nil {
			return err
		}
		return c.Wait(ctx)
	}
	waiter, err := coro.Go(s, func(c *coro.Coroutine) (int, error) { return 0, waits(c.Context()) })
	require.NoError(t, err)
	parked(t, s, 1)
	require.NoError(t, m.Free(), "nobody holds it, or waits for it")
	require.NoError(t, c.Broadcast())
	_, err = waiter.Wait(soon(t))
	require.ErrorIs(t, err, coro.ErrDestroyed)
	assert.ErrorIs(t, c.Wait(background), coro.ErrDestroyed)
	assert.ErrorIs(t, inBody(t, s, c.Wait), coro.ErrDestroyed)
	require.NoError(t, c.Free())
}

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
