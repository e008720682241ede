//go:build cgo

package hard_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A body has ended and its record is kept, so that the next body has its index, another record, and
// the same generation.
func TestGoStaleHandleIsNotTheNextOnes(t *testing.T) {
	s := newScheduler(t)
	first := goes(t, s, func(*coro.Coroutine) error { return nil })
	require.NoError(t, s.Wait(soon(t)))
	next := goes(t, s, func(c *coro.Coroutine) error { return c.Park(background) })
	parked(t, s, 1)
	waker := goes(t, s, func(c *coro.Coroutine) error { return c.Wake(first.Handle()) })
	_, err := wait(t, waker)
	assert.ErrorIs(t, err, coro.ErrStale)
	assert.NoError(t, next.Err())
	_, n := s.Blocked(0)
	assert.Equal(t, 1, n, "the next one has no permit of it")
	require.NoError(t, next.Wake())
	_, err = wait(t, next)
	assert.NoError(t, err)
	_, err = wait(t, first)
	assert.NoError(t, err)
}

// A body woken by a stuck body runs, although all other executors are busy, and never look for
// work.
func TestGoStuckBodyKeepsNobodyFromBusyExecutors(t *testing.T) {
	s := newScheduler(t, coro.WithExecutors(2))
	var done atomic.Bool
	spinner := goes(t, s, func(c *coro.Coroutine) error {
		for !done.Load() {
			if err := c.Yield(); err != nil {
				return err
			}
		}
		return nil
	})
	partner := goes(t, s, func(c *coro.Coroutine) error {
		defer done.Store(true)
		return c.Park(background)
	})
	parked(t, s, 1)
	release := make(chan struct{})
	stuck := goes(t, s, func(c *coro.Coroutine) error {
		err := c.Wake(partner.Handle())
		<-release
		return err
	})
	eventually(t, done.Load, "the partner has run")
	close(release)
	for _, task := range []*coro.Task[coro.None]{spinner, partner, stuck} {
		_, err := wait(t, task)
		assert.NoError(t, err)
	}
}

func TestGoexitIsAnAbortForAJoiner(t *testing.T) {
	s := newScheduler(t)
	body, err := coro.Go(s, func(c *coro.Coroutine) (int64, error) {
		if err := c.Park(background); err != nil {
			return 0, err
		}
		runtime.Goexit()
		return 0, nil
	})
	require.NoError(t, err)
	joiner, err := join.Start(s, body.Handle())
	require.NoError(t, err)
	parked(t, s, 2)
	require.NoError(t, body.Wake())
	status, err := wait(t, joiner)
	require.NoError(t, err)
	assert.Equal(t, testbody.EFAILED, status)
}

// A body that joins a C body is canceled, while a goroutine and another body rely on it.
func TestAwaitGivesUpForOthers(t *testing.T) {
	s := newScheduler(t)
	for range scaled(200) {
		target, err := park.Start(s, coro.None{})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(background)
		await := func(c *coro.Coroutine) (int32, error) {
			return target.Await(background, c)
		}
		first, err := coro.GoContext(ctx, s, await)
		require.NoError(t, err)
		parked(t, s, 2)
		second, err := coro.Go(s, await)
		require.NoError(t, err)
		parked(t, s, 3)
		done := target.Done()
		cancel()
		joiner, err := join.Start(s, target.Handle()) // comes when the first gives up
		require.NoError(t, err)
		_, err = wait(t, first)
		assert.ErrorIs(t, err, context.Canceled)
		_, err = wait(t, joiner)
		require.NoError(t, err)
		select {
		case <-done:
			require.Fail(t, "it has not ended")
		default:
		}
		require.NoError(t, target.Wake())
		<-done
		_, err = wait(t, target)
		assert.NoError(t, err)
		_, err = wait(t, second)
		assert.NoError(t, err)
	}
}

func init() {
	children["hand-overs"] = func() { handOvers() }
	children["a race"] = func() { aRace() }
}

// handOvers hands a plain variable over in all ways that there are.
func handOvers() {
	s, err := coro.New(coro.WithWorkers(2), coro.WithExecutors(2))
	orPanic(err)
	for range 200 {
		x := 0
		body, err := coro.Go(s, func(c *coro.Coroutine) (coro.None, error) {
			err := c.Park(background) // until a goroutine wakes it
			x++
			return coro.None{}, err
		})
		orPanic(err)
		x++
		orPanic(body.Wake())
		_, err = body.Wait(background)
		orPanic(err)
		x++ // a body, to a goroutine

		last, err := coro.Go(s, func(c *coro.Coroutine) (coro.None, error) {
			err := c.Park(background) // until a C body wakes it
			x++
			return coro.None{}, err
		})
		orPanic(err)
		x++
		w, err := wake.Start(s, last.Handle())
		orPanic(err)
		_, err = last.Wait(background)
		orPanic(err)
		x++
		_, err = w.Wait(background)
		orPanic(err)

		p, err := park.Start(s, coro.None{})
		orPanic(err)
		y := 0
		from, err := coro.Go(s, func(c *coro.Coroutine) (coro.None, error) {
			y++
			return coro.None{}, c.Wake(p.Handle()) // a body wakes a C body,
		})
		orPanic(err)
		to, err := coro.Go(s, func(c *coro.Coroutine) (coro.None, error) {
			_, err := p.Await(background, c) // for whose end another body waits
			y++
			return coro.None{}, err
		})
		orPanic(err)
		_, err = to.Wait(background)
		orPanic(err)
		y++
		_, err = from.Wait(background)
		orPanic(err)

		z := 0
		canceled, err := coro.Go(s, func(c *coro.Coroutine) (coro.None, error) {
			_ = c.Park(background)
			z++
			return coro.None{}, nil
		})
		orPanic(err)
		z++
		canceled.Cancel()
		_, _ = canceled.Wait(background)
		z++
	}
	orPanic(s.Close(background))
}

func orPanic(err error) {
	if err != nil {
		panic(err)
	}
}

var raced int

// aRace has two bodies write the same variable, at the same time.
func aRace() {
	s, err := coro.New(coro.WithWorkers(1), coro.WithExecutors(2))
	orPanic(err)
	var here sync.WaitGroup
	here.Add(2)
	for range 2 {
		_, err := coro.Go(s, func(c *coro.Coroutine) (coro.None, error) {
			here.Done()
			here.Wait() // both, on an executor each
			for i := range 10000 {
				raced++
				if i%100 == 0 {
					orPanic(c.Yield())
				}
			}
			return coro.None{}, nil
		})
		orPanic(err)
	}
	orPanic(s.Close(background))
}

func TestRaceDetectorSeesHandOversAndRaces(t *testing.T) {
	out, err := child(t, "hand-overs")
	assert.NoError(t, err, out)
	assert.NotContains(t, out, "DATA RACE")
	out, err = child(t, "a race")
	if raceDetector {
		assert.Error(t, err)
		assert.Contains(t, out, "WARNING: DATA RACE")
		assert.True(t, strings.Contains(out, "aRace"), out)
	} else {
		assert.NoError(t, err, out)
	}
}
