//go:build cgo

package coro_test

import (
	"context"
	"testing"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A coroutine that would wait for its own end is told at once, in each way of waiting, whether it
// is a Go body or has called the Go function that waits.
func TestWaitingForOneselfIsAnError(t *testing.T) {
	other := newScheduler(t)
	elsewhere := coro.NewGroup(background, other)
	_, err := square.Start(elsewhere, 1)
	require.NoError(t, err)

	// refused checks all ways to wait for a coroutine of s, and for its group.
	refused := func(t *testing.T, s *coro.Scheduler, g *coro.Group, own func() error) {
		assert.Equal(t, coro.ErrInside, own(), "Task.Wait")
		assert.Equal(t, coro.ErrInside, g.Wait(background), "Group.Wait")
		assert.Equal(t, coro.ErrInside, s.Wait(background), "Scheduler.Wait")
		assert.Equal(t, coro.ErrInside, s.Close(background), "Close")
		assert.Equal(t, coro.ErrInside, s.Close(expired), "Close")
		task, err := square.Start(s, 3)
		require.NoError(t, err)
		if task.Err() == nil {
			<-task.Done()
		}
		assert.NoError(t, other.Wait(background), "it waits for nobody here")
		assert.NoError(t, elsewhere.Wait(background))
	}
	t.Run("Go body", func(t *testing.T) {
		s := newScheduler(t)
		g := coro.NewGroup(background, s)
		self := make(chan *coro.Task[int], 1)
		task, err := coro.Go(g, func(c *coro.Coroutine) (int, error) {
			own := <-self
			refused(t, s, g, func() error { _, err := own.Wait(background); return err })
			_, err := coro.Await(background, c, own)
			assert.Equal(t, coro.ErrInside, err)
			return 7, nil
		})
		require.NoError(t, err)
		self <- task
		n, err := wait(t, task)
		require.NoError(t, err)
		assert.Equal(t, 7, n)
		require.NoError(t, g.Wait(soon(t)), "the group was not over")
		require.NoError(t, s.Close(soon(t)), "the scheduler was not closed")
	})
	t.Run("Go body outside of the group", func(t *testing.T) {
		s := newScheduler(t)
		g := coro.NewGroup(background, s)
		_, err := coro.Go(g, func(*coro.Coroutine) (int, error) { return 0, nil })
		require.NoError(t, err)
		_, err = wait(t, goes(t, s, func(c *coro.Coroutine) error { return g.Wait(soon(t)) }))
		require.NoError(t, err)
	})
	for name, how := range ways {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, coro.WithWorkers(2))
			g := coro.NewGroup(background, s)
			self := make(chan *coro.Task[testbody.Came], 1)
			id := coro.MustExportFunc(func(context.Context, int64) (int64, error) {
				own := <-self
				refused(t, s, g, func() error { _, err := own.Wait(background); return err })
				return 9, nil
			})
			task, err := callOne.Start(g, testbody.Call{ID: uint32(id), How: how,
				ArgBytes: 8, ResultBytes: 8})
			require.NoError(t, err)
			self <- task
			came, err := wait(t, task)
			require.NoError(t, err)
			assert.EqualValues(t, 9, came.Number)
			require.NoError(t, g.Wait(soon(t)))
			require.NoError(t, s.Close(soon(t)))
		})
	}
}

// Coroutines whose inline calls are made together go on together: each is waited for in vain by the
// functions of the others.
func TestWaitingForACoroutineThatIsCalledInlineTogether(t *testing.T) {
	const callers = 8
	s := newScheduler(t, coro.WithWorkers(1), coro.WithPaused())
	tasks := make([]*coro.Task[testbody.Came], callers)
	refused := 0
	id := coro.MustExportFunc(func(context.Context, int64) (int64, error) {
		for _, task := range tasks {
			switch _, err := task.Wait(background); err {
			case coro.ErrInside:
				refused++
			default:
				assert.NoError(t, err)
			}
		}
		return 0, nil
	})
	for i := range tasks {
		var err error
		tasks[i], err = callOne.Start(s, testbody.Call{ID: uint32(id), How: testbody.Inline,
			ArgBytes: 8, ResultBytes: 8})
		require.NoError(t, err)
	}
	require.NoError(t, s.Run(soon(t)))
	assert.GreaterOrEqual(t, refused, callers)
}
