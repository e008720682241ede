//go:build cgo

package coro_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
)

var errOdd = errors.New("odd")

func upTo(n int64) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

func TestMapOfABodyInCHasItsResultsInOrder(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	results, err := square.Map(background, s, upTo(5000), coro.AtMost(7))
	require.NoError(t, err)
	require.Len(t, results, 5000)
	for i, r := range results {
		require.Equal(t, int64(i)*int64(i), r)
	}
	results, err = square.Map(background, s, slices.Values([]int64(nil)))
	assert.NoError(t, err)
	assert.Empty(t, results)
	require.NoError(t, empty.ForEach(background, s, slices.Values(make([]coro.None, 300))))
	assert.Zero(t, s.Stats().Live)
}

func TestMapOfGoBodiesKeepsItsLimit(t *testing.T) {
	s := newScheduler(t)
	var at, most atomic.Int64
	results, err := coro.Map(background, s, upTo(500),
		func(c *coro.Coroutine, i int64) (string, error) {
			if n := at.Add(1); n > most.Load() {
				most.Store(n)
			}
			defer at.Add(-1)
			return string(rune('a' + i%26)), c.Yield()
		}, coro.AtMost(3))
	require.NoError(t, err)
	require.Len(t, results, 500)
	assert.Equal(t, "z", results[25])
	assert.LessOrEqual(t, most.Load(), int64(3))
	assert.Positive(t, most.Load())
}

func TestTheFirstErrorOfAMapCancelsTheOthers(t *testing.T) {
	s := newScheduler(t)
	results, err := coro.Map(background, s, upTo(1<<40), // never asked for all of them
		func(c *coro.Coroutine, i int64) (int64, error) {
			if i == 3 {
				return 0, errOdd
			}
			if i > 3 {
				return 0, c.Park(c.Context())
			}
			return i + 1, nil
		}, coro.AtMost(6))
	var call *coro.CallError
	require.ErrorAs(t, err, &call)
	assert.Equal(t, 3, call.Index)
	assert.ErrorIs(t, err, errOdd)
	require.GreaterOrEqual(t, len(results), 4)
	assert.Equal(t, []int64{1, 2, 3, 0}, results[:4])
	assert.Zero(t, s.Stats().Live)
}

func TestAllErrorsOfAForEachAreJoinedInOrder(t *testing.T) {
	s := newScheduler(t)
	var ran atomic.Int64
	err := coro.ForEach(background, s, upTo(100), func(c *coro.Coroutine, i int64) error {
		ran.Add(1)
		if i%10 == 1 {
			return errOdd
		}
		return c.Yield()
	}, coro.AllErrors())
	assert.EqualValues(t, 100, ran.Load())
	joined, ok := err.(interface{ Unwrap() []error })
	require.True(t, ok)
	require.Len(t, joined.Unwrap(), 10)
	for i, err := range joined.Unwrap() {
		assert.Equal(t, &coro.CallError{Index: i*10 + 1, Err: errOdd}, err)
	}
}

func TestTheEndOfAContextEndsAMap(t *testing.T) {
	for _, opts := range [][]coro.MapOption{nil, {coro.AllErrors()}} {
		s := newScheduler(t)
		ctx, quit := context.WithCancelCause(background)
		results, err := park.Map(ctx, s, func(yield func(coro.None) bool) {
			for i := 0; yield(coro.None{}); i++ {
				if i == 2 {
					quit(errOdd)
				}
			}
		}, append(opts, coro.AtMost(8))...)
		assert.ErrorIs(t, err, errOdd)
		assert.GreaterOrEqual(t, len(results), 3)
		assert.Zero(t, s.Stats().Live)
		_, err = park.Map(ctx, s, slices.Values([]coro.None{{}}), opts...)
		assert.ErrorIs(t, err, errOdd)
	}
}

func TestAPanicOfASequenceLeavesNoBodyBehind(t *testing.T) {
	s := newScheduler(t)
	assert.PanicsWithValue(t, "mine", func() {
		_, _ = park.Map(background, s, func(yield func(coro.None) bool) {
			yield(coro.None{})
			panic("mine")
		})
	})
	assert.Zero(t, s.Stats().Live)
}

func TestWhatMapRefuses(t *testing.T) {
	s := newScheduler(t)
	one := slices.Values([]int64{1})
	f := func(*coro.Coroutine, int64) (int64, error) { return 0, nil }
	for _, opts := range [][]coro.MapOption{{coro.AtMost(0)}, {nil}} {
		_, err := coro.Map(background, s, one, f, opts...)
		assert.ErrorAs(t, err, new(*coro.OptionError))
	}
	_, err := square.Map(background, nil, one)
	optionError(t, err, "Func.Map")
	_, err = square.Map(background, s, nil)
	optionError(t, err, "Func.Map", "sequence")
	_, err = coro.Map[int64, int64](background, s, one, nil)
	optionError(t, err, "Map", "function")
	optionError(t, coro.ForEach(background, s, one, nil), "ForEach", "function")
	paused := newScheduler(t, coro.WithPaused())
	_, err = square.Map(background, paused, one)
	assert.ErrorIs(t, err, coro.ErrPaused)
	require.NoError(t, s.Close(background))
	_, err = square.Map(background, s, one)
	assert.ErrorIs(t, err, coro.ErrClosed)
}

func TestALimitedGroupStartsWhenATaskHasEnded(t *testing.T) {
	s := newScheduler(t)
	g := coro.NewGroup(background, s)
	require.NoError(t, g.SetLimit(2))
	var tasks []*coro.Task[int32]
	for range 2 {
		task, err := park.Start(g, coro.None{})
		require.NoError(t, err)
		tasks = append(tasks, task)
	}
	assert.ErrorIs(t, g.SetLimit(3), coro.ErrBusy)
	_, err := park.TryStart(g, coro.None{})
	assert.ErrorIs(t, err, coro.ErrGroupFull)
	_, err = coro.TryGo(g, func(*coro.Coroutine) (int, error) { return 0, nil })
	assert.ErrorIs(t, err, coro.ErrGroupFull)

	started := make(chan error)
	go func() {
		_, err := coro.Go(g, func(*coro.Coroutine) (int, error) { return 0, nil })
		started <- err
	}()
	select {
	case err := <-started:
		require.Fail(t, "a third task was started", "%v", err)
	default:
	}
	require.NoError(t, tasks[0].Wake())
	require.NoError(t, <-started)
	require.NoError(t, tasks[1].Wake())
	require.NoError(t, g.Wait(background))
}

func TestTheEndOfALimitedGroupEndsAStartThatWaits(t *testing.T) {
	s := newScheduler(t)
	g := coro.NewGroup(background, s)
	require.NoError(t, g.SetLimit(1))
	_, err := park.Start(g, coro.None{})
	require.NoError(t, err)
	started := make(chan error)
	go func() {
		_, err := park.Start(g, coro.None{})
		started <- err
	}()
	g.Cancel(errOdd)
	assert.ErrorIs(t, <-started, errOdd)
	assert.Equal(t, errOdd, g.Wait(background))
}

// A start that could wait for itself alone does not wait.
func TestAStartWithinALimitedGroupDoesNotWait(t *testing.T) {
	s := newScheduler(t)
	g := coro.NewGroup(background, s)
	require.NoError(t, g.SetLimit(1))
	_, err := coro.Go(g, func(*coro.Coroutine) (int, error) {
		_, err := square.Start(g, 3)
		return 0, err
	})
	require.NoError(t, err)
	assert.ErrorIs(t, g.Wait(background), coro.ErrGroupFull)

	paused := newScheduler(t, coro.WithPaused())
	g = coro.NewGroup(background, paused)
	require.NoError(t, g.SetLimit(1))
	_, err = square.Start(g, 3)
	require.NoError(t, err)
	_, err = square.Start(g, 4)
	assert.ErrorIs(t, err, coro.ErrGroupFull)
	require.NoError(t, paused.Run(background))
	_, err = square.Start(g, 4)
	require.NoError(t, err)
	require.NoError(t, paused.Run(background))
	require.NoError(t, g.Wait(background))
}

func TestWhatSetLimitTakes(t *testing.T) {
	s := newScheduler(t)
	g := coro.NewGroup(background, s)
	optionError(t, g.SetLimit(0), "Group.SetLimit")
	require.NoError(t, g.SetLimit(1))
	require.NoError(t, g.SetLimit(-1))
	for range 100 {
		_, err := square.TryStart(g, 2)
		require.NoError(t, err)
	}
	require.NoError(t, g.Wait(background))
	_, err := square.TryStart(g, 2)
	assert.ErrorIs(t, err, coro.ErrGroupOver)
}

// The context of a start ends its wait at the limit, and Wait waits for starts that wait.
func TestAStartThatWaitsEndsWithItsContext(t *testing.T) {
	s := newScheduler(t)
	g := coro.NewGroup(background, s)
	require.NoError(t, g.SetLimit(1))
	first, err := park.Start(g, coro.None{})
	require.NoError(t, err)
	ctx, quit := context.WithCancelCause(background)
	ended := make(chan error)
	go func() {
		_, err := park.StartContext(ctx, g, coro.None{})
		ended <- err
	}()
	go func() {
		_, err := coro.GoContext(ctx, g, func(*coro.Coroutine) (int, error) { return 0, nil })
		ended <- err
	}()
	quit(errOdd)
	assert.ErrorIs(t, <-ended, errOdd)
	assert.ErrorIs(t, <-ended, errOdd)

	var ran atomic.Bool
	go func() {
		_, err := coro.Go(g, func(*coro.Coroutine) (int, error) { ran.Store(true); return 0, nil })
		ended <- err
	}()
	waited := make(chan error)
	go func() { waited <- g.Wait(background) }()
	require.NoError(t, first.Wake())
	err = <-ended
	require.NoError(t, <-waited)
	if err == nil {
		assert.True(t, ran.Load())
	} else { // it came after Wait
		assert.ErrorIs(t, err, coro.ErrGroupOver)
	}
}

func TestAResultNextToAnErrorIsZero(t *testing.T) {
	s := newScheduler(t)
	results, err := coro.Map(background, s, upTo(2), func(*coro.Coroutine, int64) (int64, error) {
		return 7, errOdd
	}, coro.AllErrors())
	assert.ErrorIs(t, err, errOdd)
	assert.Equal(t, []int64{0, 0}, results)
}
