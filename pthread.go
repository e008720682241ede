package coro

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	"github.com/organzine/coro/internal/bubble"
	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/ctxerr"
)

// pthread.go - worker threads: options, the host of the main worker, figures.

// WithWorkers sets the number of worker threads, 1 to 256. The default is runtime.GOMAXPROCS(0),
// which knows of CPU quotas of containers. Workers and Go's own threads share the cores.
func WithWorkers(n int) Option {
	return number("WithWorkers", n, 1, core.WorkersMax, func(c *config) { c.Workers = n })
}

// WithDedicatedWorkers adds n worker threads, numbered after those of WithWorkers; there may be 256
// in all. A dedicated worker runs coroutines that were sent there ([Func.OnWorker],
// coro_attr.worker, coro_pin), coroutines that those spawn, and nothing else: it steals nothing,
// and nothing is stolen from it. So its coroutines wait for no others and keep no others waiting.
// In all else it is a worker: Stats and WithAffinity count it, and Close joins it. The default is
// 0.
func WithDedicatedWorkers(n int) Option {
	return number("WithDedicatedWorkers", n, 0, core.WorkersMax-1, func(c *config) {
		c.Dedicated = n
	})
}

// WithMainThread adds one dedicated worker, the main worker, numbered after all others
// ([Scheduler.MainWorker]). It has no thread of its own for coroutines: it is run by the thread
// that calls [Scheduler.RunMain] or [Scheduler.ServeMain], as main does, for libraries that want
// all calls from that thread. While no thread is in one of these, what was sent there waits, and so
// does Wait. WithMainThread cannot go with WithPaused. WithAffinity does not pin that thread.
func WithMainThread() Option {
	return func(c *config) error { c.MainWorker = true; return nil }
}

// MainWorker is the number of the main worker, for [Func.OnWorker], or -1: the scheduler was made
// without WithMainThread.
func (s *Scheduler) MainWorker() int {
	if !s.hasMain {
		return -1
	}
	return s.Workers() - 1
}

// RunMain is Wait on a thread that runs the main worker meanwhile: that of the calling goroutine,
// which is locked to it until RunMain returns. For the process's main thread, an init function of
// the main package calls runtime.LockOSThread, and main calls RunMain:
//
//	func init() { runtime.LockOSThread() }
//
// It returns as Wait does: nil when every coroutine has ended but daemons, and the context's cause.
// If the context has ended before, nothing runs. If it ends while a coroutine computes on the main
// worker, RunMain returns when that coroutine waits or yields. What is left then goes on in the
// next RunMain, or on a thread of the scheduler's once Close has begun. ErrNoMain: there is no main
// worker; ErrBusy: another goroutine is in RunMain or ServeMain; ErrClosed; ErrInside, as Wait.
//
// The thread sleeps as a worker's does while there is nothing to do, and Go functions that
// coroutines call inline run on it. coro_call_go_inline and the like cost what they do on any
// worker.
func (s *Scheduler) RunMain(ctx context.Context) error {
	return s.host(ctx, func() error { return s.Wait(ctx) })
}

// ServeMain is RunMain that goes on when there is nothing left to do: until the context ends, whose
// cause it returns, or the scheduler is closed (nil).
func (s *Scheduler) ServeMain(ctx context.Context) error {
	return s.host(ctx, func() error {
		select {
		case <-s.life.Done():
			return nil
		case <-ctx.Done():
			return ctxerr.Of(ctx)
		}
	})
}

// host runs the main worker until the function, in a goroutine of its own, has returned. If the
// context has ended before, nothing runs.
func (s *Scheduler) host(ctx context.Context, until func() error) error {
	switch {
	case !s.hasMain:
		return ErrNoMain
	case len(s.callers()) > 0:
		return ErrInside
	case bubble.In():
		return ErrBubble
	case !s.hosted.CompareAndSwap(false, true):
		return ErrBusy
	}
	defer s.hosted.Store(false)
	if s.closed.Load() {
		return ErrClosed
	}
	if ctx.Err() != nil {
		return until()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	result := make(chan error, 1)
	go func() {
		err := until()
		s.core.HostLeave()
		result <- err
	}()
	s.core.Host()
	err := <-result
	runtime.KeepAlive(s)
	return err
}

// WithBlockingThreads sets how many threads make the blocking calls of C bodies at a time
// (coro_blocking, coro_thread_begin), 1 to 65536. They are made when they are needed. The default
// is 64.
func WithBlockingThreads(n int) Option {
	return number("WithBlockingThreads", n, 1, 1<<16, func(c *config) { c.BlockingThreads = n })
}

// WithName names the threads name/0, name/1, …, as ps -L and top -H show them. At most 10 bytes;
// the default is "coro".
func WithName(name string) Option {
	return func(c *config) error {
		if name == "" || len(name) > 10 || strings.ContainsAny(name, "\x00/") {
			return &OptionError{"WithName", name,
				"must have 1 to 10 bytes, none of them / or zero"}
		}
		c.Name = name
		return nil
	}
}

// WithAffinity pins worker i to CPU cpus[i % len(cpus)]. A CPU that the process may not use is
// reported by WorkerStats.CPU being -1, and the worker runs anywhere.
func WithAffinity(cpus ...int) Option {
	return func(c *config) error {
		if len(cpus) == 0 {
			return &OptionError{"WithAffinity", cpus, "needs at least one CPU"}
		}
		c.CPUs = nil
		for _, cpu := range cpus {
			if cpu < 0 || cpu > 1<<16-1 {
				return &OptionError{"WithAffinity", cpu,
					fmt.Sprintf("must be from 0 to %d", 1<<16-1)}
			}
			c.CPUs = append(c.CPUs, uint16(cpu))
		}
		return nil
	}
}

// WorkerStats are the counters of one worker thread since its start.
type WorkerStats struct {
	Spawned     uint64 // coroutines that entered the scheduler here
	Ended       uint64 // coroutines that ended here
	Switches    uint64 // times that the worker chose what to run next, modulo 2³²
	Steals      uint64 // successful steals by the worker
	Stolen      uint64 // coroutines that it got by its steals
	Served      uint64 // of its steals, served by the victim itself
	Forced      uint64 // of its steals, by locking the victim's door
	Missed      uint64 // tries to steal that got nothing
	Parks       uint64 // times that it went to sleep
	RemoteWakes uint64 // wake-ups that came from other threads
	Queued      uint64 // coroutines in its queue now
	ThreadID    int    // of Linux; of the main worker that of the thread that runs it
	CPU         int    // that the worker is pinned to, or -1
}
