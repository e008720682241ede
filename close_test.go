//go:build cgo

package coro_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
