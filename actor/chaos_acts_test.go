package actor

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// ask asks, and waits for the answer: without a deadline, or until one.
func (s *chaos) ask(r *rand.Rand, deadline time.Duration) {
	id := s.number()
	if id == 0 {
		return
	}
	ctx := context.Background()
	if deadline == 0 && r.IntN(3) == 0 {
		deadline = time.Millisecond
	}
	if deadline > 0 {
		brief, cancel := context.WithTimeout(ctx, time.Duration(r.Int64N(int64(deadline))))
		defer cancel()
		ctx = brief
	}
	keep := r.IntN(2) == 0 || deadline == 0
	v, err := Ask(ctx, s.target(r), func(to Reply[uint32]) chaosMessage {
		mayPanic(r, 200)
		return chaosMessage{id: id, ask: to, asked: id, keep: keep}
	})
	var refused *Error
	var f *Failure
	switch {
	case err == nil && v == id, errors.As(err, &f), err == ErrStopped:
		s.add(id, accepted)
		s.answers.Add(1)
	case err == context.DeadlineExceeded && ctx.Err() != nil:
		s.add(id, perhaps)
	case errors.As(err, &refused), errors.Is(err, ErrDeadlock):
	default:
		s.errorf("Ask of %d: %d, %v", id, v, err)
	}
}

// askThen is AskThen, and counts the answers that are awaited.
func (s *chaos) askThen(st *chaosState, c *Context[chaosMessage], r *rand.Rand) {
	id := s.number()
	if id == 0 {
		return
	}
	a, first := &chaosAsk{}, true
	err := AskThen(c, s.target(r), func(to Reply[uint32]) chaosMessage {
		mayPanic(r, 200)
		return chaosMessage{id: id, ask: to, asked: id}
	}, func(_ *Context[chaosMessage], v uint32, err error) error {
		if first { // else by Retry
			a.calls++
		}
		first = false
		var f *Failure
		if (err != nil || v != id) && !errors.As(err, &f) && !errors.Is(err, ErrStopped) {
			s.errorf("AskThen of %d: %d, %v", id, v, err)
		}
		return s.belongs(func() error { return mayFail(r, 20) })
	})
	if s.sent(id, err) {
		st.first.asks = append(st.first.asks, a)
	}
}

// act does something that a behaviour may do.
func (s *chaos) act(st *chaosState, c *Context[chaosMessage], r *rand.Rand) {
	p, i := st.p, r.IntN(chaosPlaces)
	switch n := r.IntN(100); {
	case n < 5 && p.waits:
		if s.tree {
			s.ask(r, 10*time.Millisecond)
		} else {
			s.ask(r, 0)
		}
	case n < 10:
		s.send(r)
	case n < 12 && s.tree:
		s.spawn(c, i, r)
	case n < 14:
		s.regroup(r)
	case n < 15:
		c.Stop()
	case n < 16:
		c.Self().Stop()
	case n < 17:
		s.places[i].Load().ref.Stop()
	case n < 18 && !s.exact:
		s.places[i].Load().ref.Drain()
	case n < 20:
		c.Passivate(time.Duration(r.IntN(5000)) * time.Microsecond)
	case n < 22:
		if err := c.Become(&chaosState{p: p, first: st.first}); err != nil {
			s.errorf("Become: %v", err)
		}
	case n < 30 && !s.exact:
		s.watch(st, c, r)
	case n < 34:
		s.stopTimer(st, r)
	default:
		s.actSoon(st, c, r)
	}
}

// actSoon does something that Stopped may do.
func (s *chaos) actSoon(st *chaosState, c *Context[chaosMessage], r *rand.Rand) {
	switch n := r.IntN(100); {
	case n < 15:
		s.after(st, c, r)
	case n < 17 && !s.exact:
		s.every(st, c, r)
	case n < 27 && !s.exact:
		s.askThen(st, c, r)
	default:
		if id := s.number(); id != 0 {
			s.sent(id, s.target(r).Tell(chaosMessage{id: id}))
		}
	}
}

func (s *chaos) after(st *chaosState, c *Context[chaosMessage], r *rand.Rand) {
	if id := s.number(); id != 0 {
		t := c.After(time.Duration(r.IntN(1000))*time.Microsecond, chaosMessage{id: id})
		s.add(id, accepted)
		st.first.timers = append(st.first.timers, &chaosTimer{t, id})
	}
}

func (s *chaos) every(st *chaosState, c *Context[chaosMessage], r *rand.Rand) {
	if s.beats.Add(1) < 10 {
		t := c.Every(time.Duration(1+r.IntN(5))*time.Millisecond, chaosMessage{})
		st.first.timers = append(st.first.timers, &chaosTimer{t, 0})
	}
}

func (s *chaos) stopTimer(st *chaosState, r *rand.Rand) {
	if list := st.first.timers; len(list) > 0 {
		t := list[r.IntN(len(list))]
		if t.Stop() {
			s.add(t.id, withdrawn)
		}
		if t.Stop() {
			s.errorf("a timer was stopped twice")
		}
	}
}

// watch watches another actor, or stops to.
func (s *chaos) watch(st *chaosState, c *Context[chaosMessage], r *rand.Rand) {
	st = st.first
	if n := len(st.watches); n > 0 && r.IntN(4) == 0 {
		w := st.watches[r.IntN(n)]
		if over := w.unwatch(); over && (w.isOver || w.told.Load() > 0) {
			s.errorf("unwatch takes back what was told, or taken back")
		} else if over {
			w.isOver = true
		}
		return
	}
	w := &chaosWatch{target: s.places[r.IntN(chaosPlaces)].Load()}
	unwatch, err := c.Watch(w.target.ref, func(Ended) chaosMessage {
		if w.told.Add(1) > 1 {
			s.errorf("a watcher was told twice")
		}
		_ = s.belongs(func() error { mayPanic(r, 20); return nil })
		id := s.number()
		s.add(id, perhaps)
		return chaosMessage{id: id, notice: w}
	})
	if err != nil {
		s.errorf("Watch: %v", err)
	}
	w.unwatch = unwatch
	st.watches = append(st.watches, w)
}
