package nats

import "github.com/organzine/coro/actor"

// dead makes a message a dead letter. It is called before the ack.
func (n *Node) dead(d *delivery, tries int, err error) {
	n.o.Log.Error("dead letter", "kind", d.kind, "key", d.key, "id", d.id, "tries", tries,
		"err", err)
	if d.reply != "" {
		d.answered = &message{fail: errorf(ErrDead, "%v", err).Error()}
	}
	if n.o.OnDeadLetter == nil {
		return
	}
	if f, ok := err.(*failure); ok {
		err = f.err
	}
	if err := (caller{n, address{d.kind, d.key}}).call(func() error {
		n.o.OnDeadLetter(DeadLetter{d.kind, d.key, d.id, d.data, d.header, tries, err})
		return nil
	}); err != nil {
		n.o.Log.Error("OnDeadLetter has failed", "err", err)
	}
}

// A stranger is the actor of a key whose kind is not defined here: its messages are dead letters.
type stranger struct {
	h    *hold
	at   address
	self actor.Ref[[]*delivery]
}

// strangers is the behaviour of a kind that is not defined.
type strangers string

func (kind strangers) spawn(h *hold, key string) (actor.Ref[[]*delivery], error) {
	return actor.Spawn(h.n.sys, func() *stranger {
		return &stranger{h: h, at: address{string(kind), key}}
	}, actor.Waiting())
}

func (s *stranger) Started(c *actor.Context[[]*delivery]) error {
	s.self = c.Self()
	c.Passivate(s.h.n.o.Idle)
	return nil
}

func (s *stranger) Stopped(*actor.Context[[]*delivery], error) { s.h.ended(s.at, s.self) }

func (s *stranger) Receive(_ *actor.Context[[]*delivery], batch []*delivery) error {
	for _, d := range batch {
		if !s.h.goesOn() {
			return nil // not acked
		}
		s.h.n.dead(d, 0, errorf(ErrKind, "%q", s.at.kind))
		s.h.finish(d)
	}
	return nil
}
