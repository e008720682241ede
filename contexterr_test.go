//go:build cgo

package coro_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
)

// endedContexts returns contexts that have ended, and what errors.Is must find in the error of each
// call that has ended by one of them.
func endedContexts(t *testing.T) map[context.Context][]error {
	why := errors.New("enough")
	canceled, cancel := context.WithCancelCause(background)
	cancel(why)
	late, free := context.WithDeadlineCause(background, time.Unix(0, 0), why)
	t.Cleanup(free)
	plain, free := context.WithDeadline(background, time.Unix(0, 0))
	t.Cleanup(free)
	return map[context.Context][]error{
		canceled: {why, context.Canceled},
		late:     {why, context.DeadlineExceeded},
		plain:    {context.DeadlineExceeded},
		expired:  {context.Canceled},
	}
}

// Each call whose context ends returns an error in which errors.Is finds the cause and the Err.
func TestErrorsOfContextsHaveTheCauseAndTheErr(t *testing.T) {
	s := newScheduler(t)
	waits := append(newObjects(t, s).waits(), taskWaits(t, s)...)
	waits = append(waits, callWaits(t, s)...)
	waits = append(waits, boundStarts(s)...)
	waits = append(waits, bodyWaits(t, s)...)
	waits = append(waits,
		bubbleWait{"Serve", func(ctx context.Context) error { return s.Serve(ctx, listen(t, "tcp"), serveEcho) }})
	not := map[string]bool{
		"New": true, "Task.Done": true, "Start in a group": true, // no context
		"Scheduler.Rest":  true, // all are at rest, which it tells
		"Scheduler.Close": true, // which would end what the others wait for
	}
	for ctx, wanted := range endedContexts(t) {
		for _, w := range waits {
			if not[w.name] {
				continue
			}
			result := make(chan error, 1)
			go func() { result <- w.call(ctx) }() // the locks are held by the test's goroutine
			err := <-result
			for _, want := range wanted {
				assert.ErrorIs(t, err, want, w.name)
			}
		}
		closed := newScheduler(t)
		_, err := park.Start(closed, coro.None{})
		require.NoError(t, err)
		err = closed.Close(ctx)
		for _, want := range wanted {
			assert.ErrorIs(t, err, want, "Close")
		}
	}
}

// bodyWaits are the waits of a Go body, each in a body of its own.
func bodyWaits(t *testing.T, s *coro.Scheduler) []bubbleWait {
	other, err := park.Start(s, coro.None{})
	require.NoError(t, err)
	t.Cleanup(other.Cancel)
	in := func(f func(context.Context, *coro.Coroutine) error) func(context.Context) error {
		return func(ctx context.Context) error {
			task, err := coro.Go(s, func(c *coro.Coroutine) (coro.None, error) { return coro.None{}, f(ctx, c) })
			require.NoError(t, err)
			_, err = task.Wait(soon(t))
			return err
		}
	}
	return []bubbleWait{
		{"Park", in(func(ctx context.Context, c *coro.Coroutine) error { return c.Park(ctx) })},
		{"Sleep", in(func(ctx context.Context, c *coro.Coroutine) error { return c.Sleep(ctx, time.Hour) })},
		{"Await", in(func(ctx context.Context, c *coro.Coroutine) error {
			_, err := coro.Await(ctx, c, other)
			return err
		})},
	}
}

// What the end of a context cancels, while it waits, has the cause and the Err in its error: a C
// body, a Go body, and the members of a group.
func TestErrorsOfCanceledTasksHaveTheCauseAndTheErr(t *testing.T) {
	s := newScheduler(t)
	why := errors.New("enough")
	waits := func(c *coro.Coroutine) (int64, error) { return 0, c.Park(background) }
	ends := map[string]func() (context.Context, func()){
		"cancel": func() (context.Context, func()) {
			ctx, cancel := context.WithCancelCause(background)
			return ctx, func() { cancel(why) }
		},
		"deadline": func() (context.Context, func()) {
			ctx, free := context.WithTimeoutCause(background, 20*time.Millisecond, why)
			t.Cleanup(free)
			return ctx, func() {}
		},
	}
	for name, end := range ends {
		ctx, cancel := end()
		inC, err := canceled.StartContext(ctx, s, parksAndTells)
		if name == "deadline" && err != nil {
			require.ErrorIs(t, err, why) // the machine was slow
			continue
		}
		require.NoError(t, err)
		group := coro.NewGroup(ctx, s)
		tasks := []*coro.Task[int64]{inC}
		for _, start := range []func() (*coro.Task[int64], error){
			func() (*coro.Task[int64], error) { return coro.GoContext(ctx, s, waits) },
			func() (*coro.Task[int64], error) { return canceled.Start(group, parksAndTells) },
			func() (*coro.Task[int64], error) { return coro.Go(group, waits) },
		} {
			if task, err := start(); err == nil {
				tasks = append(tasks, task)
			} else {
				require.ErrorIs(t, err, why)
			}
		}
		members := len(tasks) > 2
		cancel()
		for i, task := range tasks {
			got, err := task.Wait(soon(t))
			require.ErrorIs(t, err, why, "%s %d: %d", name, i, got)
			require.ErrorIs(t, err, ctx.Err())
		}
		if err := group.Wait(soon(t)); members {
			require.ErrorIs(t, err, why)
			require.ErrorIs(t, err, ctx.Err())
		}
	}
}

func TestErrorsAreThoseOfGo(t *testing.T) {
	require.ErrorIs(t, coro.ErrCanceled, context.Canceled)
	require.ErrorIs(t, coro.ErrNoCgo, errors.ErrUnsupported)
	require.NotErrorIs(t, coro.ErrCanceled, context.DeadlineExceeded)
	s := newScheduler(t)
	task, err := canceled.Start(s, parksAndTells)
	require.NoError(t, err)
	task.Cancel()
	_, err = task.Wait(soon(t))
	require.ErrorIs(t, err, coro.ErrCanceled)
	require.ErrorIs(t, err, context.Canceled)
}
