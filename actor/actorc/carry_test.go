//go:build cgo

package actorc_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
	"github.com/organzine/coro/actor"
	"github.com/organzine/coro/actor/actorc"
	"github.com/organzine/coro/internal/testbody"
)

type carried struct {
	Next   actorc.Actor
	Buffer coro.Buffer
}

type echo struct {
	Buffer coro.Buffer
	Bytes  uint64
}

var courierAsks = coro.MustFunc[testbody.CourierAsk, uint64](testbody.CourierAsks)

func courier(t *testing.T, s *coro.Scheduler) actorc.Actor {
	t.Helper()
	a, err := actorc.KindOf(testbody.Courier).Spawn(s, nil)
	require.NoError(t, err)
	return a
}

func bufferOf(t *testing.T, s *coro.Scheduler, text string) coro.Buffer {
	t.Helper()
	b, err := coro.BufferOf(s, []byte(text))
	require.NoError(t, err)
	return b
}

// isMine frees a Buffer that was not sent.
func isMine(t *testing.T, b coro.Buffer) {
	t.Helper()
	require.NoError(t, b.Free())
}

func isGone(t *testing.T, b coro.Buffer) {
	t.Helper()
	require.ErrorIs(t, b.Free(), coro.ErrStale)
}

// hold has the actor keep its turn, until testbody.CourierGo.
func hold(t *testing.T, s *coro.Scheduler, a actorc.Actor) {
	t.Helper()
	held := testbody.CourierHeld()
	m := carried{Buffer: bufferOf(t, s, "text")}
	require.NoError(t, actorc.Send(a, testbody.CarryHold, m))
	isGone(t, m.Buffer)
	eventually(t, func() bool { return testbody.CourierHeld() > held }, "the turn is kept")
}

func allFreed(t *testing.T, s *coro.Scheduler) {
	t.Helper()
	st := s.Stats().Buffers
	require.Equal(t, st.Made, st.Freed)
	require.Zero(t, st.Bytes)
}

func TestAMessageHasBuffers(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	a, b := courier(t, s), courier(t, s)
	for i := range 100 {
		m := carried{b, bufferOf(t, s, "text")}
		require.NoError(t, actorc.Send(a, uint32(i%2*testbody.CarryNext), m))
		isGone(t, m.Buffer)
	}
	require.NoError(t, s.Wait(background))
	allFreed(t, s)
	// nobody takes it
	for _, kind := range []uint32{testbody.CarryAbort, testbody.CarryNext} {
		m := carried{1, bufferOf(t, s, "text")}
		require.NoError(t, actorc.Send(a, kind, m))
		require.NoError(t, s.Wait(background))
		isGone(t, m.Buffer)
	}
	hold(t, s, a)
	for range 10 {
		m := carried{Buffer: bufferOf(t, s, "text")}
		require.NoError(t, actorc.Send(a, testbody.CarryFree, m))
	}
	require.NoError(t, a.Stop())
	testbody.CourierGo()
	require.NoError(t, s.Wait(background))
	allFreed(t, s)
	finish(t, s)
}

func TestAMessageWithBuffersThatIsRefused(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	a := courier(t, s)
	b := bufferOf(t, s, "mine")
	type numbers struct{ A, B uint64 }
	type first struct {
		Buffer coro.Buffer
		N      uint64
	}
	type large struct {
		Next   uint64
		Buffer coro.Buffer
		More   [4]uint64
	}
	optionError(t, actorc.Send(a, 0, numbers{1, 2}), "actorc.Send", "the actor's kind has buffers")
	optionError(t, actorc.Send(a, 0, first{b, 1}), "actorc.Send", "the actor's kind has buffers")
	optionError(t, actorc.Send(a, 0, large{Buffer: b}), "actorc.Send", "has 48 bytes")
	optionError(t, actorc.Send(a, 1<<32-1, carried{Buffer: b}), "actorc.Send", "is the core's")
	optionError(t, actorc.Send(a, 0, &b), "actorc.Send", "points into Go")
	plain := spawnedActor(t, s, testbody.Actor{})
	optionError(t, actorc.Send(plain, 0, carried{Buffer: b}), "actorc.Send", "the actor's kind has buffers")
	_, err := actorc.Ask[carried, numbers](background, s, a, 0, carried{Buffer: b})
	optionError(t, err, "actorc.Ask", "the actor's kind has buffers")
	_, err = actorc.Ask[numbers, numbers](background, s, a, 0, numbers{})
	optionError(t, err, "actorc.Ask", "the actor's kind has buffers")
	y, err := actor.New()
	require.NoError(t, err)
	_, err = actorc.Of[numbers](y, a, 0)
	optionError(t, err, "actorc.Of", "the actor's kind has buffers")
	_, err = actorc.Of[large](y, a, 0)
	optionError(t, err, "actorc.Of", "has 48 bytes")
	require.NoError(t, y.Close())

	require.NoError(t, b.Use(func([]byte) error {
		require.ErrorIs(t, actorc.Send(a, 0, carried{Buffer: b}), coro.ErrBusy)
		return nil
	}))
	gone := bufferOf(t, s, "gone")
	isMine(t, gone)
	require.ErrorIs(t, actorc.Send(a, 0, carried{Buffer: gone}), coro.ErrStale)
	_, err = actorc.Ask[carried, echo](background, s, a, 0, carried{Buffer: gone})
	require.ErrorIs(t, err, coro.ErrStale)
	require.NoError(t, actorc.Send(a, 0, carried{})) // none
	require.NoError(t, a.Drain())
	require.NoError(t, s.Wait(background))
	require.ErrorIs(t, actorc.Send(a, 0, carried{Buffer: b}), actorc.ErrEnded)
	_, err = actorc.Ask[carried, echo](background, s, a, 0, carried{Buffer: b})
	require.ErrorIs(t, err, actorc.ErrEnded)
	isMine(t, b)

	full, err := actorc.KindOf(testbody.CourierRoom).Spawn(s, nil)
	require.NoError(t, err)
	hold(t, s, full)
	b = bufferOf(t, s, "mine")
	require.ErrorIs(t, actorc.Send(full, 0, carried{Buffer: b}), actorc.ErrMailboxFull)
	isMine(t, b)
	testbody.CourierGo()
	require.NoError(t, s.Wait(background))
	allFreed(t, s)
	finish(t, s)
}

func TestAQuestionAndItsAnswerHaveBuffers(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	a := courier(t, s)
	for range 100 {
		q := carried{Buffer: bufferOf(t, s, "text")}
		r, err := actorc.Ask[carried, echo](background, s, a, testbody.CarryEcho, q)
		require.NoError(t, err)
		isGone(t, q.Buffer)
		require.EqualValues(t, 4, r.Bytes)
		text, err := r.Buffer.Bytes()
		require.NoError(t, err)
		require.Equal(t, "text", string(text))
		isMine(t, r.Buffer)
	}
	for kind, want := range map[uint32]error{
		testbody.CarryEchoMore: actorc.ErrAnswerSize,
		testbody.CarryFree:     actorc.ErrNoAnswer,
		testbody.CarryAbort:    actorc.ErrNoAnswer,
	} {
		q := carried{Buffer: bufferOf(t, s, "text")}
		_, err := actorc.Ask[carried, echo](background, s, a, kind, q)
		require.ErrorIs(t, err, want)
		isGone(t, q.Buffer)
	}
	// The context ends while the actor has the turn: whoever has the Buffer then, it is freed.
	ctx, cancel := context.WithCancel(background)
	hold(t, s, a)
	q := carried{Buffer: bufferOf(t, s, "text")}
	go cancel()
	_, err := actorc.Ask[carried, echo](ctx, s, a, testbody.CarryEcho, q)
	require.ErrorIs(t, err, context.Canceled)
	testbody.CourierGo()
	require.NoError(t, s.Wait(background))
	_ = q.Buffer.Free() // the context may have ended before the start
	eventually(t, func() bool {
		st := s.Stats().Buffers
		return st.Made == st.Freed
	}, "all buffers are freed")
	finish(t, s)
}

// A carrying receiver answers with Buffers, or keeps who asks.
type carrying struct {
	t     *testing.T
	s     *coro.Scheduler
	least int // Receive leaves so many to Wait
	kept  atomic.Pointer[actorc.Asker]
	begun atomic.Int32
	fails bool
}

func (c *carrying) Receive(list []actorc.Message) int {
	for i, m := range list {
		if c.least > 0 {
			return i
		}
		if err := c.handle(m); err != nil {
			panic(err)
		}
	}
	return len(list)
}

func (c *carrying) Wait(_ context.Context, m actorc.Message) error {
	if c.fails {
		return errors.New("as the test wants")
	}
	return c.handle(m)
}

func (c *carrying) handle(m actorc.Message) error {
	defer c.begun.Add(1)
	_, err := actorc.Value[echo](m)
	optionError(c.t, err, "actorc.Value", "the actor's kind has buffers")
	_, err = actorc.Value[uint64](m)
	optionError(c.t, err, "actorc.Value", "the message 16")
	v, err := actorc.Value[carried](m)
	if err != nil {
		return err
	}
	switch m.Kind() {
	case testbody.CarryEcho:
		r := echo{v.Buffer, uint64(v.Buffer.Len())}
		optionError(c.t, actorc.Answer(m, uint64(1)), "actorc.Answer", "the actor's kind has buffers")
		assert.ErrorIs(c.t, v.Buffer.Use(func([]byte) error { return actorc.Answer(m, r) }), coro.ErrBusy)
		assert.NoError(c.t, actorc.Answer(m, r))
		assert.ErrorIs(c.t, actorc.Answer(m, r), actorc.ErrAnswered)
		assert.ErrorIs(c.t, v.Buffer.Free(), coro.ErrStale)
		return nil
	case testbody.CarryHold:
		asker, ok := m.Asker()
		assert.True(c.t, ok)
		c.kept.Store(&asker)
	}
	return v.Buffer.Free()
}

func (c *carrying) Ended() {}

func TestAReceiverHasBuffers(t *testing.T) {
	for least := range 2 {
		s := newScheduler(t, coro.WithWorkers(2))
		c := &carrying{t: t, s: s, least: least}
		a, err := actorc.Spawn(s, c, actorc.MessagesOf[carried](), actorc.AnswersOf[echo]())
		require.NoError(t, err)
		for range 100 {
			n, err := courierAsks.Call(background, s, testbody.CourierAsk{To: uint64(a), Bytes: 1000})
			require.NoError(t, err)
			require.EqualValues(t, 1000, n)
			m := carried{Buffer: bufferOf(t, s, "text")}
			require.NoError(t, actorc.Send(a, testbody.CarryFree, m))
			isGone(t, m.Buffer)
		}
		asked := make(chan error, 1)
		go func() {
			r, err := actorc.Ask[carried, echo](background, s, a, testbody.CarryHold, carried{Buffer: bufferOf(t, s, "text")})
			if err == nil {
				err = r.Buffer.Free()
			}
			asked <- err
		}()
		eventually(t, func() bool { return c.kept.Load() != nil }, "the asker is kept")
		asker := *c.kept.Load()
		b := bufferOf(t, s, "answer")
		optionError(t, actorc.Answer(asker, uint64(1)), "actorc.Answer", "the actor's kind has buffers")
		require.NoError(t, actorc.Answer(asker, echo{Buffer: b}))
		isGone(t, b)
		require.NoError(t, <-asked)
		b = bufferOf(t, s, "late")
		require.ErrorIs(t, actorc.Answer(asker, echo{Buffer: b}), actorc.ErrAnswered)
		isMine(t, b)
		require.NoError(t, s.Wait(background))
		allFreed(t, s)
		if least > 0 { // a dead letter
			c.fails = true
			require.NoError(t, actorc.Send(a, testbody.CarryFree, carried{Buffer: bufferOf(t, s, "text")}))
			require.NoError(t, s.Wait(background))
			allFreed(t, s)
		}
		finish(t, s)
	}
	s := newScheduler(t)
	_, err := actorc.Spawn(s, &carrying{}, actorc.MessagesOf[[48]byte](), actorc.MessagesOf[[]byte]())
	optionError(t, err, "actorc.MessagesOf", "points into Go")
	_, err = actorc.Spawn(s, &carrying{}, actorc.MessagesOf[[6]coro.Buffer]())
	optionError(t, err, "actorc.MessagesOf", "has 48 bytes")
	_, err = actorc.Spawn(s, &carrying{}, actorc.AnswersOf[[7]coro.Buffer]())
	optionError(t, err, "actorc.AnswersOf", "has 56 bytes")
	finish(t, s)
}

// Through Of and In: an actor of Go between two in C.
func TestAnActorOfGoHandsBuffersOn(t *testing.T) {
	s, y, ctx := open(t)
	last := courier(t, s)
	toC, err := actorc.Of[carried](y, last, testbody.CarryFree)
	require.NoError(t, err)
	middle, err := actor.Spawn(y, func() actor.Func[carried] {
		return func(c *actor.Context[carried], m carried) error {
			if err := m.Buffer.Append([]byte("more")); err != nil {
				return err
			}
			return toC.Tell(m)
		}
	})
	require.NoError(t, err)
	in, err := actorc.In(s, middle, actorc.Value[carried], actorc.MessagesOf[carried]())
	require.NoError(t, err)
	for range 1000 {
		m := carried{Buffer: bufferOf(t, s, "text")}
		require.NoError(t, actorc.Send(in, 0, m))
		isGone(t, m.Buffer)
	}
	eventually(t, func() bool {
		st := s.Stats().Buffers
		return st.Made == 1000 && st.Freed == 1000
	}, "all buffers are freed")
	// where the actor of Go has ended they are dead letters in C
	middle.Stop()
	<-middle.Done()
	for range 10 {
		require.NoError(t, actorc.Send(in, 0, carried{Buffer: bufferOf(t, s, "text")}))
	}
	require.NoError(t, s.Wait(ctx))
	allFreed(t, s)
}

// Goroutines send and ask, and the actors are stopped, and in the end the scheduler is closed.
func TestBuffersOfActorsAtRandom(t *testing.T) {
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	s := newScheduler(t, coro.WithWorkers(2))
	var actors [3]atomic.Uint64
	for i := range actors {
		actors[i].Store(uint64(courier(t, s)))
	}
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 1))
			for range scaled(2000) {
				a := actorc.Actor(actors[r.IntN(3)].Load())
				m := carried{actorc.Actor(actors[r.IntN(3)].Load()), bufferOf(t, s, "text")}
				kind := []uint32{testbody.CarryFree, testbody.CarryNext, testbody.CarryAbort}[r.IntN(3)]
				switch r.IntN(8) {
				case 0:
					answer, err := actorc.Ask[carried, echo](ctx, s, a, testbody.CarryEcho, m)
					if err == nil {
						assert.NoError(t, answer.Buffer.Free())
					} else {
						_ = m.Buffer.Free()
					}
				case 1:
					if old := actors[r.IntN(3)].Swap(uint64(courier(t, s))); r.IntN(2) == 0 {
						_ = actorc.Actor(old).Stop()
					} else {
						_ = actorc.Actor(old).Drain()
					}
					fallthrough
				default:
					if err := actorc.Send(a, kind, m); err != nil {
						assert.ErrorIs(t, err, actorc.ErrEnded)
						assert.NoError(t, m.Buffer.Free())
					} else {
						assert.ErrorIs(t, m.Buffer.Free(), coro.ErrStale)
					}
				}
			}
		})
	}
	all.Wait()
	require.NoError(t, s.Wait(background))
	allFreed(t, s)
	hold(t, s, actorc.Actor(actors[0].Load()))
	for range 10 {
		require.NoError(t, actorc.Send(actorc.Actor(actors[0].Load()), testbody.CarryFree,
			carried{Buffer: bufferOf(t, s, "text")}))
	}
	cancel()
	_ = s.Close(ctx) // cancels what is left
	allFreed(t, s)
}

// Bytes of C are what C says that they are: a message is handed on as it is.
func TestABatchOfBytesIsHandedOn(t *testing.T) {
	s := newScheduler(t)
	a := courier(t, s)
	on, err := actorc.Spawn(s, handsOn{a}, actorc.MessagesOf[carried]())
	require.NoError(t, err)
	for range 10 {
		require.NoError(t, actorc.Send(on, testbody.CarryFree, carried{Buffer: bufferOf(t, s, "text")}))
	}
	require.NoError(t, s.Wait(background))
	allFreed(t, s)
	require.ErrorIs(t, a.Send(testbody.CarryFree, binary.NativeEndian.AppendUint64(make([]byte, 8), 77)),
		coro.ErrStale)
	finish(t, s)
}

type handsOn struct{ to actorc.Actor }

func (h handsOn) Receive(list []actorc.Message) int {
	for i, m := range list {
		if h.to.Send(m.Kind(), m.Payload()) != nil {
			return i
		}
	}
	return len(list)
}

func (h handsOn) Wait(context.Context, actorc.Message) error { return errors.New("unexpected") }
func (h handsOn) Ended()                                     {}
