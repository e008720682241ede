//go:build cgo

package coro_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/organzine/coro"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Bodies whose waits all end at once: they yield now and then, and do nothing else otherwise than
// they would without that.

const (
	budgetPatience = 10 * time.Second // with a test that would not end
	budgetTurns    = 20
	budgetWhile    = 20 * time.Millisecond // that is many turns
)

// turnsIn calls f again and again until that returns false, and counts the turns of c that end
// meanwhile.
func turnsIn(c *coro.Coroutine, f func(turns int) (bool, error)) (turns int, err error) {
	now := coro.TurnOf(c)
	for more := true; more; {
		if more, err = f(turns); err != nil {
			return turns, err
		}
		if t := coro.TurnOf(c); t != now {
			now = t
			turns++
		}
	}
	return turns, nil
}

// besides starts a body that only yields, until the test ends, and returns how often it has.
func besides(t *testing.T, s *coro.Scheduler) *atomic.Int64 {
	t.Helper()
	var yields atomic.Int64
	stop := make(chan struct{})
	other := goes(t, s, func(c *coro.Coroutine) error {
		for {
			select {
			case <-stop:
				return nil
			default:
			}
			yields.Add(1)
			if err := c.Yield(); err != nil {
				return err
			}
		}
	})
	t.Cleanup(func() {
		close(stop)
		_, err := wait(t, other)
		assert.NoError(t, err)
	})
	return &yields
}

// did is nil after an operation that was done at once.
func did(ok bool, err error) error {
	if err == nil && !ok {
		err = errors.New("it could not be done at once")
	}
	return err
}

// A newcomer makes progress beside a body whose waits all end at once.
func TestBudgetLeavesRoomForANewcomer(t *testing.T) {
	type once func(ctx context.Context, c *coro.Coroutine) error
	for name, prepare := range map[string]func(*testing.T, *coro.Scheduler) once{
		"send and receive": func(t *testing.T, s *coro.Scheduler) once {
			ch := newChan[int](t, s, 64)
			return func(ctx context.Context, _ *coro.Coroutine) error {
				err := ch.Send(ctx, 1)
				if err == nil {
					_, err = ch.Recv(ctx)
				}
				return err
			}
		},
		"receive": func(t *testing.T, s *coro.Scheduler) once {
			ch := newChan[int](t, s, 64)
			return func(ctx context.Context, _ *coro.Coroutine) error {
				if err := did(ch.TrySend(1)); err != nil {
					return err
				}
				_, err := ch.Recv(ctx)
				return err
			}
		},
		"send": func(t *testing.T, s *coro.Scheduler) once {
			ch := newChan[int](t, s, 64)
			return func(ctx context.Context, _ *coro.Coroutine) error {
				if err := ch.Send(ctx, 1); err != nil {
					return err
				}
				_, ok, err := ch.TryRecv()
				return did(ok, err)
			}
		},
		"large values": func(t *testing.T, s *coro.Scheduler) once {
			ch := newChan[[100]int](t, s, 4)
			return func(ctx context.Context, _ *coro.Coroutine) error {
				err := ch.Send(ctx, [100]int{})
				if err == nil {
					_, err = ch.Recv(ctx)
				}
				return err
			}
		},
		"select": func(t *testing.T, s *coro.Scheduler) once {
			a, b := newChan[int](t, s, 64), newChan[int](t, s, 64)
			return func(ctx context.Context, _ *coro.Coroutine) error {
				if err := did(a.TrySend(1)); err != nil {
					return err
				}
				_, err := coro.Select(ctx, coro.OnRecv(a, nil), coro.OnRecv(b, nil))
				return err
			}
		},
		"semaphore": func(t *testing.T, s *coro.Scheduler) once {
			m := made[coro.Semaphore](t)(coro.NewSemaphore(s, 1))
			return func(ctx context.Context, _ *coro.Coroutine) error {
				if err := m.Acquire(ctx); err != nil {
					return err
				}
				return m.Release(1)
			}
		},
		"mutex": func(t *testing.T, s *coro.Scheduler) once {
			m := made[coro.Mutex](t)(coro.NewMutex(s))
			return func(ctx context.Context, _ *coro.Coroutine) error {
				if err := m.Lock(ctx); err != nil {
					return err
				}
				return m.Unlock()
			}
		},
		"readers": func(t *testing.T, s *coro.Scheduler) once {
			m := made[coro.RWMutex](t)(coro.NewRWMutex(s))
			return func(ctx context.Context, _ *coro.Coroutine) error {
				if err := m.RLock(ctx); err != nil {
					return err
				}
				return m.RUnlock()
			}
		},
		"writer": func(t *testing.T, s *coro.Scheduler) once {
			m := made[coro.RWMutex](t)(coro.NewRWMutex(s))
			return func(ctx context.Context, _ *coro.Coroutine) error {
				if err := m.Lock(ctx); err != nil {
					return err
				}
				return m.Unlock()
			}
		},
		"wait group": func(t *testing.T, s *coro.Scheduler) once {
			g := made[coro.WaitGroup](t)(coro.NewWaitGroup(s, 0))
			return func(ctx context.Context, _ *coro.Coroutine) error {
				return g.Wait(ctx)
			}
		},
		"park": func(*testing.T, *coro.Scheduler) once {
			return func(ctx context.Context, c *coro.Coroutine) error {
				if err := c.Wake(c.Handle()); err != nil {
					return err
				}
				return c.Park(ctx)
			}
		},
		"await": func(t *testing.T, s *coro.Scheduler) once {
			ended := goes(t, s, func(*coro.Coroutine) error { return nil })
			_, err := ended.Wait(soon(t))
			require.NoError(t, err)
			return func(ctx context.Context, c *coro.Coroutine) error {
				_, err := ended.Await(ctx, c)
				return err
			}
		},
	} {
		for _, derived := range []bool{false, true} {
			kind := map[bool]string{true: ", derived context"}[derived]
			t.Run(name+kind, func(t *testing.T) {
				s := newScheduler(t, coro.WithExecutors(1))
				waitOnce := prepare(t, s)
				begun := make(chan struct{})
				var yields atomic.Pointer[atomic.Int64]
				body, err := coro.Go(s, func(c *coro.Coroutine) (int, error) {
					ctx := c.Context()
					if derived {
						var cancel context.CancelFunc
						ctx, cancel = context.WithTimeout(ctx, patience)
						defer cancel()
					}
					close(begun)
					start := time.Now()
					return turnsIn(c, func(turns int) (bool, error) {
						other := yields.Load()
						enough := turns >= budgetTurns && other != nil &&
							other.Load() >= budgetTurns
						late := time.Since(start) > budgetPatience
						return !enough && !late, waitOnce(ctx, c)
					})
				})
				require.NoError(t, err)
				<-begun
				other := besides(t, s)
				yields.Store(other)
				turns, err := wait(t, body)
				require.NoError(t, err)
				assert.GreaterOrEqual(t, turns, budgetTurns)
				assert.GreaterOrEqual(t, other.Load(), int64(budgetTurns))
			})
		}
	}
}

// Each wait finds another that waits at the other end, so nothing stays in the channel.
func TestBudgetCountsWhatIsHandedToWaiters(t *testing.T) {
	const waiters = 3000
	for name, capacity := range map[string]int{"no room": 0, "room": 4} {
		for _, sends := range []bool{true, false} {
			what := map[bool]string{true: ", sends", false: ", receives"}[sends]
			attempt := func(t *testing.T) int {
				s := newScheduler(t, coro.WithExecutors(1))
				ch := newChan[int](t, s, capacity)
				transfer := func(ctx context.Context, send bool) error {
					if send {
						return ch.Send(ctx, 1)
					}
					_, err := ch.Recv(ctx)
					return err
				}
				if !sends {
					for range capacity {
						require.NoError(t, ch.Send(background, 1))
					}
				}
				var others []*coro.Task[coro.None]
				for range waiters {
					other := goes(t, s, func(c *coro.Coroutine) error {
						return transfer(c.Context(), !sends)
					})
					others = append(others, other)
				}
				parked(t, s, waiters)
				body, err := coro.Go(s, func(c *coro.Coroutine) (int, error) {
					left := waiters
					return turnsIn(c, func(int) (bool, error) {
						left--
						return left > 0, transfer(c.Context(), sends)
					})
				})
				require.NoError(t, err)
				turns, err := wait(t, body)
				require.NoError(t, err)
				for _, other := range others {
					_, err := wait(t, other)
					require.NoError(t, err)
				}
				return turns
			}
			t.Run(name+what, func(t *testing.T) {
				// On a busy machine those that are woken come late, or another
				// executor stands in and runs them: then there is nothing to yield
				// to.
				turns := 0
				for try := 0; try < 5 && turns < budgetTurns/4; try++ {
					turns = attempt(t)
				}
				assert.GreaterOrEqual(t, turns, budgetTurns/4)
			})
		}
	}
}

// Where waits are far apart, there are few of them in a turn.
func TestBudgetIsOfTimeAndNotOfWaits(t *testing.T) {
	s := newScheduler(t, coro.WithExecutors(1))
	besides(t, s)
	ch := newChan[int](t, s, 64)
	turns := func(c *coro.Coroutine, waits int) (int, error) {
		return turnsIn(c, func(int) (bool, error) {
			for start := time.Now(); time.Since(start) < time.Millisecond; {
			}
			waits--
			if err := ch.Send(c.Context(), 1); err != nil {
				return false, err
			}
			_, err := ch.Recv(c.Context())
			return waits > 0, err
		})
	}
	body, err := coro.Go(s, func(c *coro.Coroutine) (int, error) {
		if _, err := turns(c, 100); err != nil { // it is found out
			return 0, err
		}
		return turns(c, 100)
	})
	require.NoError(t, err)
	got, err := wait(t, body)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, got, 10)
}

// What may not suspend the body, does not.
func TestBudgetIsNotSpentWhereTheBodyMayNotBeSuspended(t *testing.T) {
	s := newScheduler(t, coro.WithExecutors(1))
	besides(t, s)
	var foreign atomic.Value
	stranger := goes(t, s, func(c *coro.Coroutine) error {
		foreign.Store(c.Context())
		return c.Park(background)
	})
	eventually(t, func() bool { return foreign.Load() != nil }, "the other body has begun")
	ch := newChan[int](t, s, 64)
	sem := made[coro.Semaphore](t)(coro.NewSemaphore(s, 1))
	mutex := made[coro.Mutex](t)(coro.NewMutex(s))
	all := func(ctx context.Context) error {
		if err := errors.Join(ch.Send(ctx, 1), sem.Acquire(ctx), sem.Release(1),
			mutex.Lock(ctx), mutex.Unlock()); err != nil {
			return err
		}
		if _, err := coro.Select(ctx, coro.OnRecv(ch, nil)); err != nil {
			return err
		}
		if err := ch.Send(ctx, 1); err != nil {
			return err
		}
		_, err := ch.Recv(ctx)
		return err
	}
	tries := func() error {
		err := errors.Join(did(ch.TrySend(1)), did(sem.TryAcquire()), sem.Release(1),
			did(mutex.TryLock()), mutex.Unlock())
		if err != nil {
			return err
		}
		_, ok, err := ch.TryRecv()
		return did(ok, err)
	}
	body := goes(t, s, func(c *coro.Coroutine) error {
		none := func(what string, f func() error) error {
			start := time.Now()
			turns, err := turnsIn(c, func(int) (bool, error) {
				return time.Since(start) < budgetWhile, f()
			})
			assert.Zero(t, turns, what)
			return err
		}
		end := c.NoWait()
		err := none("a no-wait section", func() error { return all(c.Context()) })
		end()
		return errors.Join(err,
			none("calls that do not wait", tries),
			none("the background", func() error { return all(background) }),
			none("another's context", func() error {
				return all(foreign.Load().(context.Context))
			}),
			none("a goroutine with the context", func() error {
				done := make(chan error)
				go func() { done <- all(c.Context()) }()
				return <-done
			}))
	})
	_, err := wait(t, body)
	require.NoError(t, err)
	require.NoError(t, stranger.Wake())
}

// Others find a lock free whenever its taker has yielded.
func TestBudgetIsSpentBeforeALockIsTaken(t *testing.T) {
	type lock struct {
		lock   func(context.Context) error
		try    func() (bool, error)
		unlock func() error
	}
	for name, make := range map[string]func(*testing.T, *coro.Scheduler) lock{
		"mutex": func(t *testing.T, s *coro.Scheduler) lock {
			m := made[coro.Mutex](t)(coro.NewMutex(s))
			return lock{m.Lock, m.TryLock, m.Unlock}
		},
		"writer": func(t *testing.T, s *coro.Scheduler) lock {
			m := made[coro.RWMutex](t)(coro.NewRWMutex(s))
			return lock{m.Lock, m.TryLock, m.Unlock}
		},
		"semaphore": func(t *testing.T, s *coro.Scheduler) lock {
			m := made[coro.Semaphore](t)(coro.NewSemaphore(s, 1))
			return lock{m.Acquire, m.TryAcquire, func() error { return m.Release(1) }}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, coro.WithExecutors(1))
			l := make(t, s)
			var over atomic.Bool
			body := goes(t, s, func(c *coro.Coroutine) error {
				for !over.Load() {
					if err := l.lock(c.Context()); err != nil {
						return err
					}
					if err := l.unlock(); err != nil {
						return err
					}
				}
				return nil
			})
			rival := goes(t, s, func(c *coro.Coroutine) error {
				defer over.Store(true)
				free, start := 0, time.Now()
				for free < budgetTurns && time.Since(start) < budgetPatience {
					ok, err := l.try()
					if ok {
						free++
						err = l.unlock()
					}
					if err = errors.Join(err, c.Yield()); err != nil {
						return err
					}
				}
				assert.Equal(t, budgetTurns, free)
				return nil
			})
			for _, task := range []*coro.Task[coro.None]{rival, body} {
				_, err := wait(t, task)
				require.NoError(t, err)
			}
		})
	}
}

// A cancel, and the end of a context, end the wait that finds nothing, as ever.
func TestBudgetAndCancel(t *testing.T) {
	boom := errors.New("boom")
	type end struct {
		task *coro.Task[coro.None]
		come func() // the end
		err  error
	}
	type flooding func(context.Context, *coro.Coroutine) error
	for name, start := range map[string]func(*testing.T, *coro.Scheduler, flooding) end{
		"cancel of the body": func(t *testing.T, s *coro.Scheduler, flood flooding) end {
			ctx, cancel := context.WithCancelCause(background)
			body := func(c *coro.Coroutine) (coro.None, error) {
				return coro.None{}, flood(c.Context(), c)
			}
			task, err := coro.GoContext(ctx, s, body)
			require.NoError(t, err)
			return end{task, func() { cancel(boom) }, boom}
		},
		"cancel of a derived context": func(
			t *testing.T, s *coro.Scheduler, flood flooding,
		) end {
			begun := make(chan context.CancelCauseFunc, 1)
			task := goes(t, s, func(c *coro.Coroutine) error {
				ctx, cancel := context.WithCancelCause(c.Context())
				begun <- cancel
				return flood(ctx, c)
			})
			cancel := <-begun
			return end{task, func() { cancel(boom) }, boom}
		},
		"a deadline": func(t *testing.T, s *coro.Scheduler, flood flooding) end {
			task := goes(t, s, func(c *coro.Coroutine) error {
				ctx, cancel := context.WithTimeout(c.Context(), budgetWhile)
				defer cancel()
				return flood(ctx, c)
			})
			return end{task, func() {}, context.DeadlineExceeded}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, coro.WithExecutors(1))
			other := besides(t, s)
			ch := newChan[int](t, s, 64)
			var turns atomic.Int64
			end := start(t, s, func(ctx context.Context, c *coro.Coroutine) error {
				_, err := turnsIn(c, func(n int) (bool, error) {
					turns.Store(int64(n))
					if err := ch.Send(ctx, 1); err != nil {
						return false, err
					}
					_, err := ch.Recv(ctx)
					return n == 0 || ctx.Err() == nil, err
				})
				if err != nil {
					return err
				}
				_, err = ch.Recv(ctx)
				return err
			})
			eventually(t, func() bool { return turns.Load() > 0 }, "it yields")
			end.come()
			_, err := wait(t, end.task)
			assert.ErrorIs(t, err, end.err)
			assert.Positive(t, other.Load())
		})
	}
}
