package actor

// A signal tells an actor what is no message: it overtakes all messages, and needs no room. Signals
// lie in the actor's side. Who posts one sets posted, then looks at the box: a dormant actor it
// makes active, and has a turn started. A turn looks at posted when it begins, and after it has
// made the box dormant (T5 of mailbox.go). A paused actor, whose box is not dormant, and which has
// no turn either, is started by the poster too; paused and signals are under one lock.
type signal struct {
	what  int
	cause error
}

const (
	sigStart   = iota // call the hook Started
	sigStop           // cause: why, or nil
	sigRestart        // for a sibling's failure, the cause
	sigFail           // a child's failure was escalated, the cause
	sigGoOn           // the time of a back-off is over
	sigChild          // the last child has ended
	sigIdle           // it may have had no message for the time of Passivate
)

// post posts a signal. Those to an actor that has ended are nothing.
func (s *slot) post(g signal) {
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
func (p *pool[M]) control(ctx *Context[M], c *cell[M]) bool {
	x := c.sideOf()
	ctx.l.atMessage = false
	for {
		x.mu.Lock()
		list := x.signals
		x.signals = nil
		x.posted.Store(false)
		x.mu.Unlock()
		for i, g := range list {
			if err := p.signal(ctx, c, x, g); err != nil {
				x.putBack(list[i+1:])
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

// putBack puts signals that are not handled in front of those that have come.
func (x *side) putBack(list []signal) {
	x.mu.Lock()
	x.signals = append(append([]signal(nil), list...), x.signals...)
	x.posted.Store(len(x.signals) > 0)
	x.mu.Unlock()
}

func (p *pool[M]) signal(ctx *Context[M], c *cell[M], x *side, g signal) error {
	if c.flags&isEnding != 0 {
		return nil
	}
	switch g.what {
	case sigStart:
		return p.start(ctx, c)
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
	case sigIdle:
		if c.pending == nil && c.flags < oneAwaited && x.isIdle(p.sys.clock.now()) &&
			c.box.CompareAndSwap(nil, &p.ended) {
			p.beginEnd(ctx, c, x, nil)
		}
	}
	return nil
}

// start calls the hook Started, once for each state.
func (p *pool[M]) start(ctx *Context[M], c *cell[M]) error {
	if h, ok := c.recv.(Starter[M]); ok && c.flags&hasStarted == 0 {
		c.flags |= hasStarted | isStarting
		if err := h.Started(ctx); err != nil {
			return err // isStarting is for fail
		}
		c.flags &^= isStarting
	}
	return nil
}

// retire calls the hook Stopped of the state, once.
func (p *pool[M]) retire(ctx *Context[M], c *cell[M], cause error) {
	if c.flags&hasRetired != 0 {
		return
	}
	c.flags |= hasRetired
	if h, ok := c.recv.(Stopper[M]); ok {
		c.flags |= isRetiring
		h.Stopped(ctx, cause)
		c.flags &^= isRetiring
	}
}

func (p *pool[M]) awaitsChildren(x *side) bool {
	p.sys.tree.Lock()
	defer p.sys.tree.Unlock()
	x.awaits = x.children > 0
	return x.awaits
}

// beginEnd closes the mailbox, and has the children stopped. control does the rest.
func (p *pool[M]) beginEnd(ctx *Context[M], c *cell[M], x *side, cause error) {
	c.flags = c.flags&(hasStarted|hasRetired) | isEnding
	x.reason = cause
	n := c.pending
	c.pending = nil
	if top := c.box.Swap(&p.ended); top != nil && top != &p.ended {
		rest := reverse(top)
		if n == nil {
			n = rest
		} else {
			last := n
			for last.next != nil {
				last = last.next
			}
			last.next = rest
		}
	}
	x.room.close()
	for n != nil {
		p.dead(c, n, Stopped, ErrStopped)
		n = p.step(ctx.l, c, n)
	}
	p.forgo(ctx.l, c)
	x.stopTimers()
	p.stopChildren(x)
}

func (p *pool[M]) stopChildren(x *side) {
	for _, s := range p.sys.childrenOf(x) {
		s.post(signal{sigStop, nil})
	}
}

// finish ends an actor that has no children any more.
func (p *pool[M]) finish(ctx *Context[M], c *cell[M], x *side) {
	if c.recv != nil {
		p.retire(ctx, c, x.reason) // may fail: then finish is called again
	}
	c.recv = nil
	y := p.sys
	y.forget(&c.slot, x)
	x.mu.Lock()
	x.ended, x.cause = true, x.reason
	list := x.watchers
	x.watchers, x.signals = nil, nil
	if x.done != nil {
		close(x.done)
	}
	x.mu.Unlock()
	for _, w := range list {
		w.tell(x.cause)
	}
	y.unlink(&c.slot)
}
