package actor

import (
	"time"

	"github.com/organzine/coro/internal/race"
	"github.com/organzine/coro/internal/turnclock"
)

const (
	turnLasts = 20 * time.Microsecond // about
	paceMost  = 64
)

// What a turn does, in case that the behaviour fails: local.at.
const (
	inHook = iota // no message
	inBox         // the message that is alone, and stays in the box
	inList        // the first of the pending ones
)

// Flags of a slot, which only its turns use.
const (
	isStopping   = 1 << iota // Stop was called by the behaviour
	isEnding                 // the box is closed, and children are waited for
	isRestarting             // children are waited for, or the time of a back-off
	isBackingOff             // the time of a back-off is waited for
	hasStarted               // the hook Started of the state was called
	hasRetired               // the hook Stopped was
	isStarting               // the hook Started is being called
	isRetiring               // the hook Stopped is

	// The other bits are the number of answers to AskThen that the state awaits.
	oneAwaited = 1 << 8
)

// turn runs a turn on an executor.
func (p *pool[M]) turn(e *executor, s *slot) {
	c := cellOf[M](s)
	l := &p.locals[e.index]
	l.ctx.c = c
	e.slot = s
	if x := s.side.Load(); x != nil && !p.begin(&l.ctx, c, x) {
		return
	}
	if p.messages(&l.ctx, c) {
		if e.floods {
			e.hold(s)
		} else {
			e.push(s)
		}
	}
}

// begin is what a turn does before its messages, for an actor with a side. It returns as control
// does.
func (p *pool[M]) begin(ctx *Context[M], c *cell[M], x *side) bool {
	if x.idle.Load() != nil && (c.pending != nil || c.box.Load() != &p.active) {
		x.beat.Store(int64(p.sys.clock.now()))
	}
	return !x.posted.Load() || p.control(ctx, c)
}

// messages handles messages until there are none, or the turn's time is over. True: there are some
// left, and the next turn is to be queued.
func (p *pool[M]) messages(ctx *Context[M], c *cell[M]) (again bool) {
	l, h := ctx.l, ctx.h
	h.stop, h.floods = h.each, false
	n := c.pending
	if n == nil {
		top := c.box.Load()
		if top == &p.active {
			return p.sleep(c)
		}
		if top.next == nil && top.x == nil && top.bulk.Load() == nil &&
			c.kind.settings.room == 0 {
			l.at = inBox
			if err := c.recv.Receive(ctx, top.m); err != nil {
				return p.fail(ctx, c, err)
			}
			h.handled++
			if c.flags&isStopping != 0 {
				c.pending = c.take(p, top)
				p.give(l, top)
				return p.control(ctx, c)
			}
			if c.box.Load() == top && c.box.CompareAndSwap(top, nil) {
				p.give(l, top)
				return p.isPosted(c)
			}
			n = c.take(p, top)
			p.give(l, top)
			if h.stop {
				c.pending = n
				return true
			}
		} else {
			n = c.take(p, nil)
		}
	}
	return p.list(ctx, c, n)
}

// list is messages for those that were taken out of the box.
func (p *pool[M]) list(ctx *Context[M], c *cell[M], n *node[M]) (again bool) {
	l, h := ctx.l, ctx.h
	l.at = inList
	left, began := l.pace, time.Duration(0)
	if left == 1 {
		began = turnclock.Now()
	}
	last := began
	for {
		for n != nil {
			c.pending = n
			var err error
			if n.x == nil {
				err = c.recv.Receive(ctx, *n.message())
			} else {
				err = n.x.handle(ctx, c, n)
			}
			if err != nil {
				return p.fail(ctx, c, err)
			}
			n = p.step(l, c, n)
			if h.stop {
				break
			}
			if left--; left <= 0 {
				at := turnclock.Now()
				if began == 0 {
					began = at - turnLasts/2
				} else {
					l.setPace(at - last)
				}
				last, left = at, l.pace
				if at-began >= turnLasts && h.exec != nil {
					break
				}
			}
		}
		p.flush(ctx, c)
		c.pending = n
		if c.flags&isStopping != 0 {
			return p.control(ctx, c)
		}
		if n != nil {
			return true
		}
		if c.box.CompareAndSwap(&p.active, nil) {
			return p.isPosted(c)
		}
		if h.stop {
			return true
		}
		n = c.take(p, nil)
	}
}

// step returns the node of the message after the one at hand, which is done: K3, and release.
func (p *pool[M]) step(l *local[M], c *cell[M], n *node[M]) *node[M] {
	l.done++
	if most := c.kind.settings.room; most > 0 {
		c.side.Load().room.leave(most)
	}
	if b := n.bulk.Load(); b != nil {
		if b.at == b.n {
			b.n = b.word.Or(bulkEnd) &^ bulkEnd
		}
		if b.at < b.n {
			b.at++
			return n
		}
		p.dropBulk(l, n, b)
	}
	next := n.next
	n.x = nil
	p.give(l, n)
	return next
}

// flush takes note of the messages that were handled.
func (p *pool[M]) flush(ctx *Context[M], c *cell[M]) {
	ctx.h.handled += ctx.l.done
	p.forgo(ctx.l, c)
}

// forgo takes note of messages that are done.
func (p *pool[M]) forgo(l *local[M], c *cell[M]) {
	// more may have come to a bulk than was known when it was taken
	race.StoreUint32(&c.behind, c.behind-min(c.behind, l.done))
	l.done = 0
}

// setPace is told how long the messages of the last pace took.
func (l *local[M]) setPace(took time.Duration) {
	fits := time.Duration(l.pace) * (turnLasts / 2) / (took + 1)
	l.pace = int(max(min(fits, 2*time.Duration(l.pace), paceMost), 1))
}

// sleep is T4 of a turn without messages.
func (p *pool[M]) sleep(c *cell[M]) (again bool) {
	if c.box.CompareAndSwap(&p.active, nil) {
		return p.isPosted(c)
	}
	return true
}

// isPosted is T5, after the actor was made dormant. True: it is active again, and the next turn is
// the caller's to queue.
func (p *pool[M]) isPosted(c *cell[M]) bool {
	x := c.side.Load()
	return x != nil && x.posted.Load() && p.activate(&c.slot)
}

// handle handles a message that has more than its m.
func (x *nodeExtra[M]) handle(ctx *Context[M], c *cell[M], n *node[M]) error {
	if x.call != nil {
		return x.call(ctx)
	}
	return c.recv.Receive(ctx, n.m)
}

// failed goes on after a behaviour that has panicked, or has ended its goroutine.
func (p *pool[M]) failed(e *executor, s *slot, err error) {
	if p.fail(&p.locals[e.index].ctx, cellOf[M](s), err) {
		e.push(s)
	}
}
