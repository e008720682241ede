//go:build cgo

package coro_test

import (
	"context"
	"errors"
	"math"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
)

func TestNumbersInOptionsAreChecked(t *testing.T) {
	for _, c := range []struct {
		what   string
		option func(int) coro.Option
		bad    []int
		good   []int
	}{
		{"Tuning.StealBatch", func(n int) coro.Option {
			return coro.WithTuning(coro.Tuning{StealBatch: n})
		},
			[]int{-1, 65, math.MaxInt, math.MinInt}, []int{0, 1, 32, 64}},
		{"Tuning.HandoverBudget", func(n int) coro.Option {
			return coro.WithTuning(coro.Tuning{HandoverBudget: n})
		},
			[]int{-2, 1<<30 + 1, math.MaxInt, math.MinInt}, []int{-1, 0, 1, 1 << 30}},
		{"Tuning.StackCache", func(n int) coro.Option {
			return coro.WithTuning(coro.Tuning{StackCache: n})
		},
			[]int{-1, 1<<16 + 1, math.MaxInt, math.MinInt}, []int{0, 1, 2, 1 << 16}},
		{"WithStack", coro.WithStack, []int{0, -1, 4095, 8<<20 + 1, math.MaxInt,
			math.MinInt}, []int{4096, 4097, 8 << 20}},
		{"WithStackLimit", coro.WithStackLimit, []int{0, -1, math.MinInt},
			[]int{1 << 20, math.MaxInt}},
		{"WithRecordLimit", coro.WithRecordLimit, []int{0, -1, math.MinInt},
			[]int{1, 1 << 21, math.MaxInt}},
		{"WithBlockingThreads", coro.WithBlockingThreads,
			[]int{0, -1, 1<<16 + 1, math.MaxInt, math.MinInt}, []int{1, 2, 1 << 16}},
	} {
		for _, n := range c.bad {
			_, err := coro.New(c.option(n))
			optionError(t, err, c.what, "must be from ")
			var e *coro.OptionError
			if errors.As(err, &e) {
				assert.Equal(t, n, e.Value)
			}
		}
		for _, n := range c.good {
			s := newScheduler(t, coro.WithWorkers(2), c.option(n))
			_, err := yield.SpawnN(s, 1000, 2)
			require.NoError(t, err)
			finish(t, s)
			assert.EqualValues(t, 1000, testbody.Sum(), "%s(%d)", c.what, n)
			require.NoError(t, s.Close(background))
		}
	}
}

func TestTheFirstBadOptionIsReportedAndNothingStarts(t *testing.T) {
	_, err := coro.New(coro.WithName("refused"), coro.WithWorkers(1), coro.WithStack(1),
		coro.WithWorkers(-1))
	optionError(t, err, "WithStack", "from 4096 to 8388608")
	assert.Zero(t, threads(t, "refused/"))
}

func TestALaterOptionWins(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(5), coro.WithWorkers(1),
		coro.WithTuning(coro.Tuning{NoMembarrier: true}),
		coro.WithTuning(coro.Tuning{HandoverBudget: 9}))
	assert.Equal(t, 1, s.Workers())
	assert.Equal(t, newScheduler(t).Stats().Membarrier, s.Stats().Membarrier,
		"all of a Tuning is replaced")
}

func TestTheSizeOfAFuncsStackIsChecked(t *testing.T) {
	for _, n := range []int{0, -1, 4095, 8<<20 + 1, math.MaxInt, math.MinInt} {
		_, err := coro.NewFunc[coro.None, coro.None](testbody.Empty, coro.FuncStack(n))
		optionError(t, err, "FuncStack", "from 4096 to 8388608")
	}
}

// room is the number of bytes of stack that a coroutine has at its start.
func room(t *testing.T, s *coro.Scheduler, opts ...coro.FuncOption) int {
	t.Helper()
	f, err := coro.NewFunc[coro.None, uint64](testbody.StackLeft, opts...)
	require.NoError(t, err)
	task, err := f.Start(s, coro.None{})
	require.NoError(t, err)
	left, err := task.Wait(soon(t))
	require.NoError(t, err)
	return int(left)
}

func TestStacksHaveAtLeastTheSizeAskedFor(t *testing.T) {
	for _, n := range []int{4096, 4097, 10_000, 64 << 10, 1<<20 + 1, 8 << 20} {
		s := newScheduler(t, coro.WithWorkers(1), coro.WithStack(n))
		left := room(t, s)
		assert.GreaterOrEqual(t, left, n, "WithStack(%d)", n)
		assert.Less(t, left, 2*n+8192)
		assert.Less(t, room(t, s, coro.FuncStack(4096)), 3*4096,
			"a Func's own size comes first")
		assert.GreaterOrEqual(t, room(t, s, coro.FuncStack(3<<20)), 3<<20)
		assert.GreaterOrEqual(t, room(t, s), n)
	}
	assert.GreaterOrEqual(t, room(t, newScheduler(t)), coro.StackDefault)
}

func TestBothKindsOfDoorsCanBeChosen(t *testing.T) {
	assert.False(t, newScheduler(t, coro.WithTuning(
		coro.Tuning{NoMembarrier: true})).Stats().Membarrier)
}

func TestAStallIsReportedWhileAGoroutineMayStillHelp(t *testing.T) {
	stalls := make(chan int, 100)
	s := newScheduler(t, coro.WithWorkers(2), coro.WithStallHook(func(blocked int) {
		stalls <- blocked
	}))
	for n := 1; n <= 3; n++ { // again after new work
		_, err := park.Start(s, coro.None{})
		require.NoError(t, err)
		require.NoError(t, add.Spawn(s, 1))
		for blocked := 0; blocked != n; {
			blocked = receive(t, stalls)
		}
		eventually(t, func() bool {
			st := s.Stats()
			return st.Stalled && st.Live == n
		}, "%d stalled", n)
	}
	list, n := s.Blocked(10)
	require.Equal(t, 3, n)
	for _, b := range list {
		require.NoError(t, b.Handle.Wake())
	}
	finish(t, s)
	assert.False(t, s.Stats().Stalled)
}

func TestAnEndIsNoStall(t *testing.T) {
	stalls := make(chan int, 100)
	s := newScheduler(t, coro.WithWorkers(2), coro.WithStallHook(func(blocked int) {
		stalls <- blocked
	}))
	for range 20 {
		require.NoError(t, tree.Spawn(s, 6))
		finish(t, s)
	}
	require.NoError(t, s.Close(background))
	assert.Empty(t, stalls)
}

func receive[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-soon(t).Done():
		require.Fail(t, "nothing came")
		panic("unreachable")
	}
}

// A nil option is an *OptionError of the call that has it, in each call that has options.
func TestNilOptions(t *testing.T) {
	_, err := coro.New(coro.WithWorkers(1), nil)
	optionError(t, err, "New", "nil", "leave it out")
	_, err = coro.NewFunc[coro.None, coro.None](testbody.Empty, nil)
	optionError(t, err, "NewFunc", "nil")
	s := newScheduler(t)
	_, err = coro.Go(s, func(*coro.Coroutine) (int, error) { return 0, nil }, coro.AsDaemon(), nil)
	optionError(t, err, "Go", "nil")
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	_, err = coro.GoContext(ctx, s, func(*coro.Coroutine) (int, error) { return 0, nil }, nil)
	optionError(t, err, "Go", "nil")
	l := listen(t, "tcp")
	optionError(t, s.Serve(ctx, l, serveEcho, nil), "Serve", "nil")
	_, err = l.Accept()
	require.ErrorIs(t, err, net.ErrClosed, "Serve closes its listener in each case")
}

// How functions of the program's fail.
var badEnds = map[string]func(){
	"panic":  func() { panic("of a hook, by a test") },
	"Goexit": runtime.Goexit,
}

func hookFailures(t *testing.T, s *coro.Scheduler, n uint64) {
	t.Helper()
	eventually(t, func() bool { return s.Stats().HookFailures == n }, "%d failures of hooks", n)
}

func TestAStallHookThatFailsHarmsNothing(t *testing.T) {
	for name, fail := range badEnds {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, coro.WithWorkers(1),
				coro.WithStallHook(func(int) { fail() }))
			for n := range uint64(2) { // the next one is called too
				task, err := park.Start(s, coro.None{})
				require.NoError(t, err)
				hookFailures(t, s, n+1)
				require.NoError(t, task.Wake())
				_, err = task.Wait(soon(t))
				require.NoError(t, err)
			}
			finish(t, s)
		})
	}
}

func TestASlowCallHookThatFailsHarmsNothing(t *testing.T) {
	for name, fail := range badEnds {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, coro.WithWorkers(1), coro.WithSlowCallHook(time.Millisecond,
				func(coro.SlowCall) { fail() }))
			slow := coro.MustExportFunc(func(context.Context, int64) (int64, error) {
				eventually(t, func() bool { return s.Stats().HookFailures > 0 },
					"it is reported")
				return 0, nil
			})
			calling(t, s, testbody.Offload, slow, 0)
			finish(t, s)
		})
	}
}

// An exitingError ends the goroutine that asks it.
type exitingError struct{ method string }

func (e exitingError) Error() string {
	if e.method == "Error" {
		runtime.Goexit()
	}
	return "of a test"
}

func (e exitingError) Is(error) bool {
	if e.method == "Is" {
		runtime.Goexit()
	}
	return false
}

func (e exitingError) As(any) bool {
	if e.method == "As" {
		runtime.Goexit()
	}
	return false
}

func TestAnErrorOfABodyThatEndsTheGoroutineHarmsNothing(t *testing.T) {
	for _, method := range []string{"Error", "Is", "As"} {
		t.Run(method, func(t *testing.T) {
			s := newScheduler(t, coro.WithWorkers(1), coro.WithExecutors(1))
			for range 3 {
				task, err := coro.Go(s, func(c *coro.Coroutine) (int, error) {
					if method == "Is" {
						_ = c.Handle().Cancel() // else nobody asks
					}
					return 0, exitingError{method}
				})
				require.NoError(t, err)
				_, err = task.Wait(soon(t))
				assert.Equal(t, exitingError{method}, err)
			}
			require.EqualValues(t, 3, s.Stats().Bodies.Failed)
			finish(t, s)
		})
	}
}

// A duration that is tuning stands in tuning.go, where it has its reason. Bounds and defaults of
// options stand with these.
func TestDurationsStandInTuning(t *testing.T) {
	duration := regexp.MustCompile(`([0-9] ?\* ?|= )time\.((Nano|Micro|Milli)?[Ss]econd|Minute|Hour)\b`)
	require.Regexp(t, duration, "for pause := 5 * time.Millisecond; ; {")
	require.Regexp(t, duration, "\tgrace  = time.Second")
	require.NotRegexp(t, duration, "d = 2*time.Duration(n); at = time.Now()")
	for _, dir := range []string{".", "actor", "x/nats"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		require.NoError(t, err)
		if files == nil && dir == "x/nats" {
			continue // a module of its own, which this module's zip does not have
		}
		require.Contains(t, files, filepath.Join(dir, "tuning.go"))
		for _, file := range files {
			switch base := filepath.Base(file); {
			case strings.HasSuffix(base, "_test.go"), base == "tuning.go", base == "options.go":
				continue
			}
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			for i, line := range strings.Split(string(text), "\n") {
				code, _, _ := strings.Cut(line, "//")
				assert.NotRegexp(t, duration, code, "%s:%d", file, i+1)
			}
		}
	}
}
