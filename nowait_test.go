//go:build cgo

package coro_test

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/corotest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// line is the place of the caller, lines further on.
func line(lines int) string {
	_, file, n, _ := runtime.Caller(1)
	return file + ":" + strconv.Itoa(n+lines)
}

// inside runs f as a body.
func inside(t *testing.T, s *coro.Scheduler, f func(*coro.Coroutine) error) error {
	t.Helper()
	task, err := coro.Go(s, func(c *coro.Coroutine) (int, error) { return 0, f(c) })
	require.NoError(t, err)
	_, err = task.Wait(t.Context())
	return err
}

func TestNoWait(t *testing.T) {
	corotest.VerifyNone(t)
	s := newScheduler(t)
	ch := newChan[int](t, s, 1)
	sem, err := coro.NewSemaphore(s, 0)
	require.NoError(t, err)
	mutex := made[coro.Mutex](t)(coro.NewMutex(s))
	rw := made[coro.RWMutex](t)(coro.NewRWMutex(s))
	free := made[coro.Mutex](t)(coro.NewMutex(s))
	cond := made[coro.Cond](t)(coro.NewCond(free))
	group := made[coro.WaitGroup](t)(coro.NewWaitGroup(s, 1))
	once := made[coro.Once](t)(coro.NewOnce(s))
	begun, release := make(chan struct{}), make(chan struct{})
	holder := make(chan error)
	go func() { // holds all of them until the end
		holder <- errors.Join(mutex.Lock(background), rw.Lock(background),
			once.Do(background, func() { close(begun); <-release }), rw.Unlock(),
			mutex.Unlock())
	}()
	<-begun
	other, err := coro.Go(s, func(c *coro.Coroutine) (int, error) {
		return 7, c.Park(background)
	})
	require.NoError(t, err)
	require.NoError(t, inside(t, s, func(c *coro.Coroutine) error {
		ctx := c.Context()
		end, began := c.NoWait(), line(0)
		inner := c.NoWait()
		for call, f := range map[string]func() error{
			"(*Coroutine).Yield": c.Yield,
			"(*Coroutine).Park":  func() error { return c.Park(background) },
			"(*Coroutine).Sleep": func() error {
				return c.Sleep(background, time.Nanosecond)
			},
			"(*Task[...]).Await": func() error {
				_, err := other.Await(background, c)
				return err
			},
			"(*Chan[...]).Recv": func() error { _, err := ch.Recv(ctx); return err },
			"(*Chan[...]).Send": func() error {
				return newChan[int](t, s, 0).Send(ctx, 1)
			},
			"(*Semaphore).Acquire": func() error { return sem.Acquire(ctx) },
			"(*Mutex).Lock":        func() error { return mutex.Lock(ctx) },
			"(*RWMutex).Lock":      func() error { return rw.Lock(ctx) },
			"(*RWMutex).RLock":     func() error { return rw.RLock(ctx) },
			"(*Cond).Wait": func() error {
				return errors.Join(free.Lock(ctx), cond.Wait(ctx), free.Unlock())
			},
			"(*WaitGroup).Wait": func() error { return group.Wait(ctx) },
			"(*Once).Do":        func() error { return once.Do(ctx, func() {}) },
			"Select": func() error {
				_, err := coro.Select(ctx, coro.OnRecv(newChan[int](t, s, 0), nil))
				return err
			},
		} {
			err, called := f(), line(0)
			var e *coro.NoWaitError
			if assert.ErrorAs(t, err, &e, call) {
				assert.Equal(t, began, e.Section)
				assert.True(t, strings.HasPrefix(e.Call, call), e.Call)
				assert.Contains(t, err.Error(), began)
				assert.Contains(t, err.Error(), e.Place)
				assert.True(t, strings.HasSuffix(e.Place[:strings.LastIndex(e.Place,
					":")], "nowait_test.go"), e.Place)
				if call == "(*Coroutine).Yield" { // called there, as a method value
					assert.Equal(t, called, e.Place)
				}
			}
		}

		// A call whose want is there succeeds.
		assert.NoError(t, c.Wake(c.Handle()))
		assert.NoError(t, c.Park(background))
		assert.NoError(t, ch.Send(ctx, 3))
		assert.Error(t, ch.Send(ctx, 4))
		v, err := ch.Recv(ctx)
		assert.Equal(t, 3, v)
		assert.NoError(t, err)
		assert.NoError(t, sem.Release(1))
		assert.NoError(t, sem.Acquire(ctx))

		inner()
		inner()
		assert.Error(t, c.Yield(), "the outer one is still open")
		end()
		assert.NoError(t, c.Yield())
		assert.NoError(t, c.Wake(other.Handle()))
		n, err := other.Await(background, c)
		assert.Equal(t, 7, n)
		return err
	}))
	close(release)
	require.NoError(t, <-holder)
}

func TestNoWaitEnd(t *testing.T) {
	corotest.VerifyNone(t)
	s := newScheduler(t)
	failed := errors.New("failed")
	for _, want := range []error{nil, failed} {
		var began string
		err := inside(t, s, func(c *coro.Coroutine) error {
			_, began = c.NoWait(), line(0)
			return want
		})
		var e *coro.NoWaitError
		require.ErrorAs(t, err, &e)
		assert.Equal(t, began, e.Section)
		assert.Equal(t, "the end", e.Call)
		assert.Contains(t, err.Error(), "the end in the no-wait section begun at "+began)
		if want != nil {
			assert.ErrorIs(t, err, want)
		}
	}
	var stranger *coro.Coroutine
	require.NoError(t, inside(t, s, func(c *coro.Coroutine) error { stranger = c; return nil }))
	stranger.NoWait()()
}

func TestFiniteWait(t *testing.T) {
	corotest.VerifyNone(t)
	s := newScheduler(t, coro.WithExecutors(2))
	ch := newChan[int](t, s, 0)
	sem, err := coro.NewSemaphore(s, 0)
	require.NoError(t, err)
	mutex := made[coro.Mutex](t)(coro.NewMutex(s))
	cond := made[coro.Cond](t)(coro.NewCond(mutex))
	group := made[coro.WaitGroup](t)(coro.NewWaitGroup(s, 1))
	other, err := coro.Go(s, func(c *coro.Coroutine) (int, error) {
		return 7, c.Park(background)
	})
	require.NoError(t, err)
	require.NoError(t, inside(t, s, func(c *coro.Coroutine) error {
		waits := map[string]func(context.Context) error{
			"(*Coroutine).Park": c.Park,
			"(*Task[...]).Await": func(ctx context.Context) error {
				_, err := other.Await(ctx, c)
				return err
			},
			"(*Chan[...]).Recv": func(ctx context.Context) error {
				_, err := ch.Recv(ctx)
				return err
			},
			"(*Semaphore).Acquire": sem.Acquire,
			"(*Cond).Wait": func(ctx context.Context) error {
				return errors.Join(mutex.Lock(c.Context()), cond.Wait(ctx),
					mutex.Unlock())
			},
			"(*WaitGroup).Wait": group.Wait,
			"Select": func(ctx context.Context) error {
				_, err := coro.Select(ctx, coro.OnRecv(ch, nil))
				return err
			},
		}
		end, began := c.FiniteWait(), line(0)
		for call, wait := range waits {
			var e *coro.NoWaitError
			err := wait(c.Context())
			if assert.ErrorAs(t, err, &e, call) {
				assert.Equal(t, began, e.Section)
				assert.True(t, strings.HasPrefix(e.Call, call), e.Call)
				assert.True(t, e.Finite)
				assert.Contains(t, err.Error(),
					"without a deadline in the finite-wait section begun at "+began)
			}
			ctx, quit := context.WithTimeout(c.Context(), time.Millisecond)
			assert.ErrorIs(t, wait(ctx), context.DeadlineExceeded, call)
			quit()
		}
		assert.NoError(t, c.Yield())
		assert.NoError(t, c.Sleep(background, time.Microsecond))

		inner := c.NoWait()
		var e *coro.NoWaitError
		require.ErrorAs(t, c.Yield(), &e)
		assert.False(t, e.Finite)
		end()
		assert.Error(t, c.Yield())
		inner()
		assert.NoError(t, c.Yield())
		assert.NoError(t, c.Wake(other.Handle()))
		n, err := other.Await(background, c)
		assert.Equal(t, 7, n)
		return err
	}))
	var e *coro.NoWaitError
	require.ErrorAs(t, inside(t, s, func(c *coro.Coroutine) error {
		c.FiniteWait()
		return nil
	}), &e)
	assert.Equal(t, "the end", e.Call)
	assert.True(t, e.Finite)
	assert.Contains(t, e.Error(), "the end in the finite-wait section begun at ")
}
