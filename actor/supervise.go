package actor

import (
	"errors"
	"fmt"
	"time"
)

// A directive says what happens to an actor whose behaviour has failed.
type directive uint8

const (
	escalates directive = iota
	stops
	resumes
	restarts
)

// A fate says what happens to the message on which a behaviour has failed.
type fate uint8

const (
	deadLetter fate = iota
	drop
)

// A together says which children share the fate of one.
type together uint8

const (
	oneForOne together = iota
	allForOne
	restForOne
)

// settings are the options of Spawn that are the kind's.
type settings struct {
	room        int
	waiting     bool
	directive   directive
	restarts    int // within
	within      time.Duration
	thenStop    bool          // and not escalate
	least, most time.Duration // of a back-off
	fate        fate
	retries     int
	together    together
}

// fail decides what becomes of an actor whose behaviour, or hook, has failed, and of the message.
// It returns as control does.
func (p *pool[M]) fail(ctx *Context[M], c *actorOf[M], err error) bool {
	l := ctx.l
	x := c.sideOf()
	atMessage := l.atMessage
	l.atMessage = false // from now on there is no message
	starting := c.flags&isStarting != 0
	c.flags &^= isStarting
	p.flush(ctx, c)
	if !x.again && ctx.h.handled != x.since { // the message that was handled again is done
		x.retries = 0
	}
	f := p.failure(c, err)
	if c.flags&(isEnding|isRetiring) != 0 { // it was the last that this state does
		c.flags &^= isRetiring
		return p.control(ctx, c)
	}
	if atMessage {
		p.settle(l, c, x, f)
	}
	set := &c.kind.settings
	ends := set.directive == stops
	switch set.directive {
	case resumes:
		if starting {
			break // there is nothing to go on with
		}
		return p.control(ctx, c)
	case restarts:
		if p.mayRestart(c, x) {
			p.beginRestart(ctx, c, x, f, x.nextPause(set))
			p.siblings(c, signal{sigRestart, f})
			return p.control(ctx, c)
		}
		ends = set.thenStop
	}
	p.beginEnd(ctx, c, x, f)
	switch {
	case ends:
		p.siblings(c, signal{sigStop, f})
	case c.parent != nil:
		c.parent.post(signal{sigFail, escalated{f}})
	default:
		p.sys.fail(f)
	}
	return p.control(ctx, c)
}

// An escalated is a child's failure, as an error that its parent is to deal with.
type escalated struct{ *Failure }

// failure is the failure that fail deals with. One of c's own is counted, and told.
func (p *pool[M]) failure(c *actorOf[M], err error) *Failure {
	if e, ok := err.(escalated); ok {
		return e.Failure
	}
	if isNil(err) {
		err = fmt.Errorf("the behaviour has returned a nil %T as an error, which is an error: "+
			"return nil without a type", err)
	}
	f := &Failure{c.name(), err}
	p.sys.failures.Add(1)
	p.sys.onFailure.tell(f)
	return f
}

// settle decides the fate of the message at hand, the first of the pending ones.
func (p *pool[M]) settle(l *local[M], c *actorOf[M], x *side, f *Failure) {
	n := c.pending
	set := &c.kind.settings
	if x.retries < set.retries {
		x.retries++
		x.again = true
		return
	}
	x.retries = 0
	if set.fate == drop {
		p.dropped(n, f)
	} else {
		p.dead(c, n, Failed, f)
	}
	c.pending = p.step(l, c, n)
	p.forgo(l, c)
}

func (n *node[M]) failAsker(err error) {
	if n.x != nil && n.x.ask != nil {
		n.x.ask.fail(n.asked, err)
	}
}

func (p *pool[M]) mayRestart(c *actorOf[M], x *side) bool {
	set := &c.kind.settings
	at := p.sys.clock.now()
	for len(x.fails) > 0 && set.within > 0 && at-x.fails[0] > set.within {
		x.fails = x.fails[1:]
	}
	if len(x.fails) == 0 {
		x.pause = 0
	}
	if len(x.fails) >= set.restarts {
		return false
	}
	x.fails = append(x.fails, at)
	return true
}

func (x *side) nextPause(set *settings) time.Duration {
	x.pause = min(max(2*x.pause, set.least), set.most)
	return x.pause
}

// beginRestart ends the state with what it has begun, and stops the children; control makes
// the next one.
func (p *pool[M]) beginRestart(
	ctx *Context[M], c *actorOf[M], x *side, cause error, pause time.Duration,
) {
	c.flags |= isRestarting
	x.reason = cause
	x.endState()
	p.stopChildren(x)
	if pause > 0 {
		c.flags |= isBackingOff
		x.begin(p.sys.later(pause, func() { c.post(signal{sigGoOn, nil}) }))
	}
}

// renew makes the next state.
func (p *pool[M]) renew(ctx *Context[M], c *actorOf[M], x *side) error {
	p.retire(ctx, c, x)
	c.flags |= isStarting // where this fails there is no state to go on with
	next := p.next(x)
	if next == nil {
		return errNilActor
	}
	c.recv = next
	c.flags &= oneAwaited - 1 // the answers that the old state awaits are dropped
	c.flags &^= isRestarting | hasStarted | hasRetired | isStarting
	x.life++
	x.reason = nil
	c.armIdle(x) // it may have awaited answers
	return p.start(ctx, c, x)
}

// next calls the function given to Spawn.
func (p *pool[M]) next(x *side) Receiver[M] {
	defer x.calls("its function of Spawn")()
	return x.make.(func() Receiver[M])()
}

var errNilActor = errors.New("the function that makes an actor has returned nil")

// siblings lets the siblings share the fate of c, if their parent says so.
func (p *pool[M]) siblings(c *actorOf[M], g signal) {
	if c.parent == nil || c.parent.kind.settings.together == oneForOne {
		return
	}
	behind := c.parent.kind.settings.together == allForOne
	for _, s := range p.sys.childrenOf(c.parent.sideOf()) {
		if s == &c.actor {
			behind = true
		} else if behind {
			s.post(g)
		}
	}
}
