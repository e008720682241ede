package actor

import (
	"container/list"
	"sync/atomic"
)

// An Ended is the notice that a watched actor has ended.
type Ended struct {
	Name  string
	Cause error // a *Failure, or nil
}

// A watch is in the side of its target, and in that of its owner, the watcher, as something that
// its state has begun. The end that comes first sets over, and takes it out of both. No two sides
// are locked at a time.
type watch struct {
	owner, target *side
	begun         *list.Element // in owner.begun
	at            *list.Element // in target.watchers
	over          atomic.Bool
	notice        func(cause error) // sends it to the owner
}

// tell sends the notice, as the target has ended.
func (w *watch) tell(cause error) {
	if !w.over.Swap(true) {
		w.owner.forget(w.begun)
		w.notice(cause)
	}
}

// takeBack returns false if the notice was sent, or the watch taken back before.
func (w *watch) takeBack() bool {
	if w.over.Swap(true) {
		return false
	}
	w.owner.forget(w.begun)
	w.target.unwatch(w.at)
	return true
}

func (w *watch) endWithState() { w.takeBack() }

// watch puts w into the list of an actor's watchers. True: the actor has ended, since cause.
func (x *side) watch(w *watch) (ended bool, cause error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended {
		return true, x.cause
	}
	if x.watchers == nil {
		x.watchers = list.New()
	}
	w.at = x.watchers.PushBack(w)
	return false, nil
}

// unwatch is the end of watch. It does nothing where the actor has ended.
func (x *side) unwatch(at *list.Element) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.watchers != nil {
		x.watchers.Remove(at)
	}
}

// Watch sends the message to the actor when target has ended: once for each call, also if target
// had ended before. The actor calls message, as part of the turn that handles the notice: a panic
// there is a failure of the actor's, as one of Receive, and there is no message then. The function
// that Watch returns takes the call back; it returns false if the notice was sent.
//
// A watch belongs to the state that has called Watch, and ends with that state: where the actor
// ends, or is restarted, before target ends, there is no notice. Watch, and to take it back, cost
// some 200 ns, however many watchers there are.
func (c *Context[M]) Watch(target Address, message func(Ended) M) (unwatch func() bool, err error) {
	c.check()
	s := addressOf(target)
	if s == nil || message == nil {
		return nil, errorOf(s, ErrNoRef)
	}
	owner := c.c.sideOf()
	if c.c.flags&stateIsOver != 0 {
		return func() bool { return false }, nil
	}
	w := &watch{owner: owner, target: s.sideOf(), notice: notices(c.c, s.name(), message)}
	w.begun = owner.begin(w)
	if ended, cause := w.target.watch(w); ended {
		w.tell(cause)
	}
	return w.takeBack, nil
}

// notices is a function that sends c the notice that the actor of a name has ended.
func notices[M any](c *actorOf[M], name string, message func(Ended) M) func(cause error) {
	life := c.life()
	return func(cause error) {
		p := c.pool()
		x := &nodeExtra[M]{}
		called, made := false, false // also over the tries of Retry
		var m, none M
		x.call = func(ctx *Context[M]) error {
			if c.life() != life {
				return nil
			}
			if !called {
				called = true
				m = message(Ended{name, cause})
				made = true
				x.failed = func(err error) { p.deadMessage(c, m, Failed, err) }
			}
			if !made { // message has panicked in the first try
				return nil
			}
			return c.recv.Receive(ctx, m)
		}
		_ = p.push(c, none, x)
	}
}

// addressOf is the single actor of an address, or nil.
func addressOf(a Address) *actor {
	if a == nil || isNil(a) || a.Done() == nil {
		return nil
	}
	return a.address()
}
