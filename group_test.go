//go:build cgo

package coro_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAGroupWaitsForAllOfItsTasks(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	g := coro.NewGroup(background, s)
	assert.Same(t, s, g.Scheduler())
	var tasks []*coro.Task[int64]
	for i := range int64(500) {
		task, err := square.Start(g, i)
		require.NoError(t, err)
		tasks = append(tasks, task)
		body, err := coro.Go(g, func(c *coro.Coroutine) (int64, error) {
			return i, c.Yield()
		})
		require.NoError(t, err)
		tasks = append(tasks, body)
	}
	require.NoError(t, g.Context().Err())
	for range 2 {
		require.NoError(t, g.Wait(background))
		for i, task := range tasks {
			got, err := task.Wait(expired)
			require.NoError(t, err)
			want := int64(i / 2)
			if i%2 == 0 {
				want *= want
			}
			require.Equal(t, want, got)
		}
	}
	assert.Equal(t, context.Canceled, g.Context().Err(), "it is over")
	_, err := square.Start(g, 1)
	assert.Equal(t, coro.ErrGroupOver, err)
	_, err = coro.Go(g, func(*coro.Coroutine) (int, error) { return 0, nil })
	assert.Equal(t, coro.ErrGroupOver, err)
	finish(t, s)
}

func TestAGroupWithoutTasksIsOverAtOnce(t *testing.T) {
	g := coro.NewGroup(background, newScheduler(t))
	assert.NoError(t, g.Wait(background))
	g = coro.NewGroup(expired, newScheduler(t))
	_, err := square.Start(g, 1)
	assert.Equal(t, context.Canceled, err)
	assert.NoError(t, g.Wait(background), "none of its tasks has failed")
}

func TestTheFirstErrorCancelsTheRestOfAGroup(t *testing.T) {
	reason := errors.New("the first one")
	failures := map[string]func(*coro.Group) error{
		"a C body aborts": func(g *coro.Group) error {
			_, err := abort.Start(g, coro.None{})
			require.NoError(t, err)
			return coro.ErrAborted
		},
		"a Go body returns an error": func(g *coro.Group) error {
			_, err := coro.Go(g, func(*coro.Coroutine) (coro.None, error) {
				return coro.None{}, reason
			})
			require.NoError(t, err)
			return reason
		},
		"somebody cancels it": func(g *coro.Group) error {
			g.Cancel(reason)
			g.Cancel(errors.New("another one"))
			return reason
		},
		"nobody says why": func(g *coro.Group) error {
			g.Cancel(nil)
			return context.Canceled
		},
	}
	for name, fail := range failures {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, coro.WithWorkers(2))
			g := coro.NewGroup(background, s)
			var tasks []*coro.Task[int64]
			for i := range 40 {
				task, err := canceled.Start(g, int64(i%2)*parksAndTells)
				require.NoError(t, err)
				tasks = append(tasks, task)
				task, err = coro.Go(g, func(c *coro.Coroutine) (int64, error) {
					return 100, c.Park(background)
				})
				require.NoError(t, err)
				tasks = append(tasks, task)
			}
			parked(t, s, 80)
			want := fail(g)
			assert.Equal(t, want, g.Wait(background))
			assert.Equal(t, want, context.Cause(g.Context()))
			for i, task := range tasks {
				got, err := task.Wait(expired)
				if i%4 == 0 {
					require.NoError(t, err, "its result stands")
					require.EqualValues(t, 100, got)
				} else {
					require.ErrorIs(t, err, want, "%d", i)
				}
			}
			_, err := canceled.Start(g, parks)
			assert.Equal(t, coro.ErrGroupOver, err)
			finish(t, s)
		})
	}
}

func TestAPanicIsAnErrorOfItsGroup(t *testing.T) {
	g := coro.NewGroup(background, newScheduler(t))
	_, err := coro.Go(g, func(c *coro.Coroutine) (int, error) {
		<-c.Context().Done()
		return 0, context.Cause(c.Context())
	})
	require.NoError(t, err)
	_, err = coro.Go(g, func(*coro.Coroutine) (int, error) { panic("no") })
	require.NoError(t, err)
	var p *coro.PanicError
	require.ErrorAs(t, g.Wait(background), &p)
	assert.Equal(t, "no", p.Value)
}

func TestTheEndOfTheContextCancelsAGroup(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	reason := errors.New("the service ends")
	ctx, end := context.WithCancelCause(background)
	g := coro.NewGroup(ctx, s)
	for range 10 {
		_, err := canceled.Start(g, parksAndTells)
		require.NoError(t, err)
	}
	parked(t, s, 10)
	end(reason)
	_, err := square.Start(g, 1)
	assert.ErrorIs(t, err, reason)
	assert.ErrorIs(t, g.Wait(background), reason)

	ctx, end = context.WithCancelCause(background)
	g = coro.NewGroup(ctx, s)
	for range 10 {
		_, err := canceled.Start(g, asks)
		require.NoError(t, err)
	}
	eventually(t, func() bool { return testbody.Ran() == 20 }, "they have started")
	end(reason)
	assert.NoError(t, g.Wait(background), "all have a result")
	finish(t, s)
}

func TestAGroupGrowsFromInside(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	g := coro.NewGroup(background, s)
	var ran atomic.Int64
	var grow func(c *coro.Coroutine, depth int) (int, error)
	grow = func(c *coro.Coroutine, depth int) (int, error) {
		ran.Add(1)
		for range 2 * min(depth, 1) {
			_, err := coro.Go(g, func(c *coro.Coroutine) (int, error) {
				return grow(c, depth-1)
			})
			if err != nil {
				return 0, err
			}
			if err = c.Yield(); err != nil {
				return 0, err
			}
		}
		return depth, nil
	}
	_, err := coro.Go(g, func(c *coro.Coroutine) (int, error) { return grow(c, 6) })
	require.NoError(t, err)
	require.NoError(t, g.Wait(background))
	assert.EqualValues(t, 127, ran.Load())
	finish(t, s)
}

func TestAGroupOfAClosedScheduler(t *testing.T) {
	s := newScheduler(t)
	g := coro.NewGroup(background, s)
	_, err := canceled.Start(g, parksAndTells)
	require.NoError(t, err)
	_ = s.Close(expired)
	_, err = square.Start(g, 1)
	assert.True(t, err == coro.ErrClosed || err == coro.ErrCanceled, "%v", err)
	assert.Equal(t, coro.ErrCanceled, g.Wait(background))
}

func TestGroupsUnderFire(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	reason := errors.New("enough")
	var users sync.WaitGroup
	for user := range 4 {
		users.Go(func() {
			random := rand.New(rand.NewPCG(uint64(user), 9))
			for range scaled(60) {
				ctx, end := context.WithCancelCause(background)
				g := coro.NewGroup(ctx, s)
				var started, ended atomic.Int64
				var starters sync.WaitGroup
				for range 2 {
					seed := random.Uint64()
					starters.Go(func() {
						random := rand.New(rand.NewPCG(seed, 1))
						for range 50 {
							var err error
							switch random.IntN(3) {
							case 0:
								_, err = square.Start(g, 5)
							case 1:
								_, err = canceled.Start(g,
									parksAndTells)
							case 2:
								_, err = coro.Go(g, func(c *coro.Coroutine) (int, error) {
									defer ended.Add(1)
									started.Add(1)
									return 0, c.Park(background)
								})
							}
							if err != nil {
								assert.ErrorIs(t, err, reason)
								return
							}
						}
					})
				}
				if random.IntN(2) == 0 {
					starters.Wait()
				}
				end(reason)
				starters.Wait()
				err := g.Wait(background)
				assert.True(t, err == nil || errors.Is(err, reason), "%v", err)
				assert.Equal(t, started.Load(), ended.Load(), "nothing outlives it")
			}
		})
	}
	users.Wait()
	finish(t, s)
}

func TestCompletionsComeInTheOrderOfTheEnds(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	var tasks []*coro.Task[int32]
	for range 50 {
		task, err := park.Start(s, coro.None{})
		require.NoError(t, err)
		tasks = append(tasks, task)
	}
	order := rand.Perm(50)
	require.NoError(t, tasks[order[0]].Wake())
	n := 0
	for task, err := range coro.Completions(soon(t), tasks...) {
		require.NoError(t, err)
		require.Same(t, tasks[order[n]], task)
		status, err := task.Wait(expired)
		require.NoError(t, err)
		require.Equal(t, testbody.OK, status)
		if n++; n < 50 {
			require.NoError(t, tasks[order[n]].Wake())
		}
	}
	assert.Equal(t, 50, n)
	// All have ended: the end of the context has no effect.
	for task, err := range coro.Completions(expired, tasks...) {
		require.NoError(t, err)
		assert.NotNil(t, task)
		n--
	}
	assert.Zero(t, n)
	finish(t, s)
}

func TestCompletionsOfNothing(t *testing.T) {
	for range coro.Completions[int](expired) {
		assert.Fail(t, "there is none")
	}
}

func TestCompletionsEndWithTheContext(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	reason := errors.New("no patience")
	quick, err := square.Start(s, 3)
	require.NoError(t, err)
	slow, err := canceled.Start(s, parks)
	require.NoError(t, err)
	ctx, end := context.WithCancelCause(soon(t))
	defer end(nil)
	var got []*coro.Task[int64]
	var last error
	for task, err := range coro.Completions(ctx, slow, quick) {
		got, last = append(got, task), err
		end(reason)
	}
	assert.Equal(t, []*coro.Task[int64]{quick, nil}, got)
	assert.ErrorIs(t, last, reason)
	for task := range coro.Completions(background, slow, quick, quick) {
		assert.Same(t, quick, task)
		break // the others are left alone
	}
	slow.Cancel()
	finish(t, s)
}

func TestCompletionsTellErrors(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	var tasks []*coro.Task[coro.None]
	bodies := []func() (*coro.Task[coro.None], error){
		func() (*coro.Task[coro.None], error) { return abort.Start(s, coro.None{}) },
		func() (*coro.Task[coro.None], error) { return empty.Start(s, coro.None{}) },
		func() (*coro.Task[coro.None], error) {
			return coro.Go(s, func(*coro.Coroutine) (coro.None, error) {
				return coro.None{}, coro.ErrPaused
			})
		},
	}
	for _, start := range bodies {
		task, err := start()
		require.NoError(t, err)
		tasks = append(tasks, task)
	}
	errs := map[*coro.Task[coro.None]]error{}
	for task, err := range coro.Completions(soon(t), tasks...) {
		errs[task] = err
	}
	assert.Equal(t, map[*coro.Task[coro.None]]error{
		tasks[0]: coro.ErrAborted, tasks[1]: nil, tasks[2]: coro.ErrPaused,
	}, errs)
	finish(t, s)
}
