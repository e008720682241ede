//go:build cgo

package coro_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/organzine/coro"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// goes starts a body that returns nothing.
func goes(t testing.TB, s *coro.Scheduler, f func(c *coro.Coroutine) error) *coro.Task[coro.None] {
	t.Helper()
	task, err := coro.Go(s, func(c *coro.Coroutine) (coro.None, error) {
		return coro.None{}, f(c)
	})
	require.NoError(t, err)
	return task
}

func wait[R any](t testing.TB, task *coro.Task[R]) (R, error) {
	t.Helper()
	return task.Wait(soon(t))
}

func TestGoReturnsAnything(t *testing.T) {
	s := newScheduler(t)
	task, err := coro.Go(s, func(c *coro.Coroutine) (map[string]int, error) {
		for range 3 {
			assert.NoError(t, c.Yield())
		}
		return map[string]int{"a": 1}, nil
	})
	require.NoError(t, err)
	for range 2 {
		got, err := wait(t, task)
		assert.NoError(t, err)
		assert.Equal(t, map[string]int{"a": 1}, got)
	}
	failed := goes(t, s, func(*coro.Coroutine) error { return errors.ErrUnsupported })
	_, err = wait(t, failed)
	assert.ErrorIs(t, err, errors.ErrUnsupported)
}

func TestGoTakesTurns(t *testing.T) {
	eventually(t, func() bool {
		s := newScheduler(t, coro.WithExecutors(1))
		var mu sync.Mutex
		var order []int
		var started atomic.Int32
		for i := range 3 {
			goes(t, s, func(c *coro.Coroutine) error {
				for started.Add(1); started.Load() < 3; {
					assert.NoError(t, c.Yield())
				}
				for range 4 {
					mu.Lock()
					order = append(order, i)
					mu.Unlock()
					assert.NoError(t, c.Yield())
				}
				return nil
			})
		}
		require.NoError(t, s.Wait(soon(t)))
		require.Len(t, order, 12)
		// The machine was slow: another executor stood in, and they took turns of their
		// own.
		if s.Executors() > 1 {
			return false
		}
		for i := range 9 {
			assert.Equal(t, order[i], order[i+3], "round %v", order)
		}
		return true
	}, "only one executor is needed")
}

func TestGoManyAtOnce(t *testing.T) {
	for _, executors := range []int{1, 2, 4} {
		s := newScheduler(t, coro.WithExecutors(executors))
		n := scaled(20000)
		var sum atomic.Int64
		for i := range n {
			goes(t, s, func(c *coro.Coroutine) error {
				for range i % 7 {
					assert.NoError(t, c.Yield())
				}
				sum.Add(int64(i))
				return nil
			})
		}
		require.NoError(t, s.Wait(soon(t)))
		assert.EqualValues(t, n*(n-1)/2, sum.Load())
		assert.Zero(t, s.Stats().Live)
	}
}

func TestGoAndCJoinEachOther(t *testing.T) {
	s := newScheduler(t)
	// A Go body waits for a C body, woken by another Go body.
	parked, err := park.Start(s, coro.None{})
	require.NoError(t, err)
	waiter := goes(t, s, func(c *coro.Coroutine) error {
		status, err := coro.Await(background, c, parked)
		assert.Zero(t, status)
		return err
	})
	goes(t, s, func(c *coro.Coroutine) error { return c.Wake(parked.Handle()) })
	_, err = wait(t, waiter)
	require.NoError(t, err)
	_, err = wait(t, parked)
	require.NoError(t, err, "the result stays")
	// A C body joins a Go body.
	body, err := coro.Go(s, func(c *coro.Coroutine) (int64, error) {
		return 7, c.Park(background)
	})
	require.NoError(t, err)
	joiner, err := join.Start(s, body.Handle())
	require.NoError(t, err)
	require.NoError(t, body.Wake())
	status, err := wait(t, joiner)
	require.NoError(t, err)
	assert.Zero(t, status)
	got, err := wait(t, body)
	require.NoError(t, err)
	assert.EqualValues(t, 7, got)
	// A C body wakes a Go body.
	sleeper := goes(t, s, func(c *coro.Coroutine) error { return c.Park(background) })
	_, err = wake.Start(s, sleeper.Handle())
	require.NoError(t, err)
	_, err = wait(t, sleeper)
	require.NoError(t, err)
}

func TestAwaitTree(t *testing.T) {
	s := newScheduler(t)
	var fib func(n int) func(c *coro.Coroutine) (int, error)
	fib = func(n int) func(c *coro.Coroutine) (int, error) {
		return func(c *coro.Coroutine) (int, error) {
			if n < 2 {
				return n, nil
			}
			a, err := coro.Go(c.Scheduler(), fib(n-1))
			if err != nil {
				return 0, err
			}
			b, err := coro.Go(c.Scheduler(), fib(n-2))
			if err != nil {
				return 0, err
			}
			x, err := coro.Await(background, c, a)
			if err != nil {
				return 0, err
			}
			y, err := coro.Await(background, c, b)
			return x + y, err
		}
	}
	task, err := coro.Go(s, fib(15))
	require.NoError(t, err)
	got, err := wait(t, task)
	require.NoError(t, err)
	assert.Equal(t, 610, got)
	require.NoError(t, s.Wait(soon(t)))
	assert.Zero(t, s.Stats().Live)
}

// The pool goes to sleep for each body, often at the moment at which it is woken.
func TestAwaitOneAfterTheOther(t *testing.T) {
	s := newScheduler(t)
	n := int64(scaled(40000))
	task, err := coro.Go(s, func(c *coro.Coroutine) (sum int64, err error) {
		for i := range n {
			task, err := square.Start(c.Scheduler(), i)
			if err != nil {
				return 0, err
			}
			k, err := coro.Await(background, c, task)
			if err != nil {
				return 0, err
			}
			sum += k
		}
		return sum, nil
	})
	require.NoError(t, err)
	sum, err := wait(t, task)
	require.NoError(t, err)
	assert.Equal(t, (n-1)*n*(2*n-1)/6, sum)
}

func TestAwaitByMany(t *testing.T) {
	s, other := newScheduler(t), newScheduler(t)
	for _, target := range []*coro.Scheduler{s, other} {
		parked, err := park.Start(target, coro.None{})
		require.NoError(t, err)
		body := goes(t, target, func(c *coro.Coroutine) error { return c.Park(background) })
		var waiters []*coro.Task[coro.None]
		for range 10 {
			waiters = append(waiters, goes(t, s, func(c *coro.Coroutine) error {
				_, err := coro.Await(background, c, parked)
				_, err2 := coro.Await(background, c, body)
				return errors.Join(err, err2)
			}))
		}
		var outside sync.WaitGroup
		outside.Go(func() {
			_, err := wait(t, parked)
			assert.NoError(t, err)
		})
		eventually(t, func() bool { _, n := s.Blocked(0); return n >= 10 }, "all wait")
		require.NoError(t, parked.Wake())
		require.NoError(t, body.Wake())
		outside.Wait()
		for _, w := range waiters {
			_, err := wait(t, w)
			assert.NoError(t, err)
		}
	}
}

func TestGoPanicIsAnError(t *testing.T) {
	s := newScheduler(t)
	for range 3 {
		task := goes(t, s, func(c *coro.Coroutine) error { panic(errors.ErrUnsupported) })
		_, err := wait(t, task)
		var p *coro.PanicError
		require.ErrorAs(t, err, &p)
		assert.ErrorIs(t, err, errors.ErrUnsupported)
		assert.Contains(t, string(p.Stack), "TestGoPanicIsAnError")
	}
	nilPointer := goes(t, s, func(c *coro.Coroutine) error {
		var p *int
		*p = 1 //nolint:all
		return nil
	})
	_, err := wait(t, nilPointer)
	assert.ErrorContains(t, err, "nil pointer")
}

func TestGoexitIsAnError(t *testing.T) {
	s := newScheduler(t, coro.WithExecutors(2))
	for range 20 {
		task := goes(t, s, func(c *coro.Coroutine) error {
			assert.NoError(t, c.Yield())
			runtime.Goexit()
			return nil
		})
		_, err := wait(t, task)
		assert.ErrorIs(t, err, coro.ErrGoexit)
	}
	still := goes(t, s, func(c *coro.Coroutine) error { return c.Yield() })
	_, err := wait(t, still)
	assert.NoError(t, err)
}

func TestGoSleep(t *testing.T) {
	s := newScheduler(t)
	began := time.Now()
	for range 100 {
		goes(t, s, func(c *coro.Coroutine) error {
			return c.Sleep(background, 20*time.Millisecond)
		})
	}
	require.NoError(t, s.Wait(soon(t)), "a sleeper is no deadlock, and is waited for")
	assert.GreaterOrEqual(t, time.Since(began), 20*time.Millisecond)
}

func TestGoContextEndsWaits(t *testing.T) {
	s := newScheduler(t)
	cause := errors.New("enough")
	forever, err := park.Start(s, coro.None{})
	require.NoError(t, err)
	for name, waits := range map[string]func(c *coro.Coroutine) error{
		"park":  func(c *coro.Coroutine) error { return c.Park(background) },
		"sleep": func(c *coro.Coroutine) error { return c.Sleep(background, time.Hour) },
		"await": func(c *coro.Coroutine) error {
			_, err := coro.Await(background, c, forever)
			return err
		},
	} {
		ctx, cancel := context.WithCancelCause(context.Background())
		var twice error
		task, err := coro.GoContext(ctx, s, func(c *coro.Coroutine) (coro.None, error) {
			err := waits(c)
			assert.ErrorIs(t, context.Cause(c.Context()), cause)
			twice = waits(c)
			return coro.None{}, err
		})
		require.NoError(t, err)
		eventually(t, func() bool { _, n := s.Blocked(0); return n >= 2 }, "%s waits", name)
		cancel(cause)
		_, err = wait(t, task)
		assert.ErrorIs(t, err, cause, name)
		assert.ErrorIs(t, twice, cause, name)
	}
	require.NoError(t, forever.Wake(), "what was waited for goes on")
	_, err = wait(t, forever)
	require.NoError(t, err)

	_, err = coro.GoContext(expired, s, func(c *coro.Coroutine) (coro.None, error) {
		assert.Fail(t, "it is called")
		return coro.None{}, nil
	})
	assert.ErrorIs(t, err, context.Canceled)
}

func TestCoroutineIsForItsBody(t *testing.T) {
	s := newScheduler(t)
	var escaped *coro.Coroutine
	inside := make(chan error)
	task := goes(t, s, func(c *coro.Coroutine) error {
		escaped = c
		go func() { inside <- c.Yield() }()
		return errors.Join(<-inside, c.Yield())
	})
	_, err := wait(t, task)
	assert.ErrorIs(t, err, coro.ErrNotCurrent)
	var none *coro.Coroutine
	for _, c := range []*coro.Coroutine{escaped, none} {
		assert.ErrorIs(t, c.Yield(), coro.ErrNotCurrent)
		assert.ErrorIs(t, c.Park(background), coro.ErrNotCurrent)
		assert.ErrorIs(t, c.Sleep(background, time.Second), coro.ErrNotCurrent)
		assert.ErrorIs(t, c.Wake(task.Handle()), coro.ErrNotCurrent)
		_, err := coro.Await(background, c, task)
		assert.ErrorIs(t, err, coro.ErrNotCurrent)
	}
	assert.ErrorIs(t, escaped.Context().Err(), context.Canceled)
	// A body that is not the caller, though it lives.
	other := goes(t, s, func(c *coro.Coroutine) error {
		escaped = c
		return c.Park(background)
	})
	eventually(t, func() bool { _, n := s.Blocked(0); return n == 1 }, "it parks")
	misuse := goes(t, s, func(*coro.Coroutine) error { return escaped.Yield() })
	_, err = wait(t, misuse)
	assert.ErrorIs(t, err, coro.ErrNotCurrent)
	require.NoError(t, other.Wake())
}

func TestGoBadInput(t *testing.T) {
	s := newScheduler(t)
	_, err := coro.Go[int](s, nil)
	optionError(t, err, "Go", "function")
	for _, n := range []int{0, -1, 5000} {
		_, err := coro.New(coro.WithExecutors(n))
		optionError(t, err, "WithExecutors", "from 1 to 4096")
	}
	require.NoError(t, s.Close(background))
	_, err = coro.Go(s, func(*coro.Coroutine) (int, error) { return 0, nil })
	assert.ErrorIs(t, err, coro.ErrClosed)
}

func TestGoAtTheRecordLimit(t *testing.T) {
	s := newScheduler(t, coro.WithRecordLimit(1))
	var tasks []*coro.Task[coro.None]
	var err error
	for {
		var task *coro.Task[coro.None]
		task, err = coro.Go(s, func(c *coro.Coroutine) (coro.None, error) {
			return coro.None{}, c.Park(background)
		})
		if err != nil {
			break
		}
		tasks = append(tasks, task)
	}
	assert.ErrorIs(t, err, coro.ErrNoMemory)
	assert.Greater(t, len(tasks), 10000)
	for _, task := range tasks {
		require.NoError(t, task.Wake())
		_, err := wait(t, task)
		require.NoError(t, err)
	}
	goes(t, s, func(*coro.Coroutine) error { return nil })
}

func TestCloseCancelsBodies(t *testing.T) {
	for _, paused := range []bool{false, true} {
		opts := []coro.Option{coro.WithExecutors(2)}
		if paused {
			opts = append(opts, coro.WithPaused())
		}
		s := newScheduler(t, opts...)
		var cleaned atomic.Int64
		var tasks []*coro.Task[coro.None]
		for i := range 100 {
			tasks = append(tasks, goes(t, s, func(c *coro.Coroutine) error {
				defer cleaned.Add(1)
				if i%2 == 0 {
					return c.Sleep(background, time.Hour)
				}
				return c.Park(background)
			}))
		}
		if !paused {
			eventually(t, func() bool {
				_, n := s.Blocked(0)
				return n == 100
			}, "all wait")
			assert.ErrorIs(t, s.Close(expired), context.Canceled)
			assert.EqualValues(t, 100, cleaned.Load())
		} else {
			assert.NoError(t, s.Close(background))
			assert.Zero(t, cleaned.Load(), "none was started")
		}
		for _, task := range tasks {
			_, err := wait(t, task)
			assert.ErrorIs(t, err, coro.ErrCanceled)
		}
	}
}

func TestCloseNamesBodiesThatGoOn(t *testing.T) {
	s := newScheduler(t)
	release := make(chan struct{})
	task, err := coro.Go(s, func(*coro.Coroutine) (coro.None, error) {
		<-release
		return coro.None{}, nil
	})
	require.NoError(t, err)
	eventually(t, func() bool { return s.Stats().Live == 1 }, "it runs")
	var running *coro.RunningError
	require.ErrorAs(t, s.Close(expired), &running)
	assert.Contains(t, fmt.Sprint(running.Funcs), "TestCloseNamesBodiesThatGoOn")
	close(release)
	_, err = wait(t, task)
	assert.NoError(t, err)
	assert.NoError(t, s.Close(background))
}

// Bodies that wait for each other in Go, more than there are executors, do not lock up the
// scheduler.
func TestGoBodiesMayWaitInGo(t *testing.T) {
	s := newScheduler(t, coro.WithExecutors(1))
	ch := make(chan int)
	var tasks []*coro.Task[coro.None]
	for range 4 {
		tasks = append(tasks,
			goes(t, s, func(c *coro.Coroutine) error { <-ch; return nil }))
	}
	for i := range 4 {
		tasks = append(tasks,
			goes(t, s, func(c *coro.Coroutine) error { ch <- i; return nil }))
	}
	for _, task := range tasks {
		_, err := wait(t, task)
		assert.NoError(t, err)
	}
}

// Coroutines that a computing body has left behind run on another executor.
func TestGoBodyThatComputesKeepsNobody(t *testing.T) {
	s := newScheduler(t, coro.WithExecutors(2))
	var done atomic.Int64
	partner := goes(t, s, func(c *coro.Coroutine) error {
		defer done.Add(1)
		return c.Park(background)
	})
	eventually(t, func() bool { _, n := s.Blocked(0); return n == 1 }, "it parks")
	busy := goes(t, s, func(c *coro.Coroutine) error {
		goes(t, s, func(*coro.Coroutine) error { done.Add(1); return nil })
		assert.NoError(t, c.Wake(partner.Handle()))
		for done.Load() < 3 {
			runtime.Gosched() // computes until they have run
		}
		return nil
	})
	goes(t, s, func(*coro.Coroutine) error { done.Add(1); return nil })
	_, err := wait(t, busy)
	assert.NoError(t, err)
}

// An executor's queue has room for 256. Those beyond that have their turns too, even though nothing
// comes from outside any more.
func TestMoreBodiesThanAQueueHoldsTakeTurns(t *testing.T) {
	const bodies = 400
	s := newScheduler(t, coro.WithExecutors(1))
	ctx, cancel := context.WithTimeout(background, budgetPatience)
	defer cancel()
	for range 10 {
		var started atomic.Int64
		var tasks []*coro.Task[coro.None]
		for range bodies {
			tasks = append(tasks, goes(t, s, func(c *coro.Coroutine) error {
				for started.Add(1); started.Load() < bodies; {
					if err := ctx.Err(); err != nil {
						return err
					}
					if err := c.Yield(); err != nil {
						return err
					}
				}
				return nil
			}))
		}
		for _, task := range tasks {
			_, err := task.Wait(ctx)
			require.NoError(t, err, "%d of %d have started", started.Load(), bodies)
		}
	}
}
