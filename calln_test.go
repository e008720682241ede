//go:build cgo

package coro_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var mayFail = coro.MustFunc[testbody.MayFail, int64](testbody.MayFailBody)

func TestCallNStoresEachResult(t *testing.T) {
	for _, workers := range []int{1, 2} {
		s := newScheduler(t, coro.WithWorkers(workers))
		for _, n := range []int{0, 1, 2, 255, 256, 257, 1000, 20_000} {
			args, results := make([]int64, n), make([]int64, n)
			for i := range args {
				args[i] = int64(i)
			}
			require.NoError(t, square.CallN(background, s, args, results))
			for i, r := range results {
				require.EqualValues(t, i*i, r)
			}
		}
		require.NoError(t, empty.CallN(background, s, make([]coro.None, 3000), nil))
		finish(t, s)
		assert.Equal(t, s.Stats().Spawned, s.Stats().Ended)
	}
}

func TestCallNOfBodiesThatSuspend(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	args, results := make([]int64, 300), make([]int64, 300)
	for i := range args {
		args[i] = int64(i % 5)
	}
	for range 300 {
		require.NoError(t, family.CallN(soon(t), s, args, results))
		for i, r := range results {
			n := int64(i % 5)
			require.Equal(t, (n-1)*n*(2*n-1)/6, r)
		}
	}
	finish(t, s)
}

func TestCallNTellsTheFirstThatFails(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	err := abort.CallN(background, s, make([]coro.None, 10), nil)
	require.ErrorIs(t, err, coro.ErrAborted)
	var call *coro.CallError
	require.ErrorAs(t, err, &call)
	assert.Zero(t, call.Index)
	var option *coro.OptionError
	require.ErrorAs(t, square.CallN(background, s, make([]int64, 3), make([]int64, 2)), &option)
	require.ErrorAs(t, empty.OnWorker(0).CallN(background, s, make([]coro.None, 3), nil), &option)
	finish(t, s)
}

// Of some failures, in several parts of the calls, the error is the first one's; the results of the
// others stand.
func TestCallNNamesTheCallThatFails(t *testing.T) {
	n := 20_000
	firsts := []int{0, 1, 8191, 8192, 19_999}
	results := make([]int64, n)
	s := newScheduler(t, coro.WithWorkers(2))
	for _, first := range firsts {
		args := make([]testbody.MayFail, n)
		for i := range args {
			args[i] = testbody.MayFail{Number: int64(i)}
			results[i] = -1
		}
		args[first].Code, args[n-1].Code = int64(first+1), int64(first+1)
		err := mayFail.CallN(background, s, args, results)
		var call *coro.CallError
		require.ErrorAs(t, err, &call)
		assert.Equal(t, first, call.Index)
		assert.Equal(t, fmt.Sprintf("coro: call %d: %v", first, call.Err), err.Error())
		var body *coro.BodyError
		require.ErrorAs(t, err, &body, "it is wrapped")
		assert.Equal(t, first+1, body.Code)
		for i, r := range results {
			if args[i].Code == 0 {
				require.EqualValues(t, 2*i, r)
			} else {
				require.Zero(t, r)
			}
		}
	}
	finish(t, s)
}

func TestCallNWhoseContextEnds(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	ctx := endsSoon()
	results := make([]int64, 100)
	require.ErrorIs(t, canceled.CallN(ctx, s, make([]int64, 100), results), errEnough)
	require.ErrorIs(t, canceled.CallN(ctx, s, make([]int64, 100), results), errEnough)
	stats := s.Stats()
	assert.Positive(t, stats.Live, "the calls that have started go on")
	closedEarly(t, s.Close(expired))
}

func TestCallNFromManyGoroutines(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			args, results := make([]int64, 500), make([]int64, 500)
			for i := range args {
				args[i] = int64(i)
			}
			for range 5 {
				assert.NoError(t, square.CallN(background, s, args, results))
				assert.EqualValues(t, 499*499, results[499])
			}
		})
	}
	all.Wait()
	finish(t, s)
}

// The end of a call is told before anything else runs on its worker.
func TestCallNIsToldBeforeWhatFollowsRuns(t *testing.T) {
	testbody.Reset()
	s := newScheduler(t, coro.WithWorkers(2), coro.WithoutLending())
	leaves := coro.MustFunc[coro.None, coro.None](testbody.LeavesSpin)
	require.NoError(t, leaves.CallN(soon(t), s, make([]coro.None, 1), nil))
	eventually(t, func() bool { return testbody.Ran() == 1 }, "what the call left spins")
	testbody.Stop()
	finish(t, s)
}

// The last call is suspended, and ends on another worker than those before it.
func TestCallNWhoseLastCallEndsOnAnotherWorker(t *testing.T) {
	stays := coro.MustFunc[int64, coro.None](testbody.StaysBehind)
	for range 30 {
		testbody.Reset()
		s := newScheduler(t, coro.WithWorkers(2), coro.WithoutLending())
		require.NoError(t, stays.CallN(soon(t), s, []int64{0, 0, 1}, nil))
		testbody.Stop()
		finish(t, s)
	}
}

// A call that ends on a thread that is no worker comes back to one, and is counted there.
func TestCallNOfBodiesThatEndElsewhere(t *testing.T) {
	rides := coro.MustFunc[int64, int64](testbody.Rides)
	s := newScheduler(t, coro.WithWorkers(2))
	args, results := []int64{1, 2, 3, 4, 5}, make([]int64, 5)
	for range 20 {
		clear(results)
		require.NoError(t, rides.CallN(soon(t), s, args, results))
		require.Equal(t, args, results)
	}
	finish(t, s)
}

func TestCallNAtTheRecordLimit(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1), coro.WithRecordLimit(2<<20))
	n := 40_000
	require.NoError(t, yield.CallN(background, s, make([]int64, n), nil))
	finish(t, s)
	assert.EqualValues(t, n, testbody.Sum())
}

// The calls of the function are made, too: inline ones by the workers' own threads.
func TestCallNOfBodiesThatCallGo(t *testing.T) {
	inEachWay(t, func(t *testing.T, s *coro.Scheduler, how uint32) {
		for _, n := range []int{1, 2, 3, 300} {
			args, results := make([]testbody.Call, n), make([]testbody.Came, n)
			for i := range args {
				args[i] = testbody.Call{ID: uint32(increment), How: how,
					Number: int64(i), ArgBytes: 8, ResultBytes: 8}
			}
			for range 20 {
				asleep(t, s)
				clear(results)
				require.NoError(t, callOne.CallN(background, s, args, results))
				for i, came := range results {
					require.Equal(t, testbody.Came{Got: 8, Number: int64(i + 1)}, came)
				}
			}
		}
		finish(t, s)
	})
}
