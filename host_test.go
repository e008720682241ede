//go:build cgo

package coro_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/require"
)

func newMain(t *testing.T) *coro.Scheduler {
	return newScheduler(t, coro.WithWorkers(2), coro.WithMainThread())
}

// calledOn is the thread of the last inline call of noteThread.
var (
	calledOn   atomic.Int64
	noteThread = coro.MustExportFunc(func(_ context.Context, n int64) (int64, error) {
		calledOn.Store(int64(syscall.Gettid()))
		return n + 1, nil
	})
)

// onMain is a coroutine for the main worker that makes n inline calls there.
func onMain(t *testing.T, s *coro.Scheduler, n int64) *coro.Task[coro.None] {
	task, err := callMany.OnWorker(s.MainWorker()).Start(s,
		testbody.Calls{ID: uint32(noteThread), How: testbody.Inline, N: n})
	require.NoError(t, err)
	return task
}

func TestRunMainRunsItsWorkerOnTheCallingThread(t *testing.T) {
	s := newMain(t)
	require.Equal(t, 2, s.MainWorker())
	require.Equal(t, 3, s.Workers())
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for range 3 {
		calledOn.Store(0)
		task := onMain(t, s, 3)
		require.NoError(t, s.RunMain(soon(t)))
		require.EqualValues(t, syscall.Gettid(), calledOn.Load())
		_, err := task.Wait(soon(t))
		require.NoError(t, err)
	}
	require.NoError(t, s.RunMain(soon(t)), "nothing is left")
	require.NoError(t, s.Wait(soon(t)))
}

func TestWhatIsSentToTheMainWorkerWaitsForItsThread(t *testing.T) {
	s := newMain(t)
	calledOn.Store(0)
	task := onMain(t, s, 1)
	ctx, cancel := context.WithTimeout(background, 5*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, s.Wait(ctx), context.DeadlineExceeded)
	require.Zero(t, calledOn.Load())
	require.ErrorIs(t, s.RunMain(expired), context.Canceled)
	require.NoError(t, s.RunMain(soon(t)))
	_, err := task.Wait(soon(t))
	require.NoError(t, err)
}

func TestServeMainGoesOnUntilItsContextEnds(t *testing.T) {
	s := newMain(t)
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.ServeMain(ctx) }()
	for range 20 {
		_, err := onMain(t, s, 2).Wait(soon(t))
		require.NoError(t, err)
	}
	require.ErrorIs(t, s.RunMain(background), coro.ErrBusy)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)

	go func() { ended <- s.ServeMain(background) }()
	_, err := onMain(t, s, 2).Wait(soon(t))
	require.NoError(t, err)
	require.NoError(t, s.Close(soon(t)))
	require.NoError(t, <-ended)
	require.ErrorIs(t, s.RunMain(background), coro.ErrClosed)
}

func TestRunMainLeavesWhatDoesNotRest(t *testing.T) {
	s := newMain(t)
	task, err := yield.OnWorker(s.MainWorker()).Start(s, 10_000_000)
	require.NoError(t, err)
	left := 0
	for {
		ctx, cancel := context.WithTimeout(background, time.Millisecond)
		err := s.RunMain(ctx)
		cancel()
		if err == nil {
			break
		}
		require.ErrorIs(t, err, context.DeadlineExceeded)
		left++
	}
	require.NotZero(t, left)
	_, err = task.Wait(soon(t))
	require.NoError(t, err)
}

func TestCloseWithoutRunMainRunsWhatIsLeft(t *testing.T) {
	s := newMain(t)
	calledOn.Store(0)
	task := onMain(t, s, 4)
	require.NoError(t, s.Close(soon(t)))
	_, err := task.Wait(soon(t))
	require.NoError(t, err)
	require.NotZero(t, calledOn.Load())
}

func TestRunMainMisused(t *testing.T) {
	plain := newScheduler(t, coro.WithWorkers(1))
	require.Equal(t, -1, plain.MainWorker())
	require.ErrorIs(t, plain.RunMain(background), coro.ErrNoMain)
	require.ErrorIs(t, plain.ServeMain(background), coro.ErrNoMain)
	_, err := coro.New(coro.WithMainThread(), coro.WithPaused())
	optionError(t, err, "WithMainThread", "WithPaused")

	s := newMain(t)
	var got error
	inside := coro.MustExportFunc(func(_ context.Context, n int64) (int64, error) {
		got = s.RunMain(background)
		return n + 1, nil
	})
	calling(t, s, testbody.Inline, inside, 1)
	require.ErrorIs(t, got, coro.ErrInside)
}

func TestRestTellsADeadlockAndTheEnd(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	require.NoError(t, s.Rest(background))
	for range 100 {
		parked, err := park.Start(s, coro.None{})
		require.NoError(t, err)
		var dead *coro.DeadlockError
		require.ErrorAs(t, s.Rest(soon(t)), &dead)
		require.Equal(t, 1, dead.Count)
		require.NoError(t, parked.Wake())
		require.NoError(t, s.Rest(soon(t)))
		_, err = parked.Wait(background)
		require.NoError(t, err)
	}
	require.NoError(t, spin.Spawn(s, coro.None{}))
	ctx, cancel := context.WithTimeout(background, 5*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, s.Rest(ctx), context.DeadlineExceeded)
	testbody.Stop()
	require.NoError(t, s.Rest(soon(t)))
	paused := newScheduler(t, coro.WithPaused())
	require.ErrorIs(t, paused.Rest(background), coro.ErrPaused)
}
