package actor

import (
	"context"
	"fmt"
	"runtime"

	"github.com/organzine/coro/internal/asm"
)

// A Ref is where messages of type M are sent: an actor's address, as Spawn returns it, or one that
// stands for others (Adapt, RoundRobin and their like). It is a pointer, and may be compared and
// copied. Its actor's end does not change it; the memory of an actor that has ended is kept, in
// part, as long as there are references. The zero Ref is no actor's.
type Ref[M any] struct{ c *actorOf[M] }

// An Address is a [Ref], whatever the type of its messages.
type Address interface {
	Name() string
	Stop()
	Drain()
	Done() <-chan struct{}
	address() *actor
}

func (r Ref[M]) address() *actor {
	if r.c == nil {
		return nil
	}
	return &r.c.actor
}

// Name is the name that the actor was spawned with, or one that tells its type and its address.
func (r Ref[M]) Name() string { return r.address().name() }

func (s *actor) name() string {
	if s == nil {
		return "no actor"
	}
	if x := s.side.Load(); x != nil && x.name != "" {
		return x.name
	}
	return fmt.Sprintf("%v@%p", s.kind.receiver, s)
}

// Tell sends m. The order of one sender's messages to one actor is kept. Tell never waits: where
// the actor's room is full it returns ErrFull, and once the actor is ending ErrStopped; then m was
// not accepted. A message that was accepted is handled, or becomes a dead letter.
//
// Within a behaviour Tell costs less than a cgo call, from another goroutine somewhat more. A turn
// that sends into a mailbox of more than 256 messages ends after this message; another goroutine
// lets others run (runtime.Gosched), once for each 64 messages.
func (r Ref[M]) Tell(m M) error {
	c := r.c
	if c == nil {
		return errorOf(nil, ErrNoRef)
	}
	p := c.pool()
	h := callers.At(asm.Goroutine()) // thisCaller, inlined
	if c.kind.settings.room != 0 {
		return r.tellAs(m, nil, 0, h)
	}
	if h == nil || h.exec == nil || h.sys != p.sys {
		return p.deliver(c, m, nil, 0, h)
	}
	l := &p.locals[h.exec.index]
	newest := c.box.Load()
	if newest == nil && c.claim(1) { // get and GSD1 of put, without calls
		if l.free == nil {
			p.more(l)
		}
		n := l.pop()
		n.next, n.m = nil, m
		c.pending = n
		h.exec.start(&c.actor)
		return nil
	}
	if b := l.ownBulk(newest); b != nil {
		if depth := b.add(newest, m); depth > 0 {
			if depth > softRoom {
				h.flood()
			}
			return nil
		}
	} else if newest == nil && h.actor == &c.actor {
		if n := l.addToOwn(c); n != nil {
			n.m = m
			return nil
		}
	}
	n := p.get(l)
	n.m = m
	switch depth := c.put(p, l, n); {
	case depth == wasDormant:
		h.exec.start(&c.actor)
	case depth > softRoom:
		h.flood()
	case depth < 0:
		p.takeBack(l, n)
		return errorOf(&c.actor, ErrStopped)
	}
	return nil
}

// Send is Tell that waits for room, until ctx ends; then it returns the error of ctx. Where there
// is room, or no bound, it costs what Tell does. A behaviour may call it if the actor is Waiting;
// else it returns ErrWaits where it would wait. An actor that would wait for room in its own
// mailbox gets a DeadlockError.
func (r Ref[M]) Send(ctx context.Context, m M) error {
	c := r.c
	if c == nil {
		return errorOf(nil, ErrNoRef)
	}
	switch c.kind.settings.room {
	case 0:
		return r.Tell(m)
	case forwards:
		return c.forwarder().send(ctx, m, nil, 0)
	}
	h := thisCaller()
	if err := c.side.Load().room.enter(ctx, &c.actor, h); err != nil {
		return err
	}
	return deliverWithRoom(c, m, nil, 0, h)
}

// takeBack takes a node back that put has refused.
func (p *pool[M]) takeBack(l *local[M], n *node[M]) {
	n.x = nil
	if b := n.bulk.Load(); b != nil {
		p.dropBulk(l, n, b)
	}
	p.give(l, n)
}

// takeSpace takes a space for a message, if the mailbox has a bound, and does not wait.
func (c *actorOf[M]) takeSpace() error {
	most := c.kind.settings.room
	switch {
	case most == 0 || c.side.Load().room.tryEnter(most):
		return nil
	case c.box.Load() == &c.pool().ended:
		return errorOf(&c.actor, ErrStopped)
	}
	return errorOf(&c.actor, ErrFull)
}

// tellAs is Tell of a message that may ask, to whatever the reference is.
func (r Ref[M]) tellAs(m M, x *nodeExtra[M], gen uint32, h *caller) error {
	c := r.c
	if c.kind.settings.room == forwards {
		var ask asked
		if x != nil {
			ask = x.ask
		}
		return c.forwarder().tell(m, ask, gen)
	}
	if err := c.takeSpace(); err != nil {
		return err
	}
	return deliverWithRoom(c, m, x, gen, h)
}

// deliverWithRoom is deliver for a sender that has a space, which it gives back if need be.
func deliverWithRoom[M any](c *actorOf[M], m M, x *nodeExtra[M], gen uint32, h *caller) error {
	err := c.pool().deliver(c, m, x, gen, h)
	if most := c.kind.settings.room; err != nil && most > 0 {
		c.side.Load().room.leave(most)
	}
	return err
}

// deliver puts a message into the mailbox, for a sender that has a space, and starts a turn if need
// be. h is the caller.
func (p *pool[M]) deliver(c *actorOf[M], m M, x *nodeExtra[M], asked uint32, h *caller) error {
	inside := h != nil && h.exec != nil && h.sys == p.sys
	var l *local[M]
	if inside {
		l = &p.locals[h.exec.index]
	} else {
		l = p.outside.Get().(*local[M])
	}
	depth := 0
	newest := c.box.Load()
	if b := l.ownBulk(newest); b != nil && x == nil {
		depth = b.add(newest, m)
	}
	if depth == 0 {
		n := p.get(l)
		n.m, n.x, n.asked = m, x, asked
		if depth = c.put(p, l, n); depth < 0 {
			p.takeBack(l, n)
		}
	}
	if !inside {
		p.outside.Put(l)
	}
	switch {
	case depth < 0:
		return errorOf(&c.actor, ErrStopped)
	case depth == wasDormant && inside:
		h.exec.start(&c.actor)
	case depth == wasDormant:
		p.sys.start(&c.actor)
	case depth > softRoom && inside:
		h.flood()
	case depth > softRoom && depth%outsideLetsGo == 0 && h == nil:
		runtime.Gosched()
	}
	return nil
}

// push delivers whatever the room is: it takes a space that may not be there.
func (p *pool[M]) push(c *actorOf[M], m M, x *nodeExtra[M]) error {
	if c.kind.settings.room > 0 {
		c.side.Load().room.taken.Add(1)
	}
	return deliverWithRoom(c, m, x, 0, thisCaller())
}
