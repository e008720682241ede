package coro

import (
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/organzine/coro/csrc"
)

// An Option configures New.
type Option func(*config) error

type config struct {
	csrc.Options
	onStall   func(blocked int)
	executors int
	callLimit int
	slowLimit time.Duration
	onSlow    func(SlowCall)
}

func newConfig(opts []Option) (*config, error) {
	c := &config{}
	c.Name = "coro"
	c.callLimit = math.MaxInt
	c.Workers = min(runtime.GOMAXPROCS(0), csrc.WorkersMax)
	c.executors = runtime.GOMAXPROCS(0)
	for _, o := range opts {
		if err := o(c); err != nil {
			return nil, err
		}
	}
	if c.Workers+c.Dedicated > csrc.WorkersMax {
		return nil, &OptionError{"WithDedicatedWorkers", c.Dedicated, fmt.Sprintf("with %d others, there may be %d workers in all", c.Workers,
			csrc.WorkersMax)}
	}
	return c, nil
}

// number is the check that most options need.
func number(what string, value, least, most int, set func(*config)) Option {
	return func(c *config) error {
		if value < least || value > most {
			return &OptionError{what, value, fmt.Sprintf("must be from %d to %d", least, most)}
		}
		set(c)
		return nil
	}
}

// WithPaused makes a scheduler for batches: what is spawned waits until Run, which returns when nothing can happen
// any more. Without it, workers run what is spawned at once.
func WithPaused() Option {
	return func(c *config) error { c.Paused = true; return nil }
}

// WithStealBatch sets how many coroutines one steal takes at most, 1 to 64. The default is 32.
func WithStealBatch(k int) Option {
	return number("WithStealBatch", k, 1, csrc.StealMax, func(c *config) { c.StealBatch = k })
}

// WithHandoverBudget sets how many times in a row a coroutine that has just been woken may run ahead of the queue.
// 0 gives a pure first-in-first-out queue. By default a chain of wake-ups, which stays in cache, keeps the queue waiting for 10 to 40 µs:
// up to 4096 times, fewer where turns are long, so that nobody starves.
func WithHandoverBudget(n int) Option {
	return number("WithHandoverBudget", n, 0, 1<<30, func(c *config) {
		c.HandoverBudget = n
		if n == 0 {
			c.HandoverBudget = -1
		}
	})
}

// WithoutMembarrier makes workers take turns with thieves by an exchange instead of membarrier(2): about 5 ns more a
// switch. It is chosen by itself where the kernel refuses membarrier.
func WithoutMembarrier() Option {
	return func(c *config) error { c.NoMembarrier = true; return nil }
}

// WithStallHook has f called, in a goroutine of its own, whenever everything has come to rest while coroutines are
// left: a deadlock, unless a goroutine is still going to wake one. In batch mode Run reports it instead.
func WithStallHook(f func(blocked int)) Option {
	return func(c *config) error { c.onStall = f; return nil }
}

// WithExecutors sets how many goroutines run Go bodies at a time, 1 to 4096. The default is runtime.GOMAXPROCS(0). They are made
// when they are needed.
func WithExecutors(n int) Option {
	return number("WithExecutors", n, 1, 4096, func(c *config) { c.executors = n })
}
