//go:build cgo

package coro_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The argument of a canceled body.
const (
	parks = iota
	asks
	parksAndTells
	asksAndTells
)

func TestACanceledTaskEndsByItself(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	for range scaled(200) {
		for how := range int64(4) {
			task, err := canceled.Start(s, how)
			require.NoError(t, err)
			if how == asks {
				eventually(t, func() bool { return testbody.Ran() > 0 }, "it runs")
			}
			task.Cancel()
			task.Cancel()
			got, err := task.Wait(soon(t))
			if err == nil {
				assert.Equal(t, how+100, got, "a result stands")
				assert.Less(t, how, int64(parksAndTells))
			} else {
				assert.Equal(t, coro.ErrCanceled, err)
				assert.Zero(t, got)
			}
			assert.Equal(t, err, task.Err())
			task.Cancel()
		}
	}
	finish(t, s)
}

func TestATaskThatIsCanceledWhereverItIs(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	parked1, err := canceled.Start(s, parks)
	require.NoError(t, err)
	parked(t, s, 1)
	parked1.Cancel()
	got, err := parked1.Wait(soon(t))
	require.NoError(t, err)
	assert.EqualValues(t, 100, got)

	told, err := canceled.Start(s, parksAndTells)
	require.NoError(t, err)
	parked(t, s, 1)
	c, err := cancel.Start(s, told.Handle())
	require.NoError(t, err)
	status, err := c.Wait(soon(t))
	require.NoError(t, err)
	assert.Equal(t, testbody.OK, status)
	_, err = told.Wait(soon(t))
	assert.Equal(t, coro.ErrCanceled, err)
	assert.Equal(t, coro.ErrStale, told.Handle().Cancel())

	// A canceled join leaves the end to others.
	target, err := park.Start(s, coro.None{})
	require.NoError(t, err)
	joiner, err := join.Start(s, target.Handle())
	require.NoError(t, err)
	parked(t, s, 2)
	joiner.Cancel()
	status, err = joiner.Wait(soon(t))
	require.NoError(t, err)
	assert.Equal(t, testbody.ECANCELED, status)
	require.NoError(t, target.Wake())
	status, err = target.Wait(soon(t))
	require.NoError(t, err)
	assert.Equal(t, testbody.OK, status)
}

func TestATaskThatIsCanceledBeforeItsStartNeverRuns(t *testing.T) {
	s := newScheduler(t, coro.WithPaused(), coro.WithWorkers(2))
	var tasks []*coro.Task[int64]
	for i := range int64(100) {
		task, err := canceled.Start(s, asks)
		require.NoError(t, err)
		task.Cancel()
		assert.NoError(t, task.Err(), "%d: nothing runs yet", i)
		tasks = append(tasks, task)
	}
	require.NoError(t, s.Run(background))
	assert.Zero(t, testbody.Ran())
	for _, task := range tasks {
		_, err := task.Wait(background)
		require.Equal(t, coro.ErrCanceled, err)
	}
}

func TestABodyInGoIsCanceledLikeAnyOther(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	cancels := map[string]func(*coro.Task[int]){
		"by its task": (*coro.Task[int]).Cancel,
		"by its handle": func(task *coro.Task[int]) {
			require.NoError(t, task.Handle().Cancel())
		},
		"by a C body": func(task *coro.Task[int]) {
			c, err := cancel.Start(s, task.Handle())
			require.NoError(t, err)
			status, err := c.Wait(soon(t))
			require.NoError(t, err)
			assert.Equal(t, testbody.OK, status)
		},
	}
	for name, cancel := range cancels {
		t.Run(name, func(t *testing.T) {
			task, err := coro.Go(s, func(c *coro.Coroutine) (int, error) {
				first, second := c.Park(background), c.Park(background)
				assert.Equal(t, first, second)
				assert.Equal(t, first, context.Cause(c.Context()))
				return 5, first
			})
			require.NoError(t, err)
			parked(t, s, 1)
			cancel(task)
			got, err := task.Wait(soon(t))
			assert.Equal(t, coro.ErrCanceled, err)
			assert.Equal(t, 5, got)
			assert.Equal(t, err, task.Err())
			<-task.Done()
		})
	}
	p := newScheduler(t, coro.WithPaused())
	task, err := coro.Go(p, func(*coro.Coroutine) (int, error) {
		panic("it was canceled before")
	})
	require.NoError(t, err)
	task.Cancel()
	require.NoError(t, p.Run(background))
	_, err = task.Wait(background)
	assert.Equal(t, coro.ErrCanceled, err)
}

func TestDoneIsClosedAtTheEnd(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	task, err := park.Start(s, coro.None{})
	require.NoError(t, err)
	done := task.Done()
	select {
	case <-done:
		assert.Fail(t, "it is parked")
	default:
	}
	assert.NoError(t, task.Err())
	require.NoError(t, task.Wake())
	<-done
	<-task.Done()
	assert.NoError(t, task.Err())
	status, err := task.Wait(expired)
	require.NoError(t, err)
	assert.Equal(t, testbody.OK, status)

	over, err := abort.Start(s, coro.None{})
	require.NoError(t, err)
	finish(t, s)
	<-over.Done() // its end was told to nobody before
	assert.Equal(t, coro.ErrAborted, over.Err())

	joined, err := park.Start(s, coro.None{})
	require.NoError(t, err)
	joiner, err := join.Start(s, joined.Handle())
	require.NoError(t, err)
	parked(t, s, 2)
	<-joined.Done() // Wait returns at once
	_, err = joined.Wait(background)
	assert.Equal(t, coro.ErrBusy, err)
	require.NoError(t, joined.Wake())
	_, err = joiner.Wait(soon(t))
	require.NoError(t, err)
	<-joined.Done()
	assert.Equal(t, coro.ErrStale, joined.Err())
}

func TestTheEndOfAContextCancelsATask(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	reason := errors.New("no more")
	for how := range int64(4) {
		ctx, end := context.WithCancelCause(background)
		task, err := canceled.StartContext(ctx, s, how)
		require.NoError(t, err)
		eventually(t, func() bool { return testbody.Ran() == how+1 }, "it has started")
		end(reason)
		got, err := task.Wait(soon(t))
		if how < parksAndTells {
			require.NoError(t, err)
			assert.Equal(t, how+100, got, "its result stands")
		} else {
			assert.ErrorIs(t, err, reason)
			assert.Zero(t, got)
		}
		assert.Equal(t, err, task.Err())
	}
	finish(t, s)
}

func TestADeadlineCancelsATask(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	ctx, end := context.WithTimeout(background, time.Millisecond)
	defer end()
	task, err := canceled.StartContext(ctx, s, parksAndTells)
	if err == nil {
		_, err = task.Wait(soon(t))
	}
	assert.Equal(t, context.DeadlineExceeded, err)
}

func TestAContextThatEndsBeforeTheStart(t *testing.T) {
	s := newScheduler(t, coro.WithPaused())
	task, err := canceled.StartContext(expired, s, parks)
	assert.Equal(t, context.Canceled, err)
	assert.Nil(t, task)

	reason := errors.New("too late")
	ctx, end := context.WithCancelCause(background)
	task, err = canceled.StartContext(ctx, s, parks)
	require.NoError(t, err)
	end(reason)
	eventually(t, func() bool { // the cancel comes from another goroutine: ask until it came
		_ = s.Run(background)
		return task.Err() != nil || testbody.Ran() > 0
	}, "it ends or starts")
	if testbody.Ran() == 0 {
		assert.ErrorIs(t, task.Err(), reason)
	}
	require.NoError(t, s.Close(background))
	_, err = task.Wait(soon(t))
	assert.True(t, err == nil || errors.Is(err, reason), "%v", err)
	_, err = canceled.StartContext(background, s, parks)
	assert.Equal(t, coro.ErrClosed, err)
}

func TestATaskThatEndsLetsItsContextGo(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	ctx := &countingContext{Context: background, done: make(chan struct{})}
	var tasks []*coro.Task[int64]
	for i := range int64(100) {
		task, err := square.StartContext(ctx, s, i)
		require.NoError(t, err)
		tasks = append(tasks, task)
	}
	for i, task := range tasks {
		got, err := task.Wait(soon(t))
		require.NoError(t, err)
		require.EqualValues(t, i*i, got)
	}
	eventually(t, func() bool { return ctx.bound.Load() == 0 }, "it is let go")
	close(ctx.done)
	finish(t, s)
}

// A countingContext counts the functions bound to it: context.AfterFunc asks it to bind them.
type countingContext struct {
	context.Context
	done  chan struct{}
	bound atomic.Int64
}

func (c *countingContext) Done() <-chan struct{} { return c.done }
func (c *countingContext) AfterFunc(f func()) func() bool {
	c.bound.Add(1)
	return func() bool { c.bound.Add(-1); return true }
}

func TestACloseIsNotTheContextsCause(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	ctx, end := context.WithCancel(background)
	defer end()
	task, err := canceled.StartContext(ctx, s, parksAndTells)
	require.NoError(t, err)
	parked(t, s, 1)
	_ = s.Close(expired)
	require.NoError(t, s.Close(soon(t)))
	_, err = task.Wait(background)
	assert.Equal(t, coro.ErrCanceled, err)
}

func TestATaskOfAContextIsGosToJoin(t *testing.T) {
	const ebusy = int32(-8)
	s := newScheduler(t, coro.WithWorkers(2))
	ctx, end := context.WithCancel(background)
	defer end()
	task, err := park.StartContext(ctx, s, coro.None{})
	require.NoError(t, err)
	joiner, err := join.Start(s, task.Handle())
	require.NoError(t, err)
	status, err := joiner.Wait(soon(t))
	require.NoError(t, err)
	assert.Equal(t, ebusy, status)
	require.NoError(t, task.Wake())
	status, err = task.Wait(soon(t))
	require.NoError(t, err)
	assert.Equal(t, testbody.OK, status)
}

func TestDroppedTasksOfContextsAreCollected(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	ctx, end := context.WithCancel(background)
	defer end()
	const n = 5000
	for i := range int64(n) {
		_, err := square.StartContext(ctx, s, i)
		require.NoError(t, err)
	}
	finish(t, s)
	eventually(t, func() bool {
		return s.Stats().Records-s.Stats().RecordsIdle < n/10
	}, "the records come back")
}

// Each task ends once, with its result or the reason, whichever comes first.
func TestCancelsThatRaceWithWakesAndEnds(t *testing.T) {
	doors(t, func(t *testing.T, opts ...coro.Option) {
		s := newScheduler(t, append(opts, coro.WithWorkers(2))...)
		reason := errors.New("enough")
		var all sync.WaitGroup
		var results, reasons, woken atomic.Int64
		const users = 4
		rounds := scaled(800)
		for user := range users {
			random := rand.New(rand.NewPCG(uint64(user), 5))
			all.Go(func() {
				for range rounds {
					ctx, end := context.WithCancelCause(background)
					task, err := canceled.StartContext(ctx, s,
						int64(random.IntN(2)*parksAndTells))
					if !assert.NoError(t, err) {
						end(nil)
						return
					}
					var two sync.WaitGroup
					two.Go(func() { _ = task.Wake() })
					two.Go(func() { end(reason) })
					if random.IntN(2) == 0 {
						runtime.Gosched()
						task.Cancel()
					}
					got, err := task.Wait(soon(t))
					two.Wait()
					switch {
					case err == nil && got == 0:
						woken.Add(1)
					case err == nil:
						results.Add(1)
						assert.EqualValues(t, 100, got)
					default:
						reasons.Add(1)
						assert.True(t, errors.Is(err, reason) ||
							err == coro.ErrCanceled, "%v", err)
					}
				}
			})
		}
		all.Wait()
		assert.EqualValues(t, users*rounds, results.Load()+reasons.Load()+woken.Load())
		finish(t, s)
	})
}
