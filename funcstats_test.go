//go:build cgo

package coro_test

import (
	"testing"

	"github.com/organzine/coro"
	"github.com/organzine/coro/corotest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
