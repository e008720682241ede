//go:build cgo

package coro_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
