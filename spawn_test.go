//go:build cgo

package coro_test

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"slices"
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

// Each spawned coroutine runs exactly once, with its own argument, in every way of spawning.
func TestEveryWayToSpawnRunsEachOnce(t *testing.T) {
	for name, spawn := range map[string]func(s *coro.Scheduler, n int) (int, error){
		"Spawn": func(s *coro.Scheduler, n int) (int, error) {
			for i := range n {
				if err := add.Spawn(s, int64(i)); err != nil {
					return i, err
				}
			}
			return n, nil
		},
		"SpawnWait": func(s *coro.Scheduler, n int) (int, error) {
			for i := range n {
				if err := add.SpawnWait(background, s, int64(i)); err != nil {
					return i, err
				}
			}
			return n, nil
		},
		"SpawnSeq": func(s *coro.Scheduler, n int) (int, error) {
			return add.SpawnSeq(s, func(yield func(int64) bool) {
				for i := range n {
					if !yield(int64(i)) {
						return
					}
				}
			})
		},
		"Batch": func(s *coro.Scheduler, n int) (int, error) {
			b := add.Batch(s)
			for i := range n {
				if err := b.Add(int64(i)); err != nil {
					return i, err
				}
				if i%17 == 3 { // batches of all kinds
					if err := b.Flush(); err != nil {
						return i, err
					}
				}
			}
			return n, b.Flush()
		},
		"Start": func(s *coro.Scheduler, n int) (int, error) {
			for i := range n {
				if _, err := add.Start(s, int64(i)); err != nil {
					return i, err
				}
			}
			return n, nil
		},
	} {
		for _, paused := range []bool{false, true} {
			opts := []coro.Option{coro.WithWorkers(2)}
			if paused {
				opts = append(opts, coro.WithPaused())
			}
			s := newScheduler(t, opts...)
			for _, n := range []int{0, 1, 2, 61, 62, 63, 124, 1000, 20_000} {
				testbody.Reset()
				sent, err := spawn(s, n)
				require.NoError(t, err, name)
				require.Equal(t, n, sent, name)
				if paused {
					require.NoError(t, s.Run(soon(t)))
				} else {
					finish(t, s)
				}
				require.EqualValues(t, n, testbody.Ran(), name)
				require.EqualValues(t, n*(n-1)/2, testbody.Sum(), name)
			}
		}
	}
}

func TestSpawnNGivesAllTheSameArgument(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	for _, n := range []int{-5, 0, 1, 62, 63, 5000} {
		testbody.Reset()
		sent, err := add.SpawnN(s, n, 7)
		require.NoError(t, err)
		require.Equal(t, max(n, 0), sent)
		finish(t, s)
		require.EqualValues(t, 7*max(n, 0), testbody.Sum())
		require.EqualValues(t, max(n, 0), testbody.Ran())
	}
}

func TestABodyMayWriteItsResultThoughNobodyWantsIt(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	turn := coro.MustFunc[[48]byte, [48]byte](testbody.Turn(48))
	for range 3 {
		require.NoError(t, turn.Spawn(s, [48]byte{1}))
		_, err := turn.SpawnN(s, 100, [48]byte{2})
		require.NoError(t, err)
		_, err = turn.SpawnSeq(s, slices.Values(make([][48]byte, 100)))
		require.NoError(t, err)
		b := turn.Batch(s)
		require.NoError(t, b.Add([48]byte{}))
		require.NoError(t, b.Flush())
		finish(t, s)
	}
	assert.Zero(t, testbody.Sum(), "zeroed and aligned")
}

func TestABatchStartsNothingBeforeItIsFullOrFlushed(t *testing.T) {
	const full = 125 // of 8 bytes of argument
	s := newScheduler(t, coro.WithWorkers(2))
	b := add.Batch(s)
	require.NoError(t, b.Flush(), "it is empty")
	for range full - 1 {
		require.NoError(t, b.Add(1))
	}
	finish(t, s)
	assert.Zero(t, testbody.Sum())
	require.NoError(t, b.Add(1))
	finish(t, s)
	assert.EqualValues(t, full, testbody.Sum())
	require.NoError(t, b.Add(1))
	require.NoError(t, b.Flush())
	require.NoError(t, b.Flush())
	finish(t, s)
	assert.EqualValues(t, full+1, testbody.Sum())
}

func TestBatchesOfManyGoroutinesAndFuncsDoNotMix(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	adds, yields, trees := add.Batch(s), yield.Batch(s), tree.Batch(s)
	for range 200 {
		require.NoError(t, adds.Add(1000))
		require.NoError(t, yields.Add(2))
		require.NoError(t, trees.Add(1))
	}
	require.NoError(t, adds.Flush())
	require.NoError(t, yields.Flush())
	require.NoError(t, trees.Flush())
	finish(t, s)
	assert.EqualValues(t, 200*(1000+1+2), testbody.Sum())
	assert.EqualValues(t, 200, testbody.Ran())
}

func TestSpawnSeqStopsAtTheFirstError(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1), coro.WithRecordLimit(1), coro.WithPaused())
	asked := 0
	n, err := add.SpawnSeq(s, func(yield func(int64) bool) {
		for asked < 1_000_000 {
			asked++
			if !yield(1) {
				return
			}
		}
	})
	assert.Equal(t, coro.ErrNoMemory, err)
	assert.Equal(t, n+1, asked, "each but the one that was refused was started")
	require.NoError(t, s.Run(background))
	assert.EqualValues(t, n, testbody.Sum())
}

func TestSpawnContextGivesUpWithItsContext(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1), coro.WithRecordLimit(1), coro.WithPaused())
	assert.Equal(t, context.Canceled, add.SpawnWait(expired, s, 1))
	n, err := add.SpawnN(s, 1_000_000, 0)
	require.Equal(t, coro.ErrNoMemory, err)
	ctx, cancel := context.WithTimeout(background, 10*time.Millisecond)
	defer cancel()
	assert.Equal(t, context.DeadlineExceeded, add.SpawnWait(ctx, s, 1))
	require.NoError(t, s.Run(background))
	assert.EqualValues(t, n, testbody.Ran())
	assert.Zero(t, testbody.Sum(), "nothing was started")
}

func TestSpawnContextEndsWithErrClosed(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1), coro.WithRecordLimit(1))
	n, err := park.SpawnN(s, 1_000_000, coro.None{})
	require.Equal(t, coro.ErrNoMemory, err)
	result := make(chan error)
	go func() { result <- add.SpawnWait(background, s, 1) }()
	parked(t, s, n)
	_ = s.Close(expired)
	assert.Equal(t, coro.ErrClosed, receive(t, result))
}

// full is a scheduler at its record limit, with tasks that park.
func full(t *testing.T) (*coro.Scheduler, []*coro.Task[int32]) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithRecordLimit(1))
	var tasks []*coro.Task[int32]
	for {
		task, err := park.Start(s, coro.None{})
		if err != nil {
			require.Equal(t, coro.ErrNoMemory, err)
			parked(t, s, len(tasks))
			return s, tasks
		}
		tasks = append(tasks, task)
	}
}

// end has tasks end, and takes their results.
func end(t *testing.T, tasks ...*coro.Task[int32]) {
	for _, task := range tasks {
		require.NoError(t, task.Wake())
	}
	for _, task := range tasks {
		_, err := task.Wait(soon(t))
		require.NoError(t, err)
	}
}

// waiting starts n goroutines that wait for memory to start one that parks, one after the other,
// and returns what each gets.
func waiting(t *testing.T, ctx context.Context, s *coro.Scheduler, n int) []chan error {
	results := make([]chan error, n)
	for i := range results {
		results[i] = make(chan error, 1)
		go func() { results[i] <- park.SpawnWait(ctx, s, coro.None{}) }()
		eventually(t, func() bool { return coro.WaitingForMemory(s) == i+1 }, "it waits")
	}
	return results
}

func TestThoseWhoWaitForMemoryAreServedInTheirOrder(t *testing.T) {
	s, tasks := full(t)
	for i, result := range waiting(t, background, s, 40) {
		require.Equal(t, 40-i, coro.WaitingForMemory(s))
		end(t, tasks[i])
		require.NoError(t, receive(t, result), "the one in front")
	}
}

func TestAllWhoWaitForMemoryGetItAsOthersEnd(t *testing.T) {
	s, tasks := full(t)
	const goroutines, each = 100, 50
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for range each {
				assert.NoError(t, add.SpawnWait(soon(t), s, 1))
			}
		})
	}
	eventually(t, func() bool { return coro.WaitingForMemory(s) > goroutines/2 }, "they wait")
	assert.True(t, coro.MemoryIsWanted(s))
	for len(tasks) > 0 && coro.WaitingForMemory(s) > 0 {
		end(t, tasks[0])
		tasks = tasks[1:]
		time.Sleep(100 * time.Microsecond)
	}
	wg.Wait()
	end(t, tasks...)
	finish(t, s)
	assert.EqualValues(t, goroutines*each, testbody.Sum())
	eventually(t, func() bool { return !coro.MemoryIsWanted(s) }, "there is room again")
}

// A worker keeps the credit of coroutines that end there, for those that it may spawn. A worker
// that computes gives it up too.
func TestMemoryInTheHandsOfABusyWorkerIsGivenToThoseWhoWait(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithRecordLimit(1), coro.WithPaused())
	n, err := park.SpawnN(s, smallestRecords-300, coro.None{})
	require.NoError(t, err)
	for range 200 {
		require.NoError(t, add.OnWorker(0).Spawn(s, 1))
	}
	require.NoError(t, spin.OnWorker(0).Spawn(s, coro.None{}))
	ran := make(chan error, 1)
	go func() { ran <- s.Run(background) }() // worker 0 does all of that without a pause
	eventually(t, func() bool { return testbody.Sum() == 200 }, "they end")
	parked(t, s, n)
	for park.OnWorker(1).Spawn(s, coro.None{}) == nil {
		n++
	}
	for range smallestRecords - 1 - n {
		require.NoError(t, park.OnWorker(1).SpawnWait(soon(t), s, coro.None{}), "the rest")
	}
	parked(t, s, smallestRecords-1)
	ctx, cancel := context.WithTimeout(background, 10*time.Millisecond)
	defer cancel()
	require.Equal(t, context.DeadlineExceeded, add.SpawnWait(ctx, s, 1))
	testbody.Stop()
	require.NoError(t, add.SpawnWait(soon(t), s, 1), "that of the one that computed")
	require.Error(t, receive(t, ran), "those that park")
}

func TestThoseWhoWaitForMemoryCanGiveUp(t *testing.T) {
	s, tasks := full(t)
	ctx, cancel := context.WithCancelCause(background)
	given := waiting(t, ctx, s, 20)
	last := make(chan error, 1)
	go func() { last <- add.SpawnWait(background, s, 1) }()
	eventually(t, func() bool { return coro.WaitingForMemory(s) == 21 }, "it waits")
	cancel(errEnough)
	for _, result := range given {
		require.ErrorIs(t, receive(t, result), errEnough)
	}
	require.Equal(t, 1, coro.WaitingForMemory(s))
	end(t, tasks[0])
	require.NoError(t, receive(t, last))
	end(t, tasks[1:]...)
	finish(t, s)
	assert.EqualValues(t, 1, testbody.Sum(), "nothing was started for those who gave up")
}

func TestCloseEndsTheWaitForMemory(t *testing.T) {
	goroutines := runtime.NumGoroutine()
	s, tasks := full(t)
	results := waiting(t, background, s, 20)
	closedEarly(t, s.Close(expired))
	for _, result := range results {
		require.Equal(t, coro.ErrClosed, receive(t, result))
	}
	require.Equal(t, coro.ErrClosed, add.SpawnWait(background, s, 1))
	for _, task := range tasks {
		_, err := task.Wait(soon(t))
		require.NoError(t, err)
	}
	require.NoError(t, s.Close(soon(t)))
	eventually(t, func() bool { return runtime.NumGoroutine() <= goroutines },
		"no goroutine is left")
}

// No credit is lost or made where the ends of coroutines, of contexts and of waits meet.
func TestNoMemoryIsLostWhileManyWaitAndGiveUp(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithRecordLimit(1))
	n, err := park.SpawnN(s, smallestRecords-1000, coro.None{})
	require.NoError(t, err)
	parked(t, s, n)
	var started atomic.Int64
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			for k := range scaled(200) {
				patience := time.Duration(i*k%97) * 10 * time.Microsecond
				ctx, cancel := context.WithTimeout(background, patience)
				switch err := yield.SpawnWait(ctx, s, 3); err {
				case nil:
					started.Add(1)
				default:
					assert.Equal(t, context.DeadlineExceeded, err)
				}
				cancel()
			}
		})
	}
	for range scaled(200) { // others come and go
		n, _ := yield.SpawnN(s, 1000, 1)
		started.Add(int64(n))
	}
	wg.Wait()
	eventually(t, func() bool { return testbody.Sum() == started.Load() },
		"all that were started run")
	eventually(t, func() bool { return s.Stats().Live == n }, "and end, but those that park")
	s.Trim() // all that is in hand
	more, err := park.SpawnN(s, 20_000, coro.None{})
	require.Equal(t, coro.ErrNoMemory, err)
	assert.Equal(t, smallestRecords-n, more)
}

// result runs one coroutine of f.
func result[A, R any](t *testing.T, s *coro.Scheduler, f coro.Func[A, R], arg A) R {
	t.Helper()
	task, err := f.Start(s, arg)
	require.NoError(t, err)
	got, err := task.Wait(soon(t))
	require.NoError(t, err)
	return got
}

func TestATypedBodyRunsByItsDescriptionAndByItsPointer(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	for _, entry := range []unsafe.Pointer{testbody.Plus, testbody.PlainPlus} {
		f, err := coro.NewFunc[testbody.Pair, int64](entry)
		require.NoError(t, err)
		assert.EqualValues(t, 1<<40-2, result(t, s, f, testbody.Pair{Small: -2, Large: 1 << 40}))
	}
	idle := coro.MustFunc[coro.None, coro.None](testbody.Idle)
	n, err := idle.SpawnN(s, 1000, coro.None{})
	require.NoError(t, err)
	assert.Equal(t, 1000, n)
	require.NoError(t, s.Wait(soon(t)))
}

func TestADescriptionRefusesTypesOfAnotherLayout(t *testing.T) {
	type (
		short  [2]int32
		bytes  [16]byte
		halves [4]int32
	)
	refused := func(err error, value any, words ...string) {
		t.Helper()
		optionError(t, err, "NewFunc", words...)
		var e *coro.OptionError
		if errors.As(err, &e) {
			assert.Equal(t, value, e.Value)
		}
	}
	_, err := coro.NewFunc[short, int64](testbody.Plus)
	refused(err, reflect.TypeFor[short](), "has 8 bytes, aligned to 4, but the argument of the C body "+
		"testbody_plus has 16 bytes, aligned to 8")
	_, err = coro.NewFunc[bytes, int64](testbody.Plus)
	refused(err, reflect.TypeFor[bytes](), "has 16 bytes, aligned to 1, but the argument")
	_, err = coro.NewFunc[halves, int64](testbody.Plus)
	refused(err, reflect.TypeFor[halves](), "has 16 bytes, aligned to 4, but the argument")
	_, err = coro.NewFunc[testbody.Pair, int32](testbody.Plus)
	refused(err, reflect.TypeFor[int32](), "has 4 bytes, aligned to 4, but the result of the C body "+
		"testbody_plus has 8 bytes, aligned to 8")
	_, err = coro.NewFunc[coro.None, int64](testbody.Plus)
	refused(err, reflect.TypeFor[coro.None](), "has no bytes, but the argument of the C body testbody_plus "+
		"has 16 bytes, aligned to 8")
	_, err = coro.NewFunc[int64, coro.None](testbody.Idle)
	refused(err, reflect.TypeFor[int64](), "the C body testbody_idle has no argument: use coro.None")
	_, err = coro.NewFunc[coro.None, byte](testbody.Idle)
	refused(err, reflect.TypeFor[byte](), "the C body testbody_idle has no result: use coro.None")
	assert.Panics(t, func() { coro.MustFunc[short, int64](testbody.Plus) })

	// as many bytes of nothing as one likes
	_, err = coro.NewFunc[[0]int64, struct{ _, _ coro.None }](testbody.Idle)
	assert.NoError(t, err)
}

func TestWhatIsNeitherAFunctionNorADescriptionIsRefused(t *testing.T) {
	_, err := coro.NewFunc[coro.None, coro.None](nil)
	optionError(t, err, "NewFunc", "needs a C function")
	good := testbody.Strange(-1)
	_, err = coro.NewFunc[coro.None, coro.None](good)
	require.NoError(t, err)
	for way := range testbody.StrangeWays {
		_, err := coro.NewFunc[coro.None, coro.None](testbody.Strange(way))
		if way == testbody.MagicWay {
			optionError(t, err, "NewFunc", "is a variable, and none that CORO_BODY")
		} else {
			optionError(t, err, "NewFunc", "is described as CORO_BODY never does")
		}
	}
	_, err = coro.NewFunc[coro.None, coro.None](unsafe.Add(testbody.Plus, 8))
	optionError(t, err, "NewFunc", "pass unsafe.Pointer(&C.x_body)")
	_, err = coro.NewFunc[coro.None, coro.None](unsafe.Pointer(&typedVariable))
	optionError(t, err, "NewFunc", "is a variable")
}

var typedVariable = 1 // of Go

func TestAFuncHasTheStackThatItsBodyWishes(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1), coro.WithStack(16<<10))
	room := func(opts ...coro.FuncOption) int {
		f := coro.MustFunc[coro.None, uint64](testbody.DeepRoom, opts...)
		return int(result(t, s, f, coro.None{}))
	}
	assert.InDelta(t, 64<<10, room(), 8<<10)
	assert.InDelta(t, 64<<10, room(coro.FuncStack(64<<10)), 8<<10)
	assert.InDelta(t, 128<<10, room(coro.FuncStack(128<<10)), 8<<10, "an option may give more")
	_, err := coro.NewFunc[coro.None, uint64](testbody.DeepRoom, coro.FuncStack(64<<10-1))
	optionError(t, err, "FuncStack", "less than the 65536 bytes", "testbody_deep_room")
	_, err = coro.NewFunc[coro.None, uint64](testbody.DeepRoom, coro.FuncDense())
	optionError(t, err, "FuncDense", "the 65536 bytes of stack", "testbody_deep_room")
}

func TestAFuncIsDenseIfItsBodySaysSo(t *testing.T) {
	const shared = 256 << 10
	s := newScheduler(t, coro.WithWorkers(1), coro.WithSharedStacks(2, shared))
	for _, opts := range [][]coro.FuncOption{nil, {coro.FuncDense()}, {coro.FuncBrief()}} {
		f := coro.MustFunc[coro.None, uint64](testbody.DenseRoom, opts...)
		assert.Greater(t, result(t, s, f, coro.None{}), uint64(shared/2), "it runs on a shared stack")
	}
	_, err := coro.NewFunc[coro.None, uint64](testbody.DenseRoom, coro.FuncStack(coro.StackMin))
	optionError(t, err, "FuncStack", "does not go with CORO_DENSE of the C body testbody_dense_room")
	_, err = coro.NewFunc[coro.None, uint64](testbody.StackLeft, coro.FuncDense(),
		coro.FuncStack(coro.StackMin))
	optionError(t, err, "FuncStack", "does not go with FuncDense")
	_, err = coro.NewFunc[coro.None, uint64](testbody.StackLeft, coro.FuncStack(coro.StackMin),
		coro.FuncDense())
	optionError(t, err, "FuncDense", "does not go with FuncStack")
}

// The flag is declared in C or in Go, and the core's side of a Func has it.
func TestABriefFuncIsDeclaredInCOrInGo(t *testing.T) {
	brief := func(entry unsafe.Pointer, opts ...coro.FuncOption) bool {
		f := coro.MustFunc[coro.None, coro.None](entry, opts...)
		assert.Zero(t, coro.SpecOf(f).Flags, "it is spawned in batches")
		return coro.SpecOf(f).Brief
	}
	assert.True(t, brief(testbody.Idle))
	assert.False(t, brief(testbody.Stuck))
	assert.True(t, brief(testbody.Stuck, coro.FuncBrief()))
	assert.True(t, brief(testbody.Empty, coro.FuncBrief()))
	assert.False(t, brief(testbody.Empty))
}

func TestATypedBodyHasItsCNameInReports(t *testing.T) {
	stuck := func(opts ...coro.FuncOption) (coro.Func[coro.None, coro.None], error) {
		return coro.NewFunc[coro.None, coro.None](testbody.Stuck, opts...)
	}
	name := func(opts ...coro.FuncOption) string {
		f, err := stuck(opts...)
		require.NoError(t, err)
		s := newScheduler(t, coro.WithPaused(), coro.WithWorkers(1))
		defer func() {
			ctx, cancel := context.WithCancel(background)
			cancel()
			_ = s.Close(ctx)
		}()
		require.NoError(t, f.Spawn(s, coro.None{}))
		var deadlock *coro.DeadlockError
		require.ErrorAs(t, s.Run(soon(t)), &deadlock)
		require.Len(t, deadlock.Blocked, 1)
		return deadlock.Blocked[0].Func
	}
	assert.Equal(t, "testbody_stuck", name())
	_, err := stuck(coro.FuncName("refused"), coro.FuncStack(1))
	optionError(t, err, "FuncStack")
	assert.Equal(t, "testbody_stuck", name())
	assert.Equal(t, "given", name(coro.FuncName("given")))
	assert.Equal(t, "given", name(), "the C name takes no given name's place")
	assert.Equal(t, "testbody_stuck", name(coro.FuncName("testbody_stuck")), "as before the test")
}

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
