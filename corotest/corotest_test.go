//go:build cgo

package corotest_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/organzine/coro"
	"github.com/organzine/coro/corotest"
	"github.com/organzine/coro/generator"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	background = context.Background()
	park       = coro.MustFunc[coro.None, int32](testbody.Park, coro.FuncName("park"))
	square     = coro.MustFunc[int64, int64](testbody.Square)
)

// A fakeTB is a test that can fail without harm.
type fakeTB struct {
	testing.TB
	cleanups []func()
	errors   []string
}

func (t *fakeTB) Helper()          {}
func (t *fakeTB) Cleanup(f func()) { t.cleanups = append(t.cleanups, f) }
func (t *fakeTB) Errorf(format string, args ...any) {
	t.errors = append(t.errors, fmt.Sprintf(format, args...))
}

// verify runs a test under VerifyNone and returns the errors that it comes to.
func verify(test func()) []string {
	t := &fakeTB{}
	corotest.VerifyNone(t)
	test()
	for len(t.cleanups) > 0 {
		last := t.cleanups[len(t.cleanups)-1]
		t.cleanups = t.cleanups[:len(t.cleanups)-1]
		last()
	}
	return t.errors
}

// verifyLeaks is verify of a test that leaks things that will not end by themselves.
func verifyLeaks(test func()) []string {
	defer corotest.Hurry()()
	return verify(test)
}

// leaked checks that there is one error for each of the wants, which it contains, and that each
// error names the function that made the thing.
func leaked(t *testing.T, errors []string, by string, wants ...string) {
	t.Helper()
	require.Len(t, errors, len(wants), "%s", errors)
	for _, want := range wants {
		found := false
		for _, e := range errors {
			found = found || strings.Contains(e, want) && strings.Contains(e, by) &&
				strings.Contains(e, "corotest_test.go:")
		}
		assert.True(t, found, "%q by %q in %s", want, by, errors)
	}
	for _, e := range errors {
		_, trace, _ := strings.Cut(e, "made by\n")
		assert.NotContains(t, strings.SplitN(trace, "corotest_test", 2)[0],
			"organzine/coro.", "the calls of the library are left out")
	}
}

func newScheduler(t *testing.T, opts ...coro.Option) *coro.Scheduler {
	t.Helper()
	s, err := coro.New(append(opts, coro.WithWorkers(2))...)
	require.NoError(t, err)
	return s
}

func closeNow(t *testing.T, s *coro.Scheduler) {
	t.Helper()
	ctx, cancel := context.WithCancel(background)
	cancel()
	_ = s.Close(ctx)
	require.NoError(t, s.Close(background))
}

func parked(t *testing.T, s *coro.Scheduler, n int) {
	t.Helper()
	for _, count := s.Blocked(0); count != n; _, count = s.Blocked(0) {
		runtime.Gosched()
	}
}

func TestNothingIsLeftOfWhatWasClosed(t *testing.T) {
	assert.Empty(t, verify(func() {}))
	assert.Empty(t, verify(func() {
		s := newScheduler(t)
		for i := range int64(10_000) { // more than are remembered
			task, err := square.Start(s, i)
			require.NoError(t, err)
			got, err := task.Wait(background)
			require.NoError(t, err)
			require.Equal(t, i*i, got)
		}
		require.NoError(t, park.Spawn(s, coro.None{}))
		n, err := square.SpawnN(s, 1000, 5)
		require.NoError(t, err)
		assert.Equal(t, 1000, n)
		b := square.Batch(s)
		require.NoError(t, b.Add(1))
		require.NoError(t, b.Flush())
		body, err := coro.Go(s, func(c *coro.Coroutine) (int, error) {
			return 5, c.Yield()
		})
		require.NoError(t, err)
		_, err = body.Wait(background)
		require.NoError(t, err)
		g, err := generator.New(testbody.Count, 3, 0)
		require.NoError(t, err)
		require.NoError(t, g.Close())
		closeNow(t, s)
	}))
}

func TestASchedulerThatIsNotClosedIsLeft(t *testing.T) {
	var s *coro.Scheduler
	errors := verifyLeaks(func() { s = makeScheduler(t) })
	leaked(t, errors, "makeScheduler", "scheduler, not closed: 2 worker threads, 0 coroutines")
	closeNow(t, s)
	assert.Empty(t, verify(func() { closeNow(t, s) }), "it is another's")
}

func makeScheduler(t *testing.T) *coro.Scheduler { return newScheduler(t) }

func TestACoroutineThatHasNotEndedIsLeft(t *testing.T) {
	s := newScheduler(t)
	defer closeNow(t, s)
	errors := verifyLeaks(func() { startParked(t, s) })
	leaked(t, errors, "startParked", "coroutine that has not ended, of a task")

	ctx, cancel := context.WithCancel(background)
	errors = verifyLeaks(func() {
		_, err := park.StartContext(ctx, s, coro.None{})
		require.NoError(t, err)
	})
	cancel()
	leaked(t, errors, "TestACoroutineThatHasNotEndedIsLeft",
		"coroutine that has not ended, of a task")

	end := make(chan struct{})
	errors = verifyLeaks(func() {
		_, err := coro.Go(s, func(*coro.Coroutine) (int, error) { <-end; return 0, nil })
		require.NoError(t, err)
	})
	close(end)
	leaked(t, errors, "TestACoroutineThatHasNotEndedIsLeft",
		"coroutine that has not ended, of a task")
}

func TestGoBodiesThatCHasStartedAreLeft(t *testing.T) {
	s := newScheduler(t)
	defer closeNow(t, s)
	start := coro.MustFunc[testbody.SpawnGoArg, testbody.SpawnedGo](testbody.SpawnGo)
	id := coro.MustExportBody(func(c *coro.Coroutine, parks int64) (coro.None, error) {
		if parks == 0 {
			return coro.None{}, nil
		}
		return coro.None{}, c.Park(background)
	})
	run := func(how uint32, parks int64) {
		task, err := start.Start(s, testbody.SpawnGoArg{ID: uint32(id), How: how,
			Number: parks, ArgBytes: 8})
		require.NoError(t, err)
		_, err = task.Wait(background)
		require.NoError(t, err)
	}
	assert.Empty(t, verify(func() {
		run(testbody.GoUnnamed, 0)
		run(testbody.GoDetach, 0)
	}))
	errors := verifyLeaks(func() {
		run(testbody.GoUnnamed, 1)
		run(testbody.GoLeave, 0)
		parked(t, s, 1)
	})
	all := strings.Join(errors, "")
	require.Len(t, errors, 2, "%s", errors)
	assert.Contains(t, all,
		"coroutine that has not ended, started by C: github.com/organzine/coro/corotest_test.")
	assert.Contains(t, all,
		"coroutine that has ended and nobody has joined or detached, started by C: ")
}

func startParked(t *testing.T, s *coro.Scheduler) {
	_, err := park.Start(s, coro.None{})
	require.NoError(t, err)
}

func TestCoroutinesWithoutHandlesAreCounted(t *testing.T) {
	s := newScheduler(t)
	defer closeNow(t, s)
	require.NoError(t, park.Spawn(s, coro.None{})) // before
	startParked(t, s)
	parked(t, s, 2)
	ended := verify(func() {
		n, err := square.SpawnN(s, 500, 3)
		require.NoError(t, err)
		assert.Equal(t, 500, n)
	})
	assert.Empty(t, ended)
	errors := verifyLeaks(func() {
		startParked(t, s)
		spawnParked(t, s)
		n, err := park.SpawnN(s, 3, coro.None{})
		require.NoError(t, err)
		assert.Equal(t, 3, n)
		b := park.Batch(s)
		require.NoError(t, b.Add(coro.None{}))
		require.NoError(t, b.Flush())
		parked(t, s, 8)
	})
	require.Len(t, errors, 2, "%s", errors)
	all := strings.Join(errors, "")
	assert.Contains(t, all, "coroutines that have not ended: 5 (waiting: park in park, ")
	assert.Contains(t, all, "1 of\n\tgithub.com/organzine/coro/corotest_test.spawnParked\n")
	assert.Contains(t, all, "3 of\n")
	assert.Contains(t, all, "coroutine that has not ended, of a task")
}

func TestWhatHasNotBegunIsLeft(t *testing.T) {
	s := newScheduler(t, coro.WithPaused())
	defer closeNow(t, s)
	errors := verifyLeaks(func() {
		spawnParked(t, s)
		for _, n := range []int{1, 7, 3000} { // none, some and many of them in one batch
			got, err := park.SpawnN(s, n, coro.None{})
			require.NoError(t, err)
			require.Equal(t, n, got)
		}
		b := park.Batch(s)
		for range 300 {
			require.NoError(t, b.Add(coro.None{}))
		}
		require.NoError(t, b.Flush())
		startParked(t, s)
		_, err := coro.Go(s, func(*coro.Coroutine) (int, error) { return 0, nil })
		require.NoError(t, err)
	})
	require.Len(t, errors, 3, "%s", errors)
	assert.Contains(t, strings.Join(errors, ""), "coroutines that have not ended: 3309,")
	assert.Empty(t, verify(func() {}), "they were there before")
}

func spawnParked(t *testing.T, s *coro.Scheduler) { require.NoError(t, park.Spawn(s, coro.None{})) }

func TestACloseThatDoesNotEndIsLeft(t *testing.T) {
	spin := coro.MustFunc[coro.None, coro.None](testbody.Spin)
	testbody.Reset()
	s := newScheduler(t)
	errors := verifyLeaks(func() {
		s = makeScheduler(t)
		require.NoError(t, spin.Spawn(s, coro.None{}))
		for testbody.Ran() == 0 {
			runtime.Gosched()
		}
		ctx, cancel := context.WithCancel(background)
		cancel()
		var running *coro.RunningError
		require.ErrorAs(t, s.Close(ctx), &running)
	})
	testbody.Stop()
	require.NoError(t, s.Close(background))
	require.Len(t, errors, 2, "%s", errors)
	all := strings.Join(errors, "")
	assert.Contains(t, all,
		"scheduler, still closing: 2 worker threads, 1 coroutines, 1 stacks in use")
	assert.Contains(t, all, "coroutines that have not ended: 1,")
}

func TestAGeneratorThatIsNotClosedIsLeft(t *testing.T) {
	var g *generator.Generator
	errors := verifyLeaks(func() { g = makeGenerator(t) })
	leaked(t, errors, "makeGenerator", "generator that is not closed, and its stack")
	require.NoError(t, g.Close())
	assert.Empty(t, verify(func() { makeGenerator(t) }), "nobody refers to it: it is collected")
}

func makeGenerator(t *testing.T) *generator.Generator {
	g, err := generator.New(testbody.Count, 3, 0)
	require.NoError(t, err)
	return g
}

func TestATaskThatNobodyWaitsForIsLeftWhileItIsReferredTo(t *testing.T) {
	s := newScheduler(t)
	defer closeNow(t, s)
	var task *coro.Task[int64]
	var body *coro.Task[int]
	errors := verifyLeaks(func() {
		var err error
		task, err = square.Start(s, 5)
		require.NoError(t, err)
		body, err = coro.Go(s, func(*coro.Coroutine) (int, error) { return 7, nil })
		require.NoError(t, err)
		require.NoError(t, s.Wait(background))
	})
	leaked(t, errors, "TestATaskThatNobodyWaitsFor",
		"task that has ended and nobody has waited for",
		"task that has ended and nobody has waited for")
	got, err := task.Wait(background)
	require.NoError(t, err)
	assert.EqualValues(t, 25, got)
	_, err = body.Wait(background)
	require.NoError(t, err)

	assert.Empty(t, verify(func() {
		_, err := square.Start(s, 5)
		require.NoError(t, err)
		_, err = coro.Go(s, func(*coro.Coroutine) (int, error) { return 7, nil })
		require.NoError(t, err)
	}), "dropped: they are collected")
}

func TestVerificationsNest(t *testing.T) {
	var s *coro.Scheduler
	outer := verifyLeaks(func() {
		s = makeScheduler(t)
		assert.Empty(t, verify(func() {}), "it was there before")
		inner := verifyLeaks(func() { startParked(t, s) })
		leaked(t, inner, "startParked", "coroutine that has not ended, of a task")
	})
	require.Len(t, outer, 2, "%s", outer)
	closeNow(t, s)
}

// A testMain is used as a *testing.M is.
type testMain func() int

func (m testMain) Run() int { return m() }

func TestMainReportsWhatAPackageLeaves(t *testing.T) {
	var report bytes.Buffer
	assert.Equal(t, 0, corotest.Run(testMain(func() int { return 0 }), &report))
	defer corotest.Hurry()()
	var s *coro.Scheduler
	leaves := testMain(func() int { s = makeScheduler(t); return 0 })
	assert.Equal(t, 1, corotest.Run(leaves, &report))
	assert.Contains(t, report.String(), "coro: leaked: scheduler, not closed: 2 worker threads")
	assert.Contains(t, report.String(), "makeScheduler")
	closeNow(t, s)
	fails := testMain(func() int { s = makeScheduler(t); return 3 })
	report.Reset()
	assert.Equal(t, 3, corotest.Run(fails, &report), "its own failure")
	assert.Empty(t, report.String())
	closeNow(t, s)
	assert.Equal(t, 0, corotest.Main(testMain(func() int { return 0 })))
}
