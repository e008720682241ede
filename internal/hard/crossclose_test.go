//go:build cgo

package hard_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/organzine/coro"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// waitsAt are waits at objects of s that nothing ends but the close of s. What they need is held
// until the test ends.
func waitsAt(t *testing.T, s *coro.Scheduler) map[string]func(context.Context) error {
	empty, full := newChan[int](t, s, 3), newChan[int](t, s, 1)
	require.NoError(t, full.Send(background, 1))
	none := made[coro.Semaphore](t)(coro.NewSemaphore(s, 0))
	held := made[coro.Mutex](t)(coro.NewMutex(s))
	written := made[coro.RWMutex](t)(coro.NewRWMutex(s))
	count := made[coro.WaitGroup](t)(coro.NewWaitGroup(s, 1))
	free := made[coro.Mutex](t)(coro.NewMutex(s))
	cond := made[coro.Cond](t)(coro.NewCond(free))
	begun := made[coro.Once](t)(coro.NewOnce(s))

	release, doing := make(chan struct{}), make(chan struct{})
	var holder sync.WaitGroup
	holder.Go(func() { // the owner of all
		assert.NoError(t, held.Lock(background))
		assert.NoError(t, written.Lock(background))
		assert.NoError(t, begun.Do(background, func() { close(doing); <-release }))
	})
	t.Cleanup(func() { close(release); holder.Wait() })
	<-doing

	return map[string]func(context.Context) error{
		"receive":   func(ctx context.Context) error { return second(empty.Recv(ctx)) },
		"send":      func(ctx context.Context) error { return full.Send(ctx, 2) },
		"semaphore": none.Acquire,
		"mutex":     held.Lock,
		"write":     written.Lock,
		"read":      written.RLock,
		"count":     count.Wait,
		"once":      func(ctx context.Context) error { return begun.Do(ctx, func() {}) },
		"select": func(ctx context.Context) error {
			_, err := coro.Select(ctx, coro.OnRecv(empty, nil), coro.OnSend(full, 3))
			return err
		},
		"condition": func(ctx context.Context) error {
			if err := free.Lock(ctx); err != nil {
				return err
			}
			err := cond.Wait(ctx)
			assert.NoError(t, free.Unlock(), "it holds the mutex again")
			return err
		},
	}
}

// bodiesAt starts a Go body in s for each wait, with the body's context, and one with a context
// derived from it.
func bodiesAt(
	t *testing.T, s *coro.Scheduler, waits map[string]func(context.Context) error,
) map[string]*coro.Task[coro.None] {
	tasks := map[string]*coro.Task[coro.None]{}
	for name, wait := range waits {
		tasks[name] = goes(t, s, func(c *coro.Coroutine) error { return wait(c.Context()) })
		tasks[name+", derived"] = goes(t, s, func(c *coro.Coroutine) error {
			ctx, cancel := context.WithTimeout(c.Context(), patience)
			defer cancel()
			return wait(ctx)
		})
	}
	return tasks
}

// Who waits at an object hears of the close of its scheduler: goroutines, and bodies of others.
func TestBodiesHearThatAnotherSchedulerIsClosed(t *testing.T) {
	own, other := newScheduler(t), newScheduler(t)
	waits := waitsAt(t, own)
	tasks := bodiesAt(t, other, waits)
	parked(t, other, len(tasks))
	require.NoError(t, own.Close(background))
	for name, task := range tasks {
		_, err := task.Wait(soon(t))
		assert.Equal(t, coro.ErrClosed, err, name)
	}
	for name, task := range bodiesAt(t, other, waits) {
		_, err := task.Wait(soon(t))
		assert.Equal(t, coro.ErrClosed, err, "%s, after the close", name)
	}
	for name, wait := range waits {
		assert.Equal(t, coro.ErrClosed, wait(soon(t)), "%s, by a goroutine", name)
	}
	finish(t, other)
}

// What can be done at once is done at an object of a closed scheduler, by bodies too.
func TestWhatIsThereIsTakenAfterTheClose(t *testing.T) {
	own, other := newScheduler(t), newScheduler(t)
	c := newChan[int](t, own, 2)
	require.NoError(t, c.Send(background, 5))
	require.NoError(t, own.Close(background))
	_, err := goes(t, other, func(body *coro.Coroutine) error {
		v, err := c.Recv(body.Context())
		assert.Equal(t, 5, v)
		return err
	}).Wait(soon(t))
	require.NoError(t, err)
	finish(t, other)
}

// Bodies that wait for a moment only, while the scheduler of the object is closed.
func TestCloseBesideShortWaitsOfOtherBodies(t *testing.T) {
	other := newScheduler(t)
	for range scaled(50) {
		own := newScheduler(t)
		none := made[coro.Semaphore](t)(coro.NewSemaphore(own, 0))
		var closed atomic.Bool
		var tasks []*coro.Task[coro.None]
		for i := range 8 {
			tasks = append(tasks, goes(t, other, func(c *coro.Coroutine) error {
				for !closed.Load() {
					short := time.Duration(i*10) * time.Microsecond
					ctx, cancel := context.WithTimeout(c.Context(), short)
					err := none.Acquire(ctx)
					cancel()
					if err != context.DeadlineExceeded {
						return err
					}
				}
				return none.Acquire(c.Context())
			}))
		}
		require.NoError(t, own.Close(background))
		closed.Store(true)
		for _, task := range tasks {
			_, err := task.Wait(soon(t))
			require.Equal(t, coro.ErrClosed, err)
		}
	}
	finish(t, other)
}
