//go:build cgo

package hard_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/generator"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func init() {
	children["overflow by hand"] = func() {
		g, err := generator.New(testbody.Sink, 0, 8<<10)
		if err != nil {
			panic(err)
		}
		_, _, _ = g.Resume(1)
	}
}

func TestAnOverflowInAGeneratorNamesItAndGoReports(t *testing.T) {
	out, err := child(t, "overflow by hand")
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	assert.Regexp(t, `(?m)^coro: stack overflow: .*: its stack of 8 KiB is used up; `, out)
	if strings.Contains(out, "AddressSanitizer") {
		return // it reports in Go's place
	}
	assert.Equal(t, 2, exit.ExitCode(), "%v", exit)
	assert.Contains(t, out, "SIGSEGV: segmentation violation")
	assert.Contains(t, out, "signal arrived during cgo execution")
	assert.Contains(t, out, "(*Generator).Resume", "Go's traceback shows the caller")
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

// switching keeps both workers switching on the smallest stacks until the test ends, and checks the
// sum.
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

// faulty has Go dereference nil, and recovers. It returns 1, or 0 if the fault was not caught.
func faulty() (caught int64) {
	defer func() {
		if recover() != nil {
			caught = 1
		}
	}()
	var nothing *coro.Scheduler
	nothing.Workers()
	return 0
}

var faultyCall = coro.MustExportFunc(func(_ context.Context, n int64) (int64, error) {
	return n + faulty(), nil
})

// 100 000 coroutines on the smallest stacks switch, call Go in both ways, and wake Go bodies.
// Meanwhile the profiler interrupts every millisecond of CPU time, workers and the process get
// SIGURG all the time, and Go handles SIGUSR1 and SIGUSR2, by the way that SIGTERM goes too. (One
// that comes after signal.Stop ends the process if it is SIGTERM; Go drops a late SIGUSR1.) The
// functions called, and the bodies woken, dereference nil.
func TestStressSignals(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithExecutors(2))
	hop := coro.MustFunc[testbody.HopArg, coro.None](testbody.Hop,
		coro.FuncStack(coro.StackMin))
	runtime.SetCPUProfileRate(1000)
	defer runtime.SetCPUProfileRate(0)
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGUSR1, syscall.SIGUSR2)
	defer signal.Stop(caught)

	var stop atomic.Bool
	var senders sync.WaitGroup
	senders.Go(func() {
		workers := s.Stats().PerWorker
		signals := []syscall.Signal{syscall.SIGURG, syscall.SIGUSR1, syscall.SIGURG,
			syscall.SIGUSR2}
		for i := 0; !stop.Load(); i++ {
			for _, w := range workers {
				assert.NoError(t, syscall.Tgkill(os.Getpid(), w.ThreadID,
					syscall.SIGURG))
			}
			assert.NoError(t, syscall.Kill(os.Getpid(), signals[i%len(signals)]))
			runtime.Gosched()
		}
	})

	const bodies = 10
	each, rounds := scaled(10_000), int(counted(1))
	var recovered atomic.Int64
	for range rounds {
		var tasks []*coro.Task[coro.None]
		for range bodies {
			tasks = append(tasks, goes(t, s, func(c *coro.Coroutine) error {
				for range each {
					if err := c.Park(background); err != nil {
						return err
					}
					recovered.Add(faulty())
				}
				return nil
			}))
		}
		for i, task := range tasks {
			arg := testbody.HopArg{N: 3, To: uint64(task.Handle()),
				ID: uint32(faultyCall), Inlined: uint32(i % 2)}
			n, err := hop.SpawnN(s, each, arg)
			require.NoError(t, err)
			require.Equal(t, each, n)
		}
		for _, task := range tasks {
			_, err := wait(t, task)
			require.NoError(t, err)
		}
		finish(t, s)
	}
	<-caught
	stop.Store(true)
	senders.Wait()
	assert.EqualValues(t, bodies*each*rounds, recovered.Load())
	assert.EqualValues(t, bodies*each*rounds, testbody.Sum())
}
