package main

import (
	"errors"
	"time"

	"github.com/organzine/coro/actor"
)

// A bank is the actor that all requests are sent to, and the parent of accounts and coordinators.
// It starts an account's actor for the first request, and again when it was passivated. An account
// that fails more often than it may be restarted ends, and the next request starts it again.
type bank struct {
	cfg        config
	store      actor.Ref[any]
	unfinished []record // withdrawals whose transfers were under way when the process before ended
	accounts   map[string]actor.Ref[request]
	late       map[string][]request // by the name of an actor: they wait for its end
}

// Started goes on with transfers.
func (b *bank) Started(c *actor.Context[any]) error {
	for _, r := range b.unfinished {
		b.coordinate(c, request{record: r}, deposit)
	}
	return nil
}

func (b *bank) Receive(c *actor.Context[any], m any) error {
	switch m := m.(type) {
	case request:
		b.handle(c, m)
	case actor.Ended:
		late := b.late[m.Name]
		delete(b.late, m.Name)
		delete(b.accounts, m.Name)
		for _, m := range late {
			b.handle(c, m)
		}
	}
	return nil
}

func (b *bank) handle(c *actor.Context[any], m request) {
	if m.Kind == transfer {
		b.coordinate(c, m, withdraw)
	} else {
		b.forward(c, m)
	}
}

// coordinate starts a coordinator. By its name a transfer has one at a time: one that is sent again
// meanwhile waits.
func (b *bank) coordinate(c *actor.Context[any], m request, step string) {
	t := coordinator{request: m, bank: c.Self(), step: step, begun: step != withdraw}
	name := "transfer/" + m.transfer()
	ref, err := actor.Spawn(c, func() *coordinator {
		next := t
		t.begun = true // for the state after a restart
		return &next
	}, actor.Name(name), actor.Restart(10, time.Second), actor.ThenStop())
	if err == nil {
		_, err = c.Watch(ref, ended)
	}
	if errors.Is(err, actor.ErrName) {
		b.late[name] = append(b.late[name], m)
	} else if err != nil {
		m.answer(0, err)
	}
}

func ended(e actor.Ended) any { return e }

// forward hands a request to its account.
func (b *bank) forward(c *actor.Context[any], m request) {
	name := "account/" + m.Account
	ref, ok := b.accounts[name]
	if !ok {
		var err error
		if ref, err = b.spawn(c, name, m.Account); err != nil {
			m.answer(0, err)
			return
		}
		b.accounts[name] = ref
	}
	if err := ref.Tell(m); errors.Is(err, actor.ErrStopped) {
		b.late[name] = append(b.late[name], m)
	} else if err != nil { // ErrFull
		m.answer(0, err)
	}
}

func (b *bank) spawn(c *actor.Context[any], name, id string) (actor.Ref[request], error) {
	ref, err := actor.Spawn(c, func() *account {
		return &account{cfg: b.cfg, name: id, store: b.store, seen: make(map[string]record),
			writing: make(map[string]request)}
	}, actor.Name(name), actor.Room(b.cfg.room),
		actor.Restart(b.cfg.restarts, 10*time.Second), actor.ThenStop(),
		actor.Backoff(time.Millisecond, 100*time.Millisecond))
	if err == nil {
		_, err = c.Watch(ref, ended)
	}
	return ref, err
}
