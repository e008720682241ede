//go:build cgo

package coro_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
	"github.com/organzine/coro/corotest"
	"github.com/organzine/coro/internal/testbody"
)

func TestCallReturnsTheResult(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	for n := range int64(1000) {
		r, err := square.Call(background, s, n)
		require.NoError(t, err)
		require.Equal(t, n*n, r)
	}
	_, err := empty.Call(background, s, coro.None{})
	require.NoError(t, err)
	_, err = add.Call(background, s, 5)
	require.NoError(t, err)
	assert.EqualValues(t, 5, testbody.Sum())
	finish(t, s)
}

// Where no worker sleeps a Call needs a Task, so it may take some tries.
func TestACallThatEndsAtOnceAllocatesNothing(t *testing.T) {
	if instrumented {
		t.Skip("detectors allocate")
	}
	s := newScheduler(t, coro.WithWorkers(1))
	eventually(t, func() bool {
		return testing.AllocsPerRun(100, func() {
			_, err := square.Call(background, s, 7)
			assert.NoError(t, err)
		}) == 0
	}, "a Call allocates nothing")
	finish(t, s)
}

func TestCallOfABodyThatSuspends(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	for n := range int64(50) {
		r, err := family.Call(background, s, n)
		require.NoError(t, err)
		require.Equal(t, (n-1)*n*(2*n-1)/6, r)
	}
	_, err := yield.Call(background, s, 1000)
	require.NoError(t, err)
	_, err = pingPong.Call(background, s, 100)
	require.NoError(t, err)
	_, err = tree.Call(background, s, 8)
	require.NoError(t, err)
	finish(t, s)
	assert.EqualValues(t, 1+100+256, testbody.Sum())
}

// The thread of a Call whose context never ends runs the children of the body to the end. One whose
// context may end lets go, as it does not hear of that end.
func TestCallRunsTheChildrenOfItsBody(t *testing.T) {
	const n = 100
	children := coro.MustFunc[testbody.Children, int64](testbody.ChildrenOf)
	s := newScheduler(t, coro.WithWorkers(1))
	eventually(t, func() bool {
		here, err := children.Call(background, s, testbody.Children{N: n, NS: 3000})
		require.NoError(t, err)
		return here == n
	}, "all run on the thread of the call")
	eventually(t, func() bool {
		var others sync.WaitGroup
		others.Go(func() {
			task, err := empty.Start(s, coro.None{})
			if assert.NoError(t, err) {
				_, err = task.Wait(background)
				assert.NoError(t, err)
			}
		})
		defer others.Wait()
		here, err := children.Call(background, s, testbody.Children{N: n, NS: 50_000})
		require.NoError(t, err)
		return here > 0 && here < n
	}, "a call lets go for what is started meanwhile")
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	eventually(t, func() bool {
		before := s.Stats().Lends.Count
		here, err := children.Call(ctx, s, testbody.Children{N: n, NS: 100_000})
		require.NoError(t, err)
		return s.Stats().Lends.Count > before && assert.Less(t, here, int64(n))
	}, "a thread lends itself")
	finish(t, s)
}

func TestCallTellsHowTheBodyEnds(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	_, err := abort.Call(background, s, coro.None{})
	require.ErrorIs(t, err, coro.ErrAborted)
	h, err := self.Call(background, s, coro.None{})
	require.NoError(t, err)
	require.ErrorIs(t, h.Wake(), coro.ErrStale, "the coroutine has ended")
	finish(t, s)
}

// endsSoon is a context that errEnough ends in 5 ms.
func endsSoon() context.Context {
	ctx, cancel := context.WithCancelCause(background)
	time.AfterFunc(5*time.Millisecond, func() { cancel(errEnough) })
	return ctx
}

func TestCallWaitsForAParkedBody(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	ctx := endsSoon()
	_, err := park.Call(ctx, s, coro.None{})
	require.ErrorIs(t, err, errEnough)
	finish(t, s)

	_, err = park.Call(ctx, s, coro.None{})
	require.ErrorIs(t, err, errEnough, "the context has ended before")
	late, stop := context.WithTimeout(background, 5*time.Millisecond)
	defer stop()
	_, err = park.Call(late, s, coro.None{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	finish(t, s)
}

func TestCallMakesTheCallsOfItsCoroutine(t *testing.T) {
	inEachWay(t, func(t *testing.T, s *coro.Scheduler, how uint32) {
		_, err := callMany.Call(background, s,
			testbody.Calls{ID: uint32(increment), How: how, N: 100, K: 10})
		require.NoError(t, err)
		finish(t, s)
		assert.EqualValues(t, 100, testbody.Sum())
		ctx, cancel := context.WithCancel(background)
		defer cancel()
		_, err = callMany.Call(ctx, s,
			testbody.Calls{ID: uint32(increment), How: how, N: 100, K: 10})
		require.NoError(t, err)
		finish(t, s)
		assert.EqualValues(t, 200, testbody.Sum())
	})
}

var errCallee = errors.New("callee")

func TestCallWhoseGoFunctionFails(t *testing.T) {
	fails := coro.MustExportFunc(func(context.Context, int64) (int64, error) {
		return 0, errCallee
	})
	panics := coro.MustExportFunc(func(context.Context, int64) (int64, error) { panic("panicked") })
	exits := coro.MustExportFunc(func(context.Context, int64) (int64, error) {
		runtime.Goexit()
		return 0, nil
	})
	inEachWay(t, func(t *testing.T, s *coro.Scheduler, how uint32) {
		c := testbody.Call{How: how, Number: 7, ArgBytes: 8, ResultBytes: 8}
		c.ID = uint32(fails)
		came, err := callOne.Call(background, s, c)
		require.NoError(t, err)
		assert.Equal(t, testbody.EFAILED, came.Status)
		c.ID = uint32(panics)
		came, err = callOne.Call(background, s, c)
		require.NoError(t, err)
		assert.Equal(t, testbody.EFAILED, came.Status)
		c.ID = uint32(exits)
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			_, _ = callOne.Call(background, s, c)
			assert.Fail(t, "the goroutine has ended in the function")
		}()
		<-gone
		finish(t, s)
	})
}

func TestCallsNest(t *testing.T) {
	inEachWay(t, func(t *testing.T, s *coro.Scheduler, how uint32) {
		var id coro.FuncID
		id = coro.MustExportFunc(func(ctx context.Context, depth int64) (int64, error) {
			if depth == 0 {
				return 0, nil
			}
			came, err := callOne.Call(background, s, testbody.Call{ID: uint32(id), How: how,
				Number: depth - 1, ArgBytes: 8, ResultBytes: 8})
			return came.Number + 1, err
		})
		came, err := callOne.Call(background, s, testbody.Call{ID: uint32(id), How: how,
			Number: 100, ArgBytes: 8, ResultBytes: 8})
		require.NoError(t, err)
		assert.EqualValues(t, testbody.OK, came.Status)
		assert.EqualValues(t, 100, came.Number)
		finish(t, s)
	})
}

// A call of a coroutine from an inline call runs on the worker that makes the inline call. So one
// worker is enough, however deep they nest.
func TestCallsNestOnOneWorker(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	var id coro.FuncID
	deeper := func(depth int64) testbody.Call {
		return testbody.Call{ID: uint32(id), How: testbody.Inline, Number: depth, ArgBytes: 8,
			ResultBytes: 8}
	}
	id = coro.MustExportFunc(func(_ context.Context, depth int64) (int64, error) {
		if depth == 0 {
			return 0, nil
		}
		came, err := callOne.Call(background, s, deeper(depth-1))
		return came.Number + 1, err
	})
	task, err := callOne.Start(s, deeper(100)) // on the worker's own thread
	require.NoError(t, err)
	came, err := task.Wait(background)
	require.NoError(t, err)
	assert.EqualValues(t, 100, came.Number)
	finish(t, s)
}

func TestCloseWithinACall(t *testing.T) {
	inEachWay(t, func(t *testing.T, s *coro.Scheduler, how uint32) {
		closes := coro.MustExportFunc(func(context.Context, int64) (int64, error) {
			assert.ErrorIs(t, s.Close(background), coro.ErrInside)
			assert.ErrorIs(t, s.Wait(background), coro.ErrInside)
			return 1, nil
		})
		came, err := callOne.Call(background, s, testbody.Call{ID: uint32(closes), How: how,
			Number: 7, ArgBytes: 8, ResultBytes: 8})
		require.NoError(t, err)
		assert.EqualValues(t, 1, came.Number)
	})
}

func TestCallsFromManyGoroutines(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	var all sync.WaitGroup
	var sum atomic.Int64
	for i := range 1000 {
		all.Go(func() {
			for n := range int64(20) {
				var r int64
				var err error
				switch (int64(i) + n) % 3 {
				case 0:
					r, err = square.Call(background, s, n)
				case 1:
					r, err = family.Call(background, s, n%4)
				default:
					ctx, cancel := context.WithCancel(background)
					r, err = square.Call(ctx, s, n)
					cancel()
				}
				assert.NoError(t, err)
				sum.Add(r)
			}
		})
	}
	all.Wait()
	finish(t, s)
	assert.Positive(t, sum.Load())
}

func TestCallWhileTheSchedulerCloses(t *testing.T) {
	for range 30 {
		s := newScheduler(t, coro.WithWorkers(2))
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for {
					r, err := square.Call(background, s, 3)
					if err != nil {
						assert.ErrorIs(t, err, coro.ErrClosed)
						return
					}
					assert.EqualValues(t, 9, r)
				}
			})
		}
		time.Sleep(time.Millisecond)
		require.NoError(t, s.Close(soon(t)))
		all.Wait()
		_, err := square.Call(background, s, 3)
		require.ErrorIs(t, err, coro.ErrClosed)
	}
}

// The body computes on the calling thread, and its context ends.
func TestCallWhoseContextEndsWhileTheBodyComputes(t *testing.T) {
	for name, parks := range map[string]int64{"and ends": 0, "and suspends": 1} {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, coro.WithWorkers(1))
			untilLent(t, s)
			ctx, cancel := context.WithCancelCause(background)
			type outcome struct {
				result int64
				err    error
			}
			outcomes := make(chan outcome, 1)
			lending(t, s, true, func() {
				go func() {
					r, err := computes.Call(ctx, s, parks)
					outcomes <- outcome{r, err}
				}()
				eventually(t, func() bool { return testbody.Ran() == 1 }, "it computes")
			})
			cancel(errEnough)
			for range 10 {
				runtime.Gosched()
				assert.Empty(t, outcomes, "Call goes on")
			}
			testbody.Stop()
			if got := receive(t, outcomes); parks == 0 {
				assert.Equal(t, outcome{42, nil}, got)
			} else {
				assert.Zero(t, got.result)
				assert.ErrorIs(t, got.err, errEnough)
			}
			finish(t, s)
		})
	}
}

func TestCallWhoseContextEndsWhileTheBodyWaits(t *testing.T) {
	for name, c := range map[string]struct {
		how    int64
		result int64
		err    error
	}{"and it is told, and returns": {2, 0, errEnough},
		"and it is told, and finishes": {0, 100, nil},
		"and it asks, and returns":     {3, 0, errEnough},
		"and it asks, and finishes":    {1, 101, nil}} {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, coro.WithWorkers(1))
			for range 20 {
				testbody.Reset()
				ctx, cancel := context.WithCancelCause(background)
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					eventually(t, func() bool { return testbody.Ran() == 1 }, "it waits")
					cancel(errEnough)
				}()
				r, err := canceled.Call(ctx, s, c.how)
				receive(t, ended)
				if err == nil { // it has ended before Wait has seen the end of the context
					assert.Equal(t, c.result, r)
					assert.NoError(t, c.err)
				} else {
					assert.ErrorIs(t, err, errEnough)
				}
				finish(t, s)
			}
		})
	}
}

func TestTheBodyOfACallAsksForItsDeadline(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	until := time.Now().Add(time.Hour)
	ctx, cancel := context.WithDeadline(background, until)
	defer cancel()
	for range 100 {
		got, err := asking.Call(ctx, s, testbody.Ask{})
		require.NoError(t, err)
		in := time.Duration(got.Deadline - coro.Now())
		assert.InDelta(t, time.Until(until), in, float64(time.Minute))
		got, err = asking.Call(context.WithoutCancel(ctx), s, testbody.Ask{})
		require.NoError(t, err)
		assert.Equal(t, forever, got.Deadline)
	}
	late, end := context.WithTimeout(background, time.Millisecond)
	defer end()
	_, err := asking.Call(late, s, testbody.Ask{Waits: 1})
	if err != nil { // else it was told, and has finished, before Wait has seen the end
		require.Equal(t, context.DeadlineExceeded, err)
	}
	finish(t, s)
}

func TestTheValuesOfACallsContextAreThoseOfTheGoFunctions(t *testing.T) {
	values := make(chan any, 1)
	id := coro.MustExportFunc(func(ctx context.Context, n int64) (int64, error) {
		values <- ctx.Value(testKey{})
		return n, ctx.Err()
	})
	inEachWay(t, func(t *testing.T, s *coro.Scheduler, how uint32) {
		call := testbody.Call{ID: uint32(id), How: how, Number: 7, ArgBytes: 8, ResultBytes: 8}
		value := context.WithValue(background, testKey{}, "a value")
		ends, cancel := context.WithCancel(value)
		defer cancel()
		late, end := context.WithTimeout(value, time.Hour)
		defer end()
		for range 20 {
			for _, ctx := range []context.Context{value, ends, late,
				ownDone{value, nil}, ownDone{value, make(chan struct{})}} {
				came, err := callOne.Call(ctx, s, call)
				require.NoError(t, err)
				assert.Equal(t, testbody.Came{Got: 8, Number: 7}, came)
				assert.Equal(t, "a value", receive(t, values))
			}
			came, err := callOne.Call(background, s, call)
			require.NoError(t, err)
			assert.EqualValues(t, 7, came.Number)
			assert.Nil(t, receive(t, values))
		}
		finish(t, s)
	})
}

// A breaking context panics when its methods are called for the last time.
type breaking struct {
	context.Context
	last *atomic.Int32
}

func (b breaking) use() {
	if b.last.Add(-1) == 0 {
		panic(broken{})
	}
}

func (b breaking) Deadline() (time.Time, bool) { b.use(); return b.Context.Deadline() }
func (b breaking) Done() <-chan struct{}       { b.use(); return b.Context.Done() }
func (b breaking) Err() error                  { b.use(); return b.Context.Err() }
func (b breaking) Value(key any) any           { b.use(); return b.Context.Value(key) }

// Whenever the panic comes, it comes out of Call, or out of the Go function that the body calls.
// The coroutine goes on to its end.
func TestAContextThatPanicsDuringACallLeavesNothingBehind(t *testing.T) {
	asks := coro.MustExportFunc(func(ctx context.Context, n int64) (int64, error) {
		ctx.Value(testKey{})
		return n + 1, ctx.Err()
	})
	calls := func(how uint32) func(context.Context, *coro.Scheduler) error {
		return func(ctx context.Context, s *coro.Scheduler) error {
			_, err := callMany.Call(ctx, s, testbody.Calls{ID: uint32(asks), How: how, N: 3, K: 2})
			return err
		}
	}
	for name, call := range map[string]func(context.Context, *coro.Scheduler) error{
		"ends at once": func(ctx context.Context, s *coro.Scheduler) error {
			_, err := square.Call(ctx, s, 3)
			return err
		},
		"suspends": func(ctx context.Context, s *coro.Scheduler) error {
			_, err := family.Call(ctx, s, 3)
			return err
		},
		"calls Go inline": calls(testbody.Inline),
		"has Go called":   calls(testbody.Offload),
		"is one of several": func(ctx context.Context, s *coro.Scheduler) error {
			return family.CallN(ctx, s, []int64{1, 2, 3}, make([]int64, 3))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, coro.WithWorkers(2))
			for _, way := range []string{"ends", "never ends", "has a deadline"} {
				for last, left := int32(1), int32(0); left <= 0; last++ {
					require.Less(t, last, int32(1000))
					ctx, cancel := context.WithCancel(background)
					switch way {
					case "never ends":
						ctx = context.WithoutCancel(ctx)
					case "has a deadline":
						cancel()
						ctx, cancel = context.WithTimeout(background, time.Hour)
					}
					b := breaking{ctx, &atomic.Int32{}}
					b.last.Store(last)
					asleep(t, s)
					func() {
						defer func() {
							if v := recover(); v != nil {
								assert.Equal(t, broken{}, v)
							}
						}()
						assert.NoError(t, call(b, s))
					}()
					finish(t, s)
					left = b.last.Load()
					cancel()
				}
			}
			assert.Equal(t, s.Stats().Spawned, s.Stats().Ended)
		})
	}
}

// The Go function runs on the calling goroutine. A context that then blocks holds up nobody.
func TestAContextThatBlocksDuringACallHoldsUpNobody(t *testing.T) {
	inEachWay(t, func(t *testing.T, s *coro.Scheduler, how uint32) {
		began, go_on, free := make(chan struct{}), make(chan struct{}), make(chan struct{})
		id := coro.MustExportFunc(func(context.Context, int64) (int64, error) {
			began <- struct{}{}
			<-go_on
			return 0, nil
		})
		armed := &atomic.Bool{}
		ctx := stubborn{background, armed, false, free}
		failures := make(chan error)
		asleep(t, s)
		go func() {
			_, err := callOne.Call(ctx, s, testbody.Call{ID: uint32(id), How: how,
				ArgBytes: 8, ResultBytes: 8})
			failures <- err
		}()
		receive(t, began)
		armed.Store(true)
		require.ErrorIs(t, s.Close(expired), context.Canceled)
		looked := make(chan uint64)
		go func() { looked <- s.Stats().Calls.Offloaded }()
		assert.LessOrEqual(t, receive(t, looked), uint64(1))
		close(free)
		close(go_on)
		assert.NoError(t, receive(t, failures))
		require.NoError(t, s.Close(soon(t)))
	})
}

// The body goes on elsewhere while the calling thread runs what the body has spawned, which computes
// for long: only the caller waits for that.
func TestACallWhoseThreadIsBusyHoldsUpNobody(t *testing.T) {
	callBeside := coro.MustFunc[testbody.Call, testbody.Came](testbody.CallBeside)
	called := make(chan struct{}, 1)
	id := coro.MustExportFunc(func(context.Context, int64) (int64, error) {
		called <- struct{}{}
		return 0, nil
	})
	inEachWay(t, func(t *testing.T, s *coro.Scheduler, how uint32) {
		ends, cancel := context.WithCancel(background)
		defer cancel()
		late, end := context.WithTimeout(background, time.Hour)
		defer end()
		for i := range 12 {
			ctx := []context.Context{background, ends, late}[i%3]
			testbody.Reset()
			untilLent(t, s)
			asleep(t, s)
			failures := make(chan error)
			go func() {
				_, err := callBeside.Call(ctx, s, testbody.Call{ID: uint32(id), How: how,
					ArgBytes: 8, ResultBytes: 8})
				failures <- err
			}()
			receive(t, called)
			task, err := square.StartContext(ends, s, 7)
			require.NoError(t, err)
			got, err := task.Wait(soon(t))
			require.NoError(t, err)
			assert.EqualValues(t, 49, got)
			testbody.Stop()
			assert.NoError(t, receive(t, failures))
		}
		finish(t, s)
	})
}

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

var mayFail = coro.MustFunc[testbody.MayFail, int64](testbody.MayFailBody)

func TestCallNStoresEachResult(t *testing.T) {
	for _, workers := range []int{1, 2} {
		s := newScheduler(t, coro.WithWorkers(workers))
		for _, n := range []int{0, 1, 2, 255, 256, 257, 1000, 20_000} {
			args, results := make([]int64, n), make([]int64, n)
			for i := range args {
				args[i] = int64(i)
			}
			require.NoError(t, square.CallN(background, s, args, results))
			for i, r := range results {
				require.EqualValues(t, i*i, r)
			}
		}
		require.NoError(t, empty.CallN(background, s, make([]coro.None, 3000), nil))
		finish(t, s)
		assert.Equal(t, s.Stats().Spawned, s.Stats().Ended)
	}
}

func TestCallNOfBodiesThatSuspend(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	args, results := make([]int64, 300), make([]int64, 300)
	for i := range args {
		args[i] = int64(i % 5)
	}
	for range 300 {
		require.NoError(t, family.CallN(soon(t), s, args, results))
		for i, r := range results {
			n := int64(i % 5)
			require.Equal(t, (n-1)*n*(2*n-1)/6, r)
		}
	}
	finish(t, s)
}

func TestCallNTellsTheFirstThatFails(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	err := abort.CallN(background, s, make([]coro.None, 10), nil)
	require.ErrorIs(t, err, coro.ErrAborted)
	var call *coro.CallError
	require.ErrorAs(t, err, &call)
	assert.Zero(t, call.Index)
	var option *coro.OptionError
	require.ErrorAs(t, square.CallN(background, s, make([]int64, 3), make([]int64, 2)), &option)
	require.ErrorAs(t, empty.OnWorker(0).CallN(background, s, make([]coro.None, 3), nil), &option)
	finish(t, s)
}

// Of some failures, in several parts of the calls, the error is the first one's; the results of the
// others stand.
func TestCallNNamesTheCallThatFails(t *testing.T) {
	n := 20_000
	firsts := []int{0, 1, 8191, 8192, 19_999}
	results := make([]int64, n)
	s := newScheduler(t, coro.WithWorkers(2))
	for _, first := range firsts {
		args := make([]testbody.MayFail, n)
		for i := range args {
			args[i] = testbody.MayFail{Number: int64(i)}
			results[i] = -1
		}
		args[first].Code, args[n-1].Code = int64(first+1), int64(first+1)
		err := mayFail.CallN(background, s, args, results)
		var call *coro.CallError
		require.ErrorAs(t, err, &call)
		assert.Equal(t, first, call.Index)
		assert.Equal(t, fmt.Sprintf("coro: call %d: %v", first, call.Err), err.Error())
		var body *coro.BodyError
		require.ErrorAs(t, err, &body, "it is wrapped")
		assert.Equal(t, first+1, body.Code)
		for i, r := range results {
			if args[i].Code == 0 {
				require.EqualValues(t, 2*i, r)
			} else {
				require.Zero(t, r)
			}
		}
	}
	finish(t, s)
}

func TestCallNWhoseContextEnds(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	ctx := endsSoon()
	results := make([]int64, 100)
	require.ErrorIs(t, canceled.CallN(ctx, s, make([]int64, 100), results), errEnough)
	require.ErrorIs(t, canceled.CallN(ctx, s, make([]int64, 100), results), errEnough)
	stats := s.Stats()
	assert.Positive(t, stats.Live, "the calls that have started go on")
	closedEarly(t, s.Close(expired))
}

func TestCallNFromManyGoroutines(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			args, results := make([]int64, 500), make([]int64, 500)
			for i := range args {
				args[i] = int64(i)
			}
			for range 5 {
				assert.NoError(t, square.CallN(background, s, args, results))
				assert.EqualValues(t, 499*499, results[499])
			}
		})
	}
	all.Wait()
	finish(t, s)
}

// The end of a call is told before anything else runs on its worker.
func TestCallNIsToldBeforeWhatFollowsRuns(t *testing.T) {
	testbody.Reset()
	s := newScheduler(t, coro.WithWorkers(2), coro.WithoutLending())
	leaves := coro.MustFunc[coro.None, coro.None](testbody.LeavesSpin)
	require.NoError(t, leaves.CallN(soon(t), s, make([]coro.None, 1), nil))
	eventually(t, func() bool { return testbody.Ran() == 1 }, "what the call left spins")
	testbody.Stop()
	finish(t, s)
}

// The last call is suspended, and ends on another worker than those before it.
func TestCallNWhoseLastCallEndsOnAnotherWorker(t *testing.T) {
	stays := coro.MustFunc[int64, coro.None](testbody.StaysBehind)
	for range 30 {
		testbody.Reset()
		s := newScheduler(t, coro.WithWorkers(2), coro.WithoutLending())
		require.NoError(t, stays.CallN(soon(t), s, []int64{0, 0, 1}, nil))
		testbody.Stop()
		finish(t, s)
	}
}

// A call that ends on a thread that is no worker comes back to one, and is counted there.
func TestCallNOfBodiesThatEndElsewhere(t *testing.T) {
	rides := coro.MustFunc[int64, int64](testbody.Rides)
	s := newScheduler(t, coro.WithWorkers(2))
	args, results := []int64{1, 2, 3, 4, 5}, make([]int64, 5)
	for range 20 {
		clear(results)
		require.NoError(t, rides.CallN(soon(t), s, args, results))
		require.Equal(t, args, results)
	}
	finish(t, s)
}

func TestCallNAtTheRecordLimit(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1), coro.WithRecordLimit(2<<20))
	n := 40_000
	require.NoError(t, yield.CallN(background, s, make([]int64, n), nil))
	finish(t, s)
	assert.EqualValues(t, n, testbody.Sum())
}

// The calls of the function are made, too: inline ones by the workers' own threads.
func TestCallNOfBodiesThatCallGo(t *testing.T) {
	inEachWay(t, func(t *testing.T, s *coro.Scheduler, how uint32) {
		for _, n := range []int{1, 2, 3, 300} {
			args, results := make([]testbody.Call, n), make([]testbody.Came, n)
			for i := range args {
				args[i] = testbody.Call{ID: uint32(increment), How: how,
					Number: int64(i), ArgBytes: 8, ResultBytes: 8}
			}
			for range 20 {
				asleep(t, s)
				clear(results)
				require.NoError(t, callOne.CallN(background, s, args, results))
				for i, came := range results {
					require.Equal(t, testbody.Came{Got: 8, Number: int64(i + 1)}, came)
				}
			}
		}
		finish(t, s)
	})
}

// inBackground runs f.CallN with n arguments, and returns its error.
func inBackground[A, R any](s *coro.Scheduler, f coro.Func[A, R], n int) <-chan error {
	err := make(chan error, 1)
	go func() { err <- f.CallN(background, s, make([]A, n), make([]R, n)) }()
	return err
}

func TestReportsOfWaitsNameTheFunctionOfCallN(t *testing.T) {
	stalls := make(chan int, 100)
	s := newScheduler(t, coro.WithWorkers(2),
		coro.WithStallHook(func(blocked int) { stalls <- blocked }))
	ended := inBackground(s, park, 3)
	parked(t, s, 3)
	list, n := s.Blocked(100)
	assert.Equal(t, 3, n, "the coroutine that waits for them is not one of them")
	require.Len(t, list, 3)
	for _, b := range list {
		assert.Equal(t, "park", b.Func)
		assert.Equal(t, "park", b.Waits)
	}
	var dead *coro.DeadlockError
	require.ErrorAs(t, s.Rest(soon(t)), &dead)
	assert.Equal(t, 3, dead.Count)
	require.EqualError(t, dead, "coro: deadlock: 3 coroutines wait for ever; "+
		"park in park; park in park; park in park")
	for receive(t, stalls) != 3 { // before all had come there may have been a rest
	}
	require.ErrorIs(t, s.Close(expired), context.Canceled)
	// nil: all had ended before what leads them was told
	if err := receive(t, ended); err != nil {
		require.ErrorIs(t, err, coro.ErrCanceled)
	}
}

func TestACloseNamesTheFunctionOfCallN(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	ended := inBackground(s, spin, 1)
	eventually(t, func() bool { return testbody.Ran() == 1 }, "it spins")
	var still *coro.RunningError
	require.ErrorAs(t, s.Close(expired), &still)
	assert.Equal(t, []string{"spin"}, still.Funcs)
	testbody.Stop()
	require.NoError(t, receive(t, ended))
	require.NoError(t, s.Close(soon(t)))
}
