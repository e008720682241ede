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
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSelectDoesWhatCanBeDone(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	a, b := newChan[int64](t, s, 1), newChan[[3]byte](t, s, 1)
	var v int64
	var w [3]byte
	cases := []coro.Case{coro.OnRecv(a, &v), coro.OnRecv(b, &w)}
	i, err := coro.TrySelect(cases...)
	assert.Equal(t, -1, i)
	require.NoError(t, err)
	i, err = coro.Select(expired, cases...)
	assert.Equal(t, -1, i)
	assert.ErrorIs(t, err, context.Canceled)
	i, err = coro.Select(expired, coro.OnRecv(a, nil), coro.OnSend(b, [3]byte{1, 2, 3}))
	assert.Equal(t, 1, i, "what need not wait is done")
	require.NoError(t, err)
	i, err = coro.TrySelect(cases...)
	assert.Equal(t, 1, i)
	require.NoError(t, err)
	assert.Equal(t, [3]byte{1, 2, 3}, w)
	require.NoError(t, a.Send(background, 5))
	i, err = coro.Select(background, coro.OnSend(a, 6), coro.OnRecv[int64](nil, nil),
		coro.OnRecv(a, nil))
	assert.Equal(t, 2, i)
	require.NoError(t, err)
	assert.Zero(t, a.Len())
	require.NoError(t, a.Close())
	i, err = coro.Select(background, cases...)
	assert.Zero(t, i)
	assert.ErrorIs(t, err, coro.ErrChanClosed)
	i, err = coro.TrySelect(coro.OnRecv(b, nil), coro.OnSend(a, 7))
	assert.Equal(t, 1, i)
	assert.ErrorIs(t, err, coro.ErrChanClosed)
}

func TestSelectChoosesAtRandom(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	a, b := newChan[int](t, s, 200), newChan[int](t, s, 200)
	for i := range 200 {
		require.NoError(t, errors.Join(a.Send(background, i), b.Send(background, i)))
	}
	var chosen [2]int
	for range 200 {
		i, err := coro.Select(background, coro.OnRecv(a, nil), coro.OnRecv(b, nil))
		require.NoError(t, err)
		chosen[i]++
	}
	assert.NotZero(t, chosen[0])
	assert.NotZero(t, chosen[1])
}

func TestSelectMisuse(t *testing.T) {
	s, other := newScheduler(t, coro.WithWorkers(1)), newScheduler(t, coro.WithWorkers(1))
	a, b := newChan[int](t, s, 1), newChan[int](t, other, 1)
	for _, cases := range [][]coro.Case{nil, {}, {coro.OnRecv[int](nil, nil), {}},
		{coro.OnSend(a, 1), coro.OnSend(b, 1)},
		make([]coro.Case, coro.SelectMax+1)} {
		i, err := coro.Select(background, cases...)
		assert.Equal(t, -1, i)
		optionError(t, err, "Select")
		_, err = coro.TrySelect(cases...)
		optionError(t, err, "Select")
	}
	assert.Zero(t, a.Len()+b.Len())
	many := make([]coro.Case, coro.SelectMax)
	many[coro.SelectMax-1] = coro.OnSend(a, 1)
	i, err := coro.Select(background, many...)
	assert.Equal(t, coro.SelectMax-1, i)
	require.NoError(t, err)
}

func TestSelectEndsOfWaits(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1), coro.WithExecutors(1))
	a, b := newChan[int64](t, s, 0), newChan[coro.None](t, s, 0)
	cases := func() []coro.Case {
		return []coro.Case{coro.OnRecv(a, nil), coro.OnSend(a, 1),
			coro.OnSend(b, coro.None{})}
	}
	short, cancel := context.WithTimeout(background, time.Millisecond)
	defer cancel()
	_, err := coro.Select(short, cases()...)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	task, err := coro.Go(s, func(c *coro.Coroutine) (int, error) {
		return coro.Select(c.Context(), cases()...)
	})
	require.NoError(t, err)
	parked(t, s, 1)
	task.Cancel()
	_, err = task.Wait(soon(t))
	assert.ErrorIs(t, err, coro.ErrCanceled)
	for _, ch := range []interface {
		Len() int
	}{a, b} {
		assert.Zero(t, ch.Len())
	}
	ok, err := a.TrySend(1)
	assert.False(t, ok, "nobody is left in a queue")
	require.NoError(t, err)
	_, ok, err = a.TryRecv()
	assert.False(t, ok)
	require.NoError(t, err)
	_, ok, err = b.TryRecv()
	assert.False(t, ok)
	require.NoError(t, err)

	waits, err := coro.Go(s, func(c *coro.Coroutine) (int, error) {
		return coro.Select(c.Context(), cases()...)
	})
	require.NoError(t, err)
	parked(t, s, 1)
	_, err = b.Recv(background)
	require.NoError(t, err)
	i, err := waits.Wait(soon(t))
	require.NoError(t, err)
	assert.Equal(t, 2, i)

	waits, err = coro.Go(s, func(c *coro.Coroutine) (int, error) {
		return coro.Select(c.Context(), cases()...)
	})
	require.NoError(t, err)
	parked(t, s, 1)
	require.NoError(t, a.Close())
	_, err = waits.Wait(soon(t))
	assert.ErrorIs(t, err, coro.ErrChanClosed)

	result := make(chan error)
	go func() { _, err := coro.Select(background, coro.OnRecv(b, nil)); result <- err }()
	require.NoError(t, s.Close(background))
	assert.ErrorIs(t, <-result, coro.ErrClosed)
}

// Selects of goroutines and Go bodies find each other, and C bodies.
func TestSelectBetweenAll(t *testing.T) {
	for _, capacity := range []int{0, 3} {
		s := newScheduler(t, coro.WithWorkers(2), coro.WithExecutors(2))
		a, b := newChan[int64](t, s, capacity), newChan[int64](t, s, capacity)
		const each = 1000
		tasks := append(starts(t, s, produce, 1, flow{a.Address(), each}),
			starts(t, s, produce, 1, flow{b.Address(), each})...)
		var got atomic.Int64
		var senders sync.WaitGroup
		send := func(ctx context.Context) error {
			for i := int64(1); i <= each; i++ {
				if _, err := coro.Select(ctx, coro.OnSend(a, i),
					coro.OnSend(b, i)); err != nil {
					return err
				}
			}
			return nil
		}
		senders.Add(1)
		sent := crowd(t, s, 2, send)
		go func() {
			defer senders.Done()
			sent()
			for _, task := range tasks {
				_, err := task.Wait(background)
				assert.NoError(t, err)
			}
			assert.NoError(t, errors.Join(a.Close(), b.Close()))
		}()
		crowd(t, s, 2, func(ctx context.Context) error {
			chans := []*coro.Chan[int64]{a, b}
			for chans[0] != nil || chans[1] != nil {
				var v int64
				i, err := coro.Select(ctx, coro.OnRecv(chans[0], &v),
					coro.OnRecv(chans[1], &v))
				if errors.Is(err, coro.ErrChanClosed) {
					chans[i] = nil
				} else if err != nil {
					return err
				}
				got.Add(v)
			}
			return nil
		})()
		senders.Wait()
		assert.EqualValues(t, 6*each*(each+1)/2, got.Load(), "capacity %d", capacity)
	}
}

// Selects end in random ways: each value is received once, or was not sent.
func TestStressSelect(t *testing.T) {
	corotest.VerifyNone(t)
	s := newScheduler(t, coro.WithWorkers(2), coro.WithExecutors(2))
	a, b := newChan[int64](t, s, 0), newChan[int64](t, s, 2)
	each := int64(scaled(2000))
	sink, err := consume.Start(s, flow{a.Address(), endless})
	require.NoError(t, err)
	var sent, received atomic.Int64
	short := func(ctx context.Context, i int64) (context.Context, context.CancelFunc) {
		if i%3 != 0 {
			return ctx, func() {}
		}
		return context.WithTimeout(ctx, time.Duration(i%7)*10*time.Microsecond)
	}
	receivers := crowd(t, s, 2, func(ctx context.Context) error {
		for i := int64(0); ; i++ {
			c, cancel := short(ctx, i)
			var v, w int64
			_, err := coro.Select(c, coro.OnRecv(a, &v), coro.OnRecv(b, &w))
			cancel()
			received.Add(v + w)
			if errors.Is(err, coro.ErrChanClosed) {
				return nil
			} else if err != nil && !errors.Is(err, context.DeadlineExceeded) {
				return err
			}
		}
	})
	crowd(t, s, 2, func(ctx context.Context) error {
		for i := int64(1); i <= each; i++ {
			c, cancel := short(ctx, i)
			_, err := coro.Select(c, coro.OnSend(a, i), coro.OnSend(b, i))
			cancel()
			if err == nil {
				sent.Add(i)
			} else if !errors.Is(err, context.DeadlineExceeded) {
				return err
			}
			if i%16 == 0 {
				runtime.Gosched()
			}
		}
		return nil
	})()
	require.NoError(t, errors.Join(a.Close(), b.Close()))
	receivers()
	for v, err := range b.All(background) {
		require.NoError(t, err)
		received.Add(v)
	}
	sum, err := sink.Wait(soon(t))
	require.NoError(t, err)
	assert.Equal(t, sent.Load(), received.Load()+sum)
	assert.Positive(t, sent.Load())
}
