package actor

import (
	"sync/atomic"
	"time"

	"github.com/organzine/coro/internal/race"
	"github.com/organzine/coro/internal/turnclock"
)

// turn.go - turns: an actor handles its messages.

// Flags of an actor, which only its turns use.
const (
	isStopping   = 1 << iota // Stop was called by the behaviour
	isEnding                 // the box is closed, and children are waited for
	isRestarting             // children are waited for, or the time of a back-off
	isBackingOff             // the time of a back-off is waited for
	hasStarted               // the hook Started of the state was called
	hasRetired               // the hook Stopped was
	isStarting               // a restart makes the state, or the hook Started is being called
	isRetiring               // the hook Stopped is

	// The other bits are the number of answers to AskThen that the state awaits.
	oneAwaited = 1 << 8
)

// turn runs a turn on an executor.
func (p *pool[M]) turn(e *executor, s *actor) {
	c := ofType[M](s)
	l := &p.locals[e.index]
	l.ctx.c = c
	race.StorePointer(&e.actor, s)
	if x := s.side.Load(); x != nil && !p.begin(&l.ctx, c, x) {
		return
	}
	again := false
	if n := c.pending; n == nil || n.next != nil || n.x != nil || n.bulk.Load() != nil ||
		s.kind.settings.room > 0 {
		again = p.messages(&l.ctx, c)
	} else { // messages where one is pending, as most often
		e.stop, e.floods = e.each, false
		l.atMessage = true
		if err := c.recv.Receive(&l.ctx, n.m); err != nil {
			again = p.fail(&l.ctx, c, err)
		} else if n.next != nil || c.flags&isStopping != 0 || c.box.Load() != nil {
			again = p.list(&l.ctx, c, p.step(l, c, n), e.stop)
		} else {
			e.handled++
			c.pending = nil
			p.tidy(l, n)
			l.keep(n)
			again = p.sleep(c)
		}
	}
	switch {
	case !again:
	case e.floods:
		e.hold(s)
	default:
		e.push(s)
	}
}

// begin is what a turn does before its messages, for an actor with a side. It returns as control
// does.
func (p *pool[M]) begin(ctx *Context[M], c *actorOf[M], x *side) bool {
	if x.idle.Load() != nil && (c.pending != nil || c.box.Load() != nil) {
		x.beat.Store(int64(p.sys.clock.now()))
	}
	if x.posted.Load() && !p.control(ctx, c) {
		return false
	}
	if x.retries > 0 {
		x.retry(ctx.h)
	}
	return true
}

// retry is part of begin where the actor has failed with a message. This turn begins with it, or it
// is done.
func (x *side) retry(h *caller) {
	if x.again {
		x.again, x.since = false, h.handled
	} else {
		x.retries = 0
	}
}

// messages handles messages until there are none, or the turn's time is over. True: there are some
// left, and the next turn is to be queued.
func (p *pool[M]) messages(ctx *Context[M], c *actorOf[M]) (again bool) {
	ctx.h.stop, ctx.h.floods = ctx.h.each, false
	n := c.pending
	if n == nil {
		n = c.take()
	}
	if n == nil {
		return p.sleep(c)
	}
	return p.list(ctx, c, n, false)
}

// list is messages for the pending ones, from n on; none, if the turn's time is over. It looks for
// signals after each message: a stop, a sibling's restart and an escalation wait for no others.
func (p *pool[M]) list(ctx *Context[M], c *actorOf[M], n *node[M], isOver bool) (again bool) {
	l, h := ctx.l, ctx.h
	l.atMessage = true
	x := c.side.Load()
	left, began := l.pace, time.Duration(0)
	if left == 1 {
		began = turnclock.Now()
	}
	last := began
	for {
		for n != nil && !isOver {
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
			if x == nil {
				x = c.side.Load()
			}
			isOver = h.stop || x != nil && x.posted.Load()
			if left--; left <= 0 {
				at := turnclock.Now()
				if began == 0 {
					began = at - turnLasts/2
				} else {
					l.setPace(at - last)
				}
				// in a bubble of testing/synctest the clock stands still: a turn is
				// two paces
				isOver = isOver ||
					(at-began >= turnLasts || at == last) && h.exec != nil
				last, left = at, l.pace
			}
		}
		p.flush(ctx, c)
		c.pending = n
		if c.flags&isStopping != 0 || x != nil && x.posted.Load() {
			return p.control(ctx, c)
		}
		if n != nil {
			return true
		}
		if c.box.Load() == nil {
			return p.sleep(c)
		}
		if isOver {
			return true
		}
		n = c.take()
	}
}

// step returns the node of the message after the one at hand, which is done: GBK3, and release.
func (p *pool[M]) step(l *local[M], c *actorOf[M], n *node[M]) *node[M] {
	l.done++
	if most := c.kind.settings.room; most > 0 {
		c.side.Load().room.leave(most)
	}
	if b := n.bulk.Load(); b != nil {
		if b.at == b.n {
			b.n = atomic.OrUint32(&b.word, bulkEnd) &^ bulkEnd
		}
		if b.at < b.n {
			b.at++
			return n
		}
		p.dropBulk(l, n, b)
	}
	p.tidy(l, n)
	return l.pass(n)
}

// flush takes note of the messages that were handled.
func (p *pool[M]) flush(ctx *Context[M], c *actorOf[M]) {
	ctx.h.handled += ctx.l.done
	p.forgo(ctx.l, c)
}

// forgo takes note of messages that are done.
func (p *pool[M]) forgo(l *local[M], c *actorOf[M]) {
	// more may have come to a bulk than was known when it was taken
	c.setBehind(c.behind() - min(c.behind(), l.done))
	l.done = 0
}

// setPace is told how long the messages of the last pace took.
func (l *local[M]) setPace(took time.Duration) {
	fits := time.Duration(l.pace) * (turnLasts / 2) / (took + 1)
	l.pace = int(max(min(fits, 2*time.Duration(l.pace), paceMost), 1))
}

// sleep is GTN4 and GTN5. True: the actor is active again, and the next turn is the caller's to
// queue.
func (p *pool[M]) sleep(c *actorOf[M]) (again bool) {
	atomic.SwapUint32(&c.state, 0)
	if c.box.Load() == nil {
		if x := c.side.Load(); x == nil || !x.posted.Load() {
			return false
		}
	}
	return c.claim(0)
}

// handle handles a message that has more than its m.
func (x *nodeExtra[M]) handle(ctx *Context[M], c *actorOf[M], n *node[M]) error {
	if x.call != nil {
		return x.call(ctx)
	}
	return c.recv.Receive(ctx, n.m)
}

// failed goes on after a behaviour that has panicked, or has ended its goroutine.
func (p *pool[M]) failed(e *executor, s *actor, err error) {
	if p.fail(&p.locals[e.index].ctx, ofType[M](s), err) {
		e.push(s)
	}
}
