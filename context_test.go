//go:build cgo

package coro_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/corotest"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var errEnough = errors.New("enough")

// ends returns a context that ends soon, with errEnough for its cause.
func ends(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeoutCause(background, time.Millisecond, errEnough)
	t.Cleanup(cancel)
	return ctx
}

// A context given to a call that waits bounds that wait alone, and its end gives its cause.
func TestEveryWaitReturnsTheCauseOfItsContext(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	paused := newScheduler(t, coro.WithWorkers(1), coro.WithPaused())
	require.NoError(t, spin.Spawn(paused, coro.None{}))
	full := newScheduler(t, coro.WithWorkers(1), coro.WithPaused(), coro.WithRecordLimit(1))
	for empty.Spawn(full, coro.None{}) == nil {
	}
	forever, err := park.Start(s, coro.None{})
	require.NoError(t, err)
	group := coro.NewGroup(background, s)
	_, err = park.Start(group, coro.None{})
	require.NoError(t, err)
	values := newChan[int](t, s, 0)
	permits := made[coro.Semaphore](t)(coro.NewSemaphore(s, 0))
	count := made[coro.WaitGroup](t)(coro.NewWaitGroup(s, 1))
	waits := map[string]func(ctx context.Context) error{
		"Scheduler.Wait": s.Wait,
		"Scheduler.Run":  paused.Run,
		"SpawnWait": func(ctx context.Context) error {
			return empty.SpawnWait(ctx, full, coro.None{})
		},
		"Task.Wait": func(ctx context.Context) error {
			_, err := forever.Wait(ctx)
			return err
		},
		"Group.Wait": group.Wait,
		"Chan.Send":  func(ctx context.Context) error { return values.Send(ctx, 1) },
		"Chan.Recv": func(ctx context.Context) error {
			_, err := values.Recv(ctx)
			return err
		},
		"Chan.All": func(ctx context.Context) (failed error) {
			for v, err := range values.All(ctx) {
				require.NoError(t, failed, "the last pair is one")
				assert.Zero(t, v)
				failed = err
			}
			return failed
		},
		"Select": func(ctx context.Context) error {
			_, err := coro.Select(ctx, coro.OnRecv(values, nil))
			return err
		},
		"Semaphore.Acquire": permits.Acquire,
		"WaitGroup.Wait":    count.Wait,
		"Completions": func(ctx context.Context) (failed error) {
			for _, err := range coro.Completions(ctx, forever) {
				failed = err
			}
			return failed
		},
	}
	for name, f := range waits {
		assert.ErrorIs(t, f(ends(t)), errEnough, name)
		assert.Equal(t, context.Canceled, f(expired),
			"%s: without a cause it is the context's error", name)
	}
	testbody.Stop()

	bodies := map[string]func(ctx context.Context, c *coro.Coroutine) error{
		"Park": func(ctx context.Context, c *coro.Coroutine) error { return c.Park(ctx) },
		"Sleep": func(ctx context.Context, c *coro.Coroutine) error {
			return c.Sleep(ctx, time.Hour)
		},
		"Await": func(ctx context.Context, c *coro.Coroutine) error {
			_, err := coro.Await(ctx, c, forever)
			return err
		},
		"Recv": func(_ context.Context, c *coro.Coroutine) error {
			ctx, cancel := context.WithTimeoutCause(c.Context(), time.Millisecond,
				errEnough)
			defer cancel()
			_, err := values.Recv(ctx)
			return err
		},
	}
	for name, f := range bodies {
		task := goes(t, s, func(c *coro.Coroutine) error {
			// an ended context ends neither the coroutine nor its other waits
			for range 3 {
				assert.ErrorIs(t, f(ends(t), c), errEnough, name)
				assert.NoError(t, c.Context().Err())
			}
			if name != "Recv" {
				assert.Equal(t, context.Canceled, f(expired, c), name)
			}
			return c.Sleep(background, time.Microsecond)
		})
		_, err := wait(t, task)
		assert.NoError(t, err, name)
	}
	_, err = values.TrySend(1)
	assert.NoError(t, err)
	require.NoError(t, forever.Wake(), "what was waited for goes on")
	_, err = forever.Wait(soon(t))
	require.NoError(t, err)
	group.Cancel(errEnough)
	assert.Equal(t, errEnough, group.Wait(soon(t)), "the group goes on until it is over")
}

func TestParkTakesWhatIsThereAndLosesNothing(t *testing.T) {
	s := newScheduler(t, coro.WithExecutors(1))
	var parker atomic.Uint64
	task := goes(t, s, func(c *coro.Coroutine) error {
		require.NoError(t, c.Wake(c.Handle()))
		assert.NoError(t, c.Park(expired), "a permit that is there is taken")
		assert.ErrorIs(t, c.Park(ends(t)), errEnough)
		parker.Store(uint64(c.Handle()))
		ctx, cancel := context.WithCancel(background)
		assert.NoError(t, c.Park(ctx), "a permit ends the wait before its context does")
		cancel()
		assert.Zero(t, coro.Permits(c))
		require.NoError(t, c.Wake(c.Handle()))
		return c.Park(background)
	})
	eventually(t, func() bool {
		_, n := s.Blocked(0)
		return n == 1 && parker.Load() != 0
	}, "it parks")
	list, _ := s.Blocked(1)
	assert.Equal(t, coro.BlockedCoroutine{
		Handle: task.Handle(), Func: list[0].Func, Worker: -1, Waits: "park",
	}, list[0])
	require.NoError(t, coro.Handle(parker.Load()).Wake())
	_, err := wait(t, task)
	require.NoError(t, err)
}

func TestACancelEndsAWaitWithAnotherContext(t *testing.T) {
	s := newScheduler(t)
	far, end := context.WithTimeout(background, time.Hour)
	defer end()
	never, err := park.Start(s, coro.None{})
	require.NoError(t, err)
	for name, waits := range map[string]func(c *coro.Coroutine) error{
		"Park":  func(c *coro.Coroutine) error { return c.Park(far) },
		"Sleep": func(c *coro.Coroutine) error { return c.Sleep(far, time.Hour) },
		"Await": func(c *coro.Coroutine) error {
			_, err := coro.Await(far, c, never)
			return err
		},
	} {
		ctx, cancel := context.WithCancelCause(background)
		task, err := coro.GoContext(ctx, s, func(c *coro.Coroutine) (coro.None, error) {
			err := waits(c)
			assert.ErrorIs(t, waits(c), errEnough, "each later one too")
			assert.NoError(t, far.Err())
			return coro.None{}, err
		})
		require.NoError(t, err)
		parked(t, s, 2)
		cancel(errEnough)
		_, err = wait(t, task)
		assert.ErrorIs(t, err, errEnough, name)
	}
	require.NoError(t, never.Wake())
}

// Permits that come while contexts end: each is taken by one Park, or left.
func TestPermitsThatRaceWithTheEndsOfContexts(t *testing.T) {
	corotest.VerifyNone(t)
	s := newScheduler(t, coro.WithWorkers(2), coro.WithExecutors(2))
	n := scaled(4000)
	var taken, given atomic.Int64
	parks := goes(t, s, func(c *coro.Coroutine) error {
		random := rand.New(rand.NewPCG(3, 3))
		for taken.Load() < int64(n) {
			ctx, cancel := context.WithTimeout(c.Context(),
				time.Duration(random.IntN(50))*time.Microsecond)
			switch err := c.Park(ctx); err {
			case nil:
				taken.Add(1)
			case context.DeadlineExceeded:
			default:
				cancel()
				return err
			}
			cancel()
		}
		taken.Add(int64(coro.Permits(c)))
		return nil
	})
	wakers := []*coro.Task[coro.None]{}
	for range 2 {
		wakers = append(wakers, goes(t, s, func(c *coro.Coroutine) error {
			for i := range n / 2 {
				if err := c.Wake(parks.Handle()); err != nil {
					return err
				}
				given.Add(1)
				if i%7 == 0 {
					if err := c.Sleep(background,
						time.Microsecond); err != nil {
						return err
					}
				}
			}
			return nil
		}))
	}
	for _, w := range wakers {
		_, err := wait(t, w)
		require.NoError(t, err)
	}
	for taken.Load() < int64(n) && parks.Err() == nil && given.Load() < int64(n) {
		given.Add(1)
		_ = parks.Wake()
	}
	_, err := wait(t, parks)
	require.NoError(t, err)
	assert.Equal(t, given.Load(), taken.Load())
}

// A wait with the body's own context, or with one that never ends, costs no more than one without.
func TestWaitsWithOwnContextsAllocateNothing(t *testing.T) {
	if instrumented {
		t.Skip("instrumented code allocates")
	}
	s := newScheduler(t, coro.WithWorkers(1), coro.WithExecutors(1))
	for name, of := range map[string]func(*coro.Coroutine) context.Context{
		"own":        (*coro.Coroutine).Context,
		"background": func(*coro.Coroutine) context.Context { return background },
		"no cancel": func(c *coro.Coroutine) context.Context {
			return context.WithoutCancel(background)
		},
	} {
		var partner atomic.Uint64
		stop := false
		other := goes(t, s, func(c *coro.Coroutine) error {
			ctx := of(c)
			for {
				if err := c.Park(ctx); err != nil || stop {
					return err
				}
				if err := c.Wake(coro.Handle(partner.Load())); err != nil {
					return err
				}
			}
		})
		task := goes(t, s, func(c *coro.Coroutine) error {
			ctx := of(c)
			partner.Store(uint64(c.Handle()))
			assert.Zero(t, testing.AllocsPerRun(1000, func() {
				if c.Wake(other.Handle()) != nil || c.Park(ctx) != nil {
					runtime.Goexit()
				}
			}), name)
			stop = true
			return c.Wake(other.Handle())
		})
		for _, task := range []*coro.Task[coro.None]{task, other} {
			_, err := wait(t, task)
			require.NoError(t, err, name)
		}
	}
}

// A member of a group with a context of its own is canceled by the end of either.
func TestMembersWithContextsOfTheirOwn(t *testing.T) {
	no := errors.New("no")
	for name, start := range map[string]func(context.Context, *coro.Group) (bound, error){
		"StartContext": func(ctx context.Context, g *coro.Group) (bound, error) {
			return canceled.StartContext(ctx, g, parksAndTells)
		},
		"GoContext": func(ctx context.Context, g *coro.Group) (bound, error) {
			return coro.GoContext(ctx, g, func(c *coro.Coroutine) (int, error) {
				err := c.Park(c.Context())
				assert.ErrorIs(t, err, context.Cause(c.Context()))
				return 0, err
			})
		},
		"GoContext that does not ask": func(ctx context.Context,
			g *coro.Group) (bound, error) {
			return coro.GoContext(ctx, g, parksInGo)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, coro.WithWorkers(1))
			for _, ended := range []bool{false, true} {
				for _, own := range []bool{true, false} {
					ctx, cancel := context.WithCancelCause(background)
					t.Cleanup(func() { cancel(nil) })
					if ended {
						cancel(errEnough)
					}
					g := coro.NewGroup(background, s)
					task, err := start(ctx, g)
					if ended {
						assert.ErrorIs(t, err, errEnough)
						assert.NoError(t, g.Wait(soon(t)),
							"that is no error of the group")
						continue
					}
					require.NoError(t, err)
					parked(t, s, 1)
					if own {
						cancel(errEnough)
						<-task.Done()
						assert.ErrorIs(t, task.Err(), errEnough)
						assert.ErrorIs(t, g.Wait(soon(t)), errEnough,
							"the error of a member")
					} else {
						g.Cancel(no)
						<-task.Done()
						assert.ErrorIs(t, task.Err(), no)
						assert.Equal(t, no, g.Wait(soon(t)))
						assert.NoError(t, ctx.Err())
					}
				}
			}
		})
	}
	type key struct{}
	s := newScheduler(t)
	g := coro.NewGroup(background, s)
	task, err := coro.GoContext(context.WithValue(background, key{}, 7), g,
		func(c *coro.Coroutine) (any, error) {
			return c.Context().Value(key{}), nil
		})
	require.NoError(t, err)
	value, err := wait(t, task)
	require.NoError(t, err)
	assert.Equal(t, 7, value)
	require.NoError(t, g.Wait(background))
	_, err = coro.GoContext(background, g, func(*coro.Coroutine) (int, error) { return 0, nil })
	assert.Equal(t, coro.ErrGroupOver, err, "the group is over")
	_, err = square.StartContext(background, g, 1)
	assert.Equal(t, coro.ErrGroupOver, err)
}
