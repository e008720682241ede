//go:build cgo

package coro_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGoParkAndWake(t *testing.T) {
	for _, executors := range []int{1, 3} {
		s := newScheduler(t, coro.WithExecutors(executors))
		rounds := scaled(20000)
		var partner coro.Handle // set before the first wake-up
		ping := goes(t, s, func(c *coro.Coroutine) error {
			for range rounds {
				if err := c.Park(background); err != nil {
					return err
				}
				if err := c.Wake(partner); err != nil {
					return err
				}
			}
			return nil
		})
		pong := goes(t, s, func(c *coro.Coroutine) error {
			partner = c.Handle()
			for range rounds {
				if err := errors.Join(c.Wake(ping.Handle()),
					c.Park(background)); err != nil {
					return err
				}
			}
			return nil
		})
		for _, task := range []*coro.Task[coro.None]{ping, pong} {
			_, err := wait(t, task)
			assert.NoError(t, err)
		}
	}
}

func TestGoPermitsAreCounted(t *testing.T) {
	s := newScheduler(t)
	var got atomic.Int64
	n := scaled(5000)
	task := goes(t, s, func(c *coro.Coroutine) error {
		for range 4 * n {
			if err := c.Park(background); err != nil {
				return err
			}
			got.Add(1)
		}
		return nil
	})
	var wakers sync.WaitGroup
	for range 2 { // from goroutines, and from bodies
		wakers.Go(func() {
			for range n {
				assert.NoError(t, task.Wake())
			}
		})
		goes(t, s, func(c *coro.Coroutine) error {
			for i := range n {
				assert.NoError(t, c.Wake(task.Handle()))
				if i%100 == 0 {
					assert.NoError(t, c.Yield())
				}
			}
			return nil
		})
	}
	wakers.Wait()
	_, err := wait(t, task)
	assert.NoError(t, err)
	assert.EqualValues(t, 4*n, got.Load())
	assert.ErrorIs(t, task.Wake(), coro.ErrStale)
}

// A wake that has returned comes before the end of a context, on whatever way the wake came.
func TestGoParkWithAnEndedContextTakesAPermit(t *testing.T) {
	s := newScheduler(t)
	ended, cancel := context.WithCancel(background)
	cancel()
	task := goes(t, s, func(c *coro.Coroutine) error {
		for range 100 {
			woken := make(chan error)
			go func() { woken <- c.Handle().Wake() }()
			err := errors.Join(<-woken, c.Park(ended), c.Handle().Wake(), c.Park(ended))
			if err != nil {
				return err
			}
			if err := c.Park(ended); err != context.Canceled {
				return fmt.Errorf("without a permit: %w", err)
			}
		}
		return nil
	})
	_, err := wait(t, task)
	assert.NoError(t, err)
}

func TestGoTooManyWakesAreRefused(t *testing.T) {
	s := newScheduler(t)
	const most = 1 << 28
	goOn := make(chan struct{})
	task := goes(t, s, func(c *coro.Coroutine) error {
		coro.AddPermits(c, most-1)
		assert.NoError(t, c.Wake(c.Handle()))
		assert.Equal(t, coro.ErrOverflow, c.Wake(c.Handle()))
		goOn <- struct{}{}
		<-goOn
		return errors.Join(c.Park(background), c.Wake(c.Handle()))
	})
	<-goOn
	for range 2 {
		assert.Equal(t, coro.ErrOverflow, task.Wake())
	}
	goOn <- struct{}{}
	_, err := wait(t, task)
	assert.NoError(t, err)
	assert.Equal(t, coro.ErrStale, task.Wake())
}

// C bodies are refused, too, and their accepted wake-ups are counted.
func TestGoTooManyWakesFromCAreRefused(t *testing.T) {
	s := newScheduler(t)
	const most = 1 << 28
	wakes := func(h coro.Handle) int32 {
		task, err := wake.Start(s, h)
		require.NoError(t, err)
		status, err := wait(t, task)
		require.NoError(t, err)
		return status
	}
	goOn := make(chan struct{})
	var n atomic.Uint64 // accepted
	task := goes(t, s, func(c *coro.Coroutine) error {
		coro.AddPermits(c, most)
		goOn <- struct{}{}
		<-goOn
		err := c.Park(background)
		goOn <- struct{}{}
		<-goOn
		for err == nil && coro.Permits(c) != most-1+n.Load() { // some are on their way
			err = c.Yield()
		}
		return err
	})
	<-goOn
	require.Equal(t, testbody.EOVERFLOW, wakes(task.Handle()))
	require.Equal(t, testbody.EOVERFLOW, wakes(task.Handle()))
	goOn <- struct{}{}
	<-goOn
	eventually(t, func() bool {
		status := wakes(task.Handle())
		if status == testbody.EOVERFLOW {
			return true
		}
		require.Equal(t, testbody.OK, status)
		n.Add(1)
		return false
	}, "too many")
	require.NotZero(t, n.Load())
	goOn <- struct{}{}
	_, err := wait(t, task)
	require.NoError(t, err)
}

// A record is not full for its next user: bodies end while their record is set full.
func TestGoFullOnesEndAmongWakers(t *testing.T) {
	s := newScheduler(t)
	for range scaled(400) {
		started := make(chan struct{})
		full := goes(t, s, func(c *coro.Coroutine) error {
			coro.AddPermits(c, 1<<28-3)
			close(started)
			return nil
		})
		<-started
		for range 3 {
			require.NoError(t, wake.Spawn(s, full.Handle()))
			goes(t, s, func(c *coro.Coroutine) error {
				_ = c.Wake(full.Handle())
				return nil
			})
		}
		_, err := wait(t, full)
		require.NoError(t, err)
		next, err := park.Start(s, coro.None{})
		require.NoError(t, err)
		for _, h := range []coro.Handle{next.Handle(),
			goes(t, s, func(c *coro.Coroutine) error {
				return c.Park(background)
			}).Handle()} {
			require.NoError(t, h.Wake())
		}
		finish(t, s)
	}
}
