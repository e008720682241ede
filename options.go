package coro

import (
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/organzine/coro/internal/core"
)

// options.go - options, and the errors of bad ones.

// An Option configures New.
type Option func(*config) error

type config struct {
	core.Options
	onStall    func(blocked int)
	executors  int
	callLimit  int
	slowLimit  time.Duration
	crowdLimit int
	onSlow     func(SlowCall)
	onLate     func(function string)
	onCrowd    func(FuncStats)
}

func newConfig(opts []Option) (*config, error) {
	c := &config{}
	c.Name = "coro"
	c.callLimit = math.MaxInt
	c.Workers = min(runtime.GOMAXPROCS(0), core.WorkersMax)
	c.executors = runtime.GOMAXPROCS(0)
	for _, o := range opts {
		if o == nil {
			return nil, nilOption("New")
		}
		if err := o(c); err != nil {
			return nil, err
		}
	}
	if c.MainWorker {
		if c.Paused {
			return nil, &OptionError{"WithMainThread", true,
				"cannot go with WithPaused: its runs end by themselves"}
		}
		c.Dedicated++
	}
	if c.Workers+c.Dedicated > core.WorkersMax {
		return nil, &OptionError{"WithDedicatedWorkers", c.Dedicated,
			fmt.Sprintf("with %d others, there may be %d workers in all", c.Workers,
				core.WorkersMax)}
	}
	return c, nil
}

// nilOption is the error of a call that was given a nil option.
func nilOption(call string) error {
	return &OptionError{call, "nil", "an option is nil: leave it out"}
}

// number is an option that is a number in a range.
func number(what string, value, least, most int, set func(*config)) Option {
	return func(c *config) error {
		if err := inRange(what, value, least, most); err != nil {
			return err
		}
		set(c)
		return nil
	}
}

// inRange is the error of a number that is out of its range, or nil.
func inRange(what string, value, least, most int) error {
	if value < least || value > most {
		return &OptionError{what, value, fmt.Sprintf("must be from %d to %d", least, most)}
	}
	return nil
}

// WithPaused makes a scheduler for batches: a spawned coroutine waits until Run, which returns when
// nothing can happen any more. Without it, workers run what is spawned at once.
func WithPaused() Option {
	return func(c *config) error { c.Paused = true; return nil }
}

// Tuning has settings that few programs need. A zero field is the default.
type Tuning struct {
	// StealBatch is how many coroutines one steal takes at most, 1 to 64. The default is 32.
	StealBatch int
	// HandoverBudget is how many times in a row a coroutine that has just been woken may run
	// ahead of the queue, 1 to 2³⁰; -1: never, which makes a pure first-in-first-out queue. By
	// default a chain of wake-ups, which stays in cache, keeps the queue waiting for 10 to 40
	// µs: fewer than 2048 times, and fewer where turns are long, so that no coroutine starves.
	HandoverBudget int
	// StackCache is how many idle stacks of each size a worker keeps for itself, 1 to 65536.
	// The default is 64.
	StackCache int
	// NoMembarrier makes workers take turns with thieves by an exchange instead of
	// membarrier(2): about 5 ns more a switch. Where the kernel refuses membarrier the exchange
	// is chosen anyway.
	NoMembarrier bool
}

// WithTuning sets all of t. A value out of range is an *OptionError.
func WithTuning(t Tuning) Option {
	return func(c *config) error {
		for _, f := range []struct {
			name               string
			value, least, most int
		}{
			{"Tuning.StealBatch", t.StealBatch, 0, core.StealMax},
			{"Tuning.HandoverBudget", t.HandoverBudget, -1, 1 << 30},
			{"Tuning.StackCache", t.StackCache, 0, 1 << 16},
		} {
			if err := inRange(f.name, f.value, f.least, f.most); err != nil {
				return err
			}
		}
		c.StealBatch, c.HandoverBudget, c.StackCache = t.StealBatch, t.HandoverBudget,
			t.StackCache
		c.NoMembarrier = t.NoMembarrier
		return nil
	}
}

// WithStallHook calls f, on a goroutine of its own, when nothing can run and coroutines still wait
// that are no daemons ([Func.Daemon]): a deadlock, unless a goroutine is still going to wake one.
// blocked is the number of these coroutines. In batch mode Run reports a deadlock instead. A nil f
// is no hook, as without the option. A panic in f harms nothing (Stats.HookFailures).
func WithStallHook(f func(blocked int)) Option {
	return func(c *config) error { c.onStall = f; return nil }
}

// WithoutLending keeps what Go starts and wakes on the workers' own threads: no goroutine's
// thread stands in for a worker that sleeps. So C code sees no thread of Go's, and [Func.Call]
// costs what Start and Wait do. Use it where goroutines' threads carry what C must not see, as a
// namespace or a user id, and to find out whether a fault has to do with lending. [docs/border.md]
// has more.
//
// [docs/border.md]: https://github.com/organzine/coro/blob/main/docs/border.md
func WithoutLending() Option {
	return func(c *config) error { c.NoLending = true; return nil }
}

// WithLateHook calls f, on a goroutine of its own, for each function that was declared brief
// (FuncBrief, CORO_BRIEF) and was seen to run for more than 100 µs without a wait, twice. The
// function is brief no longer, in the whole process, and f is given its name. About one lend in 64
// is timed. A nil f is no hook, as without the option. A panic in f harms nothing
// (Stats.HookFailures).
func WithLateHook(f func(function string)) Option {
	return func(c *config) error { c.onLate = f; return nil }
}

// WithExecutors sets how many goroutines run Go bodies at a time, 1 to 4096. The default is
// runtime.GOMAXPROCS(0). They are made when they are needed.
func WithExecutors(n int) Option {
	return number("WithExecutors", n, 1, 4096, func(c *config) { c.executors = n })
}

// WithCallLimit sets how many offloaded calls from C into Go (coro_call_go) run at the same time at
// most; others wait for their turn. Functions that wait for each other may then wait without end.
// Without the option there is no limit, and each call that blocks costs a goroutine.
func WithCallLimit(n int) Option {
	return number("WithCallLimit", n, 1, 1<<30, func(c *config) { c.callLimit = n })
}
