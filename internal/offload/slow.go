package offload

import (
	"time"

	"github.com/organzine/coro/internal/core"
)

// A slowCall is a call that was seen to run.
type slowCall struct {
	call     core.InlineCall
	since    time.Time
	reported bool
}

// see notes the call that a worker makes now, and tells whether the call is to be reported.
func (s *slowCall) see(c core.InlineCall, now time.Time, limit time.Duration) bool {
	if c != s.call {
		*s = slowCall{call: c, since: now}
	}
	if c.ID == 0 || s.reported || now.Sub(s.since) < limit {
		return false
	}
	s.reported = true
	return true
}

// Watch reports each call that runs for longer than the limit, once, until ended is closed: f gets
// the function's name, how long it has run at least, and whether it was called inline, in a
// goroutine of its own.
func (p *Pool) Watch(
	ended <-chan struct{}, limit time.Duration, f func(string, time.Duration, bool),
) {
	tick := time.NewTicker(limit / 4)
	defer tick.Stop()
	seen := make([]slowCall, p.Core.Workers())
	var calls []core.InlineCall
	for {
		select {
		case <-ended:
			return
		case <-tick.C:
		}
		now := time.Now()
		calls = p.Core.InlineCalls(calls[:0])
		for i, c := range calls {
			if g := find(c.ID); seen[i].see(c, now, limit) && g != nil {
				go f(g.Name, now.Sub(seen[i].since), true)
			}
		}
		p.reportSlow(now, limit, f)
	}
}

// reportSlow is the part of Watch for offloaded calls.
func (p *Pool) reportSlow(now time.Time, limit time.Duration, f func(string, time.Duration, bool)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.each(func(w *worker) {
		if g := find(w.now.ID); w.seen.see(w.now, now, limit) && g != nil {
			go f(g.Name, now.Sub(w.seen.since), false)
		}
	})
}
