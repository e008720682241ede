//go:build cgo

package coro_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	spawnGo = coro.MustFunc[testbody.SpawnGoArg, testbody.SpawnedGo](testbody.SpawnGo)
	sumGo   = coro.MustFunc[testbody.SumGoArg, int64](testbody.SumGo)
	pairGo  = coro.MustFunc[testbody.SumGoArg, int32](testbody.PairGo)
	fillGo  = coro.MustFunc[coro.BodyID, int64](testbody.FillGo)

	doubleBody = coro.MustExportBody(func(c *coro.Coroutine, n int64) (int64, error) {
		return 2 * n, c.Yield()
	})
	parkBody = coro.MustExportBody(func(c *coro.Coroutine, _ coro.None) (int64, error) {
		return 7, c.Park(background)
	})
)

// spawningGo has a C body start a Go body, and returns the result.
func spawningGo(
	t *testing.T, s *coro.Scheduler, id coro.BodyID, how uint32, number int64, argBytes uint32,
) testbody.SpawnedGo {
	t.Helper()
	task, err := spawnGo.Start(s, testbody.SpawnGoArg{ID: uint32(id), How: how, Number: number,
		ArgBytes: argBytes})
	require.NoError(t, err)
	got, err := wait(t, task)
	require.NoError(t, err)
	return got
}

func TestCStartsAGoBody(t *testing.T) {
	s := newScheduler(t)
	got := spawningGo(t, s, doubleBody, testbody.GoJoin, 21, 8)
	assert.Equal(t, testbody.SpawnedGo{Number: 42, Handle: got.Handle}, got)
	assert.Equal(t, coro.ErrStale, coro.Handle(got.Handle).Wake(), "it was joined")

	var sum atomic.Int64
	var handle atomic.Uint64
	add := coro.MustExportBody(func(c *coro.Coroutine, n int64) (coro.None, error) {
		sum.Add(n)
		handle.Store(uint64(c.Handle()))
		assert.Same(t, s, c.Scheduler())
		assert.NoError(t, c.Context().Err())
		assert.NoError(t, c.Yield())
		return coro.None{}, nil
	})
	for _, how := range []uint32{testbody.GoUnnamed, testbody.GoDetach} {
		got := spawningGo(t, s, add, how, 5, 8)
		assert.Zero(t, got.Status)
		assert.Zero(t, got.Joined)
		finish(t, s)
		assert.Equal(t, coro.ErrStale, coro.Handle(handle.Load()).Wake())
	}
	assert.EqualValues(t, 10, sum.Load())
}

func TestGoBodiesThatCHasStartedFailForTheirJoiner(t *testing.T) {
	s := newScheduler(t)
	fails := coro.MustExportBody(func(c *coro.Coroutine, n int64) (int64, error) {
		switch n {
		case 0:
			return 1, errors.ErrUnsupported
		case 1:
			panic("oh")
		case 2:
			runtime.Goexit()
		}
		return n, nil
	})
	for n := range int64(3) {
		got := spawningGo(t, s, fails, testbody.GoJoin, n, 8)
		assert.Equal(t, testbody.EFAILED, got.Joined, "%d", n)
		assert.Zero(t, spawningGo(t, s, fails, testbody.GoUnnamed, n, 8).Status)
	}
	assert.Zero(t, spawningGo(t, s, fails, testbody.GoJoin, 3, 8).Joined)
	finish(t, s)
}

func TestBadSpawnsOfGoBodies(t *testing.T) {
	s := newScheduler(t)
	function := coro.MustExportFunc(func(context.Context,
		int64) (int64, error) {
		return 0, nil
	})
	for _, id := range []coro.BodyID{0, 1, coro.BodyID(function), 1 << 20, 1<<31 | 1<<16,
		1<<31 | 1<<30, 1<<32 - 1} {
		assert.Equal(t, testbody.SpawnedGo{Status: testbody.EINVAL},
			spawningGo(t, s, id, testbody.GoJoin, 1, 8), "%x", id)
	}
	for _, n := range []uint32{0, 7} {
		assert.Equal(t, testbody.EINVAL, spawningGo(t, s, doubleBody, testbody.GoJoin, 1,
			n).Status)
	}
	assert.Equal(t, testbody.EINVAL, spawningGo(t, s, parkBody, testbody.GoJoin, 1, 8).Status)
	here := testbody.SpawnGoHere(testbody.SpawnGoArg{ID: uint32(doubleBody), ArgBytes: 8})
	assert.Equal(t, testbody.EPERM, here.Status, "outside a coroutine")
	inEachWay(t, func(t *testing.T, s *coro.Scheduler, how uint32) {
		assert.Equal(t, testbody.EINVAL, calling(t, s, how, coro.FuncID(doubleBody),
			1).Status, "it is not to be called")
	})
	finish(t, s)
	assert.Zero(t, s.Stats().Live)
}

func TestOnlySmallTypesWithoutPointersAreExportedAsBodies(t *testing.T) {
	_, err := coro.ExportBody[int64, int64](nil)
	optionError(t, err, "ExportBody", "function")
	_, err = coro.ExportBody(func(*coro.Coroutine, *int) (int, error) { return 0, nil })
	optionError(t, err, "ExportBody", "points into Go")
	_, err = coro.ExportBody(func(*coro.Coroutine, int) (string, error) { return "", nil })
	optionError(t, err, "ExportBody", "points into Go")
	_, err = coro.ExportBody(func(*coro.Coroutine, [49]byte) (int, error) { return 0, nil })
	optionError(t, err, "ExportBody", "49 bytes")
	a, err := coro.ExportBody(func(_ *coro.Coroutine, arg [48]byte) ([48]byte, error) {
		return arg, nil
	})
	require.NoError(t, err)
	b, err := coro.ExportBody(func(*coro.Coroutine, coro.None) (coro.None, error) {
		return coro.None{}, nil
	})
	require.NoError(t, err)
	assert.NotEqual(t, a, b)
}

func TestManyGoBodiesStartedByC(t *testing.T) {
	for _, executors := range []int{1, 3} {
		s := newScheduler(t, coro.WithWorkers(2), coro.WithExecutors(executors))
		const parents = 20
		n := int64(scaled(1000))
		var tasks []*coro.Task[int64]
		for range parents {
			task, err := sumGo.Start(s, testbody.SumGoArg{ID: uint32(doubleBody), N: n})
			require.NoError(t, err)
			tasks = append(tasks, task)
		}
		for _, task := range tasks {
			sum, err := wait(t, task)
			require.NoError(t, err)
			assert.Equal(t, n*(n+1), sum)
		}
		finish(t, s)
	}
}

// Go bodies start C bodies, which start Go bodies, and so on.
func TestGoAndCBodiesStartEachOther(t *testing.T) {
	s := newScheduler(t, coro.WithExecutors(2))
	var id coro.BodyID
	id = coro.MustExportBody(func(c *coro.Coroutine, depth int64) (int64, error) {
		if depth == 6 {
			return 1, nil
		}
		task, err := spawnGo.Start(c.Scheduler(),
			testbody.SpawnGoArg{ID: uint32(id), Number: depth + 1, ArgBytes: 8})
		if err != nil {
			return 0, err
		}
		got, err := coro.Await(background, c, task)
		return 2 * got.Number, err
	})
	assert.EqualValues(t, 64, spawningGo(t, s, id, testbody.GoJoin, 0, 8).Number)
	finish(t, s)
}

func TestCAndTheGoBodyThatItHasStartedWakeEachOther(t *testing.T) {
	s := newScheduler(t, coro.WithExecutors(2))
	n := int64(scaled(2000))
	partner := coro.MustExportBody(func(c *coro.Coroutine,
		parent coro.Handle) (coro.None, error) {
		for range n {
			if err := errors.Join(c.Wake(parent), c.Park(background)); err != nil {
				return coro.None{}, err
			}
		}
		return coro.None{}, nil
	})
	var tasks []*coro.Task[int32]
	for range 5 {
		task, err := pairGo.Start(s, testbody.SumGoArg{ID: uint32(partner), N: n})
		require.NoError(t, err)
		tasks = append(tasks, task)
	}
	for _, task := range tasks {
		status, err := wait(t, task)
		require.NoError(t, err)
		assert.Zero(t, status)
	}
	finish(t, s)
}

func TestAGoBodyThatCHasStartedIsCanceled(t *testing.T) {
	s := newScheduler(t, coro.WithExecutors(1))
	for range scaled(100) {
		got := spawningGo(t, s, parkBody, testbody.GoCancel, 0, 0)
		assert.Zero(t, got.Status)
		// The body was canceled before its start, or in its wait, whose error it returns.
		assert.Equal(t, testbody.ECANCELED, got.Joined)
	}
	finish(t, s)
}

func TestCloseCancelsGoBodiesThatCHasStarted(t *testing.T) {
	s := newScheduler(t, coro.WithExecutors(2))
	for i := range 100 {
		how := []uint32{testbody.GoJoin, testbody.GoUnnamed, testbody.GoDetach,
			testbody.GoLeave}[i%4]
		require.NoError(t, spawnGo.Spawn(s, testbody.SpawnGoArg{ID: uint32(parkBody),
			How: how}))
	}
	for range 10 {
		require.NoError(t, sumGo.Spawn(s, testbody.SumGoArg{ID: uint32(doubleBody),
			N: 1000}))
	}
	closedEarly(t, s.Close(expired))
	require.NoError(t, s.Close(soon(t)))
	assert.Zero(t, s.Stats().Live)
}

func TestGoBodiesStartedByCAtTheRecordLimit(t *testing.T) {
	s := newScheduler(t, coro.WithRecordLimit(1), coro.WithExecutors(2))
	task, err := fillGo.Start(s, parkBody)
	require.NoError(t, err)
	n, err := wait(t, task)
	require.NoError(t, err)
	assert.Greater(t, n, int64(10_000))
	assert.Zero(t, spawningGo(t, s, doubleBody, testbody.GoJoin, 1, 8).Status)
	finish(t, s)
}

func TestRunReportsADeadlockOfAGoBodyThatCHasStarted(t *testing.T) {
	s := newScheduler(t, coro.WithPaused())
	require.NoError(t, spawnGo.Spawn(s, testbody.SpawnGoArg{ID: uint32(parkBody),
		How: testbody.GoJoin}))
	var deadlock *coro.DeadlockError
	require.ErrorAs(t, s.Run(soon(t)), &deadlock)
	require.Len(t, deadlock.Blocked, 2)
	for _, b := range deadlock.Blocked {
		if b.Waits == "park" {
			assert.Contains(t, b.Func, "coro_test")
			require.NoError(t, b.Handle.Wake())
		}
	}
	require.NoError(t, s.Run(soon(t)))
}
