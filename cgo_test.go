//go:build cgo

package coro_test

import (
	"math"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// turns starts a body with an argument and a result of type B, and checks every byte of both.
func turns[B any](t *testing.T, s *coro.Scheduler) {
	var arg, want B
	n := int(unsafe.Sizeof(arg))
	in, out := unsafe.Slice((*byte)(unsafe.Pointer(&arg)),
		n), unsafe.Slice((*byte)(unsafe.Pointer(&want)), n)
	for i := range in {
		in[i] = byte(17*i + n)
		out[n-1-i] = ^in[i]
	}
	f, err := coro.NewFunc[B, B](testbody.Turn(n))
	require.NoError(t, err)
	for range 3 { // a record's second and third user must find it clean
		task, err := f.Start(s, arg)
		require.NoError(t, err)
		got, err := task.Wait(soon(t))
		require.NoError(t, err)
		assert.Equal(t, want, got, "%d bytes", n)
		got, err = f.Call(background, s, arg)
		require.NoError(t, err)
		assert.Equal(t, want, got, "%d bytes, by Call", n)
	}
}

func TestArgumentsAndResultsOfEverySizeArriveWhole(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	for _, turn := range []func(*testing.T, *coro.Scheduler){
		turns[[1]byte], turns[[2]byte], turns[[3]byte], turns[[4]byte], turns[[5]byte],
		turns[[6]byte], turns[[7]byte],
		turns[[8]byte], turns[[9]byte], turns[[10]byte], turns[[11]byte], turns[[12]byte],
		turns[[13]byte],
		turns[[14]byte], turns[[15]byte], turns[[16]byte], turns[[17]byte], turns[[18]byte],
		turns[[19]byte],
		turns[[20]byte], turns[[21]byte], turns[[22]byte], turns[[23]byte], turns[[24]byte],
		turns[[25]byte],
		turns[[26]byte], turns[[27]byte], turns[[28]byte], turns[[29]byte], turns[[30]byte],
		turns[[31]byte],
		turns[[32]byte], turns[[33]byte], turns[[34]byte], turns[[35]byte], turns[[36]byte],
		turns[[37]byte],
		turns[[38]byte], turns[[39]byte], turns[[40]byte], turns[[41]byte], turns[[42]byte],
		turns[[43]byte],
		turns[[44]byte], turns[[45]byte], turns[[46]byte], turns[[47]byte], turns[[48]byte],
		turns[int8], turns[uint16], turns[int32], turns[uint64], turns[uintptr],
		turns[[6]int64],
		turns[[12]int32],
		turns[struct{ A, B, C uint16 }], turns[struct {
			A uint64
			B [2]struct{ X, Y uint64 }
		}],
	} {
		turn(t, s)
	}
	assert.Zero(t, testbody.Sum(), "results zeroed, all aligned to 16")
}

func TestStructsHaveTheLayoutOfC(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	require.EqualValues(t, unsafe.Sizeof(testbody.Mixed{}), testbody.MixedBytes)
	f := coro.MustFunc[testbody.Mixed, testbody.Mixed](testbody.Mix)
	task, err := f.Start(s, testbody.Mixed{
		D: math.Pi, F: 3, I8: -7, U16: 0x1234, I32: [3]int32{1, 2,
			math.MinInt32}, B: true, U64: math.MaxUint64,
	})
	require.NoError(t, err)
	got, err := task.Wait(soon(t))
	require.NoError(t, err)
	assert.Equal(t, testbody.Mixed{
		D: 2 * math.Pi, F: 1.5, I8: 7, U16: 0xedcb, I32: [3]int32{math.MinInt32, 2, 1},
	}, got)
}

func TestArgumentsMayBeAnywhereInGoMemory(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	f := coro.MustFunc[[8]byte, [8]byte](testbody.Turn(8))
	args := make([]byte, 9)
	for i := range 2 { // one of the two is not aligned
		a := (*[8]byte)(args[i:])
		a[0] = 5
		task, err := f.Start(s, *a)
		require.NoError(t, err)
		got, err := task.Wait(soon(t))
		require.NoError(t, err)
		assert.Equal(t, ^byte(5), got[7])
		a[0] = 0
	}
}

func refused[A, R any](t *testing.T, words ...string) {
	t.Helper()
	f, err := coro.NewFunc[A, R](testbody.Empty)
	optionError(t, err, "NewFunc", words...)
	assert.Panics(t, func() { coro.MustFunc[A, R](testbody.Empty) })
	assert.Equal(t, coro.Func[A, R]{}, f)
}

func TestTypesThatHoldPointersAreRefused(t *testing.T) {
	refused[*int, coro.None](t, "*int", "uintptr")
	refused[coro.None, *int](t, "*int", "uintptr")
	refused[string, coro.None](t, "string", "points into Go")
	refused[[]byte, coro.None](t, "[]uint8")
	refused[map[int]int, coro.None](t, "map[int]int")
	refused[chan int, coro.None](t, "chan int")
	refused[func(), coro.None](t, "func()")
	refused[any, coro.None](t, "interface")
	refused[error, coro.None](t, "error")
	refused[unsafe.Pointer, coro.None](t, "unsafe.Pointer")
	refused[[2]struct{ X [1]struct{ P *int8 } }, coro.None](t, "*int8")
	refused[coro.None, struct {
		N int
		S string
	}](t, "string")
}

func TestTypesThatAreTooLargeAreRefused(t *testing.T) {
	refused[[4097]byte, coro.None](t, "4097 bytes", "at most 4096", "address of C memory")
	refused[coro.None, [513]int64](t, "4104 bytes")
	refused[[1 << 16]byte, coro.None](t, "65536 bytes")
	refused[struct {
		A [512]int64
		B bool
	}, coro.None](t, "4104 bytes")
}

func TestTypesWithoutPointersAreAccepted(t *testing.T) {
	for _, err := range []error{
		second(coro.NewFunc[[0]*int, [0]string](testbody.Empty)),
		second(coro.NewFunc[struct{ _ [0]func() }, coro.None](testbody.Empty)),
		second(coro.NewFunc[complex128, float32](testbody.Empty)),
		second(coro.NewFunc[[48]byte, [6]uint64](testbody.Empty)),
		second(coro.NewFunc[coro.Handle, bool](testbody.Empty)),
	} {
		assert.NoError(t, err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestANilFunctionIsRefused(t *testing.T) {
	_, err := coro.NewFunc[int64, int64](nil)
	optionError(t, err, "NewFunc", "C function")
}

func TestTheZeroFuncIsRefusedByEveryCall(t *testing.T) {
	s := newScheduler(t)
	var zero coro.Func[int64, int64]
	optionError(t, zero.Spawn(s, 1), "Func", "NewFunc")
	optionError(t, zero.SpawnWait(background, s, 1), "Func", "NewFunc")
	n, err := zero.SpawnN(s, 10, 1)
	optionError(t, err, "Func", "NewFunc")
	assert.Zero(t, n)
	n, err = zero.SpawnSeq(s, func(yield func(int64) bool) { yield(1) })
	optionError(t, err, "Func", "NewFunc")
	assert.Zero(t, n)
	b := zero.Batch(s)
	optionError(t, b.Add(1), "Func", "NewFunc")
	assert.NoError(t, b.Flush(), "it is empty")
	_, err = zero.Start(s, 1)
	optionError(t, err, "Func", "NewFunc")
	finish(t, s)
}

func TestSpawningAllocatesNothing(t *testing.T) {
	if instrumented {
		t.Skip("detectors allocate")
	}
	s := newScheduler(t, coro.WithWorkers(1))
	large := coro.MustFunc[[48]byte, coro.None](testbody.Empty)
	b := add.Batch(s)
	for name, f := range map[string]func(){
		"Spawn":      func() { _ = add.Spawn(s, 1) },
		"Spawn None": func() { _ = empty.Spawn(s, coro.None{}) },
		"Spawn 48":   func() { _ = large.Spawn(s, [48]byte{}) },
		"Batch.Add":  func() { _ = b.Add(1) },
		"Flush":      func() { _ = b.Add(1); _ = b.Flush() },
	} {
		assert.Zero(t, testing.AllocsPerRun(1000, f), name)
	}
	assert.LessOrEqual(t, testing.AllocsPerRun(10, func() {
		_, _ = add.SpawnN(s, 1000, 1)
	}), 1.0, "SpawnN")
	require.NoError(t, b.Flush())
	finish(t, s)
}

func TestBodiesSpawnYieldParkWakeAndJoin(t *testing.T) {
	for workers := 1; workers <= 3; workers++ {
		s := newScheduler(t, coro.WithWorkers(workers))
		var tasks []*coro.Task[int64]
		for n := range int64(50) {
			task, err := family.Start(s, n)
			require.NoError(t, err)
			tasks = append(tasks, task)
		}
		for n, task := range tasks {
			got, err := task.Wait(soon(t))
			require.NoError(t, err)
			n := int64(n)
			assert.Equal(t, (n-1)*n*(2*n-1)/6, got, "the sum of the squares below %d",
				n)
		}
		finish(t, s)
	}
}

func TestATreeOfCoroutinesEndsExactly(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	const depth = 14
	for range scaled(8) {
		testbody.Reset()
		before := s.Stats()
		require.NoError(t, tree.Spawn(s, depth))
		finish(t, s)
		assert.EqualValues(t, 1<<depth, testbody.Sum())
		var spawned, ended uint64
		after := s.Stats()
		for i, w := range after.PerWorker {
			spawned += w.Spawned - before.PerWorker[i].Spawned
			ended += w.Ended - before.PerWorker[i].Ended
		}
		assert.EqualValues(t, 2<<depth-1, spawned)
		assert.EqualValues(t, 2<<depth-1, ended)
	}
}

// garbage makes the collector run all the time, with pointers everywhere.
func garbage(t *testing.T) {
	old := debug.SetGCPercent(5)
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		var keep [64]*[1 << 10]*byte
		for i := 0; !stop.Load(); i++ {
			keep[i%len(keep)] = new([1 << 10]*byte)
			if i%16 == 0 {
				runtime.GC()
			}
		}
	}()
	t.Cleanup(func() {
		stop.Store(true)
		<-done
		debug.SetGCPercent(old)
	})
}

func TestResultsSurviveAHardWorkingCollector(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	garbage(t)
	var want int64
	for round := range int64(scaled(60)) {
		b := add.Batch(s)
		var tasks []*coro.Task[int64]
		for i := range int64(100) {
			require.NoError(t, b.Add(i))
			require.NoError(t, add.Spawn(s, i))
			want += 2 * i
			task, err := square.Start(s, round+i)
			require.NoError(t, err)
			tasks = append(tasks, task)
		}
		require.NoError(t, b.Flush())
		grow(int(round%40), new([512]byte))
		for i, task := range tasks {
			got, err := task.Wait(soon(t))
			require.NoError(t, err)
			x := round + int64(i)
			require.Equal(t, x*x, got)
		}
	}
	finish(t, s)
	assert.Equal(t, want, testbody.Sum())
}

// grow makes the goroutine's stack grow, and so move.
//
//go:noinline
func grow(n int, above *[512]byte) byte {
	if n == 0 {
		return above[0]
	}
	var pad [512]byte
	pad[n] = above[n]
	return grow(n-1, &pad) + pad[n]
}

func TestTheMakerOfInlineCallsIsRegisteredOnce(t *testing.T) {
	assert.Panics(t, func() { core.RegisterInline(nil) })
}
