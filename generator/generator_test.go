//go:build cgo

package generator_test

import (
	"math"
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"github.com/organzine/coro"
	"github.com/organzine/coro/generator"
	"github.com/organzine/coro/internal/testbody"
	"github.com/organzine/coro/internal/trial"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func newGenerator(t *testing.T, body unsafe.Pointer, arg uintptr) *generator.Generator {
	t.Helper()
	testbody.Reset()
	g, err := generator.New(body, arg, 0)
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
		assert.Equal(t, generator.ErrEnded, err)
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
func all(t *testing.T, g *generator.Generator) (list []int64) {
	t.Helper()
	for n, err := range g.All() {
		require.NoError(t, err)
		list = append(list, n)
	}
	return list
}

// failure is the error of the one pair that All yields.
func failure(t *testing.T, g *generator.Generator) (failed error) {
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
	assert.Equal(t, generator.ErrEnded, failure(t, g))
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
	assert.Equal(t, generator.ErrEnded, err)
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
		g, err := generator.New(testbody.Tidy, 0, 0)
		require.NoError(t, err)
		_, _, err = g.Resume(1)
		require.NoError(t, err)
	}
	trial.Eventually(t, func() bool {
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
	trial.Eventually(t, func() bool { return testbody.Ran() == 1 }, "the first is inside")
	_, _, err := g.Resume(1)
	assert.Equal(t, coro.ErrBusy, err)
	assert.Equal(t, coro.ErrBusy, g.Reset(testbody.Count, 1))
	assert.Equal(t, coro.ErrBusy, g.Close())
	assert.Equal(t, coro.ErrBusy, failure(t, g))
	testbody.Stop()
	assert.EqualValues(t, 42, <-first)
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
		require.Equal(t, want, <-got)
	}
}

func TestManyGeneratorsTakeTurns(t *testing.T) {
	const n = 500
	var all [n]*generator.Generator
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
		g, err := generator.New(testbody.Room, 0, n)
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
	_, err := generator.New(nil, 0, 0)
	trial.OptionError(t, err, "generator.New", "C function")
	for _, n := range []int{-1, 1, coro.StackMin - 1, coro.StackMax + 1, math.MaxInt,
		math.MinInt} {
		_, err := generator.New(testbody.Count, 0, n)
		trial.OptionError(t, err, "generator.New", "0 or from 4096 to 8388608")
	}
	g := newGenerator(t, testbody.Count, 2)
	trial.OptionError(t, g.Reset(nil, 0), "Generator.Reset", "C function")
	assert.Equal(t, []int64{0, 1}, all(t, g), "nothing was changed")
}

func TestACopiedGeneratorIsTheSameOne(t *testing.T) {
	g := newGenerator(t, testbody.Count, 5)
	same := append([]generator.Generator{}, unsafe.Slice(g, 1)...)
	assert.Equal(t, []int64{0, 1, 2, 3, 4}, all(t, &same[0]))
	_, _, err := g.Resume(0)
	assert.Equal(t, generator.ErrEnded, err)
	require.NoError(t, same[0].Close())
	_, _, err = g.Resume(0)
	assert.Equal(t, coro.ErrClosed, err)
}

func TestAGeneratorEndsWithAnError(t *testing.T) {
	g, err := generator.New(testbody.FailByHand, 0, 0)
	require.NoError(t, err)
	for range 3 {
		_, more, err := g.Resume(1)
		require.True(t, more)
		require.NoError(t, err)
		_, more, err = g.Resume(1)
		assert.False(t, more)
		var failed *coro.BodyError
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, 3, failed.Code)
		assert.Equal(t, "by hand", failed.Text)
		_, _, err = g.Resume(1)
		assert.Equal(t, generator.ErrEnded, err)
		require.NoError(t, g.Reset(testbody.FailByHand, 0))
	}
	require.NoError(t, g.Close())
}

func TestAZeroGeneratorPanicsInTheCaller(t *testing.T) {
	for _, g := range []*generator.Generator{new(generator.Generator), nil} {
		assert.Panics(t, func() { _, _, _ = g.Resume(0) })
		assert.Panics(t, func() { _ = g.Reset(testbody.Count, 0) })
		assert.Panics(t, func() { _ = g.Close() })
	}
	assert.PanicsWithValue(t, "coro: generator.New(zero value): make it with generator.New",
		func() { _ = new(generator.Generator).Close() })
}

// A generator goes on where its copy has left it, whichever is collected.
func TestCopiesOfGenerators(t *testing.T) {
	var kept []generator.Generator
	for range 100 {
		g, err := generator.New(testbody.Count, 100, 0)
		require.NoError(t, err)
		_, _, err = g.Resume(0)
		require.NoError(t, err)
		kept = append(kept, unsafe.Slice(g, 1)...)
	}
	runtime.GC()
	for i := range kept {
		n, more, err := kept[i].Resume(0)
		require.NoError(t, err)
		require.True(t, more)
		require.EqualValues(t, 1, n)
		require.NoError(t, kept[i].Close())
	}
}
