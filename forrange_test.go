//go:build cgo

package coro_test

import (
	"context"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
)

var (
	ranges      = coro.MustRangeFunc[testbody.Range](testbody.RangeFn, coro.FuncName("ranges"))
	countsRange = coro.MustRangeFunc[coro.None](testbody.CountRangeFn)
	fib         = coro.MustFunc[int64, int64](testbody.Fib)
)

// hitsOf has n numbers, in pinned memory of Go, for a range function to count in.
func hitsOf(t *testing.T, n int) (hits []uint32, address uintptr) {
	hits = make([]uint32, n)
	var pin runtime.Pinner
	pin.Pin(&hits[0])
	t.Cleanup(pin.Unpin)
	return hits, uintptr(unsafe.Pointer(&hits[0]))
}

// once is how often each number was hit, and how many were hit at all.
func once(t *testing.T, hits []uint32) (n int) {
	t.Helper()
	for i, h := range hits {
		require.LessOrEqual(t, h, uint32(1), "number %d", i)
		n += int(h)
	}
	return n
}

// A part is what a test has the parts of a range do.
type part = testbody.Range

// inEachScheduler runs a test where threads are lent, and where they are not.
func inEachScheduler(t *testing.T, test func(t *testing.T, s *coro.Scheduler)) {
	for name, options := range map[string][]coro.Option{
		"one worker": {coro.WithWorkers(1)}, "two": {coro.WithWorkers(2)},
		"four": {coro.WithWorkers(4)}, "not lent": {coro.WithWorkers(2), coro.WithoutLending()},
	} {
		t.Run(name, func(t *testing.T) {
			testbody.Reset()
			s := newScheduler(t, options...)
			test(t, s)
			finish(t, s)
			assert.Equal(t, s.Stats().Spawned, s.Stats().Ended)
		})
	}
}

func TestForVisitsEachNumberOnce(t *testing.T) {
	inEachScheduler(t, func(t *testing.T, s *coro.Scheduler) {
		for _, does := range []uint32{testbody.GoesOn, testbody.Yields, testbody.Sleeps} {
			for _, n := range []int{1, 2, 3, 64, 1000, 4097} {
				for _, grain := range []int{1, 3, 64, n, math.MaxInt} {
					hits, address := hitsOf(t, n)
					p := part{Hits: address, Does: does, At: int64(n / 3), Every: 97,
						Grain: uint32(min(grain, n))}
					require.NoError(t, coro.For(background, s, n, grain, ranges, p))
					require.Equal(t, n, once(t, hits))
				}
			}
		}
	})
}

func TestForOfNothingAndOfStrangeNumbers(t *testing.T) {
	testbody.Reset()
	s := newScheduler(t, coro.WithWorkers(2))
	none := coro.None{}
	for _, n := range []int{0, -1, math.MinInt} {
		require.NoError(t, coro.For(background, s, n, 1, countsRange, none))
	}
	assert.Zero(t, testbody.Sum())
	for _, grain := range []int{0, -5, math.MinInt} {
		hits, address := hitsOf(t, 100)
		require.NoError(t, coro.For(background, s, 100, grain, ranges,
			part{Hits: address, At: -1, Grain: 1}))
		assert.Equal(t, 100, once(t, hits))
	}
	require.NoError(t, coro.For(background, s, math.MaxInt, math.MaxInt/8, countsRange, none))
	assert.EqualValues(t, math.MaxInt, testbody.Sum(), "and the argument of no size is NULL")
	finish(t, s)
}

// Another worker takes a half: the first part goes on when another one has begun.
func TestForRunsPartsBesideEachOther(t *testing.T) {
	for _, lent := range []bool{true, false} {
		testbody.Reset()
		options := []coro.Option{coro.WithWorkers(2)}
		if !lent {
			options = append(options, coro.WithoutLending())
		}
		s := newScheduler(t, options...)
		hits, address := hitsOf(t, 1000)
		require.NoError(t, coro.For(soon(t), s, 1000, 1, ranges,
			part{Hits: address, Does: testbody.IsJoined}))
		assert.Equal(t, 1000, once(t, hits))
		finish(t, s)
	}
}

func TestForTellsTheErrorOfTheLowestPart(t *testing.T) {
	inEachScheduler(t, func(t *testing.T, s *coro.Scheduler) {
		for range scaled(200) {
			const n = 300
			hits, address := hitsOf(t, n)
			err := coro.For(background, s, n, 1, ranges,
				part{Hits: address, Does: testbody.Fails, At: 50, Every: 50})
			var body *coro.BodyError
			require.ErrorAs(t, err, &body)
			lowest := 0
			for i := 50; i < n; i += 50 {
				if hits[i] > 0 {
					lowest = i
					break
				}
			}
			require.Equal(t, coro.BodyError{Func: "ranges", Code: lowest, Text: "it cannot"},
				*body)
			once(t, hits)
		}
		err := coro.For(background, s, 100, 10, ranges, part{Does: testbody.Aborts, At: 70})
		require.ErrorIs(t, err, coro.ErrAborted)
		for range scaled(200) {
			err = coro.For(background, s, 100, 1, ranges,
				part{Does: testbody.Cancels, At: 30, Every: 1})
			if err != nil { // the last part alone was canceled: it is not told
				require.ErrorIs(t, err, coro.ErrCanceled)
			}
		}
	})
}

// A part that ends its coroutine ends what that has left: an exit is no error.
func TestForOfPartsThatExit(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	hits, address := hitsOf(t, 100)
	require.NoError(t, coro.For(background, s, 100, 10, ranges,
		part{Hits: address, Does: testbody.Exits, At: 25}))
	assert.Equal(t, uint32(0), hits[26])
	once(t, hits)
	finish(t, s)
}

// For returns when no part runs any more, and each number was visited or none is beyond it.
func TestForWhoseContextEnds(t *testing.T) {
	inEachScheduler(t, func(t *testing.T, s *coro.Scheduler) {
		hits, address := hitsOf(t, 1000)
		require.ErrorIs(t, coro.For(endsSoon(), s, 1000, 1, ranges,
			part{Hits: address, Does: testbody.Waits, Every: 1}), errEnough)
		assert.Less(t, once(t, hits), 1000)

		// it is heard while the parts compute on a lent thread
		require.ErrorIs(t, coro.For(endsSoon(), s, math.MaxInt, 1, countsRange, coro.None{}), errEnough)
		late, stop := context.WithTimeout(background, 5*time.Millisecond)
		defer stop()
		require.ErrorIs(t, coro.For(late, s, math.MaxInt, 1, countsRange, coro.None{}),
			context.DeadlineExceeded)
		sum := testbody.Sum()
		assert.ErrorIs(t, coro.For(late, s, 5, 1, countsRange, coro.None{}), context.DeadlineExceeded)
		assert.ErrorIs(t, coro.For(late, s, 0, 1, countsRange, coro.None{}), context.DeadlineExceeded)
		assert.Equal(t, sum, testbody.Sum(), "nothing runs after it, and nothing was started")
	})
}

func TestForWhoseContextEndsAtAnyMoment(t *testing.T) {
	inEachScheduler(t, func(t *testing.T, s *coro.Scheduler) {
		for i := range scaled(300) {
			ctx, cancel := context.WithCancelCause(background)
			hits, address := hitsOf(t, 2000)
			var canceler sync.WaitGroup
			canceler.Go(func() {
				for range i * 20 {
					runtime.Gosched()
				}
				cancel(errEnough)
			})
			err := coro.For(ctx, s, 2000, 1, ranges,
				part{Hits: address, Every: 500, Does: []uint32{testbody.GoesOn,
					testbody.Yields, testbody.Sleeps}[i%3]})
			if n := once(t, hits); err == nil {
				require.Equal(t, 2000, n)
			} else {
				require.ErrorIs(t, err, errEnough)
			}
			canceler.Wait()
		}
	})
}

// A context of a user's own type is asked by the calling goroutine alone.
func TestForWithAContextOfTheUsers(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	require.NoError(t, coro.For(stranger{background}, s, 1000, 1, countsRange, coro.None{}))
	require.ErrorIs(t, coro.For(stranger{endsSoon()}, s, math.MaxInt, 1, countsRange, coro.None{}),
		errEnough)
	finish(t, s)
}

type stranger struct{ context.Context }

func TestForIsClosed(t *testing.T) {
	testbody.Reset()
	s := newScheduler(t, coro.WithWorkers(2))
	ended := make(chan error, 1)
	go func() {
		ended <- coro.For(background, s, 1000, 1, ranges, part{Does: testbody.Waits, Every: 1})
	}()
	eventually(t, func() bool { return testbody.Ran() > 0 }, "a part waits")
	require.ErrorIs(t, s.Close(expired), context.Canceled)
	require.ErrorIs(t, receive(t, ended), coro.ErrCanceled)
	require.ErrorIs(t, coro.For(background, s, 5, 1, countsRange, coro.None{}), coro.ErrClosed)
	require.ErrorIs(t, coro.For(background, s, 0, 1, countsRange, coro.None{}), coro.ErrClosed)
}

func TestReportsNameTheFunctionOfFor(t *testing.T) {
	testbody.Reset()
	s := newScheduler(t, coro.WithWorkers(2), coro.WithoutLending())
	ctx, cancel := context.WithCancel(background)
	ended := make(chan error, 1)
	go func() {
		ended <- coro.For(ctx, s, 64, 1, ranges, part{Does: testbody.Waits, Every: 1})
	}()
	var list []coro.BlockedCoroutine
	eventually(t, func() bool {
		list, _ = s.Blocked(100)
		return len(list) > 2
	}, "parts wait")
	for _, b := range list {
		assert.Equal(t, "ranges", b.Func)
		assert.Contains(t, []string{"park", "fork"}, b.Waits)
	}
	cancel()
	require.ErrorIs(t, receive(t, ended), context.Canceled)

	go func() {
		ended <- coro.For(background, s, 2, 1, ranges, part{Does: testbody.Spins, Every: 1})
	}()
	ran := testbody.Ran()
	eventually(t, func() bool { return testbody.Ran() == ran+2 }, "both compute")
	var still *coro.RunningError
	require.ErrorAs(t, s.Close(expired), &still)
	assert.Equal(t, []string{"ranges", "ranges"}, still.Funcs)
	testbody.Stop()
	require.NoError(t, receive(t, ended))
	require.NoError(t, s.Close(soon(t)))
}

func TestForFromManyGoroutines(t *testing.T) {
	testbody.Reset()
	s := newScheduler(t, coro.WithWorkers(3))
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			for k := range scaled(50) {
				does := []uint32{testbody.GoesOn, testbody.Yields, testbody.Sleeps}[k%3]
				hits, address := hitsOf(t, 300+i)
				assert.NoError(t, coro.For(background, s, 300+i, 1+i, ranges,
					part{Hits: address, Does: does, Every: 31}))
				assert.Equal(t, 300+i, once(t, hits))
			}
		})
	}
	all.Wait()
	finish(t, s)
	assert.Equal(t, s.Stats().Spawned, s.Stats().Ended)
}

// Parts call Go, inline or not, from the calling goroutine's thread and from others.
func TestForOfPartsThatCallGo(t *testing.T) {
	inEachWay(t, func(t *testing.T, s *coro.Scheduler, how uint32) {
		for _, grain := range []int{1, 7, 1000} {
			testbody.Reset()
			hits, address := hitsOf(t, 1000)
			require.NoError(t, coro.For(background, s, 1000, grain, ranges, part{Hits: address,
				Does: testbody.CallsGo, Every: 10, How: how, ID: uint32(increment)}))
			assert.Equal(t, 1000, once(t, hits))
			assert.EqualValues(t, 100+99*100/2*10, testbody.Sum())
		}
		finish(t, s)
	})
}

// A Go function that ends the goroutine of the For leaves the parts to the workers.
func TestForWhoseGoroutineEnds(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	hits, address := hitsOf(t, 100)
	var calls atomic.Int32
	ends := coro.MustExportFunc(func(context.Context, int64) (int64, error) {
		calls.Add(1)
		runtime.Goexit()
		return 0, nil
	})
	ended := 0
	eventually(t, func() bool { // one at least is not called by the pool
		asleep(t, s)
		clear(hits)
		returned := false
		var caller sync.WaitGroup
		caller.Go(func() {
			_ = coro.For(background, s, 100, 1, ranges, part{Hits: address, At: 40,
				Does: testbody.CallsGo, How: ways["offload"], ID: uint32(ends)})
			returned = true
		})
		caller.Wait()
		require.NoError(t, s.Rest(soon(t)))
		require.Equal(t, 100, once(t, hits))
		if !returned {
			ended++
		}
		return ended > 2
	}, "the goroutine of a For ends")
	assert.GreaterOrEqual(t, calls.Load(), int32(3))
	finish(t, s)
}

// A panic in a Go function is the C function's to see, as anywhere.
func TestForOfAGoFunctionThatPanics(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	testbody.Reset()
	panics := coro.MustExportFunc(func(context.Context, int64) (int64, error) { panic("no") })
	require.NoError(t, coro.For(background, s, 10, 1, ranges, part{
		Does: testbody.CallsGo, Every: 1, How: ways["offload"], ID: uint32(panics)}))
	assert.EqualValues(t, 10*1000000, testbody.Sum())
	finish(t, s)
}

// For may be called within what a coroutine has called.
func TestForWithinAGoFunctionAndAGoBody(t *testing.T) {
	testbody.Reset()
	s := newScheduler(t, coro.WithWorkers(2))
	nested := coro.MustExportFunc(func(ctx context.Context, n int64) (int64, error) {
		return n, coro.For(ctx, s, 100, 1, countsRange, coro.None{})
	})
	require.NoError(t, coro.For(background, s, 20, 1, ranges, part{
		Does: testbody.CallsGo, Every: 5, How: ways["offload"], ID: uint32(nested)}))
	assert.EqualValues(t, 4*100+5+10+15, testbody.Sum())
	task, err := coro.Go(s, func(c *coro.Coroutine) (int, error) {
		return 7, coro.For(c.Context(), s, 100, 1, countsRange, coro.None{})
	})
	require.NoError(t, err)
	n, err := wait(t, task)
	require.NoError(t, err)
	assert.Equal(t, 7, n)
	finish(t, s)
}

func TestForMisuse(t *testing.T) {
	s := newScheduler(t)
	var zero coro.RangeFunc[int64]
	optionError(t, coro.For(background, s, 1, 1, zero, 0), "RangeFunc", "NewRangeFunc")
	optionError(t, coro.For(background, s, 0, 1, zero, 0), "RangeFunc", "NewRangeFunc")
	_, err := coro.NewRangeFunc[int64](nil)
	optionError(t, err, "NewRangeFunc", "needs a C function")
	_, err = coro.NewRangeFunc[*int64](testbody.RangeFn)
	optionError(t, err, "NewRangeFunc", "points into Go")
	_, err = coro.NewRangeFunc[[49]byte](testbody.RangeFn)
	optionError(t, err, "NewRangeFunc", "49 bytes")
	_, err = coro.NewRangeFunc[testbody.Pair](testbody.Plus)
	optionError(t, err, "NewRangeFunc", "CORO_BODY")
	_, err = coro.NewRangeFunc[coro.None](testbody.Idle)
	optionError(t, err, "NewRangeFunc", "CORO_BODY")
	_, err = coro.NewRangeFunc[int64](testbody.RangeFn, nil)
	optionError(t, err, "NewRangeFunc", "nil")
	for _, o := range []coro.FuncOption{coro.FuncDense(), coro.FuncBrief(), coro.FuncStack(1 << 16)} {
		_, err = coro.NewRangeFunc[int64](testbody.RangeFn, o)
		optionError(t, err, "NewRangeFunc", "WithStack")
	}
	assert.Panics(t, func() { coro.MustRangeFunc[int64](nil) })
	finish(t, s)
}

func TestForWithoutMemory(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithRecordLimit(1<<20))
	for range 50 { // forks that get no record run where they are
		hits, address := hitsOf(t, 5000)
		require.NoError(t, coro.For(background, s, 5000, 1, ranges,
			part{Hits: address, Does: testbody.Yields, Every: 3}))
		require.Equal(t, 5000, once(t, hits))
	}
	finish(t, s)
}

// Forks of a body that Go calls: exact on any number of workers, lent or not.
func TestForksOfABodyThatGoCalls(t *testing.T) {
	inEachScheduler(t, func(t *testing.T, s *coro.Scheduler) {
		for range scaled(20) {
			n, err := fib.Call(background, s, 18)
			require.NoError(t, err)
			require.EqualValues(t, 2584, n)
			task, err := fib.Start(s, 18)
			require.NoError(t, err)
			n, err = wait(t, task)
			require.NoError(t, err)
			require.EqualValues(t, 2584, n)
		}
	})
}
