//go:build cgo

package coro

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestIdleOffloadWorkersGo(t *testing.T) {
	s, err := New(WithWorkers(1))
	require.NoError(t, err)
	const n = 20
	var here sync.WaitGroup
	here.Add(n)
	id := MustExportFunc(func(context.Context, int64) (int64, error) {
		here.Done()
		here.Wait()
		return 0, nil
	})
	call := MustFunc[testbody.Calls, None](testbody.CallMany)
	_, err = call.SpawnN(s, n, testbody.Calls{ID: uint32(id), How: testbody.Offload, N: 1})
	require.NoError(t, err)
	require.NoError(t, s.Wait(context.Background()))

	o := &s.offload
	k, all, _ := o.Idle()
	for ; k < all || all < n; k, all, _ = o.Idle() { // some are on their way to sleep
		runtime.Gosched()
	}
	o.TrimNow() // there were calls since it was set
	for k > 0 {
		before := k
		o.TrimNow()
		k, all, _ = o.Idle()
		assert.LessOrEqual(t, k, before/2)
		assert.Equal(t, k, all)
	}
	o.TrimNow()
	_, _, trims := o.Idle()
	assert.False(t, trims, "nobody is idle")
	require.NoError(t, s.Close(context.Background()))
}

// asleep waits until a worker of the pool sleeps in C. Where Go is busy with other things none may,
// for a number of calls.
func asleep(s *Scheduler) bool {
	for limit := time.Now().Add(time.Second / 10); !s.offload.Sleeps(); {
		if time.Now().After(limit) {
			return false
		}
		time.Sleep(time.Millisecond / 10)
	}
	return true
}

// oneCall has a coroutine call the function once, and returns how.
func oneCall(t *testing.T, s *Scheduler, id FuncID) testbody.Came {
	t.Helper()
	call := MustFunc[testbody.Call, testbody.Came](testbody.CallOne)
	task, err := call.Start(s, testbody.Call{ID: uint32(id), How: testbody.Offload,
		Number: 1, ArgBytes: 8, ResultBytes: 8})
	require.NoError(t, err)
	came, err := task.Wait(context.Background())
	require.NoError(t, err)
	return came
}

func TestAnOffloadedCallWakesAWorkerThatSleepsInC(t *testing.T) {
	s, err := New(WithWorkers(1))
	require.NoError(t, err)
	add := MustExportFunc(func(_ context.Context, n int64) (int64, error) { return n + 1, nil })
	panics := MustExportFunc(func(context.Context, int64) (int64, error) { panic("no") })
	leaves := MustExportFunc(func(context.Context, int64) (int64, error) {
		runtime.Goexit()
		return 0, nil
	})
	slept := 0
	for range 100 {
		assert.Equal(t, int64(2), oneCall(t, s, add).Number)
		if asleep(s) {
			slept++
		}
		assert.Equal(t, int32(core.Failed), oneCall(t, s, panics).Status)
		if asleep(s) {
			slept++
		}
		assert.Equal(t, int32(core.Failed), oneCall(t, s, leaves).Status)
	}
	assert.Positive(t, slept)
	asleep(s)
	require.NoError(t, s.Close(context.Background()))
	_, all, _ := s.offload.Idle()
	assert.Zero(t, all)
}

// While the worker that slept in C runs a function, the next call comes by the bell.
func TestACallComesWhileTheWorkerThatSleptIsInACall(t *testing.T) {
	s, err := New(WithWorkers(2))
	require.NoError(t, err)
	var both sync.WaitGroup
	meet := MustExportFunc(func(_ context.Context, n int64) (int64, error) {
		both.Done()
		both.Wait()
		return n + 1, nil
	})
	for range 50 {
		both.Add(2)
		asleep(s)
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() { assert.Equal(t, int64(2), oneCall(t, s, meet).Number) })
		}
		all.Wait()
	}
	require.NoError(t, s.Close(context.Background()))
}

// A worker that is let go while it sleeps in C leaves the bell to be rung by the next call.
func TestAWorkerThatSleepsInCGoes(t *testing.T) {
	s, err := New(WithWorkers(1))
	require.NoError(t, err)
	add := MustExportFunc(func(_ context.Context, n int64) (int64, error) { return n + 1, nil })
	for range 20 {
		assert.Equal(t, int64(2), oneCall(t, s, add).Number)
		asleep(s)
		for trims := true; trims; _, _, trims = s.offload.Idle() {
			s.offload.TrimNow()
		}
	}
	require.NoError(t, s.Close(context.Background()))
}

// Calls race with the trim, and with the end.
func TestCallsWhileWorkersGo(t *testing.T) {
	add := MustExportFunc(func(_ context.Context, n int64) (int64, error) { return n + 1, nil })
	for range 20 {
		s, err := New(WithWorkers(2))
		require.NoError(t, err)
		var ended atomic.Bool
		var trims sync.WaitGroup
		trims.Go(func() {
			for !ended.Load() {
				s.offload.TrimNow()
				runtime.Gosched()
			}
		})
		for i := range 50 {
			assert.Equal(t, int64(2), oneCall(t, s, add).Number)
			if i%8 == 0 {
				time.Sleep(time.Millisecond / 2)
			}
		}
		require.NoError(t, s.Close(context.Background()))
		ended.Store(true)
		trims.Wait()
	}
}

func TestOffloadedCallsWhereEveryPComputes(t *testing.T) {
	s, err := New(WithWorkers(2))
	require.NoError(t, err)
	add := MustExportFunc(func(_ context.Context, n int64) (int64, error) { return n + 1, nil })
	asleep(s)
	var stop atomic.Bool
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for !stop.Load() {
			}
		})
	}
	for range 30 {
		assert.Equal(t, int64(2), oneCall(t, s, add).Number)
	}
	stop.Store(true)
	all.Wait()
	for range 1000 {
		assert.Equal(t, int64(2), oneCall(t, s, add).Number)
	}
	require.NoError(t, s.Close(context.Background()))
}
