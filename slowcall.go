package coro

import (
	"time"

	"github.com/organzine/coro/csrc"
)

// A SlowCall is a Go function that a C body has called, and that has been running for long.
type SlowCall struct {
	Func   string        // its name
	For    time.Duration // at least so long
	Inline bool          // it keeps a worker from everything else
}

// WithSlowCallHook has f called once for each call from C into Go that runs for longer than the limit, which is at least a
// millisecond, in a goroutine of its own. One goroutine then looks at the calls four times in each such time; the calls
// themselves get no slower.
func WithSlowCallHook(limit time.Duration, f func(SlowCall)) Option {
	return func(c *config) error {
		if limit < time.Millisecond {
			return &OptionError{"WithSlowCallHook", limit, "must be at least a millisecond"}
		}
		if f == nil {
			return &OptionError{"WithSlowCallHook", "nil", "needs a function"}
		}
		c.slowLimit, c.onSlow = limit, f
		return nil
	}
}

// A slowCall is a call that was seen to run.
type slowCall struct {
	call     csrc.InlineCall
	since    time.Time
	reported bool
}

// see notes what runs now at one place, and tells whether it is to be reported.
func (g *slowCall) see(c csrc.InlineCall, now time.Time, limit time.Duration) bool {
	if c != g.call {
		*g = slowCall{call: c, since: now}
	}
	if c.ID == 0 || g.reported || now.Sub(g.since) < limit {
		return false
	}
	g.reported = true
	return true
}

// watchCalls reports slow calls until the scheduler has ended.
func (s *Scheduler) watchCalls(limit time.Duration, f func(SlowCall)) {
	tick := time.NewTicker(limit / 4)
	defer tick.Stop()
	seen := make([]slowCall, s.Workers())
	var calls []csrc.InlineCall
	for {
		select {
		case <-s.ended:
			return
		case <-tick.C:
		}
		now := time.Now()
		calls = s.core.InlineCalls(calls[:0])
		for i, c := range calls {
			if g := goFuncs.find(c.ID); seen[i].see(c, now, limit) && g != nil {
				go f(SlowCall{g.name, now.Sub(seen[i].since), true})
			}
		}
		s.offload.slow(now, limit, f)
	}
}
