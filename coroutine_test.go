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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
)

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
		status, err := parked.Await(background, c)
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
			x, err := a.Await(background, c)
			if err != nil {
				return 0, err
			}
			y, err := b.Await(background, c)
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
			k, err := task.Await(background, c)
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
				_, err := parked.Await(background, c)
				_, err2 := body.Await(background, c)
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
			_, err := forever.Await(background, c)
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
		_, err := task.Await(background, c)
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

// Executors that stood in for stuck ones retire when those go on, although there is always work.
func TestGoStandInsRetire(t *testing.T) {
	s := newScheduler(t, coro.WithExecutors(1))
	var stop atomic.Bool
	release := make(chan struct{})
	var tasks []*coro.Task[coro.None]
	for range 4 {
		tasks = append(tasks,
			goes(t, s, func(*coro.Coroutine) error { <-release; return nil }))
	}
	for range 8 {
		tasks = append(tasks, goes(t, s, func(c *coro.Coroutine) error {
			for !stop.Load() {
				if err := c.Yield(); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	eventually(t, func() bool { return coro.ActiveExecutors(s) > 4 }, "others stand in")
	close(release)
	eventually(t, func() bool { return coro.ActiveExecutors(s) == 1 }, "they retire")
	stop.Store(true)
	for _, task := range tasks {
		_, err := wait(t, task)
		assert.NoError(t, err)
	}
}

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

func TestRunReportsADeadlockOfBodies(t *testing.T) {
	s := newScheduler(t, coro.WithPaused())
	var ran atomic.Bool
	a, err := coro.Go(s, func(c *coro.Coroutine) (coro.None, error) {
		ran.Store(true)
		return coro.None{}, c.Park(background)
	})
	require.NoError(t, err)
	b := goes(t, s, func(c *coro.Coroutine) error {
		_, err := a.Await(background, c)
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
				_, err := bound.Await(background, c)
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
	await := func(c *coro.Coroutine) (int32, error) { return parked.Await(background, c) }
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
						_, err = task.Await(background, c)
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
