package actor

import (
	"sync/atomic"
	"time"
)

// Passivate has the actor end when it had no message for the time d, has no children, and awaits no
// answer to AskThen: one that never comes keeps the actor. Whether a message that comes meanwhile
// is handled or refused is decided by one compare-and-swap. Each call replaces the time of the call
// before, and the time begins again. 0: not any more. An actor that passivates costs a timer for
// each d, and a look at the clock for each turn.
func (c *Context[M]) Passivate(d time.Duration) {
	if c.c.flags&isEnding != 0 { // Stopped has called it
		return
	}
	x := c.c.sideOf()
	x.beat.Store(int64(c.h.sys.clock.now()))
	old := x.idle.Load()
	if old != nil && old.after == d {
		return
	}
	var w *idleWatch
	if d > 0 {
		w = &idleWatch{s: &c.c.slot, x: x, after: d}
	}
	x.idle.Store(w) // only turns do
	if old != nil {
		old.stop()
	}
	if w != nil {
		w.arm(d)
	}
}

// An idleWatch has a timer that looks how long an actor was idle, and arms itself again. It is over
// when the actor's side does not have it any more.
type idleWatch struct {
	s     *slot
	x     *side
	after time.Duration
	timer atomic.Pointer[stopper]
}

func (w *idleWatch) arm(d time.Duration) {
	t := w.s.kind.sys.clock.after(d, w.look)
	w.timer.Store(&t)
	if w.x.idle.Load() != w { // it is over meanwhile, and stop has perhaps seen the timer before
		t.stop()
	}
}

func (w *idleWatch) stop() {
	if t := w.timer.Load(); t != nil {
		(*t).stop()
	}
}

func (w *idleWatch) look() {
	if w.x.idle.Load() != w {
		return
	}
	idle := w.s.kind.sys.clock.now() - time.Duration(w.x.beat.Load())
	if idle < w.after {
		w.arm(w.after - idle)
		return
	}
	w.s.post(signal{sigIdle, nil}) // which looks again
	w.arm(w.after)
}

// isIdle tells whether an active actor that has nothing new may be passivated now.
func (x *side) isIdle(at time.Duration) bool {
	w := x.idle.Load()
	return w != nil && x.children == 0 && at-time.Duration(x.beat.Load()) >= w.after
}
