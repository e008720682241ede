//go:build cgo

package coro_test

import (
	"bytes"
	"os"
	"os/exec"
	"runtime/pprof"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func init() {
	children["overflow"] = func() {
		s, err := coro.New(coro.WithWorkers(2), coro.WithName("deep"))
		if err != nil {
			panic(err)
		}
		deep := coro.MustFunc[coro.None, coro.None](testbody.Deep, coro.FuncStack(32<<10))
		_ = empty.Spawn(s, coro.None{})
		_ = deep.Spawn(s, coro.None{})
		_ = s.Wait(background)
	}
	children["overflow by hand"] = func() {
		g, err := coro.NewGenerator(testbody.Sink, 0, 8<<10)
		if err != nil {
			panic(err)
		}
		_, _, _ = g.Resume(1)
	}
}

func TestAnOverflowOnAWorkerNamesItsCoroutineAndKillsTheProcess(t *testing.T) {
	out, err := child(t, "overflow")
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	assert.Regexp(t, `(?m)^coro: stack overflow: the coroutine of function 0x[0-9a-f]+, handle 0x[0-9a-f]+, on worker [01] used up its stack of 32 KiB; `, out)
	if strings.Contains(out, "AddressSanitizer") {
		return // which reports in Go's place
	}
	status := exit.Sys().(syscall.WaitStatus)
	assert.True(t, status.Signaled() && status.Signal() == syscall.SIGSEGV,
		"Go gives no report of threads that are not its own: %v", exit)
}

func TestAnOverflowInAGeneratorNamesItAndGoReports(t *testing.T) {
	out, err := child(t, "overflow by hand")
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	assert.Regexp(t, `(?m)^coro: stack overflow: the coroutine of function 0x[0-9a-f]+ used up its stack of 8 KiB; `, out)
	if strings.Contains(out, "AddressSanitizer") {
		return // which reports in Go's place
	}
	assert.Equal(t, 2, exit.ExitCode(), "%v", exit)
	assert.Contains(t, out, "SIGSEGV: segmentation violation")
	assert.Contains(t, out, "signal arrived during cgo execution")
	assert.Contains(t, out, "(*Generator).Resume", "Go's traceback tells who resumed it")
}

func TestGoStillRecoversFromItsOwnFaults(t *testing.T) {
	s := newScheduler(t)
	for i := range int64(10) {
		require.NoError(t, add.Spawn(s, i))
		func() {
			defer func() {
				err, ok := recover().(error)
				require.True(t, ok)
				assert.Contains(t, err.Error(), "nil pointer dereference")
			}()
			var nothing *coro.Scheduler
			nothing.Workers()
		}()
	}
	finish(t, s)
	assert.EqualValues(t, 45, testbody.Sum())
}

// switching keeps both workers switching on the smallest stacks until the test ends, and checks the sum.
func switching(t *testing.T, s *coro.Scheduler) (stop func()) {
	hop := coro.MustFunc[int64, coro.None](testbody.Yield, coro.FuncStack(coro.StackMin))
	done := make(chan struct{})
	quit := make(chan struct{})
	go func() {
		defer close(done)
		for want := int64(0); ; want += 200 {
			select {
			case <-quit:
				assert.Equal(t, want, testbody.Sum())
				return
			default:
			}
			n, err := hop.SpawnN(s, 200, 300)
			assert.NoError(t, err)
			assert.Equal(t, 200, n)
			assert.NoError(t, s.Wait(background))
		}
	}()
	return func() { close(quit); <-done }
}

func TestTheProfilerMayInterruptCoroutinesAnywhere(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	var profile bytes.Buffer
	require.NoError(t, pprof.StartCPUProfile(&profile))
	stop := switching(t, s)
	time.Sleep(400 * time.Millisecond)
	stop()
	pprof.StopCPUProfile()
	assert.NotZero(t, profile.Len())
}

func TestSignalsMayInterruptCoroutinesAnywhere(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	stop := switching(t, s)
	for start := time.Now(); time.Since(start) < 300*time.Millisecond; {
		for _, w := range s.Stats().PerWorker {
			require.NoError(t, syscall.Tgkill(os.Getpid(), w.ThreadID, syscall.SIGURG))
		}
	}
	stop()
}
