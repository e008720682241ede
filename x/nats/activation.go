package nats

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/organzine/coro/actor"
)

// An activation is the actor of a key, at the owner of its partition. Its messages are batches:
//
//	NBT1  load the snapshot, with its revision; its token is not higher than the hold's
//	NBT2  handle the messages of the batch that the snapshot does not have
//	NBT3  write the snapshot, if the entry has still that revision
//	NBT4  send the answers, ack
//
// What fails in NBT2 leads to NBT1 again, and then to NBT2 with one message at a time.
type activation[S, M any] struct {
	k    *Kind[S, M]
	h    *hold
	key  string
	self actor.Ref[[]*delivery]

	loaded   bool     // and nothing has changed that is not written
	revision uint64   // of the snapshot; 0: there is none
	snap     snapshot // what it is to be
	state    *S       // nil: bad is why
	bad      error    // the state cannot be decoded

	one    bool  // handle one message at a time
	failed place // that of the message that has failed last,
	tries  int   // so often,
	why    error // by that
}

func (k *Kind[S, M]) spawn(h *hold, key string) (actor.Ref[[]*delivery], error) {
	return actor.Spawn(h.n.sys, func() *activation[S, M] {
		return &activation[S, M]{k: k, h: h, key: key}
	}, actor.Waiting(), actor.Resume())
}

func (a *activation[S, M]) caller() caller { return caller{a.h.n, address{a.k.name, a.key}} }

// Started lets the actor end when it is idle.
func (a *activation[S, M]) Started(c *actor.Context[[]*delivery]) error {
	a.self = c.Self()
	c.Passivate(a.h.n.o.Idle)
	return nil
}

// Stopped tells the hold. The snapshot was written before the last ack.
func (a *activation[S, M]) Stopped(*actor.Context[[]*delivery], error) {
	a.h.ended(a.caller().address, a.self)
}

// Receive handles a batch. If that ends by a panic, which is a mistake of this package or of the
// client's, the batch comes again: the hold is lost.
func (a *activation[S, M]) Receive(_ *actor.Context[[]*delivery], batch []*delivery) error {
	returned := false
	defer func() {
		if !returned {
			a.h.lose(errors.New("a batch has ended by a panic"))
		}
	}()
	a.handleAll(batch)
	returned = true
	return nil
}

// handleAll handles a batch, or loses the hold, or leaves the rest as the hold is left.
func (a *activation[S, M]) handleAll(batch []*delivery) {
	for wait := retryFirst; len(batch) > 0; {
		if !a.h.goesOn() {
			return // not acked
		}
		n := len(batch)
		if a.one {
			n = 1
		}
		err := a.do(batch[:n])
		switch {
		case err == nil:
			batch, wait = batch[n:], retryFirst
			continue
		case errors.Is(err, errDeposed):
			a.h.lose(err)
			return
		case errors.Is(err, errRevision): // our own put, or an old owner's: look
			continue
		}
		if a.h.ctx.Err() == nil {
			a.h.n.o.Log.Warn("handled again", "kind", a.k.name, "key", a.key, "tries",
				a.tries, "err", err)
		}
		a.h.pause(wait)
		wait = min(2*wait, a.h.n.o.TTL/4)
	}
	a.one = false
}

// pause waits, but not for a hold that ends.
func (h *hold) pause(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-h.leave:
	case <-h.ctx.Done():
	}
}

// do is NBT1 to NBT4 for some messages.
func (a *activation[S, M]) do(batch []*delivery) error {
	if !a.loaded {
		if err := a.load(); err != nil { // NBT1
			return err
		}
	}
	a.loaded = false // until all is written
	changed := false
	for _, d := range batch { // NBT2
		if a.snap.has(d) {
			continue
		}
		unchanged, err := a.handle(d)
		if err != nil {
			a.fails(d, err)
			return err
		}
		if !unchanged {
			a.snap.handled(d, a.h.n.o.Window)
			changed = true
		}
	}
	if changed {
		if err := a.save(batch[len(batch)-1]); err != nil { // NBT3
			return err
		}
	}
	a.loaded = true
	for _, d := range batch { // NBT4
		a.h.finish(d)
	}
	return nil
}

// fails notes that a message has failed, and forgets the state that it has left.
func (a *activation[S, M]) fails(d *delivery, err error) {
	a.one = true
	if a.failed != d.place() {
		a.failed, a.tries = d.place(), 0
	}
	a.tries++
	a.why = err
}

func (a *activation[S, M]) load() error {
	e, err := a.h.n.link.store(states).get(a.h.ctx, snapshotKey(a.k.name, a.key))
	if err != nil && !errors.Is(err, errNoEntry) {
		return err
	}
	a.revision, a.snap, a.state, a.bad = e.revision, snapshot{}, new(S), nil
	if e.value != nil {
		if a.snap, err = decodeSnapshot(e.value); err == nil {
			if a.snap.token > a.h.token {
				return errDeposed
			}
			err = a.caller().call(func() error { return a.k.state.Decode(a.snap.state, a.state) })
			if err == nil {
				a.snap.state = nil
			}
		} else {
			a.snap.state = e.value // kept as it is
		}
		if err != nil {
			a.state = nil
			a.bad = errorf(ErrDecode, "the state of %s %q: %v", a.k.name, a.key, err)
		}
	}
	a.loaded = true
	return nil
}

// handle calls the handler with a message, or makes it a dead letter.
func (a *activation[S, M]) handle(d *delivery) (unchanged bool, err error) {
	d.answered = nil
	n := a.h.n
	if a.failed == d.place() && a.tries >= n.o.Tries {
		n.dead(d, a.tries, a.why)
		return false, nil
	}
	if a.bad != nil {
		n.dead(d, 1, a.bad)
		return false, nil
	}
	c := a.caller()
	t := &Turn[S]{State: a.state, of: d, token: a.h.token,
		ctx: context.WithValue(a.h.ctx, callerKey{}, c)}
	decoded := false
	err = c.call(func() error {
		var m M
		if err := a.k.message.Decode(d.data, &m); err != nil {
			return err
		}
		decoded = true
		return a.turn(t, m)
	})
	switch {
	case err == nil:
		a.state = t.State
		return t.unchanged, nil
	case decoded:
		return false, err
	}
	n.dead(d, 1, errorf(ErrDecode, "the message: %v", err))
	return false, nil
}

// callerKey is the key of a handler's context for its caller.
type callerKey struct{}

// turn calls the handler.
func (a *activation[S, M]) turn(t *Turn[S], m M) (err error) {
	if extract := a.h.n.o.Extract; extract != nil {
		t.ctx = extract(t.ctx, t.of.header)
	}
	if err := a.k.handle(t, m); err != nil {
		return err
	}
	if t.State == nil {
		return errorf(ErrOption, "the handler has set Turn.State to nil")
	}
	if t.of.reply != "" {
		t.of.answered, err = answerOf(t.answer, t.answered)
	}
	return err
}

// save writes the snapshot. While the servers do not answer it tries again, until the partition is
// lost. It is the failure of `last` if the state cannot be encoded, or is too large.
func (a *activation[S, M]) save(last *delivery) (err error) {
	data := a.snap.state // as it was, if it cannot be decoded
	if a.state != nil {
		err = a.caller().call(func() (err error) {
			data, err = a.k.state.Encode(a.state)
			return err
		})
		if err != nil {
			a.fails(last, err)
			return err
		}
	}
	to := snapshot{a.h.token, a.snap.seq, a.snap.at, a.snap.ids, data}
	bytes := to.encode()
	for wait := retryFirst; ; wait = min(2*wait, a.h.n.o.TTL/4) {
		r, err := a.h.n.link.store(states).put(a.h.ctx, snapshotKey(a.k.name, a.key), bytes,
			a.revision)
		switch {
		case err == nil:
			a.revision = r
			return nil
		case errors.Is(err, errRevision):
			return err
		case errors.Is(err, ErrTooLarge):
			a.fails(last, fmt.Errorf("the state: %w", err))
			return a.why
		}
		if a.h.ctx.Err() == nil {
			a.h.n.o.Log.Warn("state not written", "kind", a.k.name, "key", a.key, "err",
				err)
		}
		a.h.pause(wait)
		if err := a.h.usable(); err != nil {
			return err
		}
	}
}
