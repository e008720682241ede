//go:build cgo

package coro_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
)

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
