//go:build cgo

package coro_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
