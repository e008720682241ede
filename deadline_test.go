//go:build cgo

package coro_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/organzine/coro"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The tests of bound contexts use tasks of any type by this.
type bound interface {
	Err() error
	Done() <-chan struct{}
	Wake() error
}

// binders start a coroutine that waits for something that never comes, or for the end of the
// context. The group, if there is one, is to be waited for.
var binders = map[string]func(ctx context.Context, s *coro.Scheduler) (bound, *coro.Group, error){
	"StartContext": func(ctx context.Context, s *coro.Scheduler) (bound, *coro.Group, error) {
		task, err := canceled.StartContext(ctx, s, parksAndTells)
		return task, nil, err
	},
	"GoContext": func(ctx context.Context, s *coro.Scheduler) (bound, *coro.Group, error) {
		task, err := coro.GoContext(ctx, s, parksInGo)
		return task, nil, err
	},
	"GoContext, derived": func(ctx context.Context, s *coro.Scheduler) (bound,
		*coro.Group, error) {
		task, err := coro.GoContext(ctx, s, func(c *coro.Coroutine) (int, error) {
			child, err := coro.GoContext(c.Context(), s, parksInGo)
			if err != nil {
				return 0, err
			}
			return coro.Await(background, c, child)
		})
		return task, nil, err
	},
	"Start in a group": func(ctx context.Context, s *coro.Scheduler) (bound,
		*coro.Group, error) {
		g := coro.NewGroup(ctx, s)
		task, err := canceled.Start(g, parksAndTells)
		return task, g, err
	},
	"Go in a group": func(ctx context.Context, s *coro.Scheduler) (bound, *coro.Group, error) {
		g := coro.NewGroup(ctx, s)
		task, err := coro.Go(g, parksInGo)
		return task, g, err
	},
	"StartContext in a group": func(ctx context.Context, s *coro.Scheduler) (bound, *coro.Group,
		error) {
		g := coro.NewGroup(background, s)
		task, err := canceled.StartContext(ctx, g, parksAndTells)
		return task, g, err
	},
	"GoContext in a group": func(ctx context.Context, s *coro.Scheduler) (bound, *coro.Group,
		error) {
		g := coro.NewGroup(background, s)
		task, err := coro.GoContext(ctx, g, parksInGo)
		return task, g, err
	},
	"Park": func(ctx context.Context, s *coro.Scheduler) (bound, *coro.Group, error) {
		task, err := coro.Go(s, func(c *coro.Coroutine) (int, error) {
			return 0, c.Park(ctx)
		})
		return task, nil, err
	},
	"Await": func(ctx context.Context, s *coro.Scheduler) (bound, *coro.Group, error) {
		task, err := coro.Go(s, func(c *coro.Coroutine) (int, error) {
			child, err := coro.GoContext(c.Context(), s, parksInGo)
			if err != nil {
				return 0, err
			}
			_, err = coro.Await(ctx, c, child)
			child.Cancel()
			return 0, err
		})
		return task, nil, err
	},
}

func parksInGo(c *coro.Coroutine) (int, error) { return 0, c.Park(background) }

// within calls start with a context that ends soon, but not before start has returned.
func within(t *testing.T, start func(context.Context) error) {
	t.Helper()
	for d := 10 * time.Millisecond; ; d *= 2 {
		ctx, end := context.WithTimeout(background, d)
		t.Cleanup(end)
		err := start(ctx)
		if err == nil {
			return
		}
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
}

func reportsDeadlock(t *testing.T, s *coro.Scheduler, n int) {
	t.Helper()
	var deadlock *coro.DeadlockError
	require.ErrorAs(t, s.Run(soon(t)), &deadlock)
	assert.Equal(t, n, deadlock.Count)
}

func TestRunAwaitsTheDeadlinesOfBoundContexts(t *testing.T) {
	for name, start := range binders {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, coro.WithWorkers(2), coro.WithPaused())
			var task bound
			var group *coro.Group
			within(t, func(ctx context.Context) (err error) {
				task, group, err = start(ctx, s)
				return err
			})
			require.NoError(t, s.Run(soon(t)))
			<-task.Done()
			assert.Equal(t, context.DeadlineExceeded, task.Err())
			if group != nil {
				assert.Equal(t, context.DeadlineExceeded, group.Wait(background))
			}
		})
	}
}

// A coroutine canceled before its deadline is no reason to wait for the deadline.
func TestRunAwaitsNoDeadlineOfWhatWasCanceled(t *testing.T) {
	for name, start := range binders {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, coro.WithWorkers(2), coro.WithPaused())
			far, end := context.WithTimeout(background, time.Hour)
			defer end()
			task, _, err := start(far, s)
			require.NoError(t, err)
			left, err := park.Start(s, coro.None{})
			require.NoError(t, err)
			end()
			for range 2 {
				reportsDeadlock(t, s, 1)
				<-task.Done()
				assert.Equal(t, context.Canceled, task.Err())
			}
			require.NoError(t, left.Wake())
			require.NoError(t, s.Run(soon(t)))
		})
	}
}

// Nor is a coroutine that has ended. A group has one token for all of its members, as long as there
// are any.
func TestRunAwaitsNoDeadlineOfWhatHasEnded(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithPaused())
	far, end := context.WithTimeout(background, time.Hour)
	defer end()
	g := coro.NewGroup(far, s)
	left, err := park.Start(s, coro.None{})
	require.NoError(t, err)
	for range 3 {
		for i := range int64(3) {
			_, err := square.Start(g, i)
			require.NoError(t, err)
			_, err = coro.Go(g, func(c *coro.Coroutine) (int, error) {
				return 1, c.Yield()
			})
			require.NoError(t, err)
			_, err = square.StartContext(far, s, i)
			require.NoError(t, err)
			_, err = coro.GoContext(far, s, func(c *coro.Coroutine) (int, error) {
				return 1, c.Yield()
			})
			require.NoError(t, err)
		}
		reportsDeadlock(t, s, 1)
	}
	require.NoError(t, g.Wait(background))
	_, err = square.Start(g, 1)
	assert.Equal(t, coro.ErrGroupOver, err)
	reportsDeadlock(t, s, 1)
	require.NoError(t, left.Wake())
	require.NoError(t, s.Run(soon(t)))
}

// A coroutine that goes on waiting after its deadline is in a deadlock like any other.
func TestRunReportsADeadlockAfterTheDeadline(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithPaused())
	mutex, err := coro.NewMutex(s)
	require.NoError(t, err)
	cond, err := coro.NewCond(mutex)
	require.NoError(t, err)
	within(t, func(ctx context.Context) error {
		task, err := coro.GoContext(ctx, s, func(c *coro.Coroutine) (int, error) {
			if err := mutex.Lock(c.Context()); err != nil {
				return 0, err
			}
			goes(t, s, func(c *coro.Coroutine) error {
				if err := mutex.Lock(c.Context()); err != nil {
					return err
				}
				if err := c.Park(background); err != nil {
					return err
				}
				return mutex.Unlock()
			})
			err := cond.Wait(c.Context())
			return 0, errors.Join(err, mutex.Unlock())
		})
		if err != nil {
			return err
		}
		err = s.Run(soon(t))
		if task.Err() != nil { // the body has not come to the wait
			return task.Err()
		}
		var deadlock *coro.DeadlockError
		require.ErrorAs(t, err, &deadlock)
		assert.Equal(t, 2, deadlock.Count)
		for _, blocked := range deadlock.Blocked {
			if blocked.Waits == "park" {
				require.NoError(t, blocked.Handle.Wake())
			}
		}
		require.NoError(t, s.Run(soon(t)))
		assert.ErrorIs(t, task.Err(), context.DeadlineExceeded)
		return nil
	})
}

// The cancel of a context is not known to come, no more than a wake-up from Go.
func TestRunReportsADeadlockOfWhoCanOnlyBeCanceled(t *testing.T) {
	for name, start := range binders {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, coro.WithWorkers(2), coro.WithPaused())
			ctx, end := context.WithCancel(background)
			defer end()
			task, _, err := start(ctx, s)
			require.NoError(t, err)
			count := 1
			if name == "GoContext, derived" || name == "Await" {
				count = 2
			}
			for range 3 {
				reportsDeadlock(t, s, count)
			}
			end()
			require.NoError(t, s.Run(soon(t)))
			<-task.Done()
			assert.Equal(t, context.Canceled, task.Err())
		})
	}
}

func TestAWaitForADeadlineIsNotStalled(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	far, end := context.WithTimeout(background, time.Hour)
	defer end()
	for name, start := range binders {
		before := s.Stats().Live
		_, _, err := start(far, s)
		require.NoError(t, err)
		eventually(t, func() bool {
			st := s.Stats()
			return st.Live > before && st.Awake == 0
		}, "%s waits", name)
		assert.False(t, s.Stats().Stalled, name)
	}
	end()
	finish(t, s)
}

// The function that a context calls at its end comes late, since it has a goroutine of its own. So
// a run looks by itself.
func TestRunHeedsContextsThatEndInIt(t *testing.T) {
	no := errors.New("no")
	for name, end := range map[string]func(g *coro.Group, cancel func()) error{
		"error of a Go body": func(g *coro.Group, _ func()) error {
			_, err := coro.Go(g, func(c *coro.Coroutine) (int, error) { return 0, no })
			return err
		},
		"error of a C body": func(g *coro.Group, _ func()) error {
			_, err := abort.Start(g, coro.None{})
			return err
		},
		"cancel of the group": func(g *coro.Group, _ func()) error {
			_, err := coro.Go(g, func(c *coro.Coroutine) (int, error) {
				g.Cancel(no)
				return 0, nil
			})
			return err
		},
		"cancel of the context": func(g *coro.Group, cancel func()) error {
			_, err := coro.Go(g.Scheduler(), func(c *coro.Coroutine) (int, error) {
				cancel()
				return 0, nil
			})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range scaled(60) {
				s := newScheduler(t, coro.WithWorkers(2), coro.WithPaused())
				ctx, cancel := context.WithCancel(background)
				g := coro.NewGroup(ctx, s)
				_, err := canceled.Start(g, parksAndTells)
				require.NoError(t, err)
				_, err = coro.Go(g, parksInGo)
				require.NoError(t, err)
				if name == "cancel of the context" {
					for what, start := range binders {
						_, _, err = start(ctx, s)
						require.NoError(t, err, what)
					}
				}
				require.NoError(t, end(g, cancel))
				require.NoError(t, s.Run(soon(t)))
				require.Error(t, g.Wait(background))
				cancel()
				require.NoError(t, s.Close(soon(t)))
			}
		})
	}
}

func TestRunHeedsTheEndOfTheContextOfAWait(t *testing.T) {
	for range scaled(60) {
		s := newScheduler(t, coro.WithWorkers(2), coro.WithPaused())
		never := newChan[int](t, s, 0)
		stops := make(chan func(), 1)
		waits, err := coro.Go(s, func(c *coro.Coroutine) (int, error) {
			ctx, stop := context.WithCancel(c.Context())
			stops <- stop
			return never.Recv(ctx)
		})
		require.NoError(t, err)
		goes(t, s, func(c *coro.Coroutine) error {
			for range 10 {
				if err := c.Yield(); err != nil {
					return err
				}
			}
			(<-stops)()
			return nil
		})
		require.NoError(t, s.Run(soon(t)))
		assert.Equal(t, context.Canceled, waits.Err())
		require.NoError(t, s.Close(soon(t)))
	}
}

// Ends, deadlines and cancels come at the same time. Each token is given back once: otherwise a run
// ends too soon or never.
func TestDeadlinesThatRaceWithEnds(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	for range scaled(30) {
		s := newScheduler(t, coro.WithWorkers(2), coro.WithPaused())
		for range 3 {
			ctx, end := context.WithTimeout(background,
				time.Duration(random.IntN(4000))*time.Microsecond)
			g := coro.NewGroup(ctx, s)
			for range 10 {
				for _, start := range binders {
					_, _, err := start(ctx, s)
					require.True(t, err == nil ||
						errors.Is(err, context.DeadlineExceeded), "%v", err)
				}
				_, _ = yield.StartContext(ctx, s, random.Int64N(50))
				_, _ = yield.Start(g, random.Int64N(50))
				_, _ = coro.Go(g, func(c *coro.Coroutine) (int, error) {
					return 0, c.Yield()
				})
			}
			if random.IntN(3) == 0 {
				end()
			}
			require.NoError(t, s.Run(soon(t)),
				"all of them end with the deadline, if not before")
			end()
			_ = g.Wait(background)
		}
		require.NoError(t, s.Run(soon(t)))
		require.NoError(t, s.Close(soon(t)))
	}
}
