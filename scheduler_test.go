//go:build cgo

package coro_test

import (
	"context"
	"math"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWaitReturnsWhenAllThatWasSpawnedHasEnded(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	require.NoError(t, s.Wait(background), "nothing was spawned")
	for n := range int64(200) {
		require.NoError(t, add.Spawn(s, n))
		require.NoError(t, s.Wait(background))
		require.Equal(t, n*(n+1)/2, testbody.Sum())
	}
}

func TestWaitMayBeCalledByMany(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	task, err := park.Start(s, coro.None{})
	require.NoError(t, err)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			assert.NoError(t, s.Wait(soon(t)))
			assert.EqualValues(t, 1, testbody.Ran(), "not before it has ended")
		})
	}
	parked(t, s, 1)
	require.NoError(t, task.Wake())
	all.Wait()
}

func TestWaitGivesUpWithItsContext(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	task, err := park.Start(s, coro.None{})
	require.NoError(t, err)
	assert.Equal(t, context.Canceled, s.Wait(expired))
	ctx, cancel := context.WithTimeout(background, time.Millisecond)
	defer cancel()
	assert.Equal(t, context.DeadlineExceeded, s.Wait(ctx))
	require.NoError(t, task.Wake())
	require.NoError(t, s.Wait(soon(t)))
	assert.NoError(t, s.Wait(expired), "there is nothing to wait for")
}

func TestRunAndWaitBelongToTheirModes(t *testing.T) {
	assert.Equal(t, coro.ErrPaused, newScheduler(t, coro.WithPaused()).Wait(background))
	assert.Equal(t, coro.ErrPaused, newScheduler(t).Run(background))
}

func TestNothingRunsBeforeRun(t *testing.T) {
	s := newScheduler(t, coro.WithPaused(), coro.WithWorkers(2))
	require.NoError(t, s.Run(background), "nothing was spawned")
	for round := range int64(20) {
		testbody.Reset()
		n, err := add.SpawnN(s, 1000, 1)
		require.NoError(t, err)
		require.Equal(t, 1000, n)
		require.NoError(t, tree.Spawn(s, round/2))
		task, err := square.Start(s, round)
		require.NoError(t, err)
		time.Sleep(time.Millisecond)
		require.Zero(t, testbody.Sum())
		require.NoError(t, s.Run(soon(t)))
		require.EqualValues(t, 1000+1<<(round/2), testbody.Sum())
		got, err := task.Wait(expired)
		require.NoError(t, err, "it has ended")
		require.Equal(t, round*round, got)
	}
}

func TestSpawningIntoAPauseWakesNobody(t *testing.T) {
	s := newScheduler(t, coro.WithPaused(), coro.WithWorkers(2))
	eventually(t, func() bool {
		st := s.Stats()
		return st.Awake == 0 && st.Rests > 0
	}, "the workers sleep")
	before := s.Stats().Rests
	for range 1000 {
		require.NoError(t, add.Spawn(s, 1))
		_, err := add.Start(s, 1)
		require.NoError(t, err)
	}
	assert.Equal(t, before, s.Stats().Rests)
	require.NoError(t, s.Run(background))
	assert.EqualValues(t, 2000, testbody.Sum())
}

// A spawn that meets the end of a run is run by that run or by the next.
func TestNothingSpawnedAroundTheEndOfARunIsLost(t *testing.T) {
	s := newScheduler(t, coro.WithPaused(), coro.WithWorkers(2))
	done := make(chan int64)
	n := int64(scaled(40_000))
	go func() {
		for range n {
			assert.NoError(t, add.Spawn(s, 1))
		}
		done <- n
	}()
	for running := true; running; {
		require.NoError(t, s.Run(background))
		select {
		case <-done:
			running = false
		default:
		}
	}
	require.NoError(t, s.Run(background))
	assert.Equal(t, n, testbody.Sum())
}

func TestOneRunAtATime(t *testing.T) {
	s := newScheduler(t, coro.WithPaused(), coro.WithWorkers(1))
	require.NoError(t, spin.Spawn(s, coro.None{}))
	first := make(chan error)
	go func() { first <- s.Run(background) }()
	eventually(t, func() bool { return testbody.Ran() == 1 }, "it runs")
	assert.Equal(t, coro.ErrBusy, s.Run(background))
	assert.Equal(t, coro.ErrBusy, s.Run(soon(t)))
	testbody.Stop()
	assert.NoError(t, receive(t, first))
	assert.NoError(t, s.Run(background))
}

func TestARunGoesOnWithoutItsContext(t *testing.T) {
	s := newScheduler(t, coro.WithPaused(), coro.WithWorkers(1))
	require.NoError(t, spin.Spawn(s, coro.None{}))
	assert.Equal(t, context.Canceled, s.Run(expired))
	assert.Zero(t, testbody.Ran(), "a context that has ended starts nothing")
	ctx, cancel := context.WithCancel(background)
	result := make(chan error)
	go func() { result <- s.Run(ctx) }()
	eventually(t, func() bool { return testbody.Ran() == 1 }, "it runs")
	cancel()
	assert.Equal(t, context.Canceled, receive(t, result))
	assert.Equal(t, coro.ErrBusy, s.Run(background))
	testbody.Stop()
	eventually(t, func() bool { return s.Run(background) == nil }, "the run ends")
}

func TestADeadlockIsReportedExactlyAndCanBeUndone(t *testing.T) {
	for _, n := range []int{1, 2, 63, 500} {
		s := newScheduler(t, coro.WithPaused(), coro.WithWorkers(2))
		tasks := map[coro.Handle]*coro.Task[int32]{}
		for range n {
			task, err := park.Start(s, coro.None{})
			require.NoError(t, err)
			tasks[task.Handle()] = task
			require.NoError(t, join.Spawn(s, task.Handle()))
			require.NoError(t, add.Spawn(s, 1))
		}
		for range 2 { // again, until they are woken
			err := s.Run(background)
			var dead *coro.DeadlockError
			require.ErrorAs(t, err, &dead)
			require.Equal(t, 2*n, dead.Count)
			require.Len(t, dead.Blocked, min(2*n, 64))
			for _, b := range dead.Blocked {
				assert.Equal(t, b.Func, b.Waits,
					"the bodies are called like what they wait in")
				assert.Contains(t, []int{0, 1}, b.Worker)
				assert.Equal(t, b.Waits == "park", tasks[b.Handle] != nil)
			}
			require.EqualValues(t, n, testbody.Sum())
		}
		for _, task := range tasks {
			require.NoError(t, task.Wake())
		}
		require.NoError(t, s.Run(background))
		require.EqualValues(t, n, testbody.Ran()-testbody.Sum())
	}
}

func TestBlockedListsWhatWaits(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	list, n := s.Blocked(math.MaxInt)
	assert.Empty(t, list)
	assert.Zero(t, n)
	const all = 300
	_, err := park.SpawnN(s, all, coro.None{})
	require.NoError(t, err)
	parked(t, s, all)
	for limit, want := range map[int]int{math.MinInt: 0, -1: 0, 0: 0, 1: 1, 299: 299, 300: 300,
		301: 300, math.MaxInt: 300} {
		list, n := s.Blocked(limit)
		assert.Equal(t, all, n)
		assert.Len(t, list, want, "limit %d", limit)
	}
	list, _ = s.Blocked(math.MaxInt)
	seen := map[coro.Handle]bool{}
	for _, b := range list {
		assert.False(t, seen[b.Handle])
		seen[b.Handle] = true
		assert.ErrorIs(t, b.Handle.Wake(), coro.ErrStale,
			"nobody was given its handle: it is for information")
	}
}

func TestSchedulersAreApart(t *testing.T) {
	a, b := newScheduler(t, coro.WithWorkers(1)), newScheduler(t, coro.WithWorkers(2))
	task, err := park.Start(a, coro.None{})
	require.NoError(t, err)
	require.NoError(t, b.Wait(background))
	w, err := wake.Start(b, task.Handle()) // a C body may wake coroutines of another scheduler
	require.NoError(t, err)
	status, err := w.Wait(soon(t))
	require.NoError(t, err)
	assert.Equal(t, testbody.OK, status)
	finish(t, a)
	require.NoError(t, b.Close(background))
	require.NoError(t, add.Spawn(a, 1))
	finish(t, a)
}

func TestAnAbandonedSchedulerIsFreedWhenClosed(t *testing.T) {
	for range scaled(100) {
		s, err := coro.New(coro.WithWorkers(2), coro.WithName("abandoned"))
		require.NoError(t, err)
		require.NoError(t, add.Spawn(s, 1))
		_ = s.Close(expired)
		s = nil
		runtime.GC()
	}
	gone(t, "abandoned/")
}

func TestTheZeroSchedulerRefusesWork(t *testing.T) {
	var s coro.Scheduler
	assert.Equal(t, coro.ErrClosed, add.Spawn(&s, 1))
	_, err := square.Start(&s, 1)
	assert.Equal(t, coro.ErrClosed, err)
}
