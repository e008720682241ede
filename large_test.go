//go:build cgo

package coro_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/testbody"
)

type (
	largeValue struct {
		What uint64
		N    [31]uint64
	}
	hugeValue  struct{ N [512]uint64 }
	largeBytes struct {
		N        [6]uint64
		From, To coro.Bytes
	}
)

var (
	large       = coro.MustFunc[largeValue, largeValue](testbody.Large)
	huge        = coro.MustFunc[hugeValue, hugeValue](testbody.Huge)
	sumOfLarge  = coro.MustFunc[largeValue, uint64](testbody.SumOfLarge)
	spread      = coro.MustFunc[uint64, hugeValue](testbody.Spread)
	copiesBytes = coro.MustFunc[largeBytes, uint64](testbody.CopiesBytes)
)

func aLarge(what, first uint64) (v largeValue) {
	v.What = what
	for i := range v.N {
		v.N[i] = first + uint64(i)
	}
	return v
}

// turned is what testbody_large makes of it.
func turned(v largeValue) (r largeValue) {
	for i := range v.N {
		r.N[i] = v.N[30-i] + 1
	}
	return r
}

// noBlocks waits until no block of C's memory is left.
func noBlocks(t *testing.T) {
	t.Helper()
	noLoans(t)
	assert.Zero(t, core.LargeBlocks())
}

func TestLargeArgumentsAndResults(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	ctx := context.Background()
	deadline, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	ends, end := context.WithCancel(ctx)
	defer end()
	g := coro.NewGroup(ctx, s)
	starts := map[string]func(v largeValue) (largeValue, error){
		"Call":           func(v largeValue) (largeValue, error) { return large.Call(ctx, s, v) },
		"with a context": func(v largeValue) (largeValue, error) { return large.Call(ends, s, v) },
		"with a deadline": func(v largeValue) (largeValue, error) {
			return large.Call(deadline, s, v)
		},
		"CallN": func(v largeValue) (largeValue, error) {
			results := make([]largeValue, 3)
			err := large.CallN(ctx, s, []largeValue{{}, v, {}}, results)
			assert.Equal(t, turned(largeValue{}), results[0])
			assert.Equal(t, turned(largeValue{}), results[2])
			return results[1], err
		},
		"Start": func(v largeValue) (largeValue, error) {
			task, err := large.Start(s, v)
			require.NoError(t, err)
			return task.Wait(ctx)
		},
		"pinned": func(v largeValue) (largeValue, error) { return large.OnWorker(1).Call(ctx, s, v) },
		"StartContext": func(v largeValue) (largeValue, error) {
			task, err := large.StartContext(ends, s, v)
			require.NoError(t, err)
			return task.Wait(ctx)
		},
		"in a group": func(v largeValue) (largeValue, error) {
			task, err := large.Start(g, v)
			require.NoError(t, err)
			return task.Wait(ctx)
		},
		"Await": func(v largeValue) (largeValue, error) {
			var r largeValue
			body, err := coro.Go(s, func(c *coro.Coroutine) (coro.None, error) {
				task, err := large.Start(s, v)
				if err == nil {
					r, err = task.Await(ctx, c)
				}
				return coro.None{}, err
			})
			require.NoError(t, err)
			_, err = body.Wait(ctx)
			return r, err
		},
	}
	for name, start := range starts {
		t.Run(name, func(t *testing.T) {
			for i := range uint64(10) { // the result begins with zeros each time
				v := aLarge(testbody.LargeTurns, i)
				r, err := start(v)
				require.NoError(t, err)
				assert.Equal(t, turned(v), r)
				v.What = testbody.LargeExits
				r, err = start(v)
				require.NoError(t, err)
				assert.Equal(t, turned(v), r)
			}
		})
	}
	require.NoError(t, g.Wait(ctx))
	noBlocks(t)
}

func TestLargeOfEachKind(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	ctx := context.Background()
	var h, plus hugeValue
	for i := range h.N {
		h.N[i], plus.N[i] = uint64(i*i), uint64(i*i+1)
	}
	for range 3 {
		r, err := huge.Call(ctx, s, h)
		require.NoError(t, err)
		assert.Equal(t, plus, r)
		sum, err := sumOfLarge.Call(ctx, s, aLarge(0, 10))
		require.NoError(t, err)
		assert.EqualValues(t, 31*25, sum)
		r, err = spread.Call(ctx, s, 7)
		require.NoError(t, err)
		assert.EqualValues(t, 7, r.N[0])
		assert.EqualValues(t, 7, r.N[511])
	}
	// more than go together
	args, results := make([]hugeValue, 1500), make([]hugeValue, 1500)
	for i := range args {
		args[i].N[511] = uint64(i)
	}
	require.NoError(t, huge.CallN(ctx, s, args, results))
	for i := range results {
		assert.EqualValues(t, i+1, results[i].N[511])
		assert.EqualValues(t, 1, results[i].N[0])
	}
	noBlocks(t)
}

func TestALargeArgumentLendsToo(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	ctx := context.Background()
	arg := func(n int) (largeBytes, []byte) {
		from, to := make([]byte, n), make([]byte, n)
		for i := range from {
			from[i] = byte(i)
		}
		return largeBytes{[6]uint64{5: 3}, coro.SliceOf(from), coro.SliceOf(to)}, to
	}
	check := func(to []byte) {
		for i, b := range to {
			require.Equal(t, byte(i+3), b)
		}
	}
	for range 5 {
		a, to := arg(100)
		n, err := copiesBytes.Call(ctx, s, a)
		require.NoError(t, err)
		assert.EqualValues(t, 100, n)
		check(to)
		a, to = arg(50)
		task, err := copiesBytes.Start(s, a)
		require.NoError(t, err)
		runtime.GC()
		_, err = task.Wait(ctx)
		require.NoError(t, err)
		check(to)
		a, to = arg(10)
		b, other := arg(20)
		require.NoError(t, copiesBytes.CallN(ctx, s, []largeBytes{a, b}, make([]uint64, 2)))
		check(to)
		check(other)
	}
	ctx, cancel := context.WithCancel(ctx)
	before := switches(s)
	go func() {
		for switches(s) < before+1000 {
			runtime.Gosched()
		}
		cancel()
	}()
	a, to := arg(1 << 24)
	_, err := copiesBytes.Call(ctx, s, a)
	assert.ErrorIs(t, err, context.Canceled)
	assert.Zero(t, to[len(to)-1])
	noBlocks(t)
}

func TestHowLargeOnesEnd(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	ctx := context.Background()
	check := func(t *testing.T, r largeValue, err error, what uint64) {
		assert.Zero(t, r)
		if what == testbody.LargeAborts {
			assert.ErrorIs(t, err, coro.ErrAborted)
			return
		}
		var failed *coro.BodyError
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, coro.BodyError{Func: "testbody_large", Code: 7, Text: "too large"}, *failed)
	}
	for _, what := range []uint64{testbody.LargeAborts, testbody.LargeFails, testbody.LargeFailsLate} {
		v := aLarge(what, 1)
		r, err := large.Call(ctx, s, v)
		check(t, r, err, what)
		task, err := large.Start(s, v)
		require.NoError(t, err)
		r, err = task.Wait(ctx)
		check(t, r, err, what)
		results := []largeValue{v}
		err = large.CallN(ctx, s, []largeValue{v}, results)
		var call *coro.CallError
		require.ErrorAs(t, err, &call)
		check(t, results[0], call.Err, what)
	}
	noBlocks(t)
}

// Of those that borrow nothing Wait and Call may be left. Their blocks stay until they have ended.
func TestWhoWaitsForALargeOneMayLeave(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	ctx, cancel := context.WithCancel(context.Background())
	task, err := large.Start(s, aLarge(testbody.LargeStays, 4))
	require.NoError(t, err)
	other, err := large.StartContext(ctx, s, aLarge(testbody.LargeParks, 4))
	require.NoError(t, err)
	cancel()
	_, err = task.Wait(ctx)
	assert.ErrorIs(t, err, context.Canceled)
	_, err = other.Wait(context.Background())
	assert.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 1, core.Loans())
	require.NoError(t, task.Wake())
	r, err := task.Wait(context.Background())
	require.NoError(t, err)
	assert.Equal(t, turned(aLarge(0, 4)), r)

	cause := errors.New("enough")
	for _, call := range []func(context.Context) error{
		func(ctx context.Context) error {
			_, err := large.Call(ctx, s, aLarge(testbody.LargeParks, 1))
			return err
		},
		func(ctx context.Context) error {
			return large.CallN(ctx, s, []largeValue{aLarge(testbody.LargeParks, 1)},
				make([]largeValue, 1))
		},
	} {
		ctx, cancel := context.WithCancelCause(context.Background())
		go func() {
			for _, n := s.Blocked(0); n == 0; _, n = s.Blocked(0) {
				runtime.Gosched()
			}
			cancel(cause)
		}()
		assert.ErrorIs(t, call(ctx), cause)
	}
	noBlocks(t)
}

func TestReportsNameLargeOnes(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	task, err := large.Start(s, aLarge(testbody.LargeParks, 1))
	require.NoError(t, err)
	require.Eventually(t, func() bool { _, n := s.Blocked(0); return n == 1 }, time.Minute,
		time.Millisecond)
	waiting, _ := s.Blocked(9)
	require.Len(t, waiting, 1)
	assert.Equal(t, "testbody_large", waiting[0].Func)
	assert.Equal(t, []coro.FuncStats{{Func: "testbody_large", Live: 1}}, s.StatsByFunc())
	require.NoError(t, task.Wake())
	_, err = task.Wait(context.Background())
	require.NoError(t, err)
}

func TestLargeOnesThatAreDroppedGiveBack(t *testing.T) {
	for range 5 {
		s := newScheduler(t, coro.WithWorkers(1))
		for range 100 {
			_, err := huge.Start(s, hugeValue{})
			require.NoError(t, err)
			_, err = large.Start(s, aLarge(testbody.LargeParks, 1))
			require.NoError(t, err)
		}
		runtime.GC()
		ended, cancel := context.WithCancel(context.Background())
		cancel() // those that wait are canceled
		_ = s.Close(ended)
		noLoans(t)
		_, err := large.Start(s, largeValue{})
		assert.ErrorIs(t, err, coro.ErrClosed)
		_, err = large.Call(context.Background(), s, largeValue{})
		assert.ErrorIs(t, err, coro.ErrClosed)
		err = large.CallN(context.Background(), s, []largeValue{{}}, make([]largeValue, 1))
		assert.ErrorIs(t, err, coro.ErrClosed)
		_, err = large.OnWorker(9).Start(newScheduler(t), largeValue{})
		assert.ErrorContains(t, err, "OnWorker")
	}
	noBlocks(t)
}

func TestWhereNobodyHearsOfTheEndNothingIsLarge(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	const remedy = "more than 48 bytes, which is kept until its coroutine ends: use Start, StartContext"
	optionError(t, large.Spawn(s, largeValue{}), "Spawn", remedy)
	optionError(t, large.SpawnWait(context.Background(), s, largeValue{}), "SpawnWait", remedy)
	_, err := spread.SpawnN(s, 2, 1)
	optionError(t, err, "SpawnN", remedy)
	optionError(t, sumOfLarge.Batch(s).Add(largeValue{}), "Batch", remedy)

	_, err = coro.NewFunc[[513]uint64, coro.None](testbody.Large)
	optionError(t, err, "NewFunc", "has 4104 bytes, and at most 4096 fit: have a coro.Slice")
	_, err = coro.NewFunc[coro.None, [4097]byte](testbody.Large)
	optionError(t, err, "NewFunc", "at most 4096 fit")
	_, err = coro.NewFunc[largeValue, coro.None](testbody.Large)
	optionError(t, err, "NewFunc", "has no bytes, but the result")
	_, err = coro.NewFunc[[7]*int, coro.None](testbody.Large)
	optionError(t, err, "NewFunc", "points into Go")
	_, err = coro.NewChan[[7]uint64](s, 1)
	require.NoError(t, err) // a channel of Go values has no such limit
	_, err = coro.ExportBody(func(*coro.Coroutine, [7]uint64) (int, error) { return 0, nil })
	optionError(t, err, "ExportBody", "at most 48 fit: pass the address")
}

// C does not start a large body: it would have no memory for the argument or the result.
func TestCDoesNotStartALargeBody(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	f := coro.MustFunc[coro.None, struct {
		SpawnAll, Join, Code int32
		Text                 [36]byte
	}](testbody.StartsLarge)
	r, err := f.Call(context.Background(), s, coro.None{})
	require.NoError(t, err)
	assert.EqualValues(t, core.Invalid, r.SpawnAll)
	assert.EqualValues(t, core.Failed, r.Join)
	assert.EqualValues(t, -14, r.Code) // CORO_ETOOBIG
	assert.Contains(t, string(r.Text[:]), "testbody_sum_of_large has an argum")
}
