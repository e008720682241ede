//go:build cgo

package coro_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
)

func TestAwaitAllHasTheResultsInOrder(t *testing.T) {
	s := newScheduler(t)
	task, err := coro.Go(s, func(c *coro.Coroutine) ([]int64, error) {
		var tasks []*coro.Task[int64]
		for i := range int64(50) {
			task, err := square.Start(s, i)
			if err != nil {
				return nil, err
			}
			tasks = append(tasks, task)
		}
		return coro.AwaitAll(c.Context(), c, tasks...)
	})
	require.NoError(t, err)
	results, err := wait(t, task)
	require.NoError(t, err)
	require.Len(t, results, 50)
	for i, r := range results {
		assert.EqualValues(t, i*i, r)
	}
}

func TestAwaitAllJoinsErrorsAndEndsWithItsContext(t *testing.T) {
	s := newScheduler(t)
	fails := func(*coro.Coroutine) (int32, error) { return 0, errOdd }
	task, err := coro.Go(s, func(c *coro.Coroutine) (coro.None, error) {
		first, err := coro.Go(s, fails)
		require.NoError(t, err)
		second, err := park.Start(s, coro.None{})
		require.NoError(t, err)
		third, err := coro.Go(s, fails)
		require.NoError(t, err)

		ctx, quit := context.WithCancelCause(c.Context())
		quit(errEnough)
		results, err := coro.AwaitAll(ctx, c, second, first)
		assert.ErrorIs(t, err, errEnough)
		assert.Len(t, results, 2)

		require.NoError(t, second.Wake())
		_, err = coro.AwaitAll(c.Context(), c, first, second, third)
		joined, ok := err.(interface{ Unwrap() []error })
		require.True(t, ok)
		assert.Equal(t, []error{&coro.CallError{Index: 0, Err: errOdd},
			&coro.CallError{Index: 2, Err: errOdd}}, joined.Unwrap())

		_, err = coro.AwaitAll[int32](c.Context(), c)
		return coro.None{}, err
	})
	require.NoError(t, err)
	_, err = wait(t, task)
	require.NoError(t, err)
}

// Tasks that borrow have ended when AwaitAll returns, and the cause is that of the wait.
func TestAwaitAllEndsThoseThatBorrow(t *testing.T) {
	s := newScheduler(t)
	task, err := coro.Go(s, func(c *coro.Coroutine) (int, error) {
		var tasks []*coro.Task[uint64]
		for range 3 {
			task, err := addSlowly.Start(s, lent(make([]byte, 1<<24), make([]byte, 1<<24), 1))
			require.NoError(t, err)
			tasks = append(tasks, task)
		}
		ctx, quit := context.WithCancelCause(c.Context())
		quit(errEnough)
		_, err := coro.AwaitAll(ctx, c, tasks...)
		for _, task := range tasks {
			assert.ErrorIs(t, task.Err(), coro.ErrCanceled)
		}
		return 0, err
	})
	require.NoError(t, err)
	_, err = wait(t, task)
	assert.ErrorIs(t, err, errEnough)
}
