package actor

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"
)

type chaosMessage struct {
	id     uint32
	look   bool          // all is at rest
	notice *chaosWatch   // of a watch
	ask    Reply[uint32] // is answered with `asked`
	asked  uint32
	keep   bool // the question must not be handed on
}

// A chaosPlace is an actor, over all its restarts.
type chaosPlace struct {
	s       *chaos
	ref     Ref[chaosMessage]
	isTop   bool
	waits   bool // it is Waiting
	retries uint64
	drops   bool
	resumes bool
	busy    atomic.Int32
	states  atomic.Uint32
	beats   uint64 // calls that are of no message, the actor's own
}

// A chaosWatch is one call of Watch.
type chaosWatch struct {
	target  *chaosPlace
	told    atomic.Int32 // its function was called
	unwatch func() bool
	isOver  bool // unwatch has returned true
	isDue   bool // its target had ended when all was at rest, and it was not told yet
}

// A chaosState is what a restart replaces.
type chaosState struct {
	p       *chaosPlace
	first   *chaosState   // which Become has replaced; or this
	asks    []*chaosAsk   // of AskThen
	timers  []*chaosTimer // of After and Every
	watches []*chaosWatch
}

type chaosAsk struct{ calls int }

type chaosTimer struct {
	Timer
	id uint32 // 0: of Every
}

// spawn spawns an actor in a place whose actor has ended.
func (s *chaos) spawn(at Spawner, i int, r *rand.Rand) {
	s.spawns.Lock()
	defer s.spawns.Unlock()
	select {
	case <-s.places[i].Load().ref.Done():
	default:
		return
	}
	p := &chaosPlace{s: s, isTop: at == Spawner(s.y)}
	opts := p.options(r)
	ref, err := Spawn(at, p.newState, opts...)
	if err != nil {
		if !errors.Is(err, ErrStopped) {
			s.errorf("Spawn: %v", err)
		}
		return
	}
	p.ref = ref
	s.places[i].Store(p)
}

func (p *chaosPlace) options(r *rand.Rand) (opts []SpawnOption) {
	switch n := r.IntN(8); {
	case n == 0:
		opts = append(opts, StopOnFailure())
	case n == 1:
		p.resumes = true
		opts = append(opts, Resume())
	case n == 2 && !p.isTop:
		opts = append(opts, Escalate())
	case n == 3:
		opts = append(opts, Restart(1+r.IntN(3), 0), ThenStop())
	case n == 4:
		opts = append(opts, Restart(1<<30, 0), Backoff(time.Microsecond, time.Millisecond))
	case n == 5 && !p.isTop:
		opts = append(opts, Restart(1+r.IntN(3), time.Millisecond))
	default:
		opts = append(opts, Restart(1<<30, 0))
	}
	if r.IntN(3) == 0 {
		p.retries = uint64(1 + r.IntN(2))
		opts = append(opts, Retry(int(p.retries)))
	}
	if p.drops = r.IntN(6) == 0; p.drops {
		opts = append(opts, Drop())
	}
	if p.waits = r.IntN(3) == 0; p.waits {
		opts = append(opts, Waiting())
	}
	if r.IntN(3) == 0 {
		opts = append(opts, Room(1+r.IntN(50)))
	}
	return append(opts, [][]SpawnOption{nil, {AllForOne()}, {RestForOne()}}[r.IntN(3)]...)
}

func (p *chaosPlace) newState() *chaosState {
	n := p.states.Add(1)
	st := &chaosState{p: p}
	st.first = st
	if n > 1 {
		r := p.s.random(1<<44 + uint64(p.s.failures.Load()))
		if p.s.belongs(func() error { return mayFail(r, 30) }) != nil {
			return nil
		}
	}
	return st
}

func (st *chaosState) Started(c *Context[chaosMessage]) error {
	r := st.p.random()
	return st.p.s.belongs(func() error {
		st.p.s.act(st, c, r)
		if st.p.resumes { // then it would escalate
			return nil
		}
		return mayFail(r, 20)
	})
}

func (st *chaosState) Stopped(c *Context[chaosMessage], _ error) {
	p := st.p
	if p.s.settled.Load() {
		for _, a := range st.first.asks {
			if a.calls != 1 {
				p.s.errorf("what AskThen was given was called %d times", a.calls)
			}
		}
		for _, w := range st.first.watches {
			if w.isDue && !w.isOver && w.told.Load() != 1 {
				p.s.errorf("a watcher was told %d times", w.told.Load())
			}
		}
	}
	r := p.random()
	_ = p.s.belongs(func() error {
		p.s.actSoon(st, c, r)
		mayPanic(r, 20)
		return nil
	})
}

// random is a source for what is no message's.
func (p *chaosPlace) random() *rand.Rand {
	p.beats++
	return p.s.random(1<<45 + p.beats + uint64(p.states.Load())<<20)
}

func (st *chaosState) Receive(c *Context[chaosMessage], m chaosMessage) error {
	p, s := st.p, st.p.s
	if p.busy.Add(1) != 1 {
		s.errorf("two calls at a time")
	}
	ok := false
	defer func() {
		if !ok && m.id != 0 {
			s.hasFailed(p, m.id)
		}
		p.busy.Add(-1)
	}()
	err := s.belongs(func() error { return st.handle(c, m) })
	if ok = err == nil; ok {
		s.add(m.id, handled)
		s.handles.Add(1)
	}
	return err
}

// hasFailed takes note of a failure with a message.
func (s *chaos) hasFailed(p *chaosPlace, id uint32) {
	switch n := s.add(id, failed); {
	case n > p.retries:
		s.errorf("message %d was tried %d times, and Retry is %d", id, n+1, p.retries)
	case n < p.retries:
	case p.drops:
		s.add(id, dropped)
	default:
		s.add(id, last)
	}
}

func (st *chaosState) handle(c *Context[chaosMessage], m chaosMessage) error {
	p, s := st.p, st.p.s
	if m.look {
		st.look()
		return nil
	}
	if m.notice != nil {
		s.notices.Add(1)
	}
	r := p.random()
	if m.id != 0 {
		r = s.random(uint64(m.id)<<4 + s.count(int(m.id), failed))
	}
	early := r.IntN(2) == 0
	if early {
		s.answer(m, r)
	}
	for range r.IntN(4) {
		s.act(st, c, r)
	}
	if err := mayFail(r, 40); err != nil {
		return err
	}
	if !early {
		s.answer(m, r)
	}
	return nil
}

// answer answers a question, or hands it on.
func (s *chaos) answer(m chaosMessage, r *rand.Rand) {
	if m.ask == (Reply[uint32]{}) {
		return
	}
	if !m.keep && r.IntN(3) == 0 {
		next := chaosMessage{id: s.number(), ask: m.ask, asked: m.asked}
		if next.id != 0 && s.sent(next.id, s.places[r.IntN(chaosPlaces)].Load().ref.Tell(next)) {
			return
		}
	}
	_ = m.ask.Answer(m.asked) // an error: its asker has given up, or its message has failed once
}

// look looks whether an actor has had all that is its due, when all is at rest.
func (st *chaosState) look() {
	s := st.p.s
	for _, w := range st.first.watches {
		select {
		case <-w.target.ref.Done():
			// an actor may be idle for long enough right now: Done is closed before its
			// watchers are told
			w.isDue = w.told.Load() == 0
		default:
			if n := w.told.Load(); n != 0 {
				s.errorf("a watcher was told of one that lives")
			}
		}
	}
	for _, a := range st.first.asks {
		if a.calls != 1 {
			s.errorf("what AskThen was given was called %d times, at rest", a.calls)
		}
	}
}

// sent says what has become of a message that was sent, and whether it was accepted.
func (s *chaos) sent(id uint32, err error) bool {
	switch {
	case err == nil:
		s.add(id, accepted)
		return true
	case !slices.ContainsFunc([]error{ErrStopped, ErrFull, ErrWaits, ErrDeadlock,
		context.DeadlineExceeded}, func(is error) bool { return errors.Is(err, is) }):
		s.errorf("sent: %v", err)
	}
	return false
}
