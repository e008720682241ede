package actor

import "github.com/organzine/coro/internal/asm"

// A Context is an actor's, while its behaviour is called. It is for that call alone, and its
// goroutine: do not keep it, nor give it to another goroutine. A method other than Self and System
// panics where another goroutine calls it, or an actor whose messages are of another type; Spawn
// returns an error. If an actor of the same type, on the same executor, calls a Context that was
// kept, the call acts on the calling actor.
type Context[M any] struct {
	c *actorOf[M]
	l *local[M]
	h *caller
}

func (c *Context[M]) place() (*System, *actor) {
	if c == nil || !c.isAtCall() {
		return nil, nil
	}
	return c.h.sys, &c.c.actor
}

// isAtCall tells whether the caller is the goroutine that calls the behaviour, as far as goroutines
// have numbers.
func (c *Context[M]) isAtCall() bool {
	if c.c == nil || thisCaller() != c.h && asm.Goroutine() != 0 {
		return false
	}
	return c.h.actor == &c.c.actor
}

// check panics if a Context is used that was kept.
func (c *Context[M]) check() {
	if !c.isAtCall() {
		panic("actor: a Context is used outside of the call that has it: keep Self(), and send it a message")
	}
}

// Self is the actor.
func (c *Context[M]) Self() Ref[M] { return Ref[M]{c.c} }

// System is the system of the actor.
func (c *Context[M]) System() *System { return c.h.sys }

// Name is that of the actor, as [Ref.Name].
func (c *Context[M]) Name() string { c.check(); return c.c.name() }

// Stop ends the actor after this message. Those that wait become dead letters.
func (c *Context[M]) Stop() {
	c.check()
	c.c.flags |= isStopping
	c.h.stop = true
}

// Become makes r handle the messages from the next one on. A restart makes the state of Spawn
// again. The hooks of r are called that were not called for the state before.
func (c *Context[M]) Become(r Receiver[M]) error {
	c.check()
	if isNil(r) {
		return errorf(ErrOption, "Become: it is nil")
	}
	c.c.recv = r
	return nil
}

// Stop ends the actor after the message that it is at. Those that wait become dead letters. Stop
// does not wait: see Done. It does nothing if the actor has ended.
func (r Ref[M]) Stop() {
	if r.isActor() {
		r.c.post(signal{sigStop, nil})
	}
}

// Done is closed when the actor has ended: its children too, Stopped has returned, and its name is
// free. Of a reference that is no single actor's it is nil. Where a wait returns [ErrBubble], Done
// panics.
func (r Ref[M]) Done() <-chan struct{} {
	if !r.isActor() {
		return nil
	}
	x := r.c.sideOf()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.done == nil {
		if err := r.c.kind.sys.reached(); err != nil {
			panic(err)
		}
		x.done = make(chan struct{})
		if x.ended {
			close(x.done)
		}
	}
	return x.done
}

// isActor tells whether r is a single actor.
func (r Ref[M]) isActor() bool { return r.c != nil && r.c.kind.settings.room != forwards }
