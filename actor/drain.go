package actor

import (
	"context"
	"errors"

	"github.com/organzine/coro/internal/ctxerr"
)

// An actor that is drained ends when it has handled what it has accepted. A message that lies
// behind all that tells it so. An actor with children first drains these, all at once, and accepts
// messages until the last one has ended: then the message comes again.

// Drain ends the actor when it has handled all messages that it has accepted by now. Its children
// are drained first, and messages that come until they have ended are handled too. Later ones
// become dead letters. Drain does not wait: see Done.
func (r Ref[M]) Drain() {
	if r.isActor() {
		r.c.pool().drain(&r.c.actor)
	}
}

// drain is part of ops.
func (p *pool[M]) drain(s *actor) {
	var none M
	_ = p.push(ofType[M](s), none, &nodeExtra[M]{call: drainHere[M]})
}

func drainHere[M any](c *Context[M]) error {
	list := c.h.sys.beginDrain(&c.c.actor)
	if len(list) == 0 {
		c.Stop()
	}
	for _, child := range list {
		child.kind.ops.drain(child)
	}
	return nil
}

// beginDrain returns the children that are to be drained.
func (y *System) beginDrain(s *actor) (list []*actor) {
	x := s.side.Load()
	if x == nil {
		return nil
	}
	y.tree.Lock()
	defer y.tree.Unlock()
	list = siblingsFrom(x.first)
	x.drains = len(list)
	return list
}

// drainedLocked tells whether the parent of an actor that has ended is to be drained now. Where a
// child ends that was not told, the parent looks at its children once more. The caller holds tree.
func (x *side) drainedLocked() bool {
	if x.drains == 0 {
		return false
	}
	x.drains--
	return x.drains == 0
}

// Drain ends all actors when everything has come to rest (see [System.Rest]): senders outside have
// to end before. Those without a parent end one after the other, the last spawned first, each as by
// [Ref.Drain], and everything comes to rest before the next one: what Stopped of an actor sends to
// those that were spawned before it, or to its parent, is handled. If ctx ends before, Drain stops
// all at once, and returns the error of ctx; within a *RunningError, where some have not ended a
// second later. From within a behaviour it returns ErrWaits, or ErrDeadlock.
func (y *System) Drain(ctx context.Context) error {
	if err := y.beginWait(); err != nil {
		return err
	}
	y.tree.Lock()
	first := !y.draining
	y.draining = true
	y.tree.Unlock()
	var err error
	if first {
		err = y.drainAll(ctx)
	} else {
		select {
		case <-y.ended:
		case <-ctx.Done():
			err = ctxerr.Of(ctx)
		}
	}
	if err == nil {
		return y.Stop(ctx)
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainGrace)
	defer cancel()
	if late := (*RunningError)(nil); errors.As(y.Stop(grace), &late) {
		late.Cause = err
		return late
	}
	return err
}

func (y *System) drainAll(ctx context.Context) error {
	for {
		if err := y.Rest(ctx); err != nil {
			return err
		}
		y.tree.Lock()
		s := y.last
		if y.stopping {
			s = nil
		}
		y.tree.Unlock()
		if s == nil {
			return nil
		}
		s.kind.ops.drain(s)
	}
}
