//go:build cgo

package coro_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
