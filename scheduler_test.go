//go:build cgo

package coro_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
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

func TestNothingIsStartedAfterClose(t *testing.T) {
	for _, paused := range []bool{false, true} {
		opts := []coro.Option{coro.WithWorkers(2)}
		if paused {
			opts = append(opts, coro.WithPaused())
		}
		s := newScheduler(t, opts...)
		full, part := add.Batch(s), add.Batch(s)
		require.NoError(t, part.Add(1))
		require.NoError(t, s.Close(background))

		assert.Equal(t, coro.ErrClosed, add.Spawn(s, 1))
		assert.Equal(t, coro.ErrClosed, add.SpawnWait(background, s, 1))
		_, err := square.Start(s, 1)
		assert.Equal(t, coro.ErrClosed, err)
		n, err := add.SpawnN(s, 100, 1)
		assert.Equal(t, coro.ErrClosed, err)
		assert.Zero(t, n)
		n, err = add.SpawnN(s, 0, 1)
		assert.Equal(t, coro.ErrClosed, err, "though there is nothing to start")
		assert.Zero(t, n)
		for _, seq := range []iter.Seq[int64]{
			func(yield func(int64) bool) { _ = yield(1) && yield(2) },
			func(yield func(int64) bool) {},
		} {
			n, err = add.SpawnSeq(s, seq)
			assert.Equal(t, coro.ErrClosed, err)
			assert.Zero(t, n)
		}
		assert.Equal(t, coro.ErrClosed, full.Add(1))
		assert.Equal(t, coro.ErrClosed, full.Flush(), "though it is empty")
		assert.Equal(t, coro.ErrClosed, part.Flush(), "what was in it is dropped")
		assert.Equal(t, coro.ErrClosed, part.Flush())
		if paused {
			assert.Equal(t, coro.ErrClosed, s.Run(background))
		} else {
			assert.NoError(t, s.Wait(background))
		}
		assert.Zero(t, testbody.Sum())

		list, blocked := s.Blocked(10)
		assert.Empty(t, list)
		assert.Zero(t, blocked)
		st := s.Stats()
		assert.Equal(t, 2, st.Workers)
		assert.Zero(t, st.Live+st.Stacks+st.Awake)
		s.Trim()
	}
}

func TestCloseMayBeCalledAgainAndByMany(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	_, err := yield.SpawnN(s, 1000, 10)
	require.NoError(t, err)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			assert.NoError(t, s.Close(background))
			assert.EqualValues(t, 1000, testbody.Sum(), "each call waits for the end")
		})
	}
	all.Wait()
	assert.NoError(t, s.Close(background))
	assert.NoError(t, s.Close(expired), "all has ended before")
}

func TestClosedSchedulersLeaveNoDescriptorsAndThreads(t *testing.T) {
	open := func() int {
		fds, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return len(fds)
	}
	newScheduler(t) // the runtime has opened its own by then
	before := open()
	for range 50 {
		s := newScheduler(t, coro.WithName("many"))
		require.NoError(t, add.Spawn(s, 1))
		require.NoError(t, s.Close(background))
	}
	assert.Equal(t, before, open())
	gone(t, "many/")
}

func TestCloseWaitsForWhatRunsAndForWhatWasSpawned(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	require.NoError(t, spin.Spawn(s, coro.None{}))
	_, err := add.SpawnN(s, 100, 1)
	require.NoError(t, err)
	eventually(t, func() bool { return testbody.Ran() == 1 }, "it runs")
	closed, waited := make(chan error), make(chan error)
	go func() { waited <- s.Wait(background) }()
	go func() { closed <- s.Close(background) }()
	eventually(t, func() bool {
		return add.Spawn(s, 1000000) == coro.ErrClosed
	}, "no more work is taken")
	before := testbody.Sum()
	select {
	case <-closed:
		assert.Fail(t, "closed under a running coroutine")
	case <-time.After(20 * time.Millisecond):
	}
	assert.Equal(t, before, testbody.Sum())
	testbody.Stop()
	assert.NoError(t, receive(t, closed))
	assert.NoError(t, receive(t, waited))
	assert.EqualValues(t, 100, testbody.Sum()%1000000)
}

func TestCloseWaitsForParkedOnesThatGoStillWakes(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	task, err := park.Start(s, coro.None{})
	require.NoError(t, err)
	closed := make(chan error)
	go func() { closed <- s.Close(background) }()
	eventually(t, func() bool { return add.Spawn(s, 1) == coro.ErrClosed },
		"no more work is taken")
	require.NoError(t, task.Wake())
	assert.NoError(t, receive(t, closed))
	status, err := task.Wait(background)
	require.NoError(t, err)
	assert.Equal(t, testbody.OK, status)
}

func TestAnExpiredCloseCancelsWhatHasNotStartedAndWakesWhatIsParked(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	var waiting []*coro.Task[int32]
	for range 100 {
		task, err := park.Start(s, coro.None{})
		require.NoError(t, err)
		joiner, err := join.Start(s, task.Handle())
		require.NoError(t, err)
		waiting = append(waiting, task, joiner)
	}
	parked(t, s, 200)
	require.NoError(t, spin.Spawn(s, coro.None{}))
	eventually(t, func() bool { return testbody.Ran() == 1 }, "the worker is taken")
	var fresh []*coro.Task[int64]
	for i := range int64(100) {
		task, err := square.Start(s, i+1)
		require.NoError(t, err)
		fresh = append(fresh, task)
	}
	ctx, cancel := context.WithCancel(background)
	closed := make(chan error)
	go func() { closed <- s.Close(ctx) }()
	cancel()
	parked(t, s, 0) // they are canceled, and wait for the worker
	testbody.Stop()
	closedEarly(t, receive(t, closed))
	require.NoError(t, s.Close(background))
	for _, task := range fresh {
		got, err := task.Wait(background)
		require.Equal(t, coro.ErrCanceled, err)
		require.Zero(t, got)
	}
	joined := 0
	for i, task := range waiting {
		status, err := task.Wait(background)
		switch {
		case i%2 == 1, err == nil: // a joiner, or one that parked
			require.NoError(t, err)
			assert.Contains(t, []int32{testbody.OK, testbody.ECANCELED}, status)
		default: // its joiner took the end before the joiner was canceled
			assert.ErrorIs(t, err, coro.ErrStale)
			joined++
		}
	}
	assert.EqualValues(t, 101, testbody.Ran(), "every parked body went on to its end")
}

func TestAnExpiredCloseReportsWhatDoesNotEnd(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	require.NoError(t, spin.Spawn(s, coro.None{}))
	parkedOne, err := park.Start(s, coro.None{})
	require.NoError(t, err)
	eventually(t, func() bool { return testbody.Ran() == 1 }, "it runs")
	parked(t, s, 1)
	ctx, cancel := context.WithTimeout(background, 5*time.Millisecond)
	defer cancel()
	for range 2 {
		closed := make(chan error)
		go func() { closed <- s.Close(ctx) }() // takes about a second
		var running *coro.RunningError
		err := receive(t, closed)
		require.ErrorAs(t, err, &running)
		assert.Equal(t, []string{"spin"}, running.Funcs)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
	}
	status, err := parkedOne.Wait(soon(t))
	require.NoError(t, err)
	assert.Equal(t, testbody.ECANCELED, status, "the others have ended meanwhile")
	testbody.Stop()
	assert.NoError(t, s.Close(background))
}

// What threads of the scheduler go on with is named: a C function that blocks, and look-ups of
// names whose coroutines have given up.
func TestAnExpiredCloseNamesCallsOfOtherThreads(t *testing.T) {
	expired, cancel := context.WithCancel(background)
	cancel()
	for _, c := range []struct {
		begin func(s *coro.Scheduler)
		want  []string
	}{
		{func(s *coro.Scheduler) {
			require.NoError(t, coro.MustFunc[coro.None, coro.None](testbody.Blocks).Spawn(s, coro.None{}))
			eventually(t, func() bool { return s.Stats().Blocking.Busy == 1 }, "it blocks")
		}, []string{fmt.Sprintf("0x%x", uintptr(testbody.Blocked))}},
		{func(s *coro.Scheduler) {
			looksUp := coro.MustFunc[uint64, int64](testbody.LooksUpBody)
			for range 2 {
				task, err := looksUp.Start(s, 1e9)
				require.NoError(t, err)
				status, err := task.Wait(background)
				require.NoError(t, err)
				assert.EqualValues(t, testbody.ETIMEDOUT, status)
			}
			require.Equal(t, 2, testbody.Lookups())
			require.NoError(t, s.Rest(background), "nothing comes of them")
		}, []string{"coro_getaddrinfo", "coro_getaddrinfo"}},
	} {
		s := newScheduler(t)
		c.begin(s)
		var running *coro.RunningError
		require.ErrorAs(t, s.Close(expired), &running)
		assert.Equal(t, c.want, running.Funcs)
		testbody.Stop()
		assert.NoError(t, s.Close(background))
	}
}

func TestCloseDropsWhatAPausedSchedulerNeverStarted(t *testing.T) {
	s := newScheduler(t, coro.WithPaused(), coro.WithWorkers(2))
	task, err := square.Start(s, 7)
	require.NoError(t, err)
	_, err = add.SpawnN(s, 1000, 1)
	require.NoError(t, err)
	waited := make(chan error)
	go func() { _, err := task.Wait(background); waited <- err }()
	require.NoError(t, s.Close(background))
	assert.Zero(t, testbody.Sum())
	assert.Equal(t, coro.ErrCanceled, receive(t, waited))
}

func TestClosePutsAnEndToADeadlock(t *testing.T) {
	s := newScheduler(t, coro.WithPaused(), coro.WithWorkers(2))
	task, err := park.Start(s, coro.None{})
	require.NoError(t, err)
	var dead *coro.DeadlockError
	require.ErrorAs(t, s.Run(background), &dead)
	require.NoError(t, s.Close(background))
	status, err := task.Wait(background)
	require.NoError(t, err)
	assert.Equal(t, testbody.ECANCELED, status)
}

func TestCloseWaitsForARun(t *testing.T) {
	s := newScheduler(t, coro.WithPaused(), coro.WithWorkers(1))
	require.NoError(t, spin.Spawn(s, coro.None{}))
	_, err := add.SpawnN(s, 100, 1)
	require.NoError(t, err)
	ran, closed := make(chan error), make(chan error)
	go func() { ran <- s.Run(background) }()
	eventually(t, func() bool { return testbody.Ran() > 0 }, "it runs")
	go func() { closed <- s.Close(background) }()
	eventually(t, func() bool {
		return errors.Is(add.Spawn(s, 0), coro.ErrClosed)
	}, "no more work is taken")
	testbody.Stop()
	assert.NoError(t, receive(t, ran))
	assert.NoError(t, receive(t, closed))
	assert.EqualValues(t, 100, testbody.Sum(), "what the run had begun with was run")
}

func TestSpawningWhileClosingStartsAllOrNothing(t *testing.T) {
	for range scaled(40) {
		s := newScheduler(t, coro.WithWorkers(2))
		var all sync.WaitGroup
		counts := make([]int64, 6)
		for i := range counts {
			all.Go(func() {
				b := add.Batch(s)
				for {
					var n int
					var err error
					switch i % 3 {
					case 0:
						if err = add.Spawn(s, 1); err == nil {
							n = 1
						}
					case 1:
						n, err = add.SpawnN(s, 100, 1)
					case 2:
						if err = b.Add(1); err == nil {
							err = b.Flush()
						}
						if err == nil {
							n = 1
						}
					}
					counts[i] += int64(n)
					if err != nil {
						assert.Equal(t, coro.ErrClosed, err)
						return
					}
				}
			})
		}
		eventually(t, func() bool { return testbody.Sum() > 100 }, "they spawn")
		require.NoError(t, s.Close(soon(t)))
		all.Wait()
		var want int64
		for _, n := range counts {
			want += n
		}
		require.Equal(t, want, testbody.Sum())
	}
}

func TestErrorsSayWhereTheyComeFromAndDiffer(t *testing.T) {
	all := []error{
		coro.ErrClosed, coro.ErrNoMemory, coro.ErrCanceled, coro.ErrAborted, coro.ErrStale,
		coro.ErrBusy,
		coro.ErrPaused, coro.ErrThread, coro.ErrNoCgo, coro.ErrOverflow,
		&coro.OptionError{What: "WithX", Value: 3,
			Reason: "must be less"}, &coro.DeadlockError{}, &coro.RunningError{},
	}
	seen := map[string]bool{}
	for _, err := range all {
		assert.True(t, strings.HasPrefix(err.Error(), "coro: "), err.Error())
		assert.False(t, seen[err.Error()])
		seen[err.Error()] = true
	}
	assert.Equal(t, "coro: WithX(3): must be less", all[10].Error())
}

func TestADeadlockErrorNamesTheFirstFew(t *testing.T) {
	e := &coro.DeadlockError{Count: 12}
	for i := range 9 {
		e.Blocked = append(e.Blocked, coro.BlockedCoroutine{Func: fmt.Sprint("f", i),
			Waits: "park"})
	}
	assert.Equal(t,
		"coro: deadlock: 12 coroutines wait for ever; f0 in park; f1 in park; f2 in park; "+
			"f3 in park; f4 in park; f5 in park; f6 in park; f7 in park; …", e.Error())
	e = &coro.DeadlockError{Count: 1, Blocked: []coro.BlockedCoroutine{{Func: "f",
		Waits: "join"}}}
	assert.Equal(t, "coro: deadlock: 1 coroutine waits for ever; f in join", e.Error())
}

func TestARunningErrorNamesAndWraps(t *testing.T) {
	var err error = &coro.RunningError{Funcs: []string{"f", "g"},
		Cause: context.DeadlineExceeded}
	assert.Equal(t, "coro: close: still running: f, g: context deadline exceeded", err.Error())
	assert.True(t, errors.Is(err, context.DeadlineExceeded))
	err = &coro.RunningError{Funcs: []string{"f", "g", "f", "f"}, Cause: context.Canceled}
	assert.Equal(t, "coro: close: still running: f (3 times), g: context canceled", err.Error())
	err = &coro.RunningError{Cause: context.Canceled}
	assert.Equal(t, "coro: close: threads are still ending: context canceled", err.Error())
}

func TestAPanicErrorIsOneLineAndPrintsItsStackWhenAsked(t *testing.T) {
	cause := errors.New("no luck")
	const stack = "goroutine 1 [running]:\nmain.f()\n"
	var err error = &coro.PanicError{Value: cause, Stack: []byte(stack)}
	const line = "coro: panic: no luck"
	assert.Equal(t, line, err.Error())
	for _, verb := range []string{"%v", "%s"} {
		assert.Equal(t, line, fmt.Sprintf(verb, err))
	}
	assert.Equal(t, `"`+line+`"`, fmt.Sprintf("%q", err))
	assert.Equal(t, line+"\n\n"+stack, fmt.Sprintf("%+v", err))
	assert.ErrorIs(t, fmt.Errorf("in a request: %w", err), cause)
}

func TestErrorsSayWhatThereIsNoMemoryFor(t *testing.T) {
	s := newScheduler(t)
	_, err := coro.NewChan[[64 << 10]byte](s, 1<<31) // 2⁴⁷ bytes
	assert.ErrorIs(t, err, coro.ErrNoMemory)
	assert.Equal(t, "coro: no memory for a channel with room for 2147483648 values of "+
		"65536 bytes: make it with a smaller capacity", err.Error())
	assert.NotContains(t, coro.ErrNoMemory.Error(), "memory for", "it may be for anything")
}

func TestErrorsSayWhichArgumentIsWrong(t *testing.T) {
	_, err := coro.New(coro.WithSharedStacks(16, 0))
	optionError(t, err, "WithSharedStacks", "the bytes of a stack, the second argument, ")
	_, err = coro.New(coro.WithSharedStacks(0, 4096))
	optionError(t, err, "WithSharedStacks", "the number of stacks ")
	a, b := newScheduler(t), newScheduler(t)
	_, err = coro.Select(background, coro.OnRecv(newChan[int](t, a, 0), nil),
		coro.OnRecv(newChan[int](t, b, 0), nil))
	optionError(t, err, "Select", "the case of this index")
}

// Handles print as gdb and reports of crashes print them.
func TestHandlesBlockedCoroutinesAndStatsPrintWell(t *testing.T) {
	h := coro.Handle(0x10000003f)
	for verb, want := range map[string]string{
		"%v": "0x10000003f", "%s": "0x10000003f", "%+v": "0x10000003f", "%q": `"0x10000003f"`,
		"%14v|": "   0x10000003f|", "%-14s|": "0x10000003f   |",
		"%d": "4294967359", "%x": "10000003f", "%#X": "0X10000003F",
	} {
		assert.Equal(t, want, fmt.Sprintf(verb, h), verb)
	}
	assert.Equal(t, "0x10000003f", h.String())

	c := coro.BlockedCoroutine{Handle: h, Func: "relay", Worker: 2, Waits: "receive"}
	assert.Equal(t, "0x10000003f relay in receive, worker 2", fmt.Sprint(c))
	b := coro.BlockedCoroutine{Handle: h, Func: "main.f", Worker: -1, Waits: "await"}
	assert.Equal(t, "[0x10000003f main.f in await, a Go body]",
		fmt.Sprint([]coro.BlockedCoroutine{b}))

	st := coro.Stats{Workers: 2, Live: 3, Stalled: true, Stacks: 4, StacksIdle: 1,
		StackBytes: 64 << 10, PerWorker: []coro.WorkerStats{{Switches: 77}, {}}}
	line := fmt.Sprint(st)
	assert.NotContains(t, line, "\n")
	for _, part := range []string{"coroutines: 3 live", "stalled", "workers: 2, 0 awake",
		"stacks: 4, 1 idle, 64 KiB"} {
		assert.Contains(t, line, part)
	}
	assert.NotContains(t, line, "77")
	assert.Contains(t, fmt.Sprintf("%+v", st), "Switches:77", "all fields")
	assert.Contains(t, fmt.Sprintf("%+v", st), "Live:3")
}
