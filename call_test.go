//go:build cgo

package coro_test

import (
	"context"
	"errors"
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

func TestCallReturnsTheResult(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	for n := range int64(1000) {
		r, err := square.Call(background, s, n)
		require.NoError(t, err)
		require.Equal(t, n*n, r)
	}
	_, err := empty.Call(background, s, coro.None{})
	require.NoError(t, err)
	_, err = add.Call(background, s, 5)
	require.NoError(t, err)
	assert.EqualValues(t, 5, testbody.Sum())
	finish(t, s)
}

// Where no worker sleeps a Call needs a Task, so it may take some tries.
func TestACallThatEndsAtOnceAllocatesNothing(t *testing.T) {
	if instrumented {
		t.Skip("detectors allocate")
	}
	s := newScheduler(t, coro.WithWorkers(1))
	eventually(t, func() bool {
		return testing.AllocsPerRun(100, func() {
			_, err := square.Call(background, s, 7)
			assert.NoError(t, err)
		}) == 0
	}, "a Call allocates nothing")
	finish(t, s)
}

func TestCallOfABodyThatSuspends(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	for n := range int64(50) {
		r, err := family.Call(background, s, n)
		require.NoError(t, err)
		require.Equal(t, (n-1)*n*(2*n-1)/6, r)
	}
	_, err := yield.Call(background, s, 1000)
	require.NoError(t, err)
	_, err = pingPong.Call(background, s, 100)
	require.NoError(t, err)
	_, err = tree.Call(background, s, 8)
	require.NoError(t, err)
	finish(t, s)
	assert.EqualValues(t, 1+100+256, testbody.Sum())
}

// The thread of a Call whose context never ends runs the children of the body to the end. One whose
// context may end lets go, as it does not hear of that end.
func TestCallRunsTheChildrenOfItsBody(t *testing.T) {
	const n = 100
	children := coro.MustFunc[testbody.Children, int64](testbody.ChildrenOf)
	s := newScheduler(t, coro.WithWorkers(1))
	eventually(t, func() bool {
		here, err := children.Call(background, s, testbody.Children{N: n, NS: 3000})
		require.NoError(t, err)
		return here == n
	}, "all run on the thread of the call")
	eventually(t, func() bool {
		var others sync.WaitGroup
		others.Go(func() {
			task, err := empty.Start(s, coro.None{})
			if assert.NoError(t, err) {
				_, err = task.Wait(background)
				assert.NoError(t, err)
			}
		})
		defer others.Wait()
		here, err := children.Call(background, s, testbody.Children{N: n, NS: 50_000})
		require.NoError(t, err)
		return here > 0 && here < n
	}, "a call lets go for what is started meanwhile")
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	eventually(t, func() bool {
		before := s.Stats().Lends.Count
		here, err := children.Call(ctx, s, testbody.Children{N: n, NS: 100_000})
		require.NoError(t, err)
		return s.Stats().Lends.Count > before && assert.Less(t, here, int64(n))
	}, "a thread lends itself")
	finish(t, s)
}

func TestCallTellsHowTheBodyEnds(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	_, err := abort.Call(background, s, coro.None{})
	require.ErrorIs(t, err, coro.ErrAborted)
	h, err := self.Call(background, s, coro.None{})
	require.NoError(t, err)
	require.ErrorIs(t, h.Wake(), coro.ErrStale, "the coroutine has ended")
	finish(t, s)
}

// endsSoon is a context that errEnough ends in 5 ms.
func endsSoon() context.Context {
	ctx, cancel := context.WithCancelCause(background)
	time.AfterFunc(5*time.Millisecond, func() { cancel(errEnough) })
	return ctx
}

func TestCallWaitsForAParkedBody(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	ctx := endsSoon()
	_, err := park.Call(ctx, s, coro.None{})
	require.ErrorIs(t, err, errEnough)
	finish(t, s)

	_, err = park.Call(ctx, s, coro.None{})
	require.ErrorIs(t, err, errEnough, "the context has ended before")
	late, stop := context.WithTimeout(background, 5*time.Millisecond)
	defer stop()
	_, err = park.Call(late, s, coro.None{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	finish(t, s)
}

func TestCallMakesTheCallsOfItsCoroutine(t *testing.T) {
	inEachWay(t, func(t *testing.T, s *coro.Scheduler, how uint32) {
		_, err := callMany.Call(background, s,
			testbody.Calls{ID: uint32(increment), How: how, N: 100, K: 10})
		require.NoError(t, err)
		finish(t, s)
		assert.EqualValues(t, 100, testbody.Sum())
		ctx, cancel := context.WithCancel(background)
		defer cancel()
		_, err = callMany.Call(ctx, s,
			testbody.Calls{ID: uint32(increment), How: how, N: 100, K: 10})
		require.NoError(t, err)
		finish(t, s)
		assert.EqualValues(t, 200, testbody.Sum())
	})
}

var errCallee = errors.New("callee")

func TestCallWhoseGoFunctionFails(t *testing.T) {
	fails := coro.MustExportFunc(func(context.Context, int64) (int64, error) {
		return 0, errCallee
	})
	panics := coro.MustExportFunc(func(context.Context, int64) (int64, error) { panic("panicked") })
	exits := coro.MustExportFunc(func(context.Context, int64) (int64, error) {
		runtime.Goexit()
		return 0, nil
	})
	inEachWay(t, func(t *testing.T, s *coro.Scheduler, how uint32) {
		c := testbody.Call{How: how, Number: 7, ArgBytes: 8, ResultBytes: 8}
		c.ID = uint32(fails)
		came, err := callOne.Call(background, s, c)
		require.NoError(t, err)
		assert.Equal(t, testbody.EFAILED, came.Status)
		c.ID = uint32(panics)
		came, err = callOne.Call(background, s, c)
		require.NoError(t, err)
		assert.Equal(t, testbody.EFAILED, came.Status)
		c.ID = uint32(exits)
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			_, _ = callOne.Call(background, s, c)
			assert.Fail(t, "the goroutine has ended in the function")
		}()
		<-gone
		finish(t, s)
	})
}

func TestCallsNest(t *testing.T) {
	inEachWay(t, func(t *testing.T, s *coro.Scheduler, how uint32) {
		var id coro.FuncID
		id = coro.MustExportFunc(func(ctx context.Context, depth int64) (int64, error) {
			if depth == 0 {
				return 0, nil
			}
			came, err := callOne.Call(background, s, testbody.Call{ID: uint32(id), How: how,
				Number: depth - 1, ArgBytes: 8, ResultBytes: 8})
			return came.Number + 1, err
		})
		came, err := callOne.Call(background, s, testbody.Call{ID: uint32(id), How: how,
			Number: 100, ArgBytes: 8, ResultBytes: 8})
		require.NoError(t, err)
		assert.EqualValues(t, testbody.OK, came.Status)
		assert.EqualValues(t, 100, came.Number)
		finish(t, s)
	})
}

// A call of a coroutine from an inline call runs on the worker that makes the inline call. So one
// worker is enough, however deep they nest.
func TestCallsNestOnOneWorker(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	var id coro.FuncID
	deeper := func(depth int64) testbody.Call {
		return testbody.Call{ID: uint32(id), How: testbody.Inline, Number: depth, ArgBytes: 8,
			ResultBytes: 8}
	}
	id = coro.MustExportFunc(func(_ context.Context, depth int64) (int64, error) {
		if depth == 0 {
			return 0, nil
		}
		came, err := callOne.Call(background, s, deeper(depth-1))
		return came.Number + 1, err
	})
	task, err := callOne.Start(s, deeper(100)) // on the worker's own thread
	require.NoError(t, err)
	came, err := task.Wait(background)
	require.NoError(t, err)
	assert.EqualValues(t, 100, came.Number)
	finish(t, s)
}

func TestCloseWithinACall(t *testing.T) {
	inEachWay(t, func(t *testing.T, s *coro.Scheduler, how uint32) {
		closes := coro.MustExportFunc(func(context.Context, int64) (int64, error) {
			assert.ErrorIs(t, s.Close(background), coro.ErrInside)
			assert.ErrorIs(t, s.Wait(background), coro.ErrInside)
			return 1, nil
		})
		came, err := callOne.Call(background, s, testbody.Call{ID: uint32(closes), How: how,
			Number: 7, ArgBytes: 8, ResultBytes: 8})
		require.NoError(t, err)
		assert.EqualValues(t, 1, came.Number)
	})
}

func TestCallsFromManyGoroutines(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	var all sync.WaitGroup
	var sum atomic.Int64
	for i := range 1000 {
		all.Go(func() {
			for n := range int64(20) {
				var r int64
				var err error
				switch (int64(i) + n) % 3 {
				case 0:
					r, err = square.Call(background, s, n)
				case 1:
					r, err = family.Call(background, s, n%4)
				default:
					ctx, cancel := context.WithCancel(background)
					r, err = square.Call(ctx, s, n)
					cancel()
				}
				assert.NoError(t, err)
				sum.Add(r)
			}
		})
	}
	all.Wait()
	finish(t, s)
	assert.Positive(t, sum.Load())
}

func TestCallWhileTheSchedulerCloses(t *testing.T) {
	for range 30 {
		s := newScheduler(t, coro.WithWorkers(2))
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for {
					r, err := square.Call(background, s, 3)
					if err != nil {
						assert.ErrorIs(t, err, coro.ErrClosed)
						return
					}
					assert.EqualValues(t, 9, r)
				}
			})
		}
		time.Sleep(time.Millisecond)
		require.NoError(t, s.Close(soon(t)))
		all.Wait()
		_, err := square.Call(background, s, 3)
		require.ErrorIs(t, err, coro.ErrClosed)
	}
}
