//go:build cgo

package coro_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	smallestRecords = 16383 // coroutines at the smallest record limit
	oneStack        = coro.StackDefault + 4096
)

func TestAtTheRecordLimitNothingIsStarted(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithRecordLimit(1))
	n, err := park.SpawnN(s, 20_000, coro.None{})
	require.Equal(t, coro.ErrNoMemory, err)
	assert.Equal(t, smallestRecords, n)
	parked(t, s, n)

	assert.Equal(t, coro.ErrNoMemory, add.Spawn(s, 1))
	_, err = square.Start(s, 1)
	assert.Equal(t, coro.ErrNoMemory, err)
	b := add.Batch(s)
	assert.Equal(t, coro.ErrNoMemory, b.Add(1))
	assert.NoError(t, b.Flush(), "it was not added")
	more, err := add.SpawnN(s, 10, 1)
	assert.Equal(t, coro.ErrNoMemory, err)
	assert.Zero(t, more)
	st := s.Stats()
	assert.Equal(t, n, st.Live)
	assert.InDelta(t, n, st.Records, 62*4, "and what the workers have in hand")
	assert.Equal(t, 4<<20, st.RecordBytes, "one chunk more for that")

	closedEarly(t, s.Close(expired))
	require.NoError(t, s.Close(soon(t)))
	assert.EqualValues(t, n, testbody.Ran(), "all of them were there")
	assert.Zero(t, testbody.Sum())
}

func TestSpawnContextGetsTheRecordOfAnyThatEnds(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithRecordLimit(1))
	var tasks []*coro.Task[int32]
	for {
		task, err := park.Start(s, coro.None{})
		if err != nil {
			require.Equal(t, coro.ErrNoMemory, err)
			break
		}
		tasks = append(tasks, task)
	}
	require.LessOrEqual(t, len(tasks), smallestRecords)
	parked(t, s, len(tasks))
	for _, task := range tasks[:3] {
		result := make(chan error)
		go func() { result <- add.SpawnWait(soon(t), s, 1) }()
		require.NoError(t, task.Wake())
		_, err := task.Wait(soon(t))
		require.NoError(t, err)
		require.NoError(t, receive(t, result))
	}
	for _, task := range tasks[3:] {
		require.NoError(t, task.Wake())
	}
	finish(t, s)
	assert.EqualValues(t, 3, testbody.Sum())
}

func TestSpawnContextGetsTheRecordOfASpawnedOneThatEnds(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithRecordLimit(1))
	require.NoError(t, spin.Spawn(s, coro.None{}))
	n, err := park.SpawnN(s, 1_000_000, coro.None{})
	require.Equal(t, coro.ErrNoMemory, err)
	for park.Spawn(s, coro.None{}) == nil { // use up what this goroutine has in hand
		n++
	}
	parked(t, s, n)
	testbody.Stop()
	require.NoError(t, add.SpawnWait(soon(t), s, 1), "the record of the one that has ended")
	eventually(t, func() bool { return testbody.Sum() == 1 }, "it runs")
}

func TestCoroutinesWaitForAStackAndAllRun(t *testing.T) {
	for _, stacks := range []int{1, 2, 5} {
		s := newScheduler(t, coro.WithWorkers(2), coro.WithStackLimit(stacks*oneStack))
		for range 3 {
			testbody.Reset()
			n, err := yield.SpawnN(s, 5000, 5)
			require.NoError(t, err)
			require.Equal(t, 5000, n)
			finish(t, s)
			require.EqualValues(t, 5000, testbody.Sum(), "%d stacks", stacks)
			st := s.Stats()
			assert.LessOrEqual(t, st.StackBytes, stacks*oneStack)
			assert.Zero(t, st.AwaitingStack)
		}
	}
}

func TestWhatWaitsForAStackIsShownAndStartsWhenOneIsFree(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithStackLimit(3*oneStack))
	require.NoError(t, spin.Spawn(s, coro.None{}))
	eventually(t, func() bool {
		return testbody.Ran() == 1
	}, "it has its stack before the last one wants one")
	var tasks []*coro.Task[int32]
	for range 2 {
		task, err := park.Start(s, coro.None{})
		require.NoError(t, err)
		tasks = append(tasks, task)
	}
	parked(t, s, 2)
	waiting, err := square.Start(s, 9)
	require.NoError(t, err)
	eventually(t, func() bool { return s.Stats().AwaitingStack == 1 }, "it waits for a stack")
	require.NoError(t, tasks[0].Wake())
	got, err := waiting.Wait(soon(t))
	require.NoError(t, err)
	assert.EqualValues(t, 81, got)
	require.NoError(t, tasks[1].Wake())
	testbody.Stop()
	finish(t, s)
}

// What was accepted is not lost, however quiet everything is: others may be woken, and end.
func TestWhatWaitsForAStackIsNotLostWhileOthersMayBeWoken(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithStackLimit(4*oneStack))
	var holders []*coro.Task[int32]
	for range 4 {
		task, err := park.Start(s, coro.None{})
		require.NoError(t, err)
		holders = append(holders, task)
	}
	parked(t, s, 4)
	const n = 1000
	for range n {
		require.NoError(t, add.Spawn(s, 1))
	}
	waiting, err := square.Start(s, 9)
	require.NoError(t, err)
	gone, err := square.Start(s, 9)
	require.NoError(t, err)
	quiet := func(awaiting int) {
		eventually(t, func() bool {
			st := s.Stats()
			return st.Stalled && st.AwaitingStack == awaiting
		}, "all rests")
	}
	quiet(n + 2)
	gone.Cancel() // it alone ends, at once
	_, err = gone.Wait(soon(t))
	require.ErrorIs(t, err, coro.ErrCanceled)
	quiet(n + 1)
	st := s.Stats()
	assert.Equal(t, [3]uint64{0, 1, 0}, unstarted(st))
	assert.EqualValues(t, 1, st.Ended)
	for _, task := range holders {
		require.NoError(t, task.Wake())
		_, err := task.Wait(soon(t))
		require.NoError(t, err)
	}
	got, err := waiting.Wait(soon(t))
	require.NoError(t, err)
	assert.EqualValues(t, 81, got)
	finish(t, s)
	assert.EqualValues(t, n, testbody.Sum(), "all have run")
	st = s.Stats()
	assert.Equal(t, [3]uint64{0, 1, 0}, unstarted(st))
	assert.EqualValues(t, n+6, st.Ended)
	assert.Equal(t, st.Spawned, st.Ended)
}

// Where nobody can ever end they are told: of a C body that joins a Go body that awaits a task, the
// task has no stack.
func TestWhatCanNeverHaveAStackEndsWithErrNoMemory(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithStackLimit(oneStack))
	for range 20 {
		awaits := goes(t, s, func(c *coro.Coroutine) error {
			if err := c.Park(background); err != nil {
				return err
			}
			never, err := square.Start(s, 9)
			if err != nil {
				return err
			}
			_, err = never.Await(c.Context(), c)
			return err
		})
		joins, err := join.Start(s, awaits.Handle())
		require.NoError(t, err)
		parked(t, s, 2)
		require.NoError(t, awaits.Wake())
		_, err = wait(t, joins)
		require.NoError(t, err)
		_, err = wait(t, awaits)
		require.Equal(t, coro.ErrNoMemory, err)
		finish(t, s)
	}
	st := s.Stats()
	assert.Equal(t, [3]uint64{20, 0, 0}, unstarted(st))
	assert.EqualValues(t, 60, st.Ended)
}

func TestAStackLimitBelowOneStackStartsNothing(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithStackLimit(1))
	task, err := square.Start(s, 9)
	require.NoError(t, err)
	_, err = task.Wait(soon(t))
	assert.Equal(t, coro.ErrNoMemory, err)
	require.NoError(t, add.Spawn(s, 1))
	finish(t, s)
	assert.Zero(t, testbody.Sum())
}

// resident is the memory of this process in bytes, by its page tables: statm is behind by some
// pages for each CPU of the machine.
func resident(t *testing.T) int {
	text, err := os.ReadFile("/proc/self/smaps_rollup")
	require.NoError(t, err)
	_, rss, found := strings.Cut(string(text), "\nRss:")
	require.True(t, found, string(text))
	kib, err := strconv.Atoi(strings.Fields(rss)[0])
	require.NoError(t, err)
	return kib << 10
}

func TestTrimGivesTheMemoryBack(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	const n = 20_000
	var tasks []*coro.Task[int32]
	for range n {
		task, err := park.Start(s, coro.None{})
		require.NoError(t, err)
		tasks = append(tasks, task)
	}
	parked(t, s, n)
	peak := s.Stats()
	assert.GreaterOrEqual(t, peak.Stacks, n)
	assert.GreaterOrEqual(t, peak.StackBytes, n*coro.StackDefault)
	for _, task := range tasks {
		require.NoError(t, task.Wake())
		_, err := task.Wait(soon(t))
		require.NoError(t, err)
	}
	finish(t, s)
	before := resident(t)
	given := s.Trim()
	after := resident(t)
	assert.GreaterOrEqual(t, given, n*4096)
	assert.GreaterOrEqual(t, before-after, n*4096/2, "each had touched a page")
	st := s.Stats()
	assert.Less(t, st.StackBytes, peak.StackBytes/10)
	assert.Less(t, st.RecordBytes, peak.RecordBytes)
	assert.Equal(t, st.Stacks, st.StacksIdle)
	assert.Less(t, s.Trim(), given/10, "there is not much left to give")

	require.NoError(t, tree.Spawn(s, 10))
	finish(t, s)
	assert.EqualValues(t, 1<<10, testbody.Sum(), "and it works as before")
}

func TestTrimMayBeCalledWhileCoroutinesRun(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	for want := range int64(scaled(100)) {
		require.NoError(t, yield.Spawn(s, 1000))
		require.NoError(t, tree.Spawn(s, 5))
		s.Trim()
		finish(t, s)
		require.Equal(t, 33*(want+1), testbody.Sum())
	}
}

func TestStatsOfAFreshSchedulerAreZero(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	eventually(t, func() bool { return s.Stats().Awake == 0 }, "the workers go to sleep")
	st := s.Stats()
	assert.Zero(t, st.Live+st.AwaitingStack+st.Stacks+st.StacksIdle+st.StackBytes+st.RecordsRetired)
	assert.False(t, st.Stalled)
}
