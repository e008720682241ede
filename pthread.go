package coro

import (
	"fmt"
	"strings"

	"github.com/organzine/coro/csrc"
)

// WithWorkers sets the number of worker threads, 1 to 256. The default is runtime.GOMAXPROCS(0),
// which knows of CPU quotas of containers. Workers and Go's own threads share the cores.
func WithWorkers(n int) Option {
	return number("WithWorkers", n, 1, csrc.WorkersMax, func(c *config) { c.Workers = n })
}

// WithDedicatedWorkers adds n worker threads, numbered after those of WithWorkers; there may be 256
// in all. A dedicated worker runs coroutines that were sent there ([Func.OnWorker],
// coro_attr.worker, coro_pin), coroutines that those spawn, and nothing else: it steals nothing,
// and nothing is stolen from it. So its coroutines wait for no others and keep no others waiting.
// In all else it is a worker: Stats and WithAffinity count it, and Close joins it. The default is
// 0.
func WithDedicatedWorkers(n int) Option {
	return number("WithDedicatedWorkers", n, 0, csrc.WorkersMax-1, func(c *config) {
		c.Dedicated = n
	})
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
	Parks       uint64 // times that it went to sleep
	RemoteWakes uint64 // wake-ups that came from other threads
	Queued      uint64 // coroutines in its queue now
	ThreadID    int    // of Linux
	CPU         int    // that the worker is pinned to, or -1
}
