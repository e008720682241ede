//go:build cgo

package coro_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	callOne = coro.MustFunc[testbody.Call, testbody.Came](testbody.CallOne,
		coro.FuncName("call"))
	callMany = coro.MustFunc[testbody.Calls, coro.None](testbody.CallMany,
		coro.FuncName("calls"))
	turnCall = coro.MustFunc[testbody.Calls, int64](testbody.TurnCalls)
	nameOf   = coro.MustFunc[[40]byte, coro.FuncID](testbody.Name)
)

// The ways of calling: a test of all of them runs for each.
var ways = map[string]uint32{"inline": testbody.Inline, "offload": testbody.Offload}

// increment is the function that CallMany calls.
var increment = coro.MustExportFunc(func(_ context.Context, n int64) (int64, error) {
	return n + 1, nil
})

// calling has a coroutine make one call with 8 bytes each way, or as edit has it.
func calling(
	t testing.TB, s *coro.Scheduler, how uint32, id coro.FuncID, number int64,
	edit ...func(*testbody.Call),
) testbody.Came {
	t.Helper()
	c := testbody.Call{ID: uint32(id), How: how, Number: number, ArgBytes: 8, ResultBytes: 8}
	for _, e := range edit {
		e(&c)
	}
	task, err := callOne.Start(s, c)
	require.NoError(t, err)
	came, err := task.Wait(soon(t))
	require.NoError(t, err)
	return came
}

func argBytes(n uint32) func(*testbody.Call) { return func(c *testbody.Call) { c.ArgBytes = n } }
func resultBytes(n uint32) func(*testbody.Call) {
	return func(c *testbody.Call) { c.ResultBytes = n }
}

func text(c testbody.Came) string { return string(c.Start[:min(int(c.Text), len(c.Start)-1)]) }

// inEachWay runs a test for each way of calling, on a scheduler of its own.
func inEachWay(t *testing.T, test func(t *testing.T, s *coro.Scheduler, how uint32)) {
	for name, how := range ways {
		t.Run(name, func(t *testing.T) {
			test(t, newScheduler(t, coro.WithWorkers(2)), how)
		})
	}
}

func TestACoroutineCallsAGoFunction(t *testing.T) {
	type pair struct {
		A int32
		B uint32
	}
	swap := coro.MustExportFunc(func(_ context.Context, p pair) (pair, error) {
		runtime.GC()
		return pair{int32(p.B), uint32(p.A)}, nil
	})
	var told atomic.Int64
	tell := coro.MustExportFunc(func(_ context.Context, n int64) (coro.None, error) {
		told.Add(n)
		return coro.None{}, nil
	})
	ask := coro.MustExportFunc(func(context.Context, coro.None) (int64, error) {
		return 42, nil
	})
	inEachWay(t, func(t *testing.T, s *coro.Scheduler, how uint32) {
		told.Store(0)
		assert.Equal(t, testbody.Came{Got: 8, Number: 6}, calling(t, s, how, increment, 5))
		assert.Equal(t, testbody.Came{Got: 8, Number: 1<<32 | 3},
			calling(t, s, how, swap, 3<<32|1))
		assert.Equal(t, testbody.Came{}, calling(t, s, how, tell, 7, resultBytes(0)))
		assert.EqualValues(t, 7, told.Load())
		assert.Equal(t, testbody.Came{Got: 8, Number: 42},
			calling(t, s, how, ask, 0, argBytes(0)))
		assert.Equal(t, testbody.Came{Got: 8},
			calling(t, s, how, ask, 0, argBytes(0), resultBytes(0)), "not wanted")
		finish(t, s)
	})
}

func TestBytesOfAnyLengthGoBothWays(t *testing.T) {
	var kept sync.Map
	turn := coro.MustExportFunc(func(_ context.Context, b []byte) ([]byte, error) {
		kept.Store(len(b), b)
		b = slices.Clone(b)
		slices.Reverse(b)
		return b, nil
	})
	inEachWay(t, func(t *testing.T, s *coro.Scheduler, how uint32) {
		task, err := turnCall.Start(s, testbody.Calls{ID: uint32(turn), How: how, N: 1001})
		require.NoError(t, err)
		right, err := task.Wait(soon(t))
		require.NoError(t, err)
		assert.EqualValues(t, 1001, right)
		b, _ := kept.Load(1000)
		for i, x := range b.([]byte) {
			require.Equal(t, byte(i*31+1000), x, "the argument is the function's own")
		}
	})
}

func TestBadCalls(t *testing.T) {
	var ran atomic.Int64
	count := coro.MustExportFunc(func(_ context.Context, n int64) (int64, error) {
		ran.Add(1)
		return n, nil
	})
	bytes := coro.MustExportFunc(func(_ context.Context, n int64) ([]byte, error) {
		return make([]byte, n), nil
	})
	inEachWay(t, func(t *testing.T, s *coro.Scheduler, how uint32) {
		for _, id := range []coro.FuncID{0, 1 << 20, 1<<32 - 1} {
			assert.Equal(t, testbody.Came{Status: testbody.EINVAL},
				calling(t, s, how, id, 1))
		}
		for _, n := range []uint32{0, 1, 7, 9, 4096} {
			want := testbody.Came{Status: testbody.EINVAL, Got: 8}
			assert.Equal(t, want, calling(t, s, how, count, 1, argBytes(n)),
				"%d bytes of argument", n)
		}
		for _, n := range []uint32{1, 7} {
			want := testbody.Came{Status: testbody.ETOOBIG, Got: 8}
			assert.Equal(t, want, calling(t, s, how, count, 1, resultBytes(n)),
				"%d bytes of result", n)
		}
		assert.Zero(t, ran.Load(), "none of them was called")
		assert.Equal(t, testbody.Came{Got: 8}, calling(t, s, how, bytes, 8))
		assert.Equal(t, testbody.Came{Status: testbody.ETOOBIG, Got: 9},
			calling(t, s, how, bytes, 9))
		assert.Equal(t, testbody.Came{Status: testbody.ETOOBIG, Got: 1 << 20},
			calling(t, s, how, bytes, 1<<20))
		assert.Equal(t, testbody.Came{Got: 1 << 20},
			calling(t, s, how, bytes, 1<<20, resultBytes(0)), "not wanted")
		here := testbody.CallHere(testbody.Call{ID: uint32(count), How: how, ArgBytes: 8,
			ResultBytes: 8})
		assert.Equal(t, testbody.Came{Status: testbody.EPERM}, here, "outside a coroutine")
	})
}

func TestOnlyTypesWithoutPointersAreExported(t *testing.T) {
	export := func(err error, what string, words ...string) {
		t.Helper()
		optionError(t, err, what, words...)
	}
	_, err := coro.ExportFunc(func(context.Context, string) (int, error) { return 0, nil })
	export(err, "ExportFunc", "string", "[]byte")
	_, err = coro.ExportFunc(func(context.Context, int) (*int, error) { return nil, nil })
	export(err, "ExportFunc", "*int", "points into Go")
	_, err = coro.ExportFunc(func(context.Context, struct{ B []byte }) (int, error) {
		return 0, nil
	})
	export(err, "ExportFunc", "[]uint8")
	_, err = coro.ExportFunc(func(context.Context, []int) (int, error) { return 0, nil })
	export(err, "ExportFunc", "[]int")
	_, err = coro.ExportFunc(func(context.Context, any) (int, error) { return 0, nil })
	export(err, "ExportFunc", "interface")
	_, err = coro.ExportFunc[int, int](nil)
	export(err, "ExportFunc", "needs a function")
	assert.Panics(t, func() { coro.MustExportFunc[int, int](nil) })
	id, err := coro.ExportFunc(func(context.Context, [100]int64) ([100]int64, error) {
		return [100]int64{}, nil
	})
	assert.NoError(t, err, "there is no limit of size")
	assert.NotZero(t, id)
}

func TestFunctionsAreFoundByTheirNames(t *testing.T) {
	add := func(_ context.Context, n int64) (int64, error) { return n + 100, nil }
	id, err := coro.ExportFuncNamed("a function of this test", add)
	require.NoError(t, err)
	_, err = coro.ExportFuncNamed("a function of this test", add)
	optionError(t, err, "ExportFuncNamed", "another")
	_, err = coro.ExportFuncNamed("", add)
	optionError(t, err, "ExportFuncNamed", "empty")
	_, err = coro.ExportFuncNamed("a\x00b", add)
	optionError(t, err, "ExportFuncNamed", "zero byte")
	_, err = coro.ExportFuncNamed("strings", func(context.Context, string) (int, error) {
		return 0, nil
	})
	optionError(t, err, "ExportFuncNamed", "string")

	s := newScheduler(t)
	find := func(name string) coro.FuncID {
		var arg [40]byte
		copy(arg[:], name)
		task, err := nameOf.Start(s, arg)
		require.NoError(t, err)
		found, err := task.Wait(soon(t))
		require.NoError(t, err)
		return found
	}
	assert.Equal(t, id, find("a function of this test"))
	assert.Zero(t, find("a function of this tes"))
	assert.Zero(t, find("strings"))
	assert.EqualValues(t, 101, calling(t, s, testbody.Inline, id, 1).Number)
}

// 100 000 coroutines call, and yield in between. Meanwhile garbage is collected and the profiler
// interrupts.
func TestVeryManyCoroutinesCall(t *testing.T) {
	var n atomic.Int64
	collects := coro.MustExportFunc(func(_ context.Context, x int64) (int64, error) {
		if n.Add(1)%20000 == 0 {
			runtime.GC()
		}
		garbage := make([]byte, 64)
		return x + 1 + int64(garbage[x%64]), nil
	})
	profile, err := os.CreateTemp(t.TempDir(), "profile")
	require.NoError(t, err)
	defer profile.Close()
	require.NoError(t, pprof.StartCPUProfile(profile))
	defer pprof.StopCPUProfile()
	for name, how := range ways {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, coro.WithWorkers(2))
			callers := 4 * scaled(25000)
			for _, k := range []int64{0, 1, 2, 3} {
				started, err := callMany.SpawnN(s, callers/4,
					testbody.Calls{ID: uint32(collects), How: how, N: 4, K: k})
				require.NoError(t, err)
				assert.Equal(t, callers/4, started)
			}
			require.NoError(t, s.Wait(soon(t)))
			assert.EqualValues(t, 4*callers, testbody.Sum())
			assert.EqualValues(t, callers, testbody.Ran())
		})
	}
}

// A function sees Go memory that was written before the call, and the caller memory that the
// function wrote: neither is a race.
func TestCallsAreEdgesForTheRaceDetector(t *testing.T) {
	inEachWay(t, func(t *testing.T, s *coro.Scheduler, how uint32) {
		before, after := 0, 0
		id := coro.MustExportFunc(func(context.Context, int64) (int64, error) {
			after = before + 1
			return 0, nil
		})
		before = 41
		assert.Zero(t, calling(t, s, how, id, 0).Status)
		assert.Equal(t, 42, after)
	})
}

func TestACallFromWithinACallIsRefused(t *testing.T) {
	var inner testbody.Came
	id := coro.MustExportFunc(func(context.Context, int64) (int64, error) {
		inner = testbody.CallHere(testbody.Call{ID: uint32(increment), ArgBytes: 8,
			ResultBytes: 8})
		return 0, nil
	})
	inEachWay(t, func(t *testing.T, s *coro.Scheduler, how uint32) {
		assert.Zero(t, calling(t, s, how, id, 0).Status)
		assert.Equal(t, testbody.EPERM, inner.Status)
	})
}

func TestAGoFunctionMaySpawnAndWake(t *testing.T) {
	inEachWay(t, func(t *testing.T, s *coro.Scheduler, how uint32) {
		parkedOne, err := park.Start(s, coro.None{})
		require.NoError(t, err)
		parked(t, s, 1)
		id := coro.MustExportFunc(func(context.Context, int64) (int64, error) {
			for range 10 {
				if err := add.Spawn(s, 1); err != nil {
					return 0, err
				}
			}
			return 0, parkedOne.Wake()
		})
		assert.Zero(t, calling(t, s, how, id, 0).Status)
		finish(t, s)
		assert.EqualValues(t, 10, testbody.Sum())
	})
}

func TestSignalsMayInterruptCalls(t *testing.T) {
	for name, how := range ways {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, coro.WithWorkers(2))
			started, err := callMany.SpawnN(s, 100,
				testbody.Calls{ID: uint32(increment), How: how,
					N: int64(scaled(8000)), K: 5})
			require.NoError(t, err)
			done := make(chan error, 1)
			go func() { done <- s.Wait(background) }()
			for waiting := true; waiting; {
				for _, w := range s.Stats().PerWorker {
					_ = syscall.Tgkill(os.Getpid(), w.ThreadID, syscall.SIGURG)
				}
				select {
				case err := <-done:
					require.NoError(t, err)
					waiting = false
				default:
				}
			}
			assert.EqualValues(t, started*scaled(8000), testbody.Sum())
		})
	}
}

func TestManySchedulersCallAtOnce(t *testing.T) {
	for name, how := range ways {
		t.Run(name, func(t *testing.T) {
			testbody.Reset()
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					for range 5 {
						s, err := coro.New(coro.WithWorkers(2))
						if !assert.NoError(t, err) {
							return
						}
						_, err = callMany.SpawnN(s, 50,
							testbody.Calls{ID: uint32(increment),
								How: how, N: 20, K: 7})
						assert.NoError(t, err)
						assert.NoError(t, s.Close(background))
					}
				})
			}
			all.Wait()
			assert.EqualValues(t, 8*5*50*20, testbody.Sum())
		})
	}
}

// An offloaded function may do anything.

func TestOffloadedFunctionsMayEndTheirGoroutine(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithCallLimit(2))
	id := coro.MustExportFunc(func(_ context.Context, n int64) (int64, error) {
		if n%2 == 1 {
			runtime.Goexit()
		}
		return n, nil
	})
	for n := range int64(10) {
		came := calling(t, s, testbody.Offload, id, n)
		if n%2 == 1 {
			assert.Equal(t, testbody.EFAILED, came.Status)
			assert.Equal(t, "the Go function has ended i", text(came))
		} else {
			assert.Equal(t, testbody.Came{Got: 8, Number: n}, came)
		}
	}
}

func TestOffloadedFunctionsMayWaitForEachOther(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	const n = 500
	var here sync.WaitGroup
	here.Add(n)
	id := coro.MustExportFunc(func(_ context.Context, x int64) (int64, error) {
		here.Done()
		here.Wait()
		return x + 1, nil
	})
	_, err := callMany.SpawnN(s, n, testbody.Calls{ID: uint32(id), How: testbody.Offload, N: 1})
	require.NoError(t, err)
	finish(t, s)
	assert.EqualValues(t, n, testbody.Sum())
}

func TestNoMoreCallsRunThanTheLimit(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithCallLimit(3))
	var now, most atomic.Int64
	id := coro.MustExportFunc(func(_ context.Context, x int64) (int64, error) {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		runtime.Gosched()
		now.Add(-1)
		return x + 1, nil
	})
	_, err := callMany.SpawnN(s, 100, testbody.Calls{ID: uint32(id), How: testbody.Offload,
		N: 20})
	require.NoError(t, err)
	finish(t, s)
	assert.EqualValues(t, 2000, testbody.Sum())
	assert.LessOrEqual(t, most.Load(), int64(3))
	_, err = coro.New(coro.WithCallLimit(0))
	optionError(t, err, "WithCallLimit", "from 1")
}

func TestACoroutineThatCallsIsListed(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	end := make(chan struct{})
	id := coro.MustExportFunc(func(context.Context, int64) (int64, error) {
		<-end
		return 0, nil
	})
	task, err := callOne.Start(s, testbody.Call{ID: uint32(id), How: testbody.Offload,
		ArgBytes: 8, ResultBytes: 8})
	require.NoError(t, err)
	parked(t, s, 1)
	list, _ := s.Blocked(1)
	assert.Equal(t, coro.BlockedCoroutine{Handle: task.Handle(), Func: "call", Waits: "call"},
		list[0])
	close(end)
	finish(t, s)
}

// Without a standby no worker looks around: a call, a bell or an event that is lost is a hang.
func TestCallsAreNeverLost(t *testing.T) {
	for _, workers := range []int{1, 2} {
		s := newScheduler(t, coro.WithWorkers(workers), coro.WithoutStandby())
		for _, callers := range []int{1, 2, 10} {
			testbody.Reset()
			n := int64(scaled(16000) / callers)
			for i := range callers {
				how := testbody.Offload
				if i%5 == 4 {
					how = testbody.Inline
				}
				require.NoError(t, callMany.Spawn(s,
					testbody.Calls{ID: uint32(increment), How: how, N: n,
						K: int64(i)}))
			}
			require.NoError(t, s.Wait(soon(t)))
			assert.EqualValues(t, n*int64(callers), testbody.Sum())
		}
	}
}

// Threads that have been in Go take no signal for the process.
func TestWorkersThatWereInGoBlockSignals(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	before := blockedSignals(t, s)
	for range 3 {
		assert.Zero(t, calling(t, s, testbody.Inline, increment, 0).Status)
		assert.Equal(t, before, blockedSignals(t, s))
	}
	assert.NotZero(t, before&(1<<(syscall.SIGTERM-1)))
	assert.Zero(t, before&(1<<(syscall.SIGPROF-1)))
}

func blockedSignals(t *testing.T, s *coro.Scheduler) (mask uint64) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/status",
		s.Stats().PerWorker[0].ThreadID))
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(status), "SigBlk:")
	_, err = fmt.Sscanf(rest, "%x", &mask)
	require.NoError(t, err)
	return mask
}
