//go:build cgo

package coro_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
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

func TestCloseFromWithinACallIsRefused(t *testing.T) {
	inEachWay(t, func(t *testing.T, s *coro.Scheduler, how uint32) {
		other := newScheduler(t)
		id := coro.MustExportFunc(func(context.Context, int64) (int64, error) {
			assert.Equal(t, coro.ErrInside, s.Close(background))
			assert.Equal(t, coro.ErrInside, s.Close(expired))
			assert.NoError(t, other.Close(background),
				"another scheduler waits for nobody here")
			return 5, nil
		})
		assert.EqualValues(t, 5, calling(t, s, how, id, 0).Number)
		assert.Equal(t, testbody.OK, calling(t, s, how, increment, 0).Status, "it is open")
		assert.NoError(t, s.Close(background))
	})
}

// An inline function is on the thread of a worker, where no scheduler is made, nor run. The errors
// say so.
func TestNewAndRunInAnInlineFunctionAreRefused(t *testing.T) {
	inEachWay(t, func(t *testing.T, s *coro.Scheduler, how uint32) {
		want := error(nil)
		if how == testbody.Inline {
			want = coro.ErrInside
		}
		paused := newScheduler(t, coro.WithPaused())
		id := coro.MustExportFunc(func(context.Context, int64) (int64, error) {
			made, err := coro.New()
			assert.Equal(t, want, err)
			if err == nil {
				assert.NoError(t, made.Close(background))
			}
			assert.Equal(t, want, paused.Run(background))
			return 5, nil
		})
		assert.EqualValues(t, 5, calling(t, s, how, id, 0).Number)
	})
}

// Other goroutines than the callee's are not inside, while calls come and go, and goroutines end
// and begin.
func TestCloseFromElsewhereWhileCallsRunIsNotRefused(t *testing.T) {
	for range scaled(40) {
		s := newScheduler(t, coro.WithWorkers(1))
		results := make(chan error, 3)
		id := coro.MustExportFunc(func(context.Context, int64) (int64, error) {
			go func() { results <- s.Close(soon(t)) }()
			return 0, nil
		})
		for range 3 {
			_, err := callOne.Start(s, testbody.Call{ID: uint32(id),
				How: testbody.Offload, ArgBytes: 8, ResultBytes: 8})
			if err != nil {
				assert.ErrorIs(t, err, coro.ErrClosed)
			}
		}
		assert.NoError(t, <-results)
		assert.NoError(t, s.Close(soon(t)))
	}
}

func TestCloseWaitsForCallsAndCancelsTheirContexts(t *testing.T) {
	for name, how := range ways {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, coro.WithWorkers(1))
			began := make(chan struct{})
			var cause error
			id := coro.MustExportFunc(func(ctx context.Context,
				n int64) (int64, error) {
				close(began)
				<-ctx.Done() // an inline function should not wait
				cause = context.Cause(ctx)
				return n, ctx.Err()
			})
			task, err := callOne.Start(s, testbody.Call{ID: uint32(id), How: how,
				ArgBytes: 8, ResultBytes: 8})
			require.NoError(t, err)
			<-began
			assert.ErrorIs(t, s.Close(expired), context.Canceled)
			came, err := task.Wait(background)
			assert.NoError(t, err)
			assert.Equal(t, "context canceled", text(came))
			assert.Equal(t, coro.ErrCanceled, cause)
		})
	}
}

func TestCloseNamesTheGoFunctionsThatStillRun(t *testing.T) {
	for name, how := range ways {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, coro.WithWorkers(2))
			began, end := make(chan struct{}), make(chan struct{})
			id, err := coro.ExportFuncNamed("deaf "+name,
				func(context.Context, int64) (int64, error) {
					close(began)
					<-end
					return 0, nil
				})
			require.NoError(t, err)
			require.NoError(t, callOne.Spawn(s,
				testbody.Call{ID: uint32(id), How: how, ArgBytes: 8,
					ResultBytes: 8}))
			<-began
			ctx, cancel := context.WithCancelCause(background)
			cancel(errEnough)
			err = s.Close(ctx)
			var running *coro.RunningError
			require.ErrorAs(t, err, &running)
			assert.Equal(t, []string{"deaf " + name}, running.Funcs)
			assert.ErrorIs(t, err, errEnough, "why Close stopped waiting")
			assert.ErrorContains(t, err, "coro: close: still running: deaf "+name+": ")
			close(end)
			assert.NoError(t, s.Close(soon(t)))
		})
	}
}

func TestTheCanceledCallNobody(t *testing.T) {
	for name, how := range ways {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, coro.WithWorkers(2))
			var calls atomic.Int64
			id := coro.MustExportFunc(func(_ context.Context, n int64) (int64, error) {
				calls.Add(1)
				return n + 1, nil
			})
			for range 100 {
				require.NoError(t, callMany.Spawn(s,
					testbody.Calls{ID: uint32(id), How: how, N: 1 << 60, K: 3}))
			}
			eventually(t, func() bool { return calls.Load() > 1000 }, "calls")
			assert.ErrorIs(t, s.Close(expired), context.Canceled)
			assert.Equal(t, calls.Load(), testbody.Sum(),
				"each that was made came back")
		})
	}
}

func TestACanceledCoroutineCallsNobody(t *testing.T) {
	inEachWay(t, func(t *testing.T, s *coro.Scheduler, how uint32) {
		var calls atomic.Int64
		id := coro.MustExportFunc(func(_ context.Context, n int64) (int64, error) {
			calls.Add(1)
			return n + 1, nil
		})
		task, err := callMany.Start(s, testbody.Calls{ID: uint32(id), How: how, N: 1 << 60,
			K: 3})
		require.NoError(t, err)
		eventually(t, func() bool { return calls.Load() > 100 }, "calls")
		task.Cancel()
		finish(t, s)
		assert.Equal(t, calls.Load(), testbody.Sum())
	})
}

// untilCanceled is called by coroutines that are to be canceled.
var untilCanceled = coro.MustExportFunc(func(ctx context.Context, n int64) (int64, error) {
	<-ctx.Done()
	return n, context.Cause(ctx)
})

func TestACancelOfOneEndsTheContextOfItsCall(t *testing.T) {
	blocks := testbody.Call{ID: uint32(untilCanceled), How: testbody.Offload, ArgBytes: 8,
		ResultBytes: 8}
	s := newScheduler(t, coro.WithWorkers(2))
	other, err := callOne.Start(s, blocks)
	require.NoError(t, err)
	parked(t, s, 1)
	ctx, end := context.WithCancel(background)
	cancels := []func(*coro.Task[testbody.Came]){
		func(task *coro.Task[testbody.Came]) { task.Cancel() },
		func(*coro.Task[testbody.Came]) { end() },
		func(task *coro.Task[testbody.Came]) {
			require.NoError(t, cancel.Spawn(s, task.Handle()))
		},
	}
	for i, by := range cancels {
		start := func() (*coro.Task[testbody.Came], error) {
			return callOne.Start(s, blocks)
		}
		if i == 1 {
			start = func() (*coro.Task[testbody.Came], error) {
				return callOne.StartContext(ctx, s, blocks)
			}
		}
		task, err := start()
		require.NoError(t, err)
		parked(t, s, 2)
		by(task)
		came, err := wait(t, task)
		require.NoError(t, err)
		assert.Equal(t, testbody.EFAILED, came.Status)
		want := coro.ErrCanceled
		if i == 1 { // the context that the coroutine was started with
			want = context.Canceled
		}
		assert.Equal(t, want.Error(), text(came))
	}
	assert.NoError(t, other.Err(), "the others go on")
	other.Cancel()
	_, err = wait(t, other)
	assert.NoError(t, err)
}

// A cancel comes before the call, while the call waits for an offload worker, as it begins, or
// while it runs: the call always ends.
func TestACancelAtAnyMomentEndsTheCall(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithCallLimit(2))
	for i := range scaled(2000) {
		task, err := callOne.Start(s, testbody.Call{ID: uint32(untilCanceled),
			How: testbody.Offload, ArgBytes: 8, ResultBytes: 8})
		require.NoError(t, err)
		for range i % 50 * 200 {
		}
		task.Cancel()
		if i%4 == 0 {
			continue // so several calls are under way
		}
		came, err := wait(t, task)
		if !errors.Is(err, coro.ErrCanceled) { // the cancel came before its start
			require.NoError(t, err)
			require.Contains(t, []int32{testbody.EFAILED, testbody.ECANCELED},
				came.Status)
		}
	}
	finish(t, s)
}

func TestTheContextOfACallEndsWithIt(t *testing.T) {
	s := newScheduler(t)
	kept := make(chan context.Context, 2)
	keep := coro.MustExportFunc(func(ctx context.Context, n int64) (int64, error) {
		if n > 0 {
			assert.NoError(t, ctx.Err())
		}
		kept <- ctx
		return n, nil
	})
	for n := range int64(2) {
		assert.Zero(t, calling(t, s, testbody.Offload, keep, n).Status)
		ctx := <-kept
		assert.ErrorIs(t, ctx.Err(), context.Canceled)
		assert.Nil(t, ctx.Value("key"))
		_, has := ctx.Deadline()
		assert.False(t, has)
	}
}

// Each call has a context of its own, which ends with the call, on whatever goroutine that is made.
func TestContextsOfCallsThatAreKeptEndWithTheirCalls(t *testing.T) {
	s := newScheduler(t)
	var kept []context.Context
	keep := coro.MustExportFunc(func(ctx context.Context, n int64) (int64, error) {
		for _, other := range kept {
			if n%2 == 0 {
				assert.Error(t, other.Err())
			}
		}
		assert.Len(t, kept, int(n))
		if n%3 == 0 {
			assert.NoError(t, ctx.Err())
		}
		kept = append(kept, ctx)
		return n, nil
	})
	value := context.WithValue(background, testKey{}, "a value")
	deadline, end := context.WithTimeout(value, time.Hour)
	defer end()
	for n := range int64(60) {
		ctx := []context.Context{background, value, deadline, background}[n%4]
		came, err := callOne.Call(ctx, s, testbody.Call{ID: uint32(keep),
			How: testbody.Offload, Number: n, ArgBytes: 8, ResultBytes: 8})
		require.NoError(t, err)
		require.Equal(t, testbody.Came{Got: 8, Number: n}, came)
	}
	for i, ctx := range kept {
		for range 2 {
			require.ErrorIs(t, ctx.Err(), context.Canceled)
			require.ErrorIs(t, context.Cause(ctx), context.Canceled)
			<-ctx.Done()
			want := []any{nil, "a value", "a value", nil}[i%4]
			require.Equal(t, want, ctx.Value(testKey{}))
			_, has := ctx.Deadline()
			require.Equal(t, i%4 == 2, has)
			child, end := context.WithCancel(ctx)
			require.ErrorIs(t, child.Err(), context.Canceled)
			end()
		}
	}
}

// A worker that has made inline calls has to come out of Go to end, and waits for a P there.
func TestWorkersThatCallGoEndWhereEveryPComputes(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	var stop atomic.Bool
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for !stop.Load() {
			}
		})
	}
	defer all.Wait()
	defer stop.Store(true)
	assert.Zero(t, calling(t, s, testbody.Inline, increment, 1).Status)
	assert.NoError(t, s.Close(soon(t)))
}

// A leaver is an error whose text ends the goroutine that asks for it.
type leaver struct{}

func (leaver) Error() string { runtime.Goexit(); return "" }

// An offloaded call ends, and its goroutine is replaced, even if Goexit comes while the text of its
// error, or of what it has panicked with, is made.
func TestAnErrorWhoseTextEndsTheGoroutineEndsTheCall(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1), coro.WithCallLimit(1))
	for range 3 {
		for _, id := range []coro.FuncID{leavesByPanic, leavesByError} {
			came := calling(t, s, testbody.Offload, id, 0)
			assert.Equal(t, testbody.EFAILED, came.Status)
			assert.Contains(t, text(came), "the Go function has ended ")
		}
	}
	assert.EqualValues(t, 2, calling(t, s, testbody.Offload, increment, 1).Number)
}

var (
	leavesByPanic = coro.MustExportFunc(func(context.Context, int64) (int64, error) {
		panic(leaver{})
	})
	leavesByError = coro.MustExportFunc(func(context.Context, int64) (int64, error) {
		return 0, leaver{}
	})
)

func init() {
	for name, id := range map[string]coro.FuncID{
		"panic whose text leaves": leavesByPanic, "error whose text leaves": leavesByError,
	} {
		children[name] = func() {
			s, err := coro.New(coro.WithWorkers(1))
			if err != nil {
				panic(err)
			}
			_ = callOne.Spawn(s, testbody.Call{ID: uint32(id), How: testbody.Inline, ArgBytes: 8,
				ResultBytes: 8})
			_ = s.Wait(background)
			fmt.Println("it lives on")
		}
	}
}

// An inline call cannot end its goroutine: the process ends, with a line that says why.
func TestAnErrorWhoseTextEndsTheGoroutineOfAnInlineCallIsNamed(t *testing.T) {
	for _, name := range []string{"panic whose text leaves", "error whose text leaves"} {
		out, err := child(t, name)
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit)
		assert.Contains(t, out, "coro: runtime.Goexit (or FailNow of a test) in the Go function ")
		assert.NotContains(t, out, "it lives on")
	}
}
