//go:build cgo

package coro_test

import (
	"context"
	"slices"
	"testing"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	denseAdd    = coro.MustFunc[int64, coro.None](testbody.Add, coro.FuncDense())
	denseSquare = coro.MustFunc[int64, int64](testbody.Square, coro.FuncDense())
	densePark   = coro.MustFunc[coro.None, int32](testbody.Park, coro.FuncDense(),
		coro.FuncName("park"))
	denseYield = coro.MustFunc[int64, coro.None](testbody.Yield, coro.FuncDense())
	denseCalls = coro.MustFunc[testbody.Calls, coro.None](testbody.CallMany, coro.FuncDense())
	denseTurns = coro.MustFunc[testbody.Calls, int64](testbody.TurnCalls, coro.FuncDense())
	denseOne   = coro.MustFunc[testbody.Call, testbody.Came](testbody.CallOne, coro.FuncDense())
)

func TestDenseCoroutinesAreSpawnedInEveryWay(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	require.NoError(t, denseAdd.Spawn(s, 1))
	n, err := denseAdd.SpawnN(s, 1000, 1)
	require.NoError(t, err)
	assert.Equal(t, 1000, n)
	b := denseAdd.Batch(s)
	for range 1000 {
		require.NoError(t, b.Add(1))
	}
	require.NoError(t, b.Flush())
	task, err := denseSquare.Start(s, 12)
	require.NoError(t, err)
	got, err := task.Wait(soon(t))
	require.NoError(t, err)
	assert.EqualValues(t, 144, got)
	for range 100 {
		require.NoError(t, denseYield.Spawn(s, 50))
	}
	finish(t, s)
	assert.EqualValues(t, 2101, testbody.Sum())
}

func TestManyDenseCoroutinesWaitWithoutStacks(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithSharedStacks(4, coro.StackMin))
	n := scaled(20_000)
	tasks := make([]*coro.Task[int32], n)
	for i := range tasks {
		task, err := densePark.Start(s, coro.None{})
		require.NoError(t, err)
		tasks[i] = task
	}
	parked(t, s, n)
	st := s.Stats()
	assert.LessOrEqual(t, st.Stacks, 2*(4+2+64), "slots, movers, and what workers keep")
	assert.GreaterOrEqual(t, st.Dense.Blocks, n-2*4)
	assert.Positive(t, st.Dense.P50)
	assert.GreaterOrEqual(t, st.Dense.P99, st.Dense.P50)
	// A block has room for the frames, and for little else.
	copied := int(st.Dense.CopiedBytes / st.Dense.CopiedOut)
	assert.LessOrEqual(t, copied, st.Dense.P99)
	assert.Greater(t, copied, st.Dense.P50/2)
	assert.Zero(t, st.Dense.Private)
	blocked, count := s.Blocked(1)
	require.Equal(t, n, count)
	assert.Equal(t, "park", blocked[0].Func)
	for _, task := range tasks {
		require.NoError(t, task.Wake())
	}
	for _, task := range tasks {
		status, err := task.Wait(soon(t))
		require.NoError(t, err)
		require.Zero(t, status)
	}
	finish(t, s)
	st = s.Stats()
	assert.Equal(t, st.Dense.CopiedOut, st.Dense.CopiedIn)
	assert.Zero(t, st.Dense.Blocks)
	s.Trim()
	assert.Zero(t, s.Stats().Stacks)
}

// Frames of more than half a stack are not copied: their coroutine keeps the stack.
func TestDenseCoroutinesWithLargeFramesKeepTheirStacks(t *testing.T) {
	const n, stacks = 10, 2
	goOn := make(chan struct{})
	waits := coro.MustExportFunc(func(_ context.Context, b []byte) ([]byte, error) {
		<-goOn
		return b, nil
	})
	s := newScheduler(t, coro.WithWorkers(1), coro.WithSharedStacks(stacks, coro.StackMin))
	var tasks []*coro.Task[int64]
	for range n {
		task, err := denseTurns.Start(s, testbody.Calls{ID: uint32(waits),
			How: testbody.Offload, N: 2})
		require.NoError(t, err)
		tasks = append(tasks, task)
	}
	eventually(t, func() bool { return s.Stats().Calls.InFlight == n }, "all call")
	st := s.Stats()
	assert.EqualValues(t, n-stacks, st.Dense.Private)
	assert.Zero(t, st.Dense.CopiedOut)
	assert.Zero(t, st.Dense.CopiedBytes)
	close(goOn)
	for _, task := range tasks {
		right, err := task.Wait(soon(t))
		require.NoError(t, err)
		assert.EqualValues(t, 2, right)
	}
	finish(t, s)
}

func TestDenseCoroutinesCallGo(t *testing.T) {
	inEachWay(t, func(t *testing.T, s *coro.Scheduler, how uint32) {
		n := scaled(200)
		started, err := denseCalls.SpawnN(s, n,
			testbody.Calls{ID: uint32(increment), How: how, N: 50, K: 3})
		require.NoError(t, err)
		require.Equal(t, n, started)
		finish(t, s)
		assert.EqualValues(t, 50*n, testbody.Sum())

		turn := coro.MustExportFunc(func(_ context.Context, b []byte) ([]byte, error) {
			b = slices.Clone(b)
			slices.Reverse(b)
			return b, nil
		})
		var tasks []*coro.Task[int64]
		// arguments and results on their stacks, of all sizes, under each other
		for range 20 {
			task, err := denseTurns.Start(s, testbody.Calls{ID: uint32(turn), How: how,
				N: 201})
			require.NoError(t, err)
			tasks = append(tasks, task)
		}
		for _, task := range tasks {
			right, err := task.Wait(soon(t))
			require.NoError(t, err)
			assert.EqualValues(t, 201, right)
		}

		for size, want := range map[uint32]string{4: "larger", 8: "ok"} {
			task, err := denseOne.Start(s, testbody.Call{ID: uint32(increment),
				How: how, Number: 41, ArgBytes: 8, ResultBytes: size})
			require.NoError(t, err)
			came, err := task.Wait(soon(t))
			require.NoError(t, err)
			if want == "ok" {
				assert.EqualValues(t, 42, came.Number)
				assert.EqualValues(t, 8, came.Got)
			} else {
				assert.NotZero(t, came.Status)
				assert.EqualValues(t, 8, came.Got, "so much room it needs")
			}
		}
	})
}

func TestDenseOptionsAreChecked(t *testing.T) {
	var bad *coro.OptionError
	for _, opts := range [][]coro.FuncOption{
		{coro.FuncDense(), coro.FuncStack(coro.StackDefault)},
		{coro.FuncStack(coro.StackDefault), coro.FuncDense()},
	} {
		_, err := coro.NewFunc[int64, coro.None](testbody.Add, opts...)
		require.ErrorAs(t, err, &bad)
		assert.ErrorContains(t, err, "WithSharedStacks")
	}
	for _, o := range []coro.Option{
		coro.WithSharedStacks(1, coro.StackDefault),
		coro.WithSharedStacks(1025, coro.StackDefault),
		coro.WithSharedStacks(2, coro.StackMin-1), coro.WithSharedStacks(2,
			coro.StackMax+1),
	} {
		_, err := coro.New(o)
		require.ErrorAs(t, err, &bad)
	}
}
