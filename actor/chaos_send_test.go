package actor

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"time"
)

// target is where a message is sent: to an actor, or through a group.
func (s *chaos) target(r *rand.Rand) Ref[chaosMessage] {
	if g := s.groups[r.IntN(chaosGroups)].Load(); g != nil && r.IntN(3) == 0 {
		return *g
	}
	return s.places[r.IntN(chaosPlaces)].Load().ref
}

// regroup makes a group, of actors, of what Adapt makes, and of another group.
func (s *chaos) regroup(r *rand.Rand) {
	refs := []Ref[chaosMessage]{}
	for range 1 + r.IntN(3) {
		refs = append(refs, s.places[r.IntN(chaosPlaces)].Load().ref)
	}
	adapted, err := Adapt(refs[0], func(m chaosMessage) chaosMessage {
		mayPanic(s.random(1<<46+uint64(m.id)), 100)
		return m
	})
	if err != nil {
		s.errorf("Adapt: %v", err)
	}
	refs = append(refs, adapted)
	for range 1 + r.IntN(2) {
		var g Ref[chaosMessage]
		switch r.IntN(3) {
		case 0:
			g, err = RoundRobin(refs...)
		case 1:
			g, err = LeastLoaded(refs...)
		default:
			g, err = ConsistentHash(func(m chaosMessage) uint64 {
				mayPanic(s.random(1<<47+uint64(m.id)), 100)
				return uint64(m.id)
			}, refs...)
		}
		if err != nil {
			s.errorf("a group: %v", err)
		}
		refs = append(refs, g)
	}
	s.groups[r.IntN(chaosGroups)].Store(&refs[len(refs)-1])
}

// sendFromOutside sends until all messages are used up.
func (s *chaos) sendFromOutside(r *rand.Rand) {
	for !s.isUsedUp() {
		done := make(chan struct{})
		go func() { // a key that panics, or ends its goroutine, takes this one with it
			defer close(done)
			defer func() {
				if v := recover(); v != nil && v != any(errTrouble) {
					panic(v)
				}
			}()
			for !s.isUsedUp() {
				s.fromOutside(r)
			}
		}()
		<-done
	}
}

func (s *chaos) fromOutside(r *rand.Rand) {
	i := r.IntN(chaosPlaces)
	switch n := r.IntN(100); {
	case n < 10:
		s.ask(r, 0)
	case n < 20:
		s.send(r)
	case n < 22:
		s.regroup(r)
	case n < 24:
		s.spawn(s.y, i, r)
	case n < 25 && !s.exact:
		s.places[i].Load().ref.Drain()
	case n < 26:
		s.places[i].Load().ref.Stop()
	case n < 28:
		runtime.Gosched()
	default:
		if id := s.number(); id != 0 {
			err := s.target(r).Tell(chaosMessage{id: id})
			if !s.sent(id, err) && errors.Is(err, ErrStopped) {
				s.spawn(s.y, i, r)
			}
		}
	}
}

// send is Send with a short deadline.
func (s *chaos) send(r *rand.Rand) {
	if id := s.number(); id != 0 {
		brief := time.Duration(r.IntN(2000)) * time.Microsecond
		ctx, cancel := context.WithTimeout(context.Background(), brief)
		defer cancel()
		s.sent(id, s.target(r).Send(ctx, chaosMessage{id: id}))
	}
}
