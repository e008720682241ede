package main

import (
	"errors"
	"time"

	"github.com/organzine/coro/actor"
)

// A request is what the bank and accounts are told: what to do, and who waits for the balance.
type request struct {
	record
	reply actor.Reply[int64]
}

func (m request) answer(balance int64, err error) { give(m.reply, balance, err) }

// errUnderWay is the error of a request that was sent again while it is being handled.
var errUnderWay = errors.New("it is under way")

// An account is the actor of one account. Its state is what the journal has: a change is made when
// the journal has it. Only money that is being withdrawn is put aside at once.
//
// A request that it has seen before, by its id, changes nothing, and is answered as it was.
type account struct {
	cfg     config
	name    string
	store   actor.Ref[any]
	loaded  bool
	early   []request // that came before it was loaded
	balance int64
	aside   int64              // is being withdrawn
	seq     int64              // of the last record
	seen    map[string]record  // by id, the last one
	writing map[string]request // by id, what the store was told
	unsaved int                // records since the last snapshot
}

// Started has the account loaded. The store answers after all that it was told before: by the state
// that has failed, too.
func (a *account) Started(c *actor.Context[request]) error {
	err := actor.AskThen(c, a.store, func(to actor.Reply[snapshot]) any {
		return fetch{a.name, to}
	}, a.load)
	if errors.Is(err, actor.ErrFull) { // the next request starts it again
		c.Stop()
		return nil
	}
	return err
}

func (a *account) load(c *actor.Context[request], s snapshot, err error) error {
	if err != nil {
		return err
	}
	a.loaded, a.balance, a.seq = true, s.Balance, s.Seq
	for _, r := range s.Seen {
		a.seen[r.ID] = r
	}
	for _, r := range s.tail {
		if r.Seq > s.Seq {
			a.apply(r)
		}
	}
	c.Passivate(a.cfg.idle)
	early := a.early
	a.early = nil
	for _, m := range early {
		a.handle(c, m)
	}
	return nil
}

func (a *account) apply(r record) {
	if r.Kind == withdraw {
		a.balance -= r.Amount
	} else {
		a.balance += r.Amount
	}
	a.seen[r.ID], a.seq = r, r.Seq
	a.unsaved++
}

func (a *account) Receive(c *actor.Context[request], m request) error {
	a.cfg.fault(a.name)
	if a.loaded {
		a.handle(c, m)
	} else {
		a.early = append(a.early, m)
	}
	return nil
}

func (a *account) handle(c *actor.Context[request], m request) {
	_, busy := a.writing[m.ID]
	old, seen := a.seen[m.ID]
	switch {
	case m.Kind == balance && a.seq > 0, seen && old.same(m.record):
		m.answer(a.balance, nil)
	case busy:
		m.answer(0, errUnderWay)
	case seen && m.Kind == withdraw && old.Kind == undo:
		m.answer(0, errUndone)
	case seen && m.Kind != undo:
		m.answer(0, errOtherUse)
	case a.seq == 0 && (m.Kind != deposit || m.Other != ""):
		m.answer(0, errNoAccount)
	case m.Kind == withdraw && a.balance-a.aside < m.Amount:
		m.answer(0, errFunds)
	case m.Kind == deposit && a.balance > mostBalance-m.Amount:
		m.answer(0, errTooMuch)
	default:
		a.write(c, m)
	}
}

// write has the store keep a change, and makes it when the store has it.
func (a *account) write(c *actor.Context[request], m request) {
	m.At = time.Now().Unix()
	err := actor.AskThen(c, a.store, func(to actor.Reply[int64]) any {
		return keep{m.record, to}
	}, func(c *actor.Context[request], seq int64, err error) error {
		m.Seq = seq
		return a.written(m, err)
	})
	if err != nil {
		m.answer(0, err)
		return
	}
	a.writing[m.ID] = m
	if m.Kind == withdraw {
		a.aside += m.Amount
	}
}

func (a *account) written(m request, err error) error {
	a.cfg.fault(a.name)
	delete(a.writing, m.ID)
	if m.Kind == withdraw {
		a.aside -= m.Amount
	}
	if err == nil {
		a.apply(m.record)
	}
	m.answer(a.balance, err)
	if a.unsaved > max(256, len(a.seen)) {
		a.save()
	}
	return nil
}

// save sends the store a snapshot, and forgets ids that are old. If the store takes none now there
// is a next time: the journal has it all.
func (a *account) save() {
	s := snapshot{Account: a.name, Seq: a.seq, Balance: a.balance}
	old := time.Now().Add(-a.cfg.remember).Unix()
	for id, r := range a.seen {
		if r.At < old {
			delete(a.seen, id)
		} else {
			s.Seen = append(s.Seen, r)
		}
	}
	if a.store.Tell(s) == nil {
		a.unsaved = 0
	}
}

// Stopped saves what has changed, if the account is passivated or the service ends, and tells those
// that still wait.
func (a *account) Stopped(_ *actor.Context[request], cause error) {
	if cause == nil && a.unsaved > 0 {
		a.save()
	}
	for _, m := range a.early {
		m.answer(0, actor.ErrStopped)
	}
	for _, m := range a.writing {
		m.answer(0, actor.ErrStopped)
	}
}
