//go:build cgo

package coro_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/corotest"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	computes = coro.MustFunc[int64, int64](testbody.Computes, coro.FuncName("computes"))
	fails    = coro.MustFunc[testbody.Failure, coro.None](testbody.Fail, coro.FuncName("fail"))
)

// lending runs f, and checks that threads have lent themselves to workers of s meanwhile, or not.
func lending(t testing.TB, s *coro.Scheduler, lends bool, f func()) {
	t.Helper()
	before := s.Stats().Lends.Count
	f()
	assert.Equal(t, lends, s.Stats().Lends.Count > before, "lends")
}

// untilLent waits until a thread has lent itself to a worker of s. A worker that counts as asleep
// may still be on its way into the system call that sleeps, and cannot be lent then.
func untilLent(t testing.TB, s *coro.Scheduler) {
	t.Helper()
	eventually(t, func() bool {
		before := s.Stats().Lends.Count
		r, err := square.Call(background, s, 7)
		require.NoError(t, err)
		require.EqualValues(t, 49, r)
		return s.Stats().Lends.Count > before
	}, "a thread lends itself")
}

// ------------------------------------------------------------------------------ where Call is made

func TestCallWithinAGoBody(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithExecutors(1))
	task := goes(t, s, func(c *coro.Coroutine) error {
		for n := range int64(100) {
			r, err := square.Call(c.Context(), s, n)
			assert.NoError(t, err)
			assert.Equal(t, n*n, r)
			r, err = family.Call(background, s, 3)
			assert.NoError(t, err)
			assert.EqualValues(t, 5, r)
			if err := c.Yield(); err != nil {
				return err
			}
		}
		return nil
	})
	_, err := wait(t, task)
	require.NoError(t, err)
	finish(t, s)
}

func TestCallsOfSeveralSchedulersNest(t *testing.T) {
	inEachWay(t, func(t *testing.T, first *coro.Scheduler, how uint32) {
		all := []*coro.Scheduler{newScheduler(t, coro.WithWorkers(2)),
			newScheduler(t, coro.WithWorkers(1)),
			newScheduler(t, coro.WithWorkers(1), coro.WithoutLending()), first}
		var id coro.FuncID
		deeper := func(ctx context.Context, s *coro.Scheduler, depth int64) (int64, error) {
			came, err := callOne.Call(ctx, s, testbody.Call{ID: uint32(id), How: how,
				Number: depth, ArgBytes: 8, ResultBytes: 8})
			return came.Number, err
		}
		id = coro.MustExportFunc(func(ctx context.Context, depth int64) (int64, error) {
			if depth == 0 {
				return family.Call(ctx, all[0], 4)
			}
			n, err := deeper(ctx, all[depth-1], depth-1)
			return n + 100, err
		})
		for range 50 {
			n, err := deeper(background, first, 3)
			require.NoError(t, err)
			assert.EqualValues(t, 314, n)
		}
		for _, s := range all {
			finish(t, s)
		}
	})
}

func TestCallInAFinalizerAndInACleanup(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	got := make(chan int64, 2)
	calls := func(n int64) {
		r, err := square.Call(background, s, n)
		assert.NoError(t, err)
		got <- r
	}
	func() {
		runtime.AddCleanup(new([100]int64), calls, 3)
		runtime.SetFinalizer(new([100]int64), func(*[100]int64) { calls(4) })
	}()
	eventually(t, func() bool { runtime.GC(); return len(got) == 2 }, "both were called")
	assert.EqualValues(t, 9+16, <-got+<-got)
	finish(t, s)
}

func TestCallOfAGoroutineThatIsLockedToItsThread(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for n := range int64(100) {
		r, err := square.Call(background, s, n)
		require.NoError(t, err)
		assert.Equal(t, n*n, r)
		r, err = family.Call(background, s, 3)
		require.NoError(t, err)
		assert.EqualValues(t, 5, r)
	}
	finish(t, s)
}

func TestManyGoroutinesCallBodiesThatSuspend(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	var all sync.WaitGroup
	const goroutines = 1000
	for range goroutines {
		all.Go(func() {
			for range 3 {
				_, err := yield.Call(background, s, 3)
				assert.NoError(t, err)
				_, err = pingPong.Call(background, s, 2)
				assert.NoError(t, err)
				r, err := family.Call(background, s, 3)
				assert.NoError(t, err)
				assert.EqualValues(t, 5, r)
			}
		})
	}
	all.Wait()
	finish(t, s)
	assert.EqualValues(t, goroutines*3*(1+2), testbody.Sum())
}

// ------------------------------------------------------------------------------------ schedulers

func TestCallOfASchedulerThatLendsNothing(t *testing.T) {
	cpu, _ := allowed(t)
	for name, opt := range map[string]coro.Option{"affinity": coro.WithAffinity(cpu),
		"without lending": coro.WithoutLending()} {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, coro.WithWorkers(1), opt)
			lending(t, s, false, func() {
				for n := range int64(100) {
					r, err := square.Call(background, s, n)
					require.NoError(t, err)
					assert.Equal(t, n*n, r)
				}
				args, results := make([]int64, 100), make([]int64, 100)
				require.NoError(t, family.CallN(background, s, args, results))
			})
			finish(t, s)
		})
	}
}

func TestCallOfAPausedSchedulerWaitsForRun(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1), coro.WithPaused())
	results := make(chan int64, 1)
	go func() {
		r, err := square.Call(background, s, 7)
		assert.NoError(t, err)
		results <- r
	}()
	recorded(t, s)
	assert.Zero(t, s.Stats().Ended)
	assert.Empty(t, results)
	require.NoError(t, s.Run(soon(t)))
	assert.EqualValues(t, 49, receive(t, results))
	assert.Zero(t, s.Stats().Lends.Count)
}

func TestCallOfAPausedSchedulerEndsWithItsContext(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1), coro.WithPaused())
	ctx, cancel := context.WithCancelCause(background)
	failures := make(chan error)
	go func() {
		_, err := canceled.Call(ctx, s, 2)
		failures <- err
	}()
	recorded(t, s)
	cancel(errEnough)
	require.ErrorIs(t, receive(t, failures), errEnough)
	// The cancel comes a moment later. It finds the coroutine waiting, or not started.
	eventually(t, func() bool { return s.Run(soon(t)) == nil }, "the coroutine is canceled")
	assert.Zero(t, s.Stats().Live)
}

// recorded waits until the first coroutine of s has its record.
func recorded(t testing.TB, s *coro.Scheduler) {
	t.Helper()
	eventually(t, func() bool {
		st := s.Stats()
		return st.Records > st.RecordsIdle
	}, "there is a record")
}

func TestCallOfASchedulerWithDedicatedWorkers(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1), coro.WithDedicatedWorkers(1))
	where := coro.MustFunc[int64, int64](testbody.Where)
	untilLent(t, s)
	lending(t, s, false, func() {
		for worker := range 2 {
			for range 10 {
				r, err := where.OnWorker(worker).Call(background, s, 3)
				require.NoError(t, err)
				assert.EqualValues(t, worker, r, "it is pinned")
			}
		}
	})
	finish(t, s)
}

func TestCallOfAClosedScheduler(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	require.NoError(t, s.Close(soon(t)))
	for range 3 {
		_, err := square.Call(background, s, 1)
		assert.Equal(t, coro.ErrClosed, err)
		assert.Equal(t, coro.ErrClosed,
			square.CallN(background, s, make([]int64, 2), make([]int64, 2)))
		_, err = square.Call(expired, s, 1)
		assert.Equal(t, context.Canceled, err, "the context comes first")
	}
}

func TestCloseDuringACallNamesABodyThatNeverEnds(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	untilLent(t, s)
	failures := make(chan error)
	lending(t, s, true, func() {
		go func() {
			_, err := spin.Call(background, s, coro.None{})
			failures <- err
		}()
		eventually(t, func() bool { return testbody.Ran() == 1 }, "it spins")
	})
	var running *coro.RunningError
	require.ErrorAs(t, s.Close(expired), &running)
	assert.Equal(t, []string{"spin"}, running.Funcs)
	assert.Equal(t, context.Canceled, running.Cause)
	testbody.Stop()
	assert.NoError(t, receive(t, failures), "the body was never told")
	require.NoError(t, s.Close(soon(t)))
}

// ------------------------------------------------------------------------------------- functions

func TestCallOfAFuncThatCannotRun(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	var none coro.Func[int64, int64]
	_, err := none.Call(background, s, 1)
	optionError(t, err, "Func", "NewFunc")
	for _, worker := range []int{-1, 1, 1 << 20} {
		_, err = square.OnWorker(worker).Call(background, s, 1)
		var refused *coro.OptionError
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, "OnWorker", refused.What)
	}
	assert.Zero(t, s.Stats().Spawned)
}

func TestCallOfADaemonReturnsTheResult(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	for n := range int64(20) {
		r, err := square.Daemon().Call(background, s, n)
		require.NoError(t, err)
		assert.Equal(t, n*n, r)
	}
	ctx, cancel := context.WithCancelCause(background)
	failures := make(chan error)
	go func() {
		_, err := canceled.Daemon().Call(ctx, s, 2)
		failures <- err
	}()
	eventually(t, func() bool { return testbody.Ran() == 1 }, "it waits")
	require.NoError(t, s.Wait(soon(t)), "a daemon is not waited for")
	cancel(errEnough)
	assert.ErrorIs(t, receive(t, failures), errEnough)
}

func TestCallOfABodyThatFailsTellsTheText(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	for code := range int32(20) {
		f := testbody.Failure{Code: code}
		copy(f.Text[:], "no room left")
		asleep(t, s)
		_, err := fails.Call(background, s, f)
		var body *coro.BodyError
		require.ErrorAs(t, err, &body)
		assert.Equal(t, coro.BodyError{Func: "fail", Code: int(code), Text: "no room left"}, *body)
		_, err = fails.Call(background, s, testbody.Failure{Code: code})
		require.ErrorAs(t, err, &body)
		assert.Empty(t, body.Text)
	}
	finish(t, s)
	assert.EqualValues(t, 40, s.Stats().Failed)
}

// -------------------------------------------------------------------------------- what is left

func TestCallsLeakNothing(t *testing.T) {
	corotest.VerifyNone(t)
	s := newScheduler(t, coro.WithWorkers(2))
	for n := range int64(100) {
		_, err := square.Call(background, s, n)
		require.NoError(t, err)
		_, err = family.Call(background, s, n%5)
		require.NoError(t, err)
		_, err = fails.Call(background, s, testbody.Failure{Code: 1, Text: [40]byte{'x'}})
		require.Error(t, err)
		_, err = abort.Call(background, s, coro.None{})
		require.ErrorIs(t, err, coro.ErrAborted)
		ctx, cancel := context.WithTimeout(background, 100*time.Microsecond)
		_, err = canceled.Call(ctx, s, 2)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		cancel()
		for _, how := range ways {
			_, err = callMany.Call(background, s,
				testbody.Calls{ID: uint32(increment), How: how, N: 4, K: 2})
			require.NoError(t, err)
		}
		require.NoError(t, square.CallN(background, s, make([]int64, 5), make([]int64, 5)))
	}
	finish(t, s)
	require.NoError(t, s.Close(soon(t)))
	assert.Equal(t, s.Stats().Spawned, s.Stats().Ended)
}

// Neither access is a race: Call orders what comes before it before the Go function, and that
// before what comes after Call.
func TestCallsAreEdgesForTheRaceDetectorBothWays(t *testing.T) {
	inEachWay(t, func(t *testing.T, s *coro.Scheduler, how uint32) {
		before, after := 0, 0
		id := coro.MustExportFunc(func(context.Context, int64) (int64, error) {
			after = before + 1
			return 0, nil
		})
		call := testbody.Call{ID: uint32(id), How: how, ArgBytes: 8, ResultBytes: 8}
		ctx, cancel := context.WithCancel(background)
		defer cancel()
		for n := range 100 {
			before = n
			_, err := callOne.Call([]context.Context{background, ctx}[n%2], s, call)
			require.NoError(t, err)
			assert.Equal(t, n+1, after)
			before = 2 * n
			came := make([]testbody.Came, 1)
			require.NoError(t, callOne.CallN(background, s, []testbody.Call{call}, came))
			require.Equal(t, testbody.Came{Got: 8}, came[0], "%d", n)
			require.Equal(t, 2*n+1, after)
		}
	})
}
