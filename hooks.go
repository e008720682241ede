package coro

import (
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
