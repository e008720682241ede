package actor

import (
	"sync/atomic"
	"time"
)

// passivate.go - actors without messages end by themselves.

// Passivate lets the actor end when it had no message for the time d, has no children, and awaits
// no answer to AskThen: one that never comes keeps the actor. Whether a message that comes
// meanwhile is handled or refused is decided by one compare-and-swap. Each call replaces the time
// of the call before, and the time begins again; a restart leaves it. d is 1 µs at least; 0 ends
// it. An actor that passivates costs a timer for each d, but none while it has children or awaits
// answers, and a look at the clock for each turn.
func (c *Context[M]) Passivate(d time.Duration) {
	c.check()
	if c.c.flags&isEnding != 0 { // Stopped has called it
		return
	}
	if d > 0 {
		d = max(d, time.Microsecond)
	}
	x := c.c.sideOf()
	x.beat.Store(int64(c.h.sys.clock.now()))
	old := x.idle.Load()
	if old != nil && old.after == d {
		return
	}
	var w *idleWatch
	if d > 0 {
		w = &idleWatch{s: &c.c.actor, x: x, after: d}
	}
	x.idle.Store(w) // only turns do
	if old != nil {
		old.stop()
	}
	if w != nil {
		w.arm(d)
	}
}

// An idleWatch has a timer that looks how long an actor was idle. It arms itself again until that
// is long enough; then it posts sigIdle, and the actor's turn, which looks again, ends the actor or
// arms the timer. While the actor has children, or awaits answers, there is no timer: the end of
// the last child, and the last answer, arm it. The idleWatch is over when the actor's side does not
// have it any more.
type idleWatch struct {
	s     *actor
	x     *side
	after time.Duration
	timer atomic.Pointer[stopper]
	armed atomic.Bool // else only a turn arms it
}

func (w *idleWatch) arm(d time.Duration) {
	w.armed.Store(true)
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
	if left := w.left(); left > 0 {
		w.arm(left)
		return
	}
	w.armed.Store(false)
	w.s.post(signal{sigIdle, nil})
}

// left is how long the actor has to be idle yet.
func (w *idleWatch) left() time.Duration {
	return w.after - (w.s.kind.sys.clock.now() - time.Duration(w.x.beat.Load()))
}

// isIdle tells whether an active actor that has nothing new may be passivated now.
func (p *pool[M]) isIdle(c *actorOf[M], x *side) bool {
	w := x.idle.Load()
	return w != nil && !w.armed.Load() && w.left() <= 0 && c.pending == nil &&
		c.flags < oneAwaited && !p.awaitsChildren(x)
}

// armIdle, which turns call, arms the timer of Passivate if there is to be one.
func (c *actorOf[M]) armIdle(x *side) {
	w := x.idle.Load()
	if w == nil || w.armed.Load() || c.flags >= oneAwaited || c.pool().awaitsChildren(x) {
		return
	}
	left := w.left()
	if left <= 0 && c.pending != nil { // it is at work, and its turn is long
		left = w.after
	}
	w.arm(max(left, 0))
}

// awaited is called when an answer has come that the state awaits, or when none will come.
func (c *actorOf[M]) awaited() {
	c.flags -= oneAwaited
	if x := c.side.Load(); x != nil {
		c.armIdle(x)
	}
}
