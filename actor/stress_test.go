package actor

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// counted is n times CORO_TEST_SCALE.
func counted(n int) int {
	scale, err := strconv.ParseFloat(os.Getenv("CORO_TEST_SCALE"), 64)
	if err != nil {
		return n
	}
	return max(int(scale*float64(n)), 1)
}

// A checksum is of a set of numbers.
type checksum struct{ count, sum, xor atomic.Uint64 }

func (c *checksum) add(id uint64) {
	c.count.Add(1)
	c.sum.Add(id * id)
	for {
		old := c.xor.Load()
		if c.xor.CompareAndSwap(old, old^id*0x9e3779b97f4a7c15) {
			return
		}
	}
}

func (c *checksum) values() [3]uint64 { return [3]uint64{c.count.Load(), c.sum.Load(), c.xor.Load()} }

const (
	stressPlaces  = 40
	stressSenders = stressPlaces + 4 // with goroutines outside
)

type stressMessage struct {
	id   uint64
	from int
	seq  uint64 // of from's messages to this actor
	hops int
	ask  Reply[uint64]
}

// A storm has places with an actor each. Where one ends the next one is spawned by the goroutine
// or actor that finds out.
type storm struct {
	t        *testing.T
	y        *System
	ids      atomic.Uint64
	accepted checksum
	ended    checksum // handled, or dead letters
	answers  atomic.Uint64
	mu       sync.Mutex
	places   [stressPlaces]atomic.Pointer[stressPlace]
	stopping atomic.Bool
}

// A stressPlace is an actor, over all its restarts.
type stressPlace struct {
	ref   Ref[stressMessage]
	sent  [stressSenders]uint64 // each sender's own
	last  [stressSenders]uint64 // the actor's own
	turns int                   // the actor's own
	busy  atomic.Int32
}

func (s *storm) spawn(i int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.places[i].Load(); old != nil {
		select {
		case <-old.ref.Done():
		default:
			return // others have been here
		}
	}
	p := &stressPlace{}
	opts := [][]SpawnOption{{Restart(1<<30, 0)}, {Resume(), Retry(1)}, {StopOnFailure()},
		{Restart(1<<30, 0), Backoff(time.Microsecond, time.Millisecond)}}[rand.IntN(4)]
	switch rand.IntN(4) {
	case 0:
		opts = append(opts, Waiting())
	case 1:
		opts = append(opts, Room(1+rand.IntN(100)))
	}
	ref, err := Spawn(s.y, func() *stressActor { return &stressActor{s, p, i} }, opts...)
	if err != nil {
		if !s.stopping.Load() {
			s.t.Error(err)
		}
		return
	}
	p.ref = ref
	s.places[i].Store(p)
}

// send sends a message of a sender to anybody.
func (s *storm) send(from, hops int) {
	i := rand.IntN(stressPlaces)
	p := s.places[i].Load()
	m := stressMessage{id: s.ids.Add(1), from: from, seq: p.sent[from] + 1, hops: hops}
	switch err := p.ref.Tell(m); {
	case err == nil:
		p.sent[from]++
		s.accepted.add(m.id)
	case errors.Is(err, ErrStopped):
		s.spawn(i)
	case !errors.Is(err, ErrFull):
		s.t.Error(err)
	}
}

type stressActor struct {
	s  *storm
	p  *stressPlace
	me int
}

func (a *stressActor) Receive(c *Context[stressMessage], m stressMessage) error {
	p := a.p
	if p.busy.Add(1) != 1 {
		a.s.t.Error("two at a time")
	}
	defer p.busy.Add(-1)
	p.turns++
	if m.from >= 0 {
		if m.seq < p.last[m.from] || (m.seq == p.last[m.from] && c.c.side.Load().retries == 0) {
			a.s.t.Errorf("message %d of %d came after %d", m.seq, m.from, p.last[m.from])
		}
		p.last[m.from] = m.seq
	}
	switch n := rand.IntN(1000); {
	case n < 3:
		panic("a panic")
	case n < 5:
		return errBad
	case n < 6:
		runtime.Goexit()
	case n < 8:
		c.Stop()
	case n < 12:
		c.Self().Stop()
	case n < 20:
		later := stressMessage{id: a.s.ids.Add(1), from: -1, hops: m.hops}
		c.After(time.Duration(rand.IntN(1000))*time.Microsecond, later)
		a.s.accepted.add(later.id)
	case n < 25:
		runtime.Gosched()
	case n < 35:
		to := a.s.places[rand.IntN(stressPlaces)].Load().ref
		err := AskThen(c, to, func(r Reply[uint64]) stressMessage {
			return stressMessage{from: -1, ask: r} // no number: it may not be accepted
		}, func(_ *Context[stressMessage], v uint64, err error) error {
			if v != 0 || (err != nil && !errors.Is(err, ErrStopped) && !errors.As(err, new(*Failure))) {
				a.s.t.Errorf("%d, %v", v, err)
			}
			a.s.answers.Add(1)
			return nil
		})
		if err != nil && !errors.Is(err, ErrStopped) && !errors.Is(err, ErrFull) {
			a.s.t.Error(err)
		}
	}
	if m.ask != (Reply[uint64]{}) {
		if err := m.ask.Answer(m.id); err != nil && !errors.Is(err, ErrAnswered) {
			a.s.t.Error(err)
		}
	}
	if m.hops > 0 {
		a.s.send(a.me, m.hops-1)
	}
	if m.id != 0 {
		a.s.ended.add(m.id)
	}
	return nil
}

// Random sends, stops, restarts, panics, asks: what was accepted is handled, or a dead letter,
// once; in the order of each sender; one at a time.
func TestStressStorm(t *testing.T) {
	const round = 20_000
	for n := counted(round); n > 0; n -= round * 50 {
		storming(t, min(n, round*50))
	}
}

func storming(t *testing.T, n int) {
	s := &storm{t: t}
	y, err := New(Executors(1+rand.IntN(4)), OnDeadLetter(func(d DeadLetter) {
		if m := d.Message.(stressMessage); m.id != 0 {
			s.ended.add(m.id)
		}
	}))
	require.NoError(t, err)
	s.y = y
	for i := range stressPlaces {
		s.spawn(i)
	}
	const hops = 20
	var all sync.WaitGroup
	for from := stressPlaces; from < stressSenders; from++ {
		all.Go(func() {
			for k := 0; s.accepted.count.Load() < uint64(n); k++ {
				s.send(from, hops)
				if k%16 == 0 {
					s.ask()
				}
			}
		})
	}
	all.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if rand.IntN(2) == 0 {
		require.NoError(t, y.Rest(ctx))
		require.Positive(t, s.answers.Load())
	}
	s.stopping.Store(true)
	require.NoError(t, y.Close())
	require.NoError(t, y.Err())
	require.Equal(t, s.accepted.values(), s.ended.values())
	st := y.Stats()
	require.Zero(t, st.Actors)
	t.Logf("%d messages, %d dead letters, %d failures, %d actors", s.accepted.values()[0],
		st.Dead, st.Failures, st.Spawned)
}

// ask asks anybody, sometimes with a short deadline.
func (s *storm) ask() {
	ctx := context.Background()
	if rand.IntN(2) == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(rand.IntN(200))*time.Microsecond)
		defer cancel()
	}
	p := s.places[rand.IntN(stressPlaces)].Load()
	v, err := Ask(ctx, p.ref, func(to Reply[uint64]) stressMessage {
		return stressMessage{from: -1, ask: to}
	})
	var f *Failure
	switch {
	case err == nil && v == 0, errors.Is(err, ErrStopped), errors.As(err, &f):
	case errors.Is(err, context.DeadlineExceeded):
	default:
		s.t.Errorf("asked: %d, %v", v, err)
	}
}
