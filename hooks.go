package coro

import (
	"time"

	"github.com/organzine/coro/internal/inside"
	"github.com/organzine/coro/internal/panicked"
)

// The hooks of a scheduler are functions of the program's that belong to no coroutine. Each has a
// goroutine of its own for each call ([docs/hooks.md]).
//
// [docs/hooks.md]: https://github.com/organzine/coro/blob/main/docs/hooks.md
type hooks struct {
	stall panicked.Hook[int]
	slow  panicked.Hook[SlowCall]
	late  panicked.Hook[string]
	crowd panicked.Hook[FuncStats]
	ended panicked.Hook[inside.Ender] // of all actors that Go serves
}

func (h *hooks) set(c *config) {
	h.stall.Name, h.stall.F = "coro.WithStallHook", c.onStall
	h.slow.Name, h.slow.F = "coro.WithSlowCallHook", c.onSlow
	h.late.Name, h.late.F = "coro.WithLateHook", c.onLate
	h.crowd.Name, h.crowd.F = "coro.WithCrowdHook", c.onCrowd
	h.ended.Name, h.ended.F = "actorc.Receiver.Ended", inside.Ender.Ended
}

// failures is how many calls have failed.
func (h *hooks) failures() uint64 {
	return h.stall.Failures() + h.slow.Failures() + h.late.Failures() +
		h.crowd.Failures() + h.ended.Failures()
}

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
