//go:build cgo

package coro_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
	"github.com/organzine/coro/corotest"
	"github.com/organzine/coro/internal/testbody"
)

var blocks = coro.MustFunc[coro.None, coro.None](testbody.Blocks)

// Each figure against a run that is known.
func TestStatsCountWhatHasEndedAndHow(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithExecutors(2))
	require.NoError(t, add.Spawn(s, 1))
	_, err := add.SpawnN(s, 1000, 1)
	require.NoError(t, err)
	task, err := square.Start(s, 3)
	require.NoError(t, err)
	_, err = wait(t, task)
	require.NoError(t, err)
	for range 3 {
		require.NoError(t, abort.Spawn(s, coro.None{}))
	}
	require.NoError(t, s.Wait(soon(t)), "Ran counts those below alone")
	for how := range int64(4) {
		before := testbody.Ran()
		task, err := canceled.Start(s, how)
		require.NoError(t, err)
		eventually(t, func() bool { return testbody.Ran() > before }, "it has begun")
		task.Cancel()
		_, _ = wait(t, task)
	}
	for _, f := range []func(*coro.Coroutine) error{
		func(*coro.Coroutine) error { return nil },
		func(*coro.Coroutine) error { return errors.New("no") },
		func(*coro.Coroutine) error { panic("no") },
	} {
		_, _ = wait(t, goes(t, s, f))
	}
	finish(t, s)
	const c, bodies = 1 + 1000 + 1 + 3 + 4, 3
	st := s.Stats()
	assert.EqualValues(t, c+bodies, st.Spawned)
	assert.EqualValues(t, c+bodies, st.Ended)
	assert.EqualValues(t, 3, st.Failed)
	assert.Zero(t, st.Unstarted)
	assert.EqualValues(t, bodies, st.Bodies.Spawned)
	assert.EqualValues(t, 2, st.Bodies.Failed)
	assert.EqualValues(t, 1, st.Bodies.Panicked)
	assert.Zero(t, st.Bodies.Live)

	require.NoError(t, s.Close(soon(t)))
	after := s.Stats()
	assert.Equal(t, st.Spawned, after.Spawned, "they stay")
	assert.Equal(t, st.Ended, after.Ended)
	assert.Equal(t, st.Bodies.Failed, after.Bodies.Failed)
}

func TestStatsShowWhatIsUnderWay(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithExecutors(3),
		coro.WithBlockingThreads(2))
	goOn := make(chan struct{})
	function := coro.MustExportFunc(func(context.Context, int64) (int64, error) {
		<-goOn
		return 0, nil
	})
	for range 4 {
		require.NoError(t, callOne.Spawn(s, testbody.Call{ID: uint32(function),
			How: testbody.Offload, ArgBytes: 8, ResultBytes: 8}))
	}
	for range 5 {
		require.NoError(t, blocks.Spawn(s, coro.None{}))
	}
	var bodies []*coro.Task[coro.None]
	for range 2 {
		bodies = append(bodies, goes(t, s, func(*coro.Coroutine) error { <-goOn; return nil }))
	}
	eventually(t, func() bool {
		st := s.Stats()
		return st.Calls.InFlight == 4 && st.Blocking.Busy == 2 && st.Blocking.Queued == 3 &&
			st.Bodies.Live == 2 && st.Bodies.Busy >= 2
	}, "all is under way")
	st := s.Stats()
	assert.Equal(t, 4, st.Calls.InFlight)
	assert.EqualValues(t, 4, st.Calls.Offloaded)
	assert.Zero(t, st.Calls.Inline)
	assert.GreaterOrEqual(t, st.Calls.Goroutines, 4)
	assert.Equal(t, 2, st.Blocking.Threads)
	assert.GreaterOrEqual(t, st.Bodies.Executors, st.Bodies.Busy)
	assert.Equal(t, 11, st.Live)
	assert.EqualValues(t, 11, st.Spawned)
	assert.False(t, st.Stalled)
	close(goOn)
	testbody.Stop()
	for _, body := range bodies {
		_, err := wait(t, body)
		require.NoError(t, err)
	}
	finish(t, s)
	eventually(t, func() bool {
		st := s.Stats()
		return st.Calls.InFlight == 0 && st.Blocking.Busy == 0 && st.Bodies.Busy == 0
	}, "all has come to its end")
	st = s.Stats()
	assert.EqualValues(t, 4, st.Calls.Offloaded)
	assert.Zero(t, st.Blocking.Queued)
	assert.EqualValues(t, 0, st.Calls.Inline)
	inEachWay(t, func(t *testing.T, s *coro.Scheduler, how uint32) {
		for range 10 {
			calling(t, s, how, coro.FuncID(increment), 1)
		}
		st := s.Stats().Calls
		if how == testbody.Inline {
			assert.EqualValues(t, 10, st.Inline)
		} else {
			assert.EqualValues(t, 10, st.Offloaded)
		}
	})
}

// A wake-up counts as remote on the worker that it has come to, if another thread has sent it.
func TestStatsCountRemoteWakes(t *testing.T) {
	const n = 20
	s := newScheduler(t, coro.WithWorkers(1), coro.WithoutLending())
	_, err := pingPong.Call(soon(t), s, n)
	require.NoError(t, err)
	require.NoError(t, s.Wait(soon(t)))
	assert.Zero(t, s.Stats().PerWorker[0].RemoteWakes, "coroutines of one worker wake each other")
	var tasks []*coro.Task[int32]
	for range n {
		task, err := park.Start(s, coro.None{})
		require.NoError(t, err)
		tasks = append(tasks, task)
	}
	parked(t, s, n)
	for _, task := range tasks {
		require.NoError(t, task.Wake())
		_, err := wait(t, task)
		require.NoError(t, err)
	}
	finish(t, s)
	assert.EqualValues(t, n, s.Stats().PerWorker[0].RemoteWakes)
}

// Light guards are those of a kernel that has MADV_GUARD_INSTALL, and whose guards hold.
func TestStatsSayWhetherGuardsAreLight(t *testing.T) {
	const guardInstall = 102
	page, err := syscall.Mmap(-1, 0, os.Getpagesize(), syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON)
	require.NoError(t, err)
	defer func() { require.NoError(t, syscall.Munmap(page)) }()
	light := false
	if syscall.Madvise(page, guardInstall) == nil { // an emulator may ignore it
		var fds [2]int
		require.NoError(t, syscall.Pipe(fds[:]))
		_, err = syscall.Write(fds[1], page)
		light = errors.Is(err, syscall.EFAULT)
		require.NoError(t, syscall.Close(fds[0]))
		require.NoError(t, syscall.Close(fds[1]))
	}
	s := newScheduler(t, coro.WithWorkers(1))
	assert.Equal(t, light, s.Stats().LightGuards)
	finish(t, s)
}

// What never started is counted by the reason, C and Go bodies alike.
func TestStatsSayWhyOnesHaveNotStarted(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithPaused())
	task, err := square.Start(s, 3)
	require.NoError(t, err)
	task.Cancel()
	body := goes(t, s, func(*coro.Coroutine) error { return nil })
	body.Cancel()
	require.NoError(t, s.Run(soon(t)))
	_, err = wait(t, task)
	assert.ErrorIs(t, err, coro.ErrCanceled)
	_, err = wait(t, body)
	assert.ErrorIs(t, err, coro.ErrCanceled)
	st := s.Stats()
	assert.Equal(t, [3]uint64{0, 2, 0}, unstarted(st))
	assert.EqualValues(t, 2, st.Ended)

	_, err = add.SpawnN(s, 10, 1)
	require.NoError(t, err)
	_, err = square.Start(s, 3)
	require.NoError(t, err)
	goes(t, s, func(*coro.Coroutine) error { return nil })
	require.NoError(t, s.Close(soon(t)))
	st = s.Stats()
	assert.Equal(t, [3]uint64{0, 2, 12}, unstarted(st))
	assert.Equal(t, st.Spawned, st.Ended)
	assert.Zero(t, testbody.Sum())
}

func TestStatsByFunc(t *testing.T) {
	corotest.VerifyNone(t)
	s := newScheduler(t, coro.WithWorkers(2))
	assert.Empty(t, s.StatsByFunc())
	var wakes []coro.Handle
	var ends []func() error
	for range 12 {
		task, err := park.Start(s, coro.None{})
		require.NoError(t, err)
		wakes = append(wakes, task.Handle())
		ends = append(ends, func() error { _, err := task.Wait(soon(t)); return err })
	}
	for range 5 {
		body, err := coro.Go(s, func(c *coro.Coroutine) (int, error) {
			return 0, c.Park(c.Context())
		})
		require.NoError(t, err)
		wakes = append(wakes, body.Handle())
		ends = append(ends, func() error { _, err := body.Wait(soon(t)); return err })
	}
	eventually(t, func() bool { _, n := s.Blocked(0); return n == 17 }, "all wait")
	blocked, _ := s.Blocked(17)
	live := map[string]int{}
	for _, b := range blocked {
		live[b.Func]++
	}
	list := s.StatsByFunc()
	require.Len(t, list, 2)
	assert.Equal(t, 12, list[0].Live)
	assert.Equal(t, 5, list[1].Live)
	for _, f := range list {
		assert.Equal(t, live[f.Func], f.Live, f.Func)
		assert.Zero(t, f.Unstarted)
	}
	for i, h := range wakes {
		require.NoError(t, h.Wake())
		require.NoError(t, ends[i]())
	}
	assert.Empty(t, s.StatsByFunc())
	finish(t, s)
	assert.Empty(t, s.StatsByFunc())
}

// parkMany starts n coroutines that park; end wakes them, and waits for their ends.
func parkMany(t *testing.T, s *coro.Scheduler, n int) (end func()) {
	t.Helper()
	_, before := s.Blocked(0)
	var tasks []*coro.Task[int32]
	for range n {
		task, err := park.Start(s, coro.None{})
		require.NoError(t, err)
		tasks = append(tasks, task)
	}
	eventually(t, func() bool { _, parked := s.Blocked(0); return parked == before+n },
		"all park")
	return func() {
		for _, task := range tasks {
			require.NoError(t, task.Wake())
			_, err := task.Wait(soon(t))
			require.NoError(t, err)
		}
	}
}

func TestCrowdHook(t *testing.T) {
	told := make(chan coro.FuncStats, 100)
	s := newScheduler(t, coro.WithWorkers(2),
		coro.WithCrowdHook(3, func(f coro.FuncStats) { told <- f }))
	end := parkMany(t, s, 4)
	f := <-told
	assert.Equal(t, "park", f.Func)
	assert.Equal(t, 4, f.Live)
	end()
	finish(t, s)
	for _, limit := range []int{0, -1} {
		_, err := coro.New(coro.WithCrowdHook(limit, nil))
		optionError(t, err, "WithCrowdHook", "from 1")
	}
}

// A crowd is told once; and again, when it was smaller at one look.
func TestEachCrowdIsToldOnce(t *testing.T) {
	told := make(chan coro.FuncStats, 100)
	s := newScheduler(t, coro.WithWorkers(2), // its own watcher never sees a crowd
		coro.WithCrowdHook(1000, func(f coro.FuncStats) { told <- f }))
	var watch coro.CrowdWatch
	first := parkMany(t, s, 4)
	watch.Look(s, 4)
	second := parkMany(t, s, 1)
	watch.Look(s, 4)
	assert.Equal(t, 5, (<-told).Live)
	third := parkMany(t, s, 1)
	watch.Look(s, 4)
	second()
	third()
	watch.Look(s, 4)
	fourth := parkMany(t, s, 3)
	watch.Look(s, 4)
	assert.Equal(t, 7, (<-told).Live)
	first()
	fourth()
	finish(t, s)
	watch.Look(s, 4)
	assert.Empty(t, told)
}

func TestACrowdHookThatFailsHarmsNothing(t *testing.T) {
	for name, fail := range badEnds {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, coro.WithCrowdHook(1, func(coro.FuncStats) { fail() }))
			end := parkMany(t, s, 2)
			hookFailures(t, s, 1)
			end()
			finish(t, s)
		})
	}
}

var slowCalls atomic.Int64 // a name is exported once

func TestASlowCallIsReported(t *testing.T) {
	for name, how := range ways {
		t.Run(name, func(t *testing.T) {
			reports := make(chan coro.SlowCall, 10)
			s := newScheduler(t, coro.WithWorkers(2),
				coro.WithSlowCallHook(20*time.Millisecond, func(c coro.SlowCall) {
					reports <- c
				}))
			end := make(chan struct{})
			slow := fmt.Sprintf("slow %s %d", name, slowCalls.Add(1))
			id, err := coro.ExportFuncNamed(slow,
				func(context.Context, int64) (int64, error) {
					<-end
					return 0, nil
				})
			require.NoError(t, err)
			task, err := callOne.Start(s, testbody.Call{ID: uint32(id), How: how,
				ArgBytes: 8, ResultBytes: 8})
			require.NoError(t, err)
			report := <-reports
			assert.Equal(t, slow, report.Func)
			assert.Equal(t, how == testbody.Inline, report.Inline)
			assert.GreaterOrEqual(t, report.For, 20*time.Millisecond)
			close(end)
			_, err = task.Wait(soon(t))
			require.NoError(t, err)
			require.NoError(t, s.Close(background))
			assert.Empty(t, reports, "once each")
		})
	}
}

func TestSlowCallHookOptions(t *testing.T) {
	_, err := coro.New(coro.WithSlowCallHook(0, func(coro.SlowCall) {}))
	optionError(t, err, "WithSlowCallHook", "at least")
	_, err = coro.New(coro.WithSlowCallHook(0, nil))
	optionError(t, err, "WithSlowCallHook", "at least")
}

// Without a function a hook is none, and an earlier one is gone.
func TestAHookOfNilIsNone(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1),
		coro.WithStallHook(func(int) { assert.Fail(t, "it was taken back") }),
		coro.WithSlowCallHook(time.Millisecond, func(coro.SlowCall) {
			assert.Fail(t, "it was taken back")
		}),
		coro.WithStallHook(nil), coro.WithSlowCallHook(time.Millisecond, nil))
	slow := coro.MustExportFunc(func(context.Context, int64) (int64, error) {
		time.Sleep(10 * time.Millisecond)
		return 0, nil
	})
	calling(t, s, testbody.Offload, slow, 0)
	task, err := park.Start(s, coro.None{})
	require.NoError(t, err)
	eventually(t, func() bool { return s.Stats().Stalled }, "it parks")
	require.NoError(t, task.Wake())
	finish(t, s)
}

// unstarted is why coroutines never started: without a stack, canceled, closed.
func unstarted(st coro.Stats) [3]uint64 {
	return [3]uint64{st.Unstarted.NoStack, st.Unstarted.Canceled, st.Unstarted.Closed}
}
