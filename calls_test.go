//go:build cgo

package coro_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
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

type silly struct{}

func (*silly) Error() string { panic("no") }

func TestErrorsAndPanicsComeBackAsText(t *testing.T) {
	fails := coro.MustExportFunc(func(_ context.Context, n int64) (int64, error) {
		return 1, fmt.Errorf("no such number: %d", n)
	})
	panics := coro.MustExportFunc(func(_ context.Context, n int64) (int64, error) {
		panic(fmt.Sprintf("not %d!", n))
	})
	nothing := coro.MustExportFunc(func(context.Context, int64) (int64, error) { panic(nil) })
	nilPointer := coro.MustExportFunc(func(_ context.Context, n int64) (int64, error) {
		var p *int64
		return n + *p, nil
	})
	badError := coro.MustExportFunc(func(context.Context, int64) (int64, error) {
		return 0, (*silly)(nil)
	})
	long := coro.MustExportFunc(func(_ context.Context, n int64) (int64, error) {
		return 0, errors.New(strings.Repeat("x", int(n)))
	})
	huge := coro.MustExportFunc(func(_ context.Context, b []byte) (int64, error) {
		return int64(len(b)), nil
	})
	inEachWay(t, func(t *testing.T, s *coro.Scheduler, how uint32) {
		failed := func(id coro.FuncID, n int64) string {
			came := calling(t, s, how, id, n)
			assert.Equal(t, testbody.EFAILED, came.Status)
			assert.Zero(t, came.Number, "no result")
			return text(came)
		}
		for range 3 {
			assert.Equal(t, "no such number: 7", failed(fails, 7))
			assert.True(t, strings.HasPrefix(failed(panics, 7),
				"panic: not 7!\n\ngoroutine "))
			assert.Contains(t, failed(nothing, 0), "panic: panic called")
			assert.Contains(t, failed(nilPointer, 0), "panic: runtime error: ")
			assert.NotEmpty(t, failed(badError, 0))
			assert.EqualValues(t, 16<<10, calling(t, s, how, long, 1<<20).Text,
				"texts are cut off there")
		}
		assert.Equal(t, testbody.Came{Got: 8}, calling(t, s, how, huge, 0, argBytes(0)))
		assert.Equal(t, testbody.Came{Got: 8, Number: 1}, calling(t, s, how, increment, 0),
			"and it goes on")
	})
}

func TestPanicsAmongManyCallersHitTheirOwn(t *testing.T) {
	odd := coro.MustExportFunc(func(_ context.Context, n int64) (int64, error) {
		switch n % 4 {
		case 1:
			panic(n)
		case 3:
			return 0, fmt.Errorf("error: %d", n)
		}
		return n, nil
	})
	inEachWay(t, func(t *testing.T, s *coro.Scheduler, how uint32) {
		var tasks []*coro.Task[testbody.Came]
		for n := range int64(scaled(4000)) {
			task, err := callOne.Start(s, testbody.Call{ID: uint32(odd), How: how,
				Number: n, ArgBytes: 8, ResultBytes: 8})
			require.NoError(t, err)
			tasks = append(tasks, task)
		}
		for n, task := range tasks {
			came, err := task.Wait(soon(t))
			require.NoError(t, err)
			switch n % 4 {
			case 1:
				assert.True(t, strings.HasPrefix(text(came),
					fmt.Sprintf("panic: %d\n", n)), text(came))
			case 3:
				assert.Equal(t, fmt.Sprintf("error: %d", n), text(came))
			default:
				assert.Equal(t, testbody.Came{Got: 8, Number: int64(n)}, came)
			}
		}
	})
}

func init() {
	children["goexit inline"] = func() { goexitInline(callOne, (*coro.Scheduler).Wait) }
	children["goexit on the main worker"] = func() {
		goexitInline(callOne.OnWorker(1), (*coro.Scheduler).RunMain)
	}
	children["goexit in ServeMain"] = func() {
		goexitInline(callOne.OnWorker(1), (*coro.Scheduler).ServeMain)
	}
}

// goexitInline has f call a function that ends its goroutine, and waits for that.
func goexitInline(
	f coro.Func[testbody.Call, testbody.Came], wait func(*coro.Scheduler, context.Context) error,
) {
	s, err := coro.New(coro.WithWorkers(1), coro.WithMainThread())
	if err != nil {
		panic(err)
	}
	id, err := coro.ExportFuncNamed("a function that leaves",
		func(context.Context, int64) (int64, error) {
			runtime.Goexit()
			return 0, nil
		})
	if err != nil {
		panic(err)
	}
	_ = f.Spawn(s, testbody.Call{ID: uint32(id), How: testbody.Inline, ArgBytes: 8,
		ResultBytes: 8})
	waited := make(chan error)
	go func() { // it is this goroutine that might end alone
		defer close(waited)
		waited <- wait(s, background)
	}()
	<-waited
	fmt.Println("it lives on")
}

func TestGoexitInAnInlineCallIsNamedAndEndsTheProcess(t *testing.T) {
	for _, name := range []string{"goexit inline", "goexit on the main worker",
		"goexit in ServeMain"} {
		out, err := child(t, name)
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit, "%s: %s", name, out)
		assert.Equal(t, 2, exit.ExitCode(), name)
		assert.Contains(t, out,
			"coro: runtime.Goexit (or FailNow of a test) "+
				"in the Go function a function that leaves, ")
		assert.Contains(t, out, "goexitInline.func1", "what has left: %s", name)
		assert.NotContains(t, out, "it lives on", name)
	}
}

func TestCloseFromWithinACallIsRefused(t *testing.T) {
	inEachWay(t, func(t *testing.T, s *coro.Scheduler, how uint32) {
		other := newScheduler(t)
		id := coro.MustExportFunc(func(context.Context, int64) (int64, error) {
			assert.Equal(t, coro.ErrInside, s.Close(background))
			assert.Equal(t, coro.ErrInside, s.Close(expired))
			assert.NoError(t, other.Close(background),
				"another scheduler waits for nobody here")
			return 5, nil
		})
		assert.EqualValues(t, 5, calling(t, s, how, id, 0).Number)
		assert.Equal(t, testbody.OK, calling(t, s, how, increment, 0).Status, "it is open")
		assert.NoError(t, s.Close(background))
	})
}

// An inline function is on the thread of a worker, where no scheduler is made, nor run. The errors
// say so.
func TestNewAndRunInAnInlineFunctionAreRefused(t *testing.T) {
	inEachWay(t, func(t *testing.T, s *coro.Scheduler, how uint32) {
		want := error(nil)
		if how == testbody.Inline {
			want = coro.ErrInside
		}
		paused := newScheduler(t, coro.WithPaused())
		id := coro.MustExportFunc(func(context.Context, int64) (int64, error) {
			made, err := coro.New()
			assert.Equal(t, want, err)
			if err == nil {
				assert.NoError(t, made.Close(background))
			}
			assert.Equal(t, want, paused.Run(background))
			return 5, nil
		})
		assert.EqualValues(t, 5, calling(t, s, how, id, 0).Number)
	})
}

// Other goroutines than the callee's are not inside, while calls come and go, and goroutines end
// and begin.
func TestCloseFromElsewhereWhileCallsRunIsNotRefused(t *testing.T) {
	for range scaled(40) {
		s := newScheduler(t, coro.WithWorkers(1))
		results := make(chan error, 3)
		id := coro.MustExportFunc(func(context.Context, int64) (int64, error) {
			go func() { results <- s.Close(soon(t)) }()
			return 0, nil
		})
		for range 3 {
			_, err := callOne.Start(s, testbody.Call{ID: uint32(id),
				How: testbody.Offload, ArgBytes: 8, ResultBytes: 8})
			if err != nil {
				assert.ErrorIs(t, err, coro.ErrClosed)
			}
		}
		assert.NoError(t, <-results)
		assert.NoError(t, s.Close(soon(t)))
	}
}

func TestCloseWaitsForCallsAndCancelsTheirContexts(t *testing.T) {
	for name, how := range ways {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, coro.WithWorkers(1))
			began := make(chan struct{})
			var cause error
			id := coro.MustExportFunc(func(ctx context.Context,
				n int64) (int64, error) {
				close(began)
				<-ctx.Done() // an inline function should not wait
				cause = context.Cause(ctx)
				return n, ctx.Err()
			})
			task, err := callOne.Start(s, testbody.Call{ID: uint32(id), How: how,
				ArgBytes: 8, ResultBytes: 8})
			require.NoError(t, err)
			<-began
			assert.ErrorIs(t, s.Close(expired), context.Canceled)
			came, err := task.Wait(background)
			assert.NoError(t, err)
			assert.Equal(t, "context canceled", text(came))
			assert.Equal(t, coro.ErrCanceled, cause)
		})
	}
}

func TestCloseNamesTheGoFunctionsThatStillRun(t *testing.T) {
	for name, how := range ways {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, coro.WithWorkers(2))
			began, end := make(chan struct{}), make(chan struct{})
			id, err := coro.ExportFuncNamed("deaf "+name,
				func(context.Context, int64) (int64, error) {
					close(began)
					<-end
					return 0, nil
				})
			require.NoError(t, err)
			require.NoError(t, callOne.Spawn(s,
				testbody.Call{ID: uint32(id), How: how, ArgBytes: 8,
					ResultBytes: 8}))
			<-began
			ctx, cancel := context.WithCancelCause(background)
			cancel(errEnough)
			err = s.Close(ctx)
			var running *coro.RunningError
			require.ErrorAs(t, err, &running)
			assert.Equal(t, []string{"deaf " + name}, running.Funcs)
			assert.ErrorIs(t, err, errEnough, "why Close stopped waiting")
			assert.ErrorContains(t, err, "coro: close: still running: deaf "+name+": ")
			close(end)
			assert.NoError(t, s.Close(soon(t)))
		})
	}
}

func TestTheCanceledCallNobody(t *testing.T) {
	for name, how := range ways {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, coro.WithWorkers(2))
			var calls atomic.Int64
			id := coro.MustExportFunc(func(_ context.Context, n int64) (int64, error) {
				calls.Add(1)
				return n + 1, nil
			})
			for range 100 {
				require.NoError(t, callMany.Spawn(s,
					testbody.Calls{ID: uint32(id), How: how, N: 1 << 60, K: 3}))
			}
			eventually(t, func() bool { return calls.Load() > 1000 }, "calls")
			assert.ErrorIs(t, s.Close(expired), context.Canceled)
			assert.Equal(t, calls.Load(), testbody.Sum(),
				"each that was made came back")
		})
	}
}

func TestACanceledCoroutineCallsNobody(t *testing.T) {
	inEachWay(t, func(t *testing.T, s *coro.Scheduler, how uint32) {
		var calls atomic.Int64
		id := coro.MustExportFunc(func(_ context.Context, n int64) (int64, error) {
			calls.Add(1)
			return n + 1, nil
		})
		task, err := callMany.Start(s, testbody.Calls{ID: uint32(id), How: how, N: 1 << 60,
			K: 3})
		require.NoError(t, err)
		eventually(t, func() bool { return calls.Load() > 100 }, "calls")
		task.Cancel()
		finish(t, s)
		assert.Equal(t, calls.Load(), testbody.Sum())
	})
}

// untilCanceled is called by coroutines that are to be canceled.
var untilCanceled = coro.MustExportFunc(func(ctx context.Context, n int64) (int64, error) {
	<-ctx.Done()
	return n, context.Cause(ctx)
})

func TestACancelOfOneEndsTheContextOfItsCall(t *testing.T) {
	blocks := testbody.Call{ID: uint32(untilCanceled), How: testbody.Offload, ArgBytes: 8,
		ResultBytes: 8}
	s := newScheduler(t, coro.WithWorkers(2))
	other, err := callOne.Start(s, blocks)
	require.NoError(t, err)
	parked(t, s, 1)
	ctx, end := context.WithCancel(background)
	cancels := []func(*coro.Task[testbody.Came]){
		func(task *coro.Task[testbody.Came]) { task.Cancel() },
		func(*coro.Task[testbody.Came]) { end() },
		func(task *coro.Task[testbody.Came]) {
			require.NoError(t, cancel.Spawn(s, task.Handle()))
		},
	}
	for i, by := range cancels {
		start := func() (*coro.Task[testbody.Came], error) {
			return callOne.Start(s, blocks)
		}
		if i == 1 {
			start = func() (*coro.Task[testbody.Came], error) {
				return callOne.StartContext(ctx, s, blocks)
			}
		}
		task, err := start()
		require.NoError(t, err)
		parked(t, s, 2)
		by(task)
		came, err := wait(t, task)
		require.NoError(t, err)
		assert.Equal(t, testbody.EFAILED, came.Status)
		want := coro.ErrCanceled
		if i == 1 { // the context that the coroutine was started with
			want = context.Canceled
		}
		assert.Equal(t, want.Error(), text(came))
	}
	assert.NoError(t, other.Err(), "the others go on")
	other.Cancel()
	_, err = wait(t, other)
	assert.NoError(t, err)
}

// A cancel comes before the call, while the call waits for an offload worker, as it begins, or
// while it runs: the call always ends.
func TestACancelAtAnyMomentEndsTheCall(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithCallLimit(2))
	for i := range scaled(2000) {
		task, err := callOne.Start(s, testbody.Call{ID: uint32(untilCanceled),
			How: testbody.Offload, ArgBytes: 8, ResultBytes: 8})
		require.NoError(t, err)
		for range i % 50 * 200 {
		}
		task.Cancel()
		if i%4 == 0 {
			continue // so several calls are under way
		}
		came, err := wait(t, task)
		if !errors.Is(err, coro.ErrCanceled) { // the cancel came before its start
			require.NoError(t, err)
			require.Contains(t, []int32{testbody.EFAILED, testbody.ECANCELED},
				came.Status)
		}
	}
	finish(t, s)
}

func TestTheContextOfACallEndsWithIt(t *testing.T) {
	s := newScheduler(t)
	kept := make(chan context.Context, 2)
	keep := coro.MustExportFunc(func(ctx context.Context, n int64) (int64, error) {
		if n > 0 {
			assert.NoError(t, ctx.Err())
		}
		kept <- ctx
		return n, nil
	})
	for n := range int64(2) {
		assert.Zero(t, calling(t, s, testbody.Offload, keep, n).Status)
		ctx := <-kept
		assert.ErrorIs(t, ctx.Err(), context.Canceled)
		assert.Nil(t, ctx.Value("key"))
		_, has := ctx.Deadline()
		assert.False(t, has)
	}
}

// Each call has a context of its own, which ends with the call, on whatever goroutine that is made.
func TestContextsOfCallsThatAreKeptEndWithTheirCalls(t *testing.T) {
	s := newScheduler(t)
	var kept []context.Context
	keep := coro.MustExportFunc(func(ctx context.Context, n int64) (int64, error) {
		for _, other := range kept {
			if n%2 == 0 {
				assert.Error(t, other.Err())
			}
		}
		assert.Len(t, kept, int(n))
		if n%3 == 0 {
			assert.NoError(t, ctx.Err())
		}
		kept = append(kept, ctx)
		return n, nil
	})
	value := context.WithValue(background, testKey{}, "a value")
	deadline, end := context.WithTimeout(value, time.Hour)
	defer end()
	for n := range int64(60) {
		ctx := []context.Context{background, value, deadline, background}[n%4]
		came, err := callOne.Call(ctx, s, testbody.Call{ID: uint32(keep),
			How: testbody.Offload, Number: n, ArgBytes: 8, ResultBytes: 8})
		require.NoError(t, err)
		require.Equal(t, testbody.Came{Got: 8, Number: n}, came)
	}
	for i, ctx := range kept {
		for range 2 {
			require.ErrorIs(t, ctx.Err(), context.Canceled)
			require.ErrorIs(t, context.Cause(ctx), context.Canceled)
			<-ctx.Done()
			want := []any{nil, "a value", "a value", nil}[i%4]
			require.Equal(t, want, ctx.Value(testKey{}))
			_, has := ctx.Deadline()
			require.Equal(t, i%4 == 2, has)
			child, end := context.WithCancel(ctx)
			require.ErrorIs(t, child.Err(), context.Canceled)
			end()
		}
	}
}

// A worker that has made inline calls has to come out of Go to end, and waits for a P there.
func TestWorkersThatCallGoEndWhereEveryPComputes(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	var stop atomic.Bool
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for !stop.Load() {
			}
		})
	}
	defer all.Wait()
	defer stop.Store(true)
	assert.Zero(t, calling(t, s, testbody.Inline, increment, 1).Status)
	assert.NoError(t, s.Close(soon(t)))
}

// A leaver is an error whose text ends the goroutine that asks for it.
type leaver struct{}

func (leaver) Error() string { runtime.Goexit(); return "" }

// An offloaded call ends, and its goroutine is replaced, even if Goexit comes while the text of its
// error, or of what it has panicked with, is made.
func TestAnErrorWhoseTextEndsTheGoroutineEndsTheCall(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1), coro.WithCallLimit(1))
	for range 3 {
		for _, id := range []coro.FuncID{leavesByPanic, leavesByError} {
			came := calling(t, s, testbody.Offload, id, 0)
			assert.Equal(t, testbody.EFAILED, came.Status)
			assert.Contains(t, text(came), "the Go function has ended ")
		}
	}
	assert.EqualValues(t, 2, calling(t, s, testbody.Offload, increment, 1).Number)
}

var (
	leavesByPanic = coro.MustExportFunc(func(context.Context, int64) (int64, error) {
		panic(leaver{})
	})
	leavesByError = coro.MustExportFunc(func(context.Context, int64) (int64, error) {
		return 0, leaver{}
	})
)

func init() {
	for name, id := range map[string]coro.FuncID{
		"panic whose text leaves": leavesByPanic, "error whose text leaves": leavesByError,
	} {
		children[name] = func() {
			s, err := coro.New(coro.WithWorkers(1))
			if err != nil {
				panic(err)
			}
			_ = callOne.Spawn(s, testbody.Call{ID: uint32(id), How: testbody.Inline, ArgBytes: 8,
				ResultBytes: 8})
			_ = s.Wait(background)
			fmt.Println("it lives on")
		}
	}
}

// An inline call cannot end its goroutine: the process ends, with a line that says why.
func TestAnErrorWhoseTextEndsTheGoroutineOfAnInlineCallIsNamed(t *testing.T) {
	for _, name := range []string{"panic whose text leaves", "error whose text leaves"} {
		out, err := child(t, name)
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit)
		assert.Contains(t, out, "coro: runtime.Goexit (or FailNow of a test) in the Go function ")
		assert.NotContains(t, out, "it lives on")
	}
}

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
		got, err := task.Await(background, c)
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
