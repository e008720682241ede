//go:build cgo

package coro_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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

func TestWaitReturnsTheSameResultAgainAndAgainToAll(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	for i := range int64(100) {
		task, err := square.Start(s, i)
		require.NoError(t, err)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 3 {
					got, err := task.Wait(background)
					assert.NoError(t, err)
					assert.Equal(t, i*i, got)
				}
			})
		}
		all.Wait()
		got, err := task.Wait(expired)
		require.NoError(t, err, "the result is there: the context does not matter")
		require.Equal(t, i*i, got)
	}
}

func TestManyGoroutinesSleepInWait(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	var all sync.WaitGroup
	var tasks []*coro.Task[int32]
	for range 50 {
		task, err := park.Start(s, coro.None{})
		require.NoError(t, err)
		tasks = append(tasks, task)
		for range 3 {
			all.Go(func() {
				status, err := task.Wait(soon(t))
				assert.NoError(t, err)
				assert.Equal(t, testbody.OK, status)
			})
		}
	}
	parked(t, s, 50)
	for _, i := range rand.Perm(50) {
		require.NoError(t, tasks[i].Wake())
	}
	all.Wait()
}

func TestATaskGoesOnWhenTheContextOfWaitEnds(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	task, err := park.Start(s, coro.None{})
	require.NoError(t, err)
	for range 3 {
		status, err := task.Wait(expired)
		assert.Equal(t, context.Canceled, err)
		assert.Zero(t, status)
	}
	ctx, cancel := context.WithTimeout(background, time.Millisecond)
	defer cancel()
	_, err = task.Wait(ctx)
	assert.Equal(t, context.DeadlineExceeded, err)
	require.NoError(t, task.Wake())
	status, err := task.Wait(soon(t))
	require.NoError(t, err)
	assert.Equal(t, testbody.OK, status)
}

func TestATaskWithoutAResultCanBeWaitedFor(t *testing.T) {
	s := newScheduler(t)
	task, err := add.Start(s, 5)
	require.NoError(t, err)
	_, err = task.Wait(soon(t))
	require.NoError(t, err)
	assert.EqualValues(t, 5, testbody.Sum())
}

func TestAnAbortedTaskSaysSo(t *testing.T) {
	s := newScheduler(t)
	for range 10 {
		task, err := abort.Start(s, coro.None{})
		require.NoError(t, err)
		for range 2 {
			_, err = task.Wait(soon(t))
			require.Equal(t, coro.ErrAborted, err)
		}
	}
}

func TestATaskThatACBodyHasJoinedIsStale(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	task, err := square.Start(s, 3)
	require.NoError(t, err)
	joiner, err := join.Start(s, task.Handle())
	require.NoError(t, err)
	status, err := joiner.Wait(soon(t))
	require.NoError(t, err)
	require.Equal(t, testbody.OK, status)
	for range 2 {
		got, err := task.Wait(soon(t))
		assert.Equal(t, coro.ErrStale, err)
		assert.Zero(t, got)
	}
}

func TestATaskThatACBodyWaitsForIsBusyUntilItHasJoined(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	task, err := park.Start(s, coro.None{})
	require.NoError(t, err)
	joiner, err := join.Start(s, task.Handle())
	require.NoError(t, err)
	parked(t, s, 2)
	for range 2 {
		_, err = task.Wait(background)
		assert.Equal(t, coro.ErrBusy, err)
	}
	require.NoError(t, task.Wake())
	_, err = joiner.Wait(soon(t))
	require.NoError(t, err)
	_, err = task.Wait(background)
	assert.Equal(t, coro.ErrStale, err)
}

func TestATaskWhoseJoinerWasCanceledCanStillBeWaitedFor(t *testing.T) {
	for range scaled(40) {
		s := newScheduler(t, coro.WithWorkers(2))
		task, err := park.Start(s, coro.None{})
		require.NoError(t, err)
		joiner, err := join.Start(s, task.Handle())
		require.NoError(t, err)
		parked(t, s, 2)
		_, err = task.Wait(background)
		require.Equal(t, coro.ErrBusy, err)
		_ = s.Close(expired)
		require.NoError(t, s.Close(background))
		joined, err := joiner.Wait(background)
		require.NoError(t, err)
		status, err := task.Wait(background)
		if joined == testbody.ECANCELED {
			require.NoError(t, err)
			require.Equal(t, testbody.ECANCELED, status)
		} else {
			require.Equal(t, testbody.OK, joined)
			require.Equal(t, coro.ErrStale, err)
		}
	}
}

func TestACBodyFindsATaskBusyThatGoWaitsFor(t *testing.T) {
	const ebusy = int32(-8)
	s := newScheduler(t, coro.WithWorkers(2))
	task, err := park.Start(s, coro.None{})
	require.NoError(t, err)
	_, err = task.Wait(expired) // from now on the result is Go's
	require.Equal(t, context.Canceled, err)
	joiner, err := join.Start(s, task.Handle())
	require.NoError(t, err)
	status, err := joiner.Wait(soon(t))
	require.NoError(t, err)
	assert.Equal(t, ebusy, status)
	require.NoError(t, task.Wake())
	_, err = task.Wait(soon(t))
	require.NoError(t, err)
}

func TestResultsStayAfterClose(t *testing.T) {
	s, err := coro.New(coro.WithWorkers(2))
	require.NoError(t, err)
	var tasks []*coro.Task[int64]
	for i := range int64(1000) {
		task, err := square.Start(s, i)
		require.NoError(t, err)
		tasks = append(tasks, task)
	}
	require.NoError(t, s.Close(background))
	s = nil // the tasks alone keep it
	runtime.GC()
	runtime.GC()
	for i, task := range tasks {
		got, err := task.Wait(background)
		require.NoError(t, err)
		require.EqualValues(t, i*i, got)
	}
	require.ErrorIs(t, tasks[0].Wake(), coro.ErrStale)
}

func TestDroppedTasksAreCollected(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	const n = 20_000
	for i := range int64(n) {
		_, err := square.Start(s, i)
		require.NoError(t, err)
	}
	finish(t, s)
	eventually(t, func() bool {
		runtime.GC()
		st := s.Stats()
		return st.Records-st.RecordsIdle < n/10 // some are in hand for the next spawns
	}, "the records come back")
	task, err := park.Start(s, coro.None{}) // dropped before it ends
	require.NoError(t, err)
	h := task.Handle()
	task = nil
	runtime.GC()
	parked(t, s, 1)
	require.NoError(t, h.Wake())
	finish(t, s)
}

func TestAHandleNamesTheCoroutineForC(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	seen := map[coro.Handle]bool{}
	for range 1000 {
		task, err := self.Start(s, coro.None{})
		require.NoError(t, err)
		h, err := task.Wait(soon(t))
		require.NoError(t, err)
		require.Equal(t, task.Handle(), h)
		require.False(t, seen[h], "handles are never used twice")
		seen[h] = true
	}
}

func TestAWakeBeforeTheParkIsKept(t *testing.T) {
	s := newScheduler(t, coro.WithPaused(), coro.WithWorkers(2))
	task, err := park.Start(s, coro.None{})
	require.NoError(t, err)
	require.NoError(t, task.Wake())
	require.NoError(t, task.Handle().Wake())
	require.NoError(t, s.Run(background))
	_, err = task.Wait(expired)
	require.NoError(t, err)
}

// Under the race detector this would fail if the detector did not know of the way through C.
func TestWhatIsDoneBeforeASpawnOrAWakeIsSeenAfterTheEnd(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	for range 20 {
		var spawned, woken int
		started := make(chan *coro.Task[int32], 1)
		go func() {
			spawned = 1
			// no assertions here: they synchronize
			task, _ := park.Start(s, coro.None{})
			started <- task
			woken = 2
			_ = task.Wake()
		}()
		task, ctx := <-started, soon(t)
		_, err := task.Wait(ctx)
		sum := spawned + woken
		require.NoError(t, err)
		require.Equal(t, 3, sum)
	}
}

func TestWakingAnEndedTaskIsStale(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	task, err := square.Start(s, 1)
	require.NoError(t, err)
	finish(t, s)
	assert.Equal(t, coro.ErrStale, task.Wake(), "it has ended, though nobody has waited for it")
	_, err = task.Wait(background)
	require.NoError(t, err)
	assert.Equal(t, coro.ErrStale, task.Wake())
	w, err := wake.Start(s, task.Handle())
	require.NoError(t, err)
	status, err := w.Wait(soon(t))
	require.NoError(t, err)
	assert.Equal(t, testbody.ESTALE, status)
}

func TestForgedHandlesAreStale(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	task, err := park.Start(s, coro.None{})
	require.NoError(t, err)
	h := task.Handle()
	for _, forged := range []coro.Handle{
		0, 1, ^coro.Handle(0), h + 1, h - 1, h +
			1<<32, h - 1<<32, h &^ (1<<14 - 1), h ^ 1<<63, h ^ 1<<31, h & (1<<32 - 1),
	} {
		assert.Equal(t, coro.ErrStale, forged.Wake(), "%#x beside %#x", uint64(forged),
			uint64(h))
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range scaled(200_000) {
		forged := coro.Handle(random.Uint64() >> random.IntN(64))
		if random.IntN(2) == 0 { // near by: a record's number, with another generation
			forged = forged<<32 | h&(1<<32-1)
		}
		if forged != h {
			require.Equal(t, coro.ErrStale, forged.Wake(), "%#x beside %#x",
				uint64(forged), uint64(h))
		}
	}
	parked(t, s, 1)
	require.NoError(t, h.Wake())
	finish(t, s)
}

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

var (
	fail       = coro.MustFunc[testbody.Failure, coro.None](testbody.Fail, coro.FuncName("fail"))
	joinFailed = coro.MustFunc[coro.Handle, testbody.Joined](testbody.JoinFailed)
	trade      = coro.MustFunc[testbody.Trader, int64](testbody.Trade, coro.FuncName("trade"))
	shielded   = coro.MustFunc[uint64, coro.None](testbody.ShieldedFor, coro.FuncName("shielded"))
)

func failing(code int32, text string) (f testbody.Failure) {
	f.Code = code
	copy(f.Text[:39], text)
	return f
}

func TestACBodyEndsWithAnError(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	for _, start := range []func(f testbody.Failure) (*coro.Task[coro.None], error){
		func(f testbody.Failure) (*coro.Task[coro.None], error) { return fail.Start(s, f) },
		func(f testbody.Failure) (*coro.Task[coro.None], error) {
			return fail.StartContext(context.WithoutCancel(background), s, f)
		},
	} {
		task, err := start(failing(-42, "no such order"))
		require.NoError(t, err)
		_, err = wait(t, task)
		var failed *coro.BodyError
		require.ErrorAs(t, fmt.Errorf("wrapped: %w", err), &failed)
		assert.Equal(t, coro.BodyError{Func: "fail", Code: -42, Text: "no such order"}, *failed)
		assert.EqualError(t, err, "coro: fail failed: no such order (code -42)")
		assert.Equal(t, err, task.Err())

		task, err = start(failing(7, ""))
		require.NoError(t, err)
		_, err = wait(t, task)
		assert.EqualError(t, err, "coro: fail failed: code 7")
	}

	g := coro.NewGroup(background, s)
	_, err := coro.Go(g, func(c *coro.Coroutine) (int, error) { return 0, c.Park(background) })
	require.NoError(t, err)
	_, err = fail.Start(g, failing(3, "the first"))
	require.NoError(t, err)
	assert.EqualError(t, g.Wait(background), "coro: fail failed: the first (code 3)")

	task, err := coro.Go(s, func(c *coro.Coroutine) (int, error) {
		child, err := fail.Start(s, failing(5, "awaited"))
		require.NoError(t, err)
		_, err = child.Await(background, c)
		return 0, err
	})
	require.NoError(t, err)
	_, err = wait(t, task)
	assert.EqualError(t, err, "coro: fail failed: awaited (code 5)")

	for range 100 { // nobody asks
		require.NoError(t, fail.Spawn(s, failing(1, "dropped")))
		_, err := fail.Start(s, failing(1, "dropped"))
		require.NoError(t, err)
	}
	finish(t, s)
}

type panickyError struct{}

func (panickyError) Error() string   { panic("Error") }
func (panickyError) Is(error) bool   { panic("Is") }
func (panickyError) Unwrap() []error { panic("Unwrap") }
func (panickyError) As(any) bool     { panic("As") }

// A C body that joins a Go body gets the text of its error, and hears of its cancel.
func TestACBodyJoinsAGoBodyThatFails(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	joined := func(body func(*coro.Coroutine) (int64, error), cancel bool) (int32, int32, string) {
		task, err := coro.Go(s, body)
		require.NoError(t, err)
		if cancel {
			task.Cancel()
		}
		j, err := joinFailed.Start(s, task.Handle())
		require.NoError(t, err)
		got, err := wait(t, j)
		require.NoError(t, err)
		text, _, _ := bytes.Cut(got.Text[:], []byte{0})
		return got.Status, got.Code, string(text)
	}
	for _, c := range []struct {
		err          error
		cancel       bool
		status, code int32
		text         string
	}{
		{nil, false, testbody.OK, 0, ""},
		{errors.New("no such order"), false, testbody.EFAILED, 0, "no such order"},
		{fmt.Errorf("it: %w", &coro.BodyError{Func: "f", Code: 9}), false, testbody.EFAILED, 9,
			"it: coro: f failed: code 9"},
		{context.Canceled, false, testbody.EFAILED, 0, "context canceled"},
	} {
		status, code, text := joined(func(*coro.Coroutine) (int64, error) { return 1, c.err }, false)
		assert.Equal(t, c.status, status, "%v", c.err)
		assert.Equal(t, c.code, code)
		assert.Equal(t, c.text, text)
	}
	status, _, _ := joined(func(*coro.Coroutine) (int64, error) { return 1, panickyError{} }, false)
	assert.Equal(t, testbody.EFAILED, status)
	status, _, text := joined(func(*coro.Coroutine) (int64, error) { panic("oh") }, false)
	assert.Equal(t, testbody.EFAILED, status)
	assert.Contains(t, text, "oh")
	status, _, _ = joined(func(c *coro.Coroutine) (int64, error) {
		return 1, c.Park(background)
	}, true)
	assert.Equal(t, testbody.ECANCELED, status)
	finish(t, s)
}

// exchange is an order book, which fills no order, and takes each back.
func exchange(t *testing.T, s *coro.Scheduler) (*coro.Chan[testbody.Order], *coro.Chan[int64]) {
	book, err := coro.NewChan[testbody.Order](s, 0)
	require.NoError(t, err)
	answers, err := coro.NewChan[int64](s, 0)
	require.NoError(t, err)
	go func() {
		for order := range book.All(background) {
			if order.Cancels == 1 {
				_ = answers.Send(background, -order.ID)
			}
		}
	}()
	return book, answers
}

// The recipe of docs/waiting.md.
func TestACanceledBodyCleansUp(t *testing.T) {
	type key struct{}
	s := newScheduler(t, coro.WithWorkers(2))
	book, answers := exchange(t, s)
	audited := make(chan int64, 10)
	audit := coro.MustExportFunc(func(ctx context.Context, answer int64) (coro.None, error) {
		deadline, ok := ctx.Deadline()
		assert.True(t, ok, "the section's")
		assert.Less(t, time.Until(deadline), 2*time.Second)
		assert.NoError(t, ctx.Err())
		assert.Equal(t, "trace", ctx.Value(key{}))
		select {
		case <-ctx.Done():
			assert.Fail(t, "the cancel is held off")
		case <-time.After(5 * time.Millisecond):
		}
		audited <- answer
		return coro.None{}, nil
	})
	reason := errors.New("the client went away")
	for finishes := range uint32(2) {
		ctx, cancel := context.WithCancelCause(context.WithValue(background, key{}, "trace"))
		task, err := trade.StartContext(ctx, s, testbody.Trader{Book: book.Address(),
			Answers: answers.Address(), ID: 11, Audit: uint32(audit), Finishes: finishes})
		require.NoError(t, err)
		parked(t, s, 1)
		cancel(reason)
		got, err := wait(t, task)
		assert.EqualValues(t, -11, receive(t, audited))
		if finishes == 1 {
			require.NoError(t, err)
			assert.EqualValues(t, -11, got)
		} else {
			assert.ErrorIs(t, err, reason)
		}
	}
	require.NoError(t, book.Close())
	finish(t, s)
}

func TestACanceledGoBodyCleansUp(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	book, answers := exchange(t, s)
	task, err := coro.Go(s, func(c *coro.Coroutine) (int64, error) {
		why := c.Park(background)
		require.Equal(t, coro.ErrCanceled, why)
		ctx, end := c.Shield(10 * time.Second)
		defer end()
		require.NoError(t, book.Send(ctx, testbody.Order{ID: 12, Cancels: 1}))
		answer, err := answers.Recv(ctx)
		require.NoError(t, err)
		require.NoError(t, c.Sleep(background, time.Millisecond))
		_, endInner := c.Shield(time.Millisecond)
		require.Equal(t, coro.ErrCanceled, c.Park(background), "when the section is over")
		require.Equal(t, coro.ErrCanceled, c.Park(background))
		endInner()
		endInner()
		require.NoError(t, c.Wake(c.Handle()))
		require.NoError(t, c.Park(background))
		require.NoError(t, c.Sleep(background, time.Millisecond), "in the outer one")
		end()
		require.Equal(t, coro.ErrCanceled, c.Sleep(background, time.Hour))
		return answer, nil
	})
	require.NoError(t, err)
	parked(t, s, 1)
	task.Cancel()
	got, err := wait(t, task)
	require.NoError(t, err, "a Go body that returns no error has finished")
	assert.EqualValues(t, -12, got)
	require.NoError(t, book.Close())

	// The cancel comes in the section; the body ends in it.
	task, err = coro.Go(s, func(c *coro.Coroutine) (int64, error) {
		began := time.Now()
		c.Shield(20 * time.Millisecond)
		err := c.Park(background)
		assert.GreaterOrEqual(t, time.Since(began), 20*time.Millisecond)
		c.Shield(time.Hour)
		return 0, err
	})
	require.NoError(t, err)
	parked(t, s, 1)
	task.Cancel()
	_, err = wait(t, task)
	assert.Equal(t, coro.ErrCanceled, err)

	var kept *coro.Coroutine
	task, err = coro.Go(s, func(c *coro.Coroutine) (int64, error) { kept = c; return 0, nil })
	require.NoError(t, err)
	_, err = wait(t, task)
	require.NoError(t, err)
	ctx, end := kept.Shield(time.Hour)
	assert.Equal(t, coro.ErrNotCurrent, context.Cause(ctx))
	end()
	finish(t, s)
}

// A section does not hold Close up for longer than Close waits for anything.
func TestCloseNamesWhoIsShielded(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	long := 3 * time.Second
	task, err := shielded.Start(s, uint64(long))
	require.NoError(t, err)
	_, err = coro.Go(s, func(c *coro.Coroutine) (int64, error) {
		c.Shield(long)
		return 0, c.Park(background)
	})
	require.NoError(t, err)
	parked(t, s, 2)
	began := time.Now()
	var running *coro.RunningError
	require.ErrorAs(t, s.Close(expired), &running)
	assert.Less(t, time.Since(began), long)
	assert.Contains(t, running.Funcs, "shielded")
	assert.Len(t, running.Funcs, 2)
	require.NoError(t, s.Close(background), "the sections end")
	_, err = task.Wait(background)
	assert.Equal(t, coro.ErrCanceled, err)
}

// The context of an exported function is that of its caller: values, deadline, and cause.
func TestAnExportedFunctionHasTheContextOfItsCaller(t *testing.T) {
	type key struct{}
	inEachWay(t, func(t *testing.T, s *coro.Scheduler, how uint32) {
		var kept context.Context
		deadline := time.Now().Add(time.Hour)
		id := coro.MustExportFunc(func(ctx context.Context, n int64) (int64, error) {
			if n == 1 {
				kept = ctx
			}
			at, ok := ctx.Deadline()
			if n > 0 {
				assert.True(t, ok && at.Equal(deadline))
				assert.Equal(t, "trace", ctx.Value(key{}))
			} else {
				assert.False(t, ok)
				assert.Nil(t, ctx.Value(key{}))
			}
			return n, ctx.Err()
		})
		ctx, cancel := context.WithDeadline(context.WithValue(background, key{}, "trace"), deadline)
		defer cancel()
		g := coro.NewGroup(ctx, s)
		call := testbody.Call{ID: uint32(id), How: how, Number: 1, ArgBytes: 8, ResultBytes: 8}
		for range 3 {
			task, err := callOne.StartContext(ctx, s, call)
			require.NoError(t, err)
			got, err := wait(t, task)
			require.NoError(t, err)
			assert.Equal(t, testbody.OK, got.Status)
			assert.Error(t, kept.Err(), "it has ended with the call")
			member := call
			member.Number = 2
			_, err = callOne.Start(g, member)
			require.NoError(t, err)
			assert.EqualValues(t, testbody.OK, calling(t, s, how, id, 0).Status)
		}
		require.NoError(t, g.Wait(background))
	})
}

func TestTheCauseReachesTheCalledFunction(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	began := make(chan struct{})
	type ended struct{ err, cause error }
	ends := make(chan ended, 1)
	id := coro.MustExportFunc(func(ctx context.Context, n int64) (int64, error) {
		began <- struct{}{}
		<-ctx.Done()
		ends <- ended{ctx.Err(), context.Cause(ctx)}
		return 0, nil
	})
	call := testbody.Call{ID: uint32(id), How: testbody.Offload, ArgBytes: 8, ResultBytes: 8}
	reason := errors.New("the client went away")
	for range scaled(20) {
		ctx, cancel := context.WithCancelCause(background)
		_, err := callOne.StartContext(ctx, s, call)
		require.NoError(t, err)
		receive(t, began)
		cancel(reason)
		assert.Equal(t, ended{context.Canceled, reason}, receive(t, ends))
	}
	ctx, cancel := context.WithTimeout(background, 10*time.Millisecond)
	defer cancel()
	_, err := callOne.StartContext(ctx, s, call)
	require.NoError(t, err)
	receive(t, began)
	assert.Equal(t, ended{context.DeadlineExceeded, context.DeadlineExceeded}, receive(t, ends))

	g := coro.NewGroup(background, s)
	_, err = callOne.Start(g, call)
	require.NoError(t, err)
	receive(t, began)
	g.Cancel(reason)
	assert.Equal(t, ended{context.Canceled, reason}, receive(t, ends))

	task, err := callOne.Start(s, call)
	require.NoError(t, err)
	receive(t, began)
	task.Cancel()
	assert.Equal(t, ended{context.Canceled, coro.ErrCanceled}, receive(t, ends))
	finish(t, s)
}

// ticking is a Go body that sleeps for ever.
func ticking(c *coro.Coroutine) (coro.None, error) {
	for {
		if err := c.Sleep(background, time.Millisecond); err != nil {
			return coro.None{}, err
		}
	}
}

// serving is a Go body that starts a C body for each value that it receives.
func serving(s *coro.Scheduler, in *coro.Chan[int64]) func(*coro.Coroutine) (coro.None, error) {
	return func(c *coro.Coroutine) (coro.None, error) {
		for {
			n, err := in.Recv(c.Context())
			if err != nil {
				return coro.None{}, err
			}
			if err := add.Spawn(s, n); err != nil {
				return coro.None{}, err
			}
		}
	}
}

func TestWaitDoesNotWaitForDaemons(t *testing.T) {
	stalls := make(chan int, 1000)
	s := newScheduler(t, coro.WithWorkers(2), coro.WithStallHook(func(n int) { stalls <- n }))
	in := newChan[int64](t, s, 4)
	_, err := coro.Go(s, serving(s, in), coro.AsDaemon())
	require.NoError(t, err)
	c, err := laps.Daemon().Start(s, coro.None{})
	require.NoError(t, err)
	require.NoError(t, laps.OnWorker(1).Daemon().Spawn(s, coro.None{}))
	require.NoError(t, laps.Daemon().OnWorker(0).Spawn(s, coro.None{}))
	_, err = laps.Daemon().SpawnN(s, 3, coro.None{})
	require.NoError(t, err)
	b := laps.Daemon().Batch(s)
	require.NoError(t, b.Add(coro.None{}))
	require.NoError(t, b.Flush())
	const daemons = 8
	eventually(t, func() bool {
		st := s.Stats()
		return st.Daemons == daemons && st.Live == daemons && st.Awake == 0
	}, "they wait")
	assert.False(t, s.Stats().Stalled)
	want := int64(0)
	for range scaled(300) {
		require.NoError(t, in.Send(background, 1))
		require.NoError(t, c.Wake())
		require.NoError(t, add.Spawn(s, 1))
		want += 3
		require.NoError(t, s.Wait(soon(t)))
		require.Equal(t, want, testbody.Sum(), "what daemons were asked for before is done")
	}
	assert.Empty(t, stalls)

	// the time of a daemon is no matter, and it hides no stall
	_, err = coro.Go(s, ticking, coro.AsDaemon())
	require.NoError(t, err)
	for range 20 {
		require.NoError(t, add.Spawn(s, 1))
		require.NoError(t, s.Wait(soon(t)))
	}
	var list []coro.BlockedCoroutine
	eventually(t, func() bool {
		var n int
		list, n = s.Blocked(100)
		return n == daemons+1
	}, "all are blocked at once, also the one that sleeps again and again")
	for _, b := range list {
		assert.True(t, b.Daemon, b)
		assert.Contains(t, fmt.Sprint(b), ", daemon")
	}
	require.NoError(t, s.Close(soon(t)), "daemons are canceled")
	st := s.Stats()
	assert.Zero(t, st.Live+st.Daemons)
	assert.Equal(t, st.Spawned, st.Ended)
	assert.Empty(t, stalls)
}

func TestAStallIsToldOfOthersThanDaemons(t *testing.T) {
	stalls := make(chan int, 100)
	s := newScheduler(t, coro.WithWorkers(2), coro.WithStallHook(func(n int) { stalls <- n }))
	_, err := laps.Daemon().SpawnN(s, 5, coro.None{})
	require.NoError(t, err)
	eventually(t, func() bool { return s.Stats().Daemons == 5 }, "they have come")
	task, err := park.Start(s, coro.None{})
	require.NoError(t, err)
	assert.Equal(t, 1, receive(t, stalls))
	eventually(t, func() bool { return s.Stats().Stalled }, "it is one")
	list, n := s.Blocked(1)
	require.Equal(t, 6, n)
	assert.Equal(t, "park", list[0].Func, "daemons come last")
	require.NoError(t, task.Wake())
	_, err = wait(t, task)
	require.NoError(t, err)
	require.NoError(t, s.Wait(soon(t)))
	assert.False(t, s.Stats().Stalled)
}

func TestRunDoesNotReportDaemons(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithPaused())
	in := newChan[int64](t, s, 4)
	_, err := coro.Go(s, serving(s, in), coro.AsDaemon())
	require.NoError(t, err)
	require.NoError(t, laps.Daemon().Spawn(s, coro.None{}))
	for i := range int64(3) {
		require.NoError(t, in.Send(background, 1))
		require.NoError(t, s.Run(soon(t)))
		assert.Equal(t, i+1, testbody.Sum())
	}
	task, err := park.Start(s, coro.None{})
	require.NoError(t, err)
	var deadlock *coro.DeadlockError
	require.ErrorAs(t, s.Run(soon(t)), &deadlock)
	assert.Equal(t, 1, deadlock.Count)
	require.Len(t, deadlock.Blocked, 1)
	assert.Equal(t, "park", deadlock.Blocked[0].Func)
	require.NoError(t, task.Wake())
	require.NoError(t, s.Run(soon(t)))
}

// A daemon in a group is a member of the group: the group's end is its end.
func TestAGroupWaitsForItsDaemons(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	g := coro.NewGroup(background, s)
	_, err := laps.Daemon().Start(g, coro.None{})
	require.NoError(t, err)
	_, err = coro.Go(g, ticking, coro.AsDaemon())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(background)
	bound, err := laps.Daemon().StartContext(ctx, s, coro.None{})
	require.NoError(t, err)
	body, err := coro.GoContext(ctx, s, ticking, coro.AsDaemon())
	require.NoError(t, err)
	require.NoError(t, s.Wait(soon(t)))
	assert.ErrorIs(t, g.Wait(expired), context.Canceled, "it goes on")
	enough := errors.New("enough")
	g.Cancel(enough)
	assert.Equal(t, enough, g.Wait(soon(t)))
	cancel()
	_, err = bound.Wait(soon(t))
	assert.ErrorIs(t, err, context.Canceled, "it was told, and has returned")
	_, err = body.Wait(soon(t))
	assert.ErrorIs(t, err, context.Canceled)
	finish(t, s)
}

// Close waits for the others first; and for a daemon, which is in a Go function, the function's
// context ends.
func TestCloseCancelsDaemonsWhenTheOthersHaveEnded(t *testing.T) {
	for _, how := range ways {
		s := newScheduler(t, coro.WithWorkers(2))
		in := make(chan struct{}, 1)
		forEver := coro.MustExportFunc(func(ctx context.Context, _ int64) (int64, error) {
			in <- struct{}{}
			<-ctx.Done()
			return 0, context.Cause(ctx)
		})
		call := testbody.Call{ID: uint32(forEver), How: how, ArgBytes: 8, ResultBytes: 8}
		if how == testbody.Offload {
			require.NoError(t, callOne.Daemon().Spawn(s, call))
			receive(t, in)
			require.NoError(t, s.Wait(soon(t)), "although its call is under way")
		}
		daemon, err := coro.Go(s, ticking, coro.AsDaemon())
		require.NoError(t, err)
		other, err := park.Start(s, coro.None{})
		require.NoError(t, err)
		go func() {
			time.Sleep(3 * time.Millisecond)
			assert.NoError(t, daemon.Err())
			assert.NoError(t, other.Wake())
		}()
		require.NoError(t, s.Close(soon(t)))
		got, err := other.Wait(background)
		require.NoError(t, err)
		assert.Zero(t, got, "it was woken, and not canceled")
		assert.ErrorIs(t, daemon.Err(), coro.ErrCanceled)
		assert.Zero(t, s.Stats().Live)
	}
}

func ExampleFunc_Daemon() {
	stalled := func(n int) { fmt.Println(n, "wait for ever") }
	s, err := coro.New(coro.WithStallHook(stalled))
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	defer s.Close(ctx) // ends the server, too
	server, err := laps.Daemon().Start(s, coro.None{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(server.Wake(), s.Wait(ctx)) // a request, and the end of all that came of it
	// Output: <nil> <nil>
}
