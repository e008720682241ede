//go:build cgo

package coro_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"unsafe"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
