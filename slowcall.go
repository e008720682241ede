package coro

import "time"

// A SlowCall is a call of a Go function by a C body that has been running for long.
type SlowCall struct {
	Func   string        // the function's name
	For    time.Duration // it has been running for at least this long
	Inline bool          // the call keeps a worker from everything else
}

// WithSlowCallHook calls f, on a goroutine of its own, once for each call from C into Go that
// runs for longer than the limit, at least a millisecond. One goroutine looks at the calls four
// times in each limit; the calls themselves get no slower. A nil f is no hook, as without the
// option. A panic in f harms nothing (Stats.HookFailures).
func WithSlowCallHook(limit time.Duration, f func(SlowCall)) Option {
	return func(c *config) error {
		if limit < time.Millisecond {
			return &OptionError{"WithSlowCallHook", limit,
				"the limit must be at least a millisecond"}
		}
		c.slowLimit, c.onSlow = limit, f
		return nil
	}
}

// WithCallLimit sets how many offloaded calls from C into Go (coro_call_go) run at the same time at
// most; others wait for their turn. Functions that wait for each other may then wait without end.
// Without the option there is no limit, and each call that blocks costs a goroutine.
func WithCallLimit(n int) Option {
	return number("WithCallLimit", n, 1, 1<<30, func(c *config) { c.callLimit = n })
}
