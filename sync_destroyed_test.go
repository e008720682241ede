//go:build cgo

package coro_test

import (
	"context"
	"errors"
	"testing"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
