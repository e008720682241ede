package actor

import "container/list"

// A signal tells an actor what is no message: it overtakes all messages, and needs no room. Signals
// lie in the actor's side. The poster of one sets posted, then looks at the box: it makes a dormant
// actor active, and starts a turn. A turn looks at posted when it begins, after each message, and
// after it has made the box dormant (GTN5 of mailbox.go). A paused actor, whose box is not dormant,
// and which has no turn either, is started by the poster too; paused and signals are under one
// lock.
type signal struct {
	what  int
	cause error
}

const (
	sigStart   = iota // call the hook Started
	sigStop           // cause: why, or nil
	sigRestart        // for a sibling's failure, the cause
	sigFail           // a child's failure was escalated: the cause, an escalated
	sigGoOn           // the time of a back-off is over
	sigChild          // the last child has ended
	sigIdle           // it may have had no message for the time of Passivate
)

// post posts a signal. Signals to an actor that has ended are dropped.
func (s *actor) post(g signal) {
	x := s.sideOf()
	x.mu.Lock()
	if x.ended {
		x.mu.Unlock()
		return
	}
	x.signals = append(x.signals, g)
	x.posted.Store(true)
	paused := x.paused
	x.paused = false
	x.mu.Unlock()
	if paused || s.claim(0) {
		s.kind.sys.startFrom(s)
	}
}

// control handles signals, and what they have begun. False: the actor has ended, or is paused, and
// the turn is over.
func (p *pool[M]) control(ctx *Context[M], c *actorOf[M]) bool {
	x := c.sideOf()
	ctx.l.atMessage = false
	for {
		for g, ok := x.nextSignal(); ok; g, ok = x.nextSignal() {
			if err := p.signal(ctx, c, x, g); err != nil {
				return p.fail(ctx, c, err)
			}
		}
		switch {
		case c.flags&isEnding != 0:
			if !p.awaitsChildren(x) {
				p.finish(ctx, c, x)
				return false
			}
		case c.flags&isStopping != 0:
			p.beginEnd(ctx, c, x, x.reason)
			continue
		case c.flags&isRestarting != 0:
			if c.flags&isBackingOff == 0 && !p.awaitsChildren(x) {
				if err := p.renew(ctx, c, x); err != nil {
					return p.fail(ctx, c, err)
				}
				continue
			}
		default:
			return true
		}
		x.mu.Lock()
		if len(x.signals) == 0 {
			x.paused = true
			x.mu.Unlock()
			return false
		}
		x.mu.Unlock()
	}
}

// nextSignal takes the oldest signal. The others stay, whatever becomes of the turn that handles
// it.
func (x *side) nextSignal() (g signal, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.signals) == 0 {
		return signal{}, false
	}
	g = x.signals[0]
	if x.signals = x.signals[1:]; len(x.signals) == 0 {
		x.signals = nil
		x.posted.Store(false)
	}
	return g, true
}

func (p *pool[M]) signal(ctx *Context[M], c *actorOf[M], x *side, g signal) error {
	if c.flags&isEnding != 0 {
		return nil
	}
	switch g.what {
	case sigStart:
		return p.start(ctx, c, x)
	case sigStop:
		if c.flags&isStopping == 0 {
			c.flags |= isStopping
			x.reason = g.cause
		}
	case sigRestart:
		if c.flags&isRestarting == 0 {
			p.beginRestart(ctx, c, x, g.cause, 0)
		}
	case sigFail:
		return g.cause
	case sigGoOn:
		c.flags &^= isBackingOff
	case sigChild:
		c.armIdle(x)
	case sigIdle:
		if p.isIdle(c, x) && c.box.CompareAndSwap(nil, &p.ended) {
			p.beginEnd(ctx, c, x, nil)
		} else {
			c.armIdle(x)
		}
	}
	return nil
}

// start calls the hook Started, once for each state.
func (p *pool[M]) start(ctx *Context[M], c *actorOf[M], x *side) error {
	if h, ok := c.recv.(Starter[M]); ok && c.flags&hasStarted == 0 {
		c.flags |= hasStarted | isStarting
		defer x.calls("Started")()
		if err := h.Started(ctx); err != nil {
			return err // isStarting is for fail
		}
		c.flags &^= isStarting
	}
	return nil
}

// retire calls the hook Stopped of the state, once.
func (p *pool[M]) retire(ctx *Context[M], c *actorOf[M], x *side) {
	if c.flags&hasRetired != 0 {
		return
	}
	c.flags |= hasRetired
	if h, ok := c.recv.(Stopper[M]); ok {
		c.flags |= isRetiring
		defer x.calls("Stopped")()
		h.Stopped(ctx, x.reason)
		c.flags &^= isRetiring
	}
}

func (p *pool[M]) awaitsChildren(x *side) bool {
	p.sys.tree.Lock()
	defer p.sys.tree.Unlock()
	x.awaits = x.children > 0
	return x.awaits
}

// beginEnd closes the mailbox, ends what the state has begun, and stops the children. control
// does the rest. A second call finds nothing left to do.
func (p *pool[M]) beginEnd(ctx *Context[M], c *actorOf[M], x *side, cause error) {
	c.flags = c.flags&(hasStarted|hasRetired) | isEnding
	x.reason = cause
	if top := c.box.Swap(&p.ended); top != nil && top != &p.ended {
		last := &c.pending
		for *last != nil {
			last = &(*last).next
		}
		*last = reverse(top)
	}
	x.room.close()
	for c.pending != nil {
		p.dead(c, c.pending, Stopped, ErrStopped)
		c.pending = p.step(ctx.l, c, c.pending)
	}
	p.forgo(ctx.l, c)
	x.endState()
	if w := x.idle.Swap(nil); w != nil {
		w.stop()
	}
	p.stopChildren(x)
}

func (p *pool[M]) stopChildren(x *side) {
	for _, s := range p.sys.childrenOf(x) {
		s.post(signal{sigStop, nil})
	}
}

// finish ends an actor that has no children any more. Stopped may fail: then finish is called
// again, and does not call it again. What follows calls nothing of the program's.
func (p *pool[M]) finish(ctx *Context[M], c *actorOf[M], x *side) {
	if c.recv != nil {
		p.retire(ctx, c, x)
	}
	c.recv = nil
	y := p.sys
	y.forget(&c.actor, x)
	if watchers := x.end(); watchers != nil {
		for e := watchers.Front(); e != nil; e = e.Next() {
			e.Value.(*watch).tell(x.cause)
		}
	}
	y.unlink(&c.actor)
}

// end says that the actor has ended, and returns its watchers.
func (x *side) end() (watchers *list.List) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ended, x.cause = true, x.reason
	watchers = x.watchers
	x.watchers, x.signals = nil, nil
	if x.done != nil {
		close(x.done)
	}
	return watchers
}
