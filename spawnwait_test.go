//go:build cgo

package coro_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// full is a scheduler at its record limit, with tasks that park.
func full(t *testing.T) (*coro.Scheduler, []*coro.Task[int32]) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithRecordLimit(1))
	var tasks []*coro.Task[int32]
	for {
		task, err := park.Start(s, coro.None{})
		if err != nil {
			require.Equal(t, coro.ErrNoMemory, err)
			parked(t, s, len(tasks))
			return s, tasks
		}
		tasks = append(tasks, task)
	}
}

// end has tasks end, and takes their results.
func end(t *testing.T, tasks ...*coro.Task[int32]) {
	for _, task := range tasks {
		require.NoError(t, task.Wake())
	}
	for _, task := range tasks {
		_, err := task.Wait(soon(t))
		require.NoError(t, err)
	}
}

// waiting starts n goroutines that wait for memory to start one that parks, one after the other,
// and returns what each gets.
func waiting(t *testing.T, ctx context.Context, s *coro.Scheduler, n int) []chan error {
	results := make([]chan error, n)
	for i := range results {
		results[i] = make(chan error, 1)
		go func() { results[i] <- park.SpawnWait(ctx, s, coro.None{}) }()
		eventually(t, func() bool { return coro.WaitingForMemory(s) == i+1 }, "it waits")
	}
	return results
}

func TestThoseWhoWaitForMemoryAreServedInTheirOrder(t *testing.T) {
	s, tasks := full(t)
	for i, result := range waiting(t, background, s, 40) {
		require.Equal(t, 40-i, coro.WaitingForMemory(s))
		end(t, tasks[i])
		require.NoError(t, receive(t, result), "the one in front")
	}
}

func TestAllWhoWaitForMemoryGetItAsOthersEnd(t *testing.T) {
	s, tasks := full(t)
	const goroutines, each = 100, 50
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for range each {
				assert.NoError(t, add.SpawnWait(soon(t), s, 1))
			}
		})
	}
	eventually(t, func() bool { return coro.WaitingForMemory(s) > goroutines/2 }, "they wait")
	assert.True(t, coro.MemoryIsWanted(s))
	for len(tasks) > 0 && coro.WaitingForMemory(s) > 0 {
		end(t, tasks[0])
		tasks = tasks[1:]
		time.Sleep(100 * time.Microsecond)
	}
	wg.Wait()
	end(t, tasks...)
	finish(t, s)
	assert.EqualValues(t, goroutines*each, testbody.Sum())
	eventually(t, func() bool { return !coro.MemoryIsWanted(s) }, "there is room again")
}

// A worker keeps the credit of coroutines that end there, for those that it may spawn. A worker
// that computes gives it up too.
func TestMemoryInTheHandsOfABusyWorkerIsGivenToThoseWhoWait(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithRecordLimit(1), coro.WithPaused())
	n, err := park.SpawnN(s, smallestRecords-300, coro.None{})
	require.NoError(t, err)
	for range 200 {
		require.NoError(t, add.OnWorker(0).Spawn(s, 1))
	}
	require.NoError(t, spin.OnWorker(0).Spawn(s, coro.None{}))
	ran := make(chan error, 1)
	go func() { ran <- s.Run(background) }() // worker 0 does all of that without a pause
	eventually(t, func() bool { return testbody.Sum() == 200 }, "they end")
	parked(t, s, n)
	for park.OnWorker(1).Spawn(s, coro.None{}) == nil {
		n++
	}
	for range smallestRecords - 1 - n {
		require.NoError(t, park.OnWorker(1).SpawnWait(soon(t), s, coro.None{}), "the rest")
	}
	parked(t, s, smallestRecords-1)
	ctx, cancel := context.WithTimeout(background, 10*time.Millisecond)
	defer cancel()
	require.Equal(t, context.DeadlineExceeded, add.SpawnWait(ctx, s, 1))
	testbody.Stop()
	require.NoError(t, add.SpawnWait(soon(t), s, 1), "that of the one that computed")
	require.Error(t, receive(t, ran), "those that park")
}

func TestThoseWhoWaitForMemoryCanGiveUp(t *testing.T) {
	s, tasks := full(t)
	ctx, cancel := context.WithCancelCause(background)
	given := waiting(t, ctx, s, 20)
	last := make(chan error, 1)
	go func() { last <- add.SpawnWait(background, s, 1) }()
	eventually(t, func() bool { return coro.WaitingForMemory(s) == 21 }, "it waits")
	cancel(errEnough)
	for _, result := range given {
		require.ErrorIs(t, receive(t, result), errEnough)
	}
	require.Equal(t, 1, coro.WaitingForMemory(s))
	end(t, tasks[0])
	require.NoError(t, receive(t, last))
	end(t, tasks[1:]...)
	finish(t, s)
	assert.EqualValues(t, 1, testbody.Sum(), "nothing was started for those who gave up")
}

func TestCloseEndsTheWaitForMemory(t *testing.T) {
	goroutines := runtime.NumGoroutine()
	s, tasks := full(t)
	results := waiting(t, background, s, 20)
	closedEarly(t, s.Close(expired))
	for _, result := range results {
		require.Equal(t, coro.ErrClosed, receive(t, result))
	}
	require.Equal(t, coro.ErrClosed, add.SpawnWait(background, s, 1))
	for _, task := range tasks {
		_, err := task.Wait(soon(t))
		require.NoError(t, err)
	}
	require.NoError(t, s.Close(soon(t)))
	eventually(t, func() bool { return runtime.NumGoroutine() <= goroutines },
		"no goroutine is left")
}

// No credit is lost or made where the ends of coroutines, of contexts and of waits meet.
func TestNoMemoryIsLostWhileManyWaitAndGiveUp(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithRecordLimit(1))
	n, err := park.SpawnN(s, smallestRecords-1000, coro.None{})
	require.NoError(t, err)
	parked(t, s, n)
	var started atomic.Int64
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			for k := range scaled(200) {
				patience := time.Duration(i*k%97) * 10 * time.Microsecond
				ctx, cancel := context.WithTimeout(background, patience)
				switch err := yield.SpawnWait(ctx, s, 3); err {
				case nil:
					started.Add(1)
				default:
					assert.Equal(t, context.DeadlineExceeded, err)
				}
				cancel()
			}
		})
	}
	for range scaled(200) { // others come and go
		n, _ := yield.SpawnN(s, 1000, 1)
		started.Add(int64(n))
	}
	wg.Wait()
	eventually(t, func() bool { return testbody.Sum() == started.Load() },
		"all that were started run")
	eventually(t, func() bool { return s.Stats().Live == n }, "and end, but those that park")
	s.Trim() // all that is in hand
	more, err := park.SpawnN(s, 20_000, coro.None{})
	require.Equal(t, coro.ErrNoMemory, err)
	assert.Equal(t, smallestRecords-n, more)
}
