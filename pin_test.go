//go:build cgo

package coro_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var where = coro.MustFunc[int64, int64](testbody.Where)

func TestOnWorker(t *testing.T) {
	const workers = 3
	s := newScheduler(t, coro.WithWorkers(workers))
	var tasks []*coro.Task[int64]
	for i := range 50 * workers {
		task, err := where.OnWorker(i%workers).Start(s, 20)
		require.NoError(t, err)
		tasks = append(tasks, task)
		task, err = where.OnWorker(i%workers).StartContext(soon(t), s, 20)
		require.NoError(t, err)
		tasks = append(tasks, task)
	}
	g := coro.NewGroup(background, s)
	grouped, err := where.OnWorker(2).Start(g, 3)
	require.NoError(t, err)
	for i, task := range tasks {
		worker, err := task.Wait(soon(t))
		require.NoError(t, err)
		assert.EqualValues(t, i/2%workers, worker)
	}
	require.NoError(t, g.Wait(background))
	worker, err := grouped.Wait(soon(t))
	require.NoError(t, err)
	assert.EqualValues(t, 2, worker)
	free, err := where.Start(s, 0)
	require.NoError(t, err)
	worker, err = free.Wait(soon(t))
	require.NoError(t, err)
	assert.EqualValues(t, -2, worker, "it is the Func that is pinned, not the function")
}

func TestOnWorkerByAllWays(t *testing.T) {
	for _, paused := range []bool{false, true} {
		opts := []coro.Option{coro.WithWorkers(2)}
		if paused {
			opts = append(opts, coro.WithPaused())
		}
		s := newScheduler(t, opts...)
		pinned := coro.MustFunc[int64, int64](testbody.Where).OnWorker(1)
		require.NoError(t, pinned.Spawn(s, 5))
		n, err := pinned.SpawnN(s, 500, 5)
		require.NoError(t, err)
		assert.Equal(t, 500, n)
		n, err = pinned.SpawnSeq(s, slices.Values([]int64{1, 2, 3}))
		require.NoError(t, err)
		assert.Equal(t, 3, n)
		b := pinned.Batch(s)
		require.NoError(t, b.Add(4))
		require.NoError(t, b.Flush())
		if paused {
			require.NoError(t, s.Run(soon(t)))
		}
		finishes := func() bool { return testbody.Sum() == 505 }
		eventually(t, finishes, "all have run where they were to")
		if !paused {
			finish(t, s)
		}
	}
}

// A paused scheduler that is closed drops pinned coroutines, too.
func TestOnWorkerDropped(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithPaused())
	_, err := where.OnWorker(1).SpawnN(s, 100, 0)
	require.NoError(t, err)
	task, err := where.OnWorker(0).Start(s, 0)
	require.NoError(t, err)
	require.NoError(t, s.Close(soon(t)))
	_, err = task.Wait(soon(t))
	assert.ErrorIs(t, err, coro.ErrCanceled)
	assert.Zero(t, testbody.Sum())
	assert.ErrorIs(t, where.OnWorker(1).Spawn(s, 0), coro.ErrClosed)
}

func TestOnWorkerThatIsNotThere(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	for _, i := range []int{2, -1, -3, 1 << 40, math.MaxInt - 1, math.MaxInt, math.MinInt32,
		math.MinInt} {
		f := where.OnWorker(i)
		err := f.Spawn(s, 1)
		optionError(t, err, "OnWorker", "0 to 1")
		assert.Contains(t, err.Error(), fmt.Sprintf("OnWorker(%d)", i))
		_, err = f.Start(s, 1)
		optionError(t, err, "OnWorker")
		_, err = f.SpawnN(s, 2, 1)
		optionError(t, err, "OnWorker")
		optionError(t, f.Batch(s).Add(1), "OnWorker")
		_, err = f.StartContext(background, s, 1)
		optionError(t, err, "OnWorker")
	}
	finish(t, s)
	assert.Zero(t, testbody.Ran())
}
