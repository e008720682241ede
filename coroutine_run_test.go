//go:build cgo

package coro_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/organzine/coro"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRunReportsADeadlockOfBodies(t *testing.T) {
	s := newScheduler(t, coro.WithPaused())
	var ran atomic.Bool
	a, err := coro.Go(s, func(c *coro.Coroutine) (coro.None, error) {
		ran.Store(true)
		return coro.None{}, c.Park(background)
	})
	require.NoError(t, err)
	b := goes(t, s, func(c *coro.Coroutine) error {
		_, err := coro.Await(background, c, a)
		return err
	})
	time.Sleep(time.Millisecond)
	assert.False(t, ran.Load(), "nothing runs before Run")
	for range 3 {
		var deadlock *coro.DeadlockError
		require.ErrorAs(t, s.Run(soon(t)), &deadlock)
		assert.Equal(t, 2, deadlock.Count)
		waits := map[string]string{}
		for _, w := range deadlock.Blocked {
			waits[w.Waits] = w.Func
		}
		assert.Contains(t, waits["park"], "TestRunReportsADeadlockOfBodies")
		assert.Contains(t, waits, "await")
	}
	require.NoError(t, a.Wake())
	require.NoError(t, s.Run(soon(t)))
	_, err = wait(t, b)
	assert.NoError(t, err)
}

// Until the awaited end comes nothing is under way, in every way in which Go hears of the end.
func TestRunReportsADeadlockOfWhoAwaitsWhatIsBoundToGo(t *testing.T) {
	for name, start := range map[string]func(*coro.Scheduler) (*coro.Task[int32], error){
		"context": func(s *coro.Scheduler) (*coro.Task[int32], error) {
			return park.StartContext(background, s, coro.None{})
		},
		"group": func(s *coro.Scheduler) (*coro.Task[int32], error) {
			return park.Start(coro.NewGroup(background, s), coro.None{})
		},
		"goroutine": func(s *coro.Scheduler) (*coro.Task[int32], error) {
			task, err := park.Start(s, coro.None{})
			if err == nil {
				task.Done()
			}
			return task, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, coro.WithWorkers(2), coro.WithPaused())
			bound, err := start(s)
			require.NoError(t, err)
			await := func(c *coro.Coroutine) error {
				_, err := coro.Await(background, c, bound)
				return err
			}
			bodies := []*coro.Task[coro.None]{goes(t, s, await), goes(t, s, await)}
			for range 3 {
				var deadlock *coro.DeadlockError
				require.ErrorAs(t, s.Run(soon(t)), &deadlock)
				assert.Equal(t, 3, deadlock.Count)
			}
			require.NoError(t, bound.Wake())
			require.NoError(t, s.Run(soon(t)), "not before the waiter was told")
			for _, body := range bodies {
				select {
				case <-body.Done():
					assert.NoError(t, body.Err())
				default:
					assert.Fail(t, "it goes on")
				}
			}
		})
	}
}

// The pool goes to sleep last, while a C body waits for a stack: that body is told that there is
// none.
func TestRunTellsThoseWithoutAStackAfterTheLastGoBody(t *testing.T) {
	s := newScheduler(t, coro.WithPaused(), coro.WithWorkers(2), coro.WithStackLimit(oneStack))
	holds, err := park.Start(s, coro.None{})
	require.NoError(t, err)
	var waiter *coro.Task[coro.None]
	body := goes(t, s, func(*coro.Coroutine) error {
		parked(t, s, 1)
		waiter, err = empty.Start(s, coro.None{})
		eventually(t, func() bool {
			st := s.Stats()
			return st.AwaitingStack == 1 && st.Awake == 1
		}, "one awaits a stack, and only this is awake")
		return err
	})
	var deadlock *coro.DeadlockError
	require.ErrorAs(t, s.Run(soon(t)), &deadlock)
	assert.Equal(t, 1, deadlock.Count)
	_, err = wait(t, body)
	require.NoError(t, err)
	assert.Equal(t, coro.ErrNoMemory, waiter.Err())
	require.NoError(t, holds.Wake())
	require.NoError(t, s.Run(soon(t)))
}

// The first body, which was the joiner, gives up, and the second goes on waiting.
func TestRunReportsADeadlockOfWhoWasLeftWaiting(t *testing.T) {
	s := newScheduler(t, coro.WithPaused())
	parked, err := park.Start(s, coro.None{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(background)
	await := func(c *coro.Coroutine) (int32, error) { return coro.Await(background, c, parked) }
	first, err := coro.GoContext(ctx, s, await)
	require.NoError(t, err)
	deadlocked := func(n int) {
		var deadlock *coro.DeadlockError
		require.ErrorAs(t, s.Run(soon(t)), &deadlock)
		assert.Equal(t, n, deadlock.Count)
	}
	deadlocked(2)
	second, err := coro.Go(s, await)
	require.NoError(t, err)
	deadlocked(3)
	cancel()
	deadlocked(2)
	assert.Equal(t, context.Canceled, first.Err())
	require.NoError(t, parked.Wake())
	require.NoError(t, s.Run(soon(t)))
	status, err := wait(t, second)
	assert.NoError(t, err)
	assert.Zero(t, status)
}

// An end that Go hears of is told before anything rests.
func TestRunIsNotOverBeforeWhoAwaitsIsTold(t *testing.T) {
	for range scaled(100) {
		s := newScheduler(t, coro.WithWorkers(2), coro.WithPaused())
		for range 3 {
			goes(t, s, func(c *coro.Coroutine) error {
				for i := range int64(20) {
					task, err := yield.StartContext(background, s, i%3)
					if err == nil {
						_, err = coro.Await(background, c, task)
					}
					if err != nil {
						return err
					}
				}
				return nil
			})
		}
		require.NoError(t, s.Run(soon(t)))
		require.NoError(t, s.Close(soon(t)))
	}
}

func TestCanceledRunsOfOneBodyAreIndependent(t *testing.T) {
	s := newScheduler(t)
	var tasks []*coro.Task[int]
	for i := range 50 {
		task, err := coro.Go(s, func(c *coro.Coroutine) (int, error) {
			return i, c.Yield()
		})
		require.NoError(t, err)
		tasks = append(tasks, task)
	}
	for i, task := range tasks {
		got, err := wait(t, task)
		assert.NoError(t, err)
		assert.Equal(t, i, got)
	}
}
