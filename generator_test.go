//go:build cgo

package coro_test

import (
	"math"
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func newGenerator(t *testing.T, body unsafe.Pointer, arg uintptr) *coro.Generator {
	t.Helper()
	testbody.Reset()
	g, err := coro.NewGenerator(body, arg, 0)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, g.Close()) })
	return g
}

func TestAGeneratorYieldsThenReturns(t *testing.T) {
	g := newGenerator(t, testbody.Count, 3)
	for want := range int64(3) {
		got, more, err := g.Resume(10)
		require.NoError(t, err)
		assert.True(t, more)
		assert.Equal(t, 10+want, got)
	}
	got, more, err := g.Resume(0)
	require.NoError(t, err)
	assert.False(t, more)
	assert.EqualValues(t, -1, got, "what the body returned")
	for range 2 {
		_, more, err = g.Resume(0)
		assert.Equal(t, coro.ErrEnded, err)
		assert.False(t, more)
	}
}

func TestNumbersPassAGeneratorUnchanged(t *testing.T) {
	g := newGenerator(t, testbody.Echo, 0)
	for _, n := range []int64{1, -1, math.MaxInt64, math.MinInt64, math.MaxInt32 + 1, 7} {
		got, more, err := g.Resume(n)
		require.NoError(t, err)
		require.True(t, more)
		require.Equal(t, n, got)
	}
}

// all collects what All yields, without an error.
func all(t *testing.T, g *coro.Generator) (list []int64) {
	t.Helper()
	for n, err := range g.All() {
		require.NoError(t, err)
		list = append(list, n)
	}
	return list
}

// failure is the error of the one pair that All yields.
func failure(t *testing.T, g *coro.Generator) (failed error) {
	t.Helper()
	for n, err := range g.All() {
		require.NoError(t, failed, "there is one pair")
		assert.Zero(t, n)
		failed = err
	}
	return failed
}

func TestAllGivesWhatIsYielded(t *testing.T) {
	g := newGenerator(t, testbody.Count, 5)
	assert.Equal(t, []int64{0, 1, 2, 3, 4}, all(t, g))
	assert.Equal(t, coro.ErrEnded, failure(t, g))
}

func TestAllCanBeLeftAndTakenUpAgain(t *testing.T) {
	g := newGenerator(t, testbody.Count, 6)
	for n, err := range g.All() {
		require.NoError(t, err)
		if n == 2 {
			break
		}
	}
	assert.Equal(t, []int64{3, 4, 5}, all(t, g))
}

func TestAnAbortedGeneratorSaysSoOnceAndCanBeReset(t *testing.T) {
	g := newGenerator(t, testbody.Quit, 0)
	assert.Equal(t, coro.ErrAborted, failure(t, g))
	require.NoError(t, g.Reset(testbody.Quit, 0))
	_, more, err := g.Resume(1)
	assert.Equal(t, coro.ErrAborted, err)
	assert.False(t, more)
	_, _, err = g.Resume(1)
	assert.Equal(t, coro.ErrEnded, err)
	require.NoError(t, g.Reset(testbody.Count, 2))
	assert.Equal(t, []int64{0, 1}, all(t, g))
}

func TestResetAbandonsTheOldBodyAndRunsWhatItDeferred(t *testing.T) {
	g := newGenerator(t, testbody.Tidy, 0)
	for range 3 {
		_, more, err := g.Resume(100)
		require.NoError(t, err)
		require.True(t, more)
		require.NoError(t, g.Reset(testbody.Tidy, 0))
	}
	assert.EqualValues(t, 300, testbody.Sum())
	require.NoError(t, g.Reset(testbody.Tidy, 0))
	assert.EqualValues(t, 300, testbody.Sum(), "this one had not begun")
}

func TestCloseRunsWhatWasDeferredOnce(t *testing.T) {
	g := newGenerator(t, testbody.Tidy, 0)
	_, _, err := g.Resume(5)
	require.NoError(t, err)
	for range 3 {
		require.NoError(t, g.Close())
		assert.EqualValues(t, 5, testbody.Sum())
	}
	_, more, err := g.Resume(1)
	assert.Equal(t, coro.ErrClosed, err)
	assert.False(t, more)
	assert.Equal(t, coro.ErrClosed, g.Reset(testbody.Count, 1))
	assert.Equal(t, coro.ErrClosed, failure(t, g))
}

func TestAGeneratorThatNobodyRefersToIsClosed(t *testing.T) {
	testbody.Reset()
	const n = 100
	for range n {
		g, err := coro.NewGenerator(testbody.Tidy, 0, 0)
		require.NoError(t, err)
		_, _, err = g.Resume(1)
		require.NoError(t, err)
	}
	eventually(t, func() bool {
		runtime.GC()
		return testbody.Sum() == n
	}, "the collector closes them")
}

func TestTwoUsersOfAGeneratorDoNotMeet(t *testing.T) {
	g := newGenerator(t, testbody.Inside, 0)
	first := make(chan int64)
	go func() {
		got, _, err := g.Resume(42)
		assert.NoError(t, err)
		first <- got
	}()
	eventually(t, func() bool { return testbody.Ran() == 1 }, "the first is inside")
	_, _, err := g.Resume(1)
	assert.Equal(t, coro.ErrBusy, err)
	assert.Equal(t, coro.ErrBusy, g.Reset(testbody.Count, 1))
	assert.Equal(t, coro.ErrBusy, g.Close())
	assert.Equal(t, coro.ErrBusy, failure(t, g))
	testbody.Stop()
	assert.EqualValues(t, 42, receive(t, first))
}

func TestManyUsersOfAGeneratorLoseNothing(t *testing.T) {
	const n = 20_000
	g := newGenerator(t, testbody.Count, n)
	var all sync.WaitGroup
	sums := make([]int64, 4)
	for i := range sums {
		all.Go(func() {
			for {
				got, more, err := g.Resume(0)
				switch {
				case err == coro.ErrBusy:
					runtime.Gosched()
				case err != nil || !more:
					return
				default:
					sums[i] += got
				}
			}
		})
	}
	all.Wait()
	assert.EqualValues(t, n*(n-1)/2, sums[0]+sums[1]+sums[2]+sums[3])
}

func TestAGeneratorGoesOnOnAnyThread(t *testing.T) {
	g := newGenerator(t, testbody.Count, 100)
	for want := range int64(100) {
		got := make(chan int64)
		go func() {
			runtime.LockOSThread() // and the thread ends with its goroutine
			n, _, err := g.Resume(0)
			assert.NoError(t, err)
			got <- n
		}()
		require.Equal(t, want, receive(t, got))
	}
}

func TestManyGeneratorsTakeTurns(t *testing.T) {
	const n = 500
	var all [n]*coro.Generator
	for i := range all {
		all[i] = newGenerator(t, testbody.Count, 4)
	}
	for round := range int64(4) {
		for i, g := range all {
			got, more, err := g.Resume(int64(i))
			require.NoError(t, err)
			require.True(t, more)
			require.Equal(t, int64(i)+round, got)
		}
	}
}

func TestSchedulerCallsInAGeneratorAreRefused(t *testing.T) {
	g := newGenerator(t, testbody.Perm, 0)
	got, more, err := g.Resume(0)
	require.NoError(t, err)
	assert.False(t, more)
	assert.EqualValues(t, testbody.EPERM, got)
}

func TestGeneratorsHaveTheStackTheyAskFor(t *testing.T) {
	for _, n := range []int{0, coro.StackMin, 5000, 1 << 20, coro.StackMax} {
		g, err := coro.NewGenerator(testbody.Room, 0, n)
		require.NoError(t, err)
		left, _, err := g.Resume(0)
		require.NoError(t, err)
		want := max(n, coro.StackMin)
		if n == 0 {
			want = coro.StackDefault
		}
		assert.GreaterOrEqual(t, left, int64(want), "stack of %d", n)
		require.NoError(t, g.Close())
	}
}

func TestGeneratorsAreChecked(t *testing.T) {
	_, err := coro.NewGenerator(nil, 0, 0)
	optionError(t, err, "NewGenerator", "C function")
	for _, n := range []int{-1, 1, coro.StackMin - 1, coro.StackMax + 1, math.MaxInt,
		math.MinInt} {
		_, err := coro.NewGenerator(testbody.Count, 0, n)
		optionError(t, err, "NewGenerator", "0 or from 4096 to 8388608")
	}
	g := newGenerator(t, testbody.Count, 2)
	optionError(t, g.Reset(nil, 0), "Generator.Reset", "C function")
	assert.Equal(t, []int64{0, 1}, all(t, g), "nothing was changed")
}
