package coro

import (
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/organzine/coro/internal/core"
)

// pool.go - what a scheduler keeps for its coroutines, stacks and records: limits, figures,
// trimming.

// A coroutine is made of 16 to 64 bytes in a queue from spawn to start; a record of 128 bytes from
// then to its end (from spawn on, if it is joined, or has more than 8 bytes of argument); and a
// stack from its first instruction to its last. Records come in chunks of 2 MiB, stacks in arenas
// with a guard of 64 KiB (of address space) below each. Both are kept for reuse, last in first out;
// Trim gives the memory of idle stacks and records back to the system, and returns how many bytes
// that is. It makes system calls, and stops each worker for some microseconds: call it after a
// peak, not in a loop.
const (
	StackMin     = core.StackMin     // bytes of the smallest stack
	StackMax     = core.StackMax     // bytes of the largest stack
	StackDefault = core.StackDefault // bytes of a stack without another choice
	InlineBytes  = core.InlineBytes  // most bytes of an argument, and of a result, in a record
	LargeBytes   = core.LargeBytes   // the same, of a Func that is called, or started for a Task
)

// WithStack sets the size in bytes of the stacks of coroutines whose Func does not say otherwise:
// StackMin to StackMax, rounded up to a power of two. Without it that is StackDefault, 16 KiB:
// enough for code of its own, and often too little for a C library.
func WithStack(bytes int) Option {
	return number("WithStack", bytes, StackMin, StackMax, func(c *config) { c.Stack = bytes })
}

// WithStackLimit caps the bytes of all stacks together (each has 4 KiB besides its size). At the
// cap, idle stacks make room for stacks of other sizes, and coroutines wait for a stack before they
// start, until others end. They end unstarted, with ErrNoMemory, where no other can ever end: in
// Run, when everything else rests; otherwise, when each coroutine that is left waits for a stack or
// joins another one, or if a single such stack is over the cap. Stats.Unstarted counts them.
func WithStackLimit(bytes int) Option {
	return number("WithStackLimit", bytes, 1, math.MaxInt,
		func(c *config) { c.StackLimit = bytes })
}

// WithRecordLimit caps the coroutines that are spawned and have not ended, by the bytes of their
// records, in steps of 2 MiB (at least one: 16383 coroutines). At the cap, Spawn returns
// ErrNoMemory, and SpawnWait waits. Spawn may find the cap some hundred coroutines early, as busy
// workers and goroutines keep leave for some more in hand. Besides, each of them may keep up to 16
// KiB of free records.
func WithRecordLimit(bytes int) Option {
	return number("WithRecordLimit", bytes, 1, math.MaxInt, func(c *config) {
		c.RecordLimit = bytes
	})
}

// WithBufferLimit caps the bytes of the memory of all buffers that are made in the scheduler and not
// freed ([NewBuffer], coro_buffer_make). At the cap what makes a buffer, or lets it grow, returns
// ErrNoMemory. Each making and freeing costs some ns more with a cap.
func WithBufferLimit(bytes int) Option {
	return number("WithBufferLimit", bytes, 1, math.MaxInt,
		func(c *config) { c.BufferLimit = bytes })
}

// WithSharedStacks sets how many stacks the dense coroutines of a worker share, 2 to 1024, and
// their size in bytes, as WithStack. The default is 16 of StackDefault. As many dense coroutines as
// there are shared stacks wait for each other in turn without ever being copied.
func WithSharedStacks(n, bytes int) Option {
	return func(c *config) error {
		if n < 2 || n > core.SharedStacksMax {
			return &OptionError{"WithSharedStacks", n,
				fmt.Sprintf("the number of stacks must be from 2 to %d",
					core.SharedStacksMax)}
		}
		if bytes < StackMin || bytes > StackMax {
			return &OptionError{"WithSharedStacks", bytes,
				fmt.Sprintf("the bytes of a stack, the second argument, must be from %d to %d",
					StackMin, StackMax)}
		}
		c.SharedStacks, c.DenseStack = n, bytes
		return nil
	}
}

// Stats are counters and sizes of a scheduler: racy while it works, exact while it rests.
type Stats struct {
	Workers       int    // worker threads
	Awake         int    // of them, not asleep
	Live          int    // coroutines that have reached a worker and not ended
	Daemons       int    // of them, daemons
	AwaitingStack int    // of them, waiting for a stack to start on
	Rests         uint32 // times that nothing was left to do, but by daemons

	// Stalled: everything rests, and coroutines are left that are no daemons. Only a wake-up
	// from Go, or new work, can help them.
	Stalled bool

	// Totals since the start, of C and of Go bodies, and of coro's own coroutines: one for each
	// Serve, and one for each part of a CallN. Spawned - Ended is Live.
	Spawned, Ended uint64
	Failed         uint64 // of the C bodies that ended: by coro_fail or coro_abort

	// Of those that ended: before they started, and why.
	Unstarted struct {
		// there was no stack for them (WithStackLimit, or the system refused memory), and
		// none could come any more
		NoStack  uint64
		Canceled uint64 // canceled alone: by Cancel, a context or a group
		Closed   uint64 // canceled with their scheduler, by Close
	}

	// Coroutines with Go bodies. All but the executors count in the totals, too.
	Bodies struct {
		Live      int    // that have reached the executors and not ended
		Spawned   uint64 // since the start
		Failed    uint64 // of those that ended: with an error, a panic or a Goexit
		Panicked  uint64 // of those: with a panic
		Executors int    // goroutines that run bodies, see WithExecutors
		Busy      int    // of them, not idle
	}

	// Calls of C bodies into Go.
	Calls struct {
		InFlight   int    // offloaded calls (coro_call_go) that are being made
		Offloaded  uint64 // such calls since the start
		Inline     uint64 // calls made on workers (coro_call_go_inline), since the start
		Goroutines int    // that make offloaded calls, or wait for one
	}

	// The threads for coro_blocking and coro_thread_begin.
	Blocking struct {
		Threads int // that there are, see WithBlockingThreads
		Busy    int // of them, with a call
		Queued  int // calls that wait for a thread
	}

	// The goroutines' threads that have stood in for workers that slept: see [Func.Call] and
	// [FuncBrief]. One such lend in 64 is timed.
	Lends struct {
		Count   uint64
		Time    time.Duration // about how long all took
		Longest time.Duration // of those that were timed
		// functions of the process that have broken the promise of FuncBrief, and are brief
		// no longer
		Late int
	}

	// Times that Serve has not accepted for a while, since there was no descriptor or no
	// memory. After Close it is 0.
	AcceptPauses uint64

	// Calls of hooks (WithStallHook and its like, actorc.Receiver.Ended) that have panicked, or
	// have called runtime.Goexit. The first one of each hook is logged, by slog.
	HookFailures uint64

	// Mapped, and of them in the common pool: each worker has up to 64 more in hand.
	Stacks, StacksIdle   int
	StackBytes           int // of all mapped stacks, without guards
	Records, RecordsIdle int // carved, and of them in the common pool: workers have some in hand
	RecordBytes          int // of all chunks
	RecordsRetired       int // records that have been used as often as one can be

	// Dense coroutines, see FuncDense.
	Dense struct {
		// bytes mapped for frames that were copied out, and for what their coroutines wait
		// with
		Bytes     int
		Blocks    int // of them in use, about one for each coroutine that was copied out
		P50, P99  int // bytes of such a block
		CopiedOut uint64
		// times; a coroutine that goes on where it is costs nothing, not even a count
		CopiedIn    uint64
		CopiedBytes uint64
		Private     uint64 // times that a coroutine kept its stack, since its frames were large
	}

	// Buffers that were made in the scheduler: since the start, and of them freed, wherever. They
	// count after Close, too.
	Buffers struct {
		Made, Freed uint64
		Bytes       int // of the memory of those that are not freed
	}

	Membarrier  bool // workers and thieves take turns by membarrier(2), not by an exchange
	LightGuards bool // guards cost no mapping (MADV_GUARD_INSTALL, Linux 6.13)

	PerWorker []WorkerStats
}

// String is one line, without the workers.
func (st Stats) String() string {
	state := ""
	if st.Stalled {
		state = ", stalled"
	}
	u := st.Unstarted
	return fmt.Sprintf("coroutines: %d live, %d daemons, %d awaiting a stack%s; "+
		"ended: %d of %d, %d failed; "+
		"unstarted: %d without a stack, %d canceled, %d closed; "+
		"Go bodies: %d live of %d, %d failed, %d panicked; executors: %d, %d busy; "+
		"calls: %d in flight, %d offloaded, %d inline; "+
		"blocking threads: %d, %d busy, %d calls queued; "+
		"lends: %d, %v, longest %v, %d functions late; accept pauses: %d; "+
		"hook failures: %d; "+
		"workers: %d, %d awake; "+
		"stacks: %d, %d idle, %d KiB; records: %d, %d idle, %d KiB; dense: %d blocks, %d KiB; "+
		"buffers: %d of %d, %d KiB; rests: %d", st.Live, st.Daemons, st.AwaitingStack, state,
		st.Ended, st.Spawned, st.Failed,
		u.NoStack, u.Canceled, u.Closed,
		st.Bodies.Live, st.Bodies.Spawned, st.Bodies.Failed, st.Bodies.Panicked,
		st.Bodies.Executors, st.Bodies.Busy,
		st.Calls.InFlight, st.Calls.Offloaded, st.Calls.Inline,
		st.Blocking.Threads, st.Blocking.Busy, st.Blocking.Queued,
		st.Lends.Count, st.Lends.Time, st.Lends.Longest, st.Lends.Late, st.AcceptPauses,
		st.HookFailures,
		st.Workers, st.Awake,
		st.Stacks, st.StacksIdle, st.StackBytes>>10,
		st.Records, st.RecordsIdle, st.RecordBytes>>10,
		st.Dense.Blocks, st.Dense.Bytes>>10,
		st.Buffers.Made-st.Buffers.Freed, st.Buffers.Made, st.Buffers.Bytes>>10, st.Rests)
}

// Format prints the String of st; with %+v and %#v all fields, the workers included.
func (st Stats) Format(f fmt.State, verb rune) {
	if verb == 'v' && (f.Flag('+') || f.Flag('#')) {
		type fields Stats
		fmt.Fprintf(f, fmt.FormatString(f, verb), fields(st))
		return
	}
	fmt.Fprintf(f, fmt.FormatString(f, verb), st.String())
}

// Stats returns the present figures. It stops no worker, and takes locks that workers take only
// when they run out of stacks or records in hand, and those of the executors and of the goroutines
// that make calls into Go. It costs 0.2 to 0.5 µs, and 0.1 to 0.3 µs for
// each worker. It works after Close.
func (s *Scheduler) Stats() Stats {
	c := s.core.Stats()
	buffers := s.core.BufferStats()
	runtime.KeepAlive(s)
	if s.life.Err() != nil {
		c.Awake = 0 // the threads are gone: they did not go to sleep
	}
	ends := &s.executors.ends
	out := Stats{
		Workers: c.Workers, Awake: c.Awake, Live: c.Live, Daemons: c.Daemons,
		AwaitingStack: c.AwaitingStack, Rests: c.Rests,
		Stalled: c.Awake == 0 && c.Outside == 0 && c.Live > c.Daemons,
		Spawned: c.Spawned, Ended: c.Ended, Failed: c.Failed,
		AcceptPauses: c.AcceptPauses, HookFailures: s.hooks.failures(),
		Stacks: c.Stacks, StacksIdle: c.StacksIdle, StackBytes: c.StackBytes,
		Records: c.Records, RecordsIdle: c.RecordsIdle, RecordBytes: c.RecordBytes,
		RecordsRetired: c.RecordsRetired, Membarrier: c.Membarrier,
		LightGuards: c.LightGuards,
		Dense:       c.Dense,
		PerWorker:   make([]WorkerStats, len(c.PerWorker)),
	}
	for i, w := range c.PerWorker {
		out.PerWorker[i] = WorkerStats(w)
	}
	out.Buffers.Made, out.Buffers.Freed, out.Buffers.Bytes = buffers.Made, buffers.Freed,
		buffers.Bytes
	out.Unstarted.NoStack = c.NoStack
	out.Unstarted.Canceled = c.CanceledBefore + ends.canceled.Load()
	out.Unstarted.Closed = c.ClosedBefore + ends.closed.Load()
	s.executors.stats(&out)
	out.Bodies.Live, out.Bodies.Spawned = c.GoLive, c.GoSpawned
	out.Blocking.Threads, out.Blocking.Queued = c.BlockingThreads, c.BlockingQueued
	out.Blocking.Busy = c.BlockingThreads - c.BlockingIdle
	out.Lends.Count, out.Lends.Time = c.Lends, time.Duration(c.LentNS)
	out.Lends.Longest, out.Lends.Late = time.Duration(c.LentMostNS), core.LateFunctions()
	out.Calls.InFlight, out.Calls.Goroutines, out.Calls.Offloaded = s.offload.Stats()
	out.Calls.Inline = c.InlineCalls
	return out
}

// Trim gives the memory of idle stacks and records back to the system, and returns how many bytes.
// It makes system calls, and stops each worker for some microseconds: call it after a peak, not in
// a loop.
func (s *Scheduler) Trim() int {
	s.unloadSubmitters()
	n := s.core.Trim()
	runtime.KeepAlive(s)
	return n
}
