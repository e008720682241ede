package actortest

import "github.com/organzine/coro/actor"

// A Probe is an actor that records its messages.
type Probe[M any] struct {
	Ref  actor.Ref[M]
	s    *System
	list []M
}

// NewProbe spawns a probe.
func NewProbe[M any](s *System, opts ...actor.SpawnOption) *Probe[M] {
	s.t.Helper()
	p := &Probe[M]{s: s}
	p.spawn(nil, opts)
	return p
}

func (p *Probe[M]) spawn(started func(*actor.Context[M]) error, opts []actor.SpawnOption) {
	p.s.t.Helper()
	var err error
	p.Ref, err = actor.Spawn(p.s, func() *recorder[M] { return &recorder[M]{p, started} },
		opts...)
	if err != nil {
		p.s.t.Fatal(err)
	}
}

type recorder[M any] struct {
	p       *Probe[M]
	started func(*actor.Context[M]) error
}

func (r *recorder[M]) Started(c *actor.Context[M]) error {
	if r.started == nil {
		return nil
	}
	return r.started(c)
}

func (r *recorder[M]) Receive(_ *actor.Context[M], m M) error {
	r.p.list = append(r.p.list, m)
	return nil
}

// Take settles, and returns the messages that have come since the last Take.
func (p *Probe[M]) Take() []M {
	p.s.t.Helper()
	p.s.Settle()
	list := p.list
	p.list = nil
	return list
}

// Watch spawns a probe that gets a notice when target has ended.
func (s *System) Watch(target actor.Address) *Probe[actor.Ended] {
	s.t.Helper()
	p := &Probe[actor.Ended]{s: s}
	p.spawn(func(c *actor.Context[actor.Ended]) error {
		_, err := c.Watch(target, func(e actor.Ended) actor.Ended { return e })
		return err
	}, nil)
	s.Settle()
	return p
}
