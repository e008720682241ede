//go:build cgo

package actorc_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
	"github.com/organzine/coro/actor"
	"github.com/organzine/coro/actor/actorc"
	"github.com/organzine/coro/corotest"
	"github.com/organzine/coro/internal/testbody"
)

func TestMain(m *testing.M) { corotest.Main(m) }

var (
	spawnC = coro.MustFunc[testbody.Actor, actorc.Actor](testbody.ActorSpawn)
	flood  = coro.MustFunc[testbody.Flood, uint64](testbody.ActorFlood)
	ask    = coro.MustFunc[testbody.Question, testbody.ActorAnswer](testbody.ActorAsk)
)

func open(t *testing.T) (*coro.Scheduler, *actor.System, context.Context) {
	s, err := coro.New(coro.WithWorkers(2))
	require.NoError(t, err)
	y, err := actor.New(actor.Executors(2))
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, s.Close(context.Background()))
		require.NoError(t, y.Close())
	})
	return s, y, context.Background()
}

// An adder adds the numbers that come, in order, and says so at the last one.
type adder struct {
	last, sum, end uint64
	disorder       bool
	done           chan uint64
}

func (a *adder) Receive(_ *actor.Context[uint64], n uint64) error {
	a.disorder = a.disorder || n <= a.last
	a.last = n
	a.sum += n
	if n == a.end {
		a.done <- a.sum
	}
	return nil
}

// From C by an actor of Go to C again: what is sent comes, in order, also where the actor of Go has
// little room.
func TestThereAndBack(t *testing.T) {
	const n = 5000
	for _, room := range []int{0, 1, 100} {
		s, y, ctx := open(t)
		end := &adder{end: n, done: make(chan uint64, 1)}
		var opts []actor.SpawnOption
		if room > 0 {
			opts = append(opts, actor.Room(room))
		}
		last, err := actor.Spawn(y, func() *adder { return end }, opts...)
		require.NoError(t, err)
		entry, err := actorc.In(s, last, func(m actorc.Message) (uint64, error) {
			return binary.NativeEndian.Uint64(m.Payload()), nil
		})
		require.NoError(t, err)
		c, err := spawnC.Call(ctx, s, testbody.Actor{Next: uint64(entry)})
		require.NoError(t, err)
		first, err := actorc.Of[uint64](y, c, testbody.ActorAdd)
		require.NoError(t, err)
		go func() {
			for i := range uint64(n) {
				if err := first.Tell(i + 1); err != nil {
					t.Error(err)
				}
			}
		}()
		require.EqualValues(t, n*(n+1)/2, <-end.done)
		require.False(t, end.disorder)
		sum, err := actorc.Ask[uint64, uint64](ctx, s, c, testbody.ActorSum, 0)
		require.NoError(t, err)
		require.EqualValues(t, n*(n+1)/2, sum)

		require.NoError(t, c.Stop())
		require.NoError(t, s.Wait(ctx))
		require.ErrorIs(t, first.Tell(1), actor.ErrStopped)
		require.ErrorIs(t, first.Send(ctx, 1), actor.ErrStopped)
		require.NoError(t, entry.Stop())
	}
}

// C asks an actor of Go, which answers later.
func TestCAsksGo(t *testing.T) {
	s, y, ctx := open(t)
	type question struct {
		word  uint64
		asker actorc.Asker
	}
	doubles, err := actor.Spawn(y, func() actor.Func[question] {
		return func(_ *actor.Context[question], q question) error {
			return q.asker.Answer(binary.NativeEndian.AppendUint64(nil, 2*q.word))
		}
	})
	require.NoError(t, err)
	c, err := actorc.In(s, doubles, func(m actorc.Message) (question, error) {
		asker, ok := m.Asker()
		if !ok {
			return question{}, errors.New("no question")
		}
		return question{binary.NativeEndian.Uint64(m.Payload()), asker}, nil
	})
	require.NoError(t, err)
	for i := range uint64(100) {
		answer, err := ask.Call(ctx, s, testbody.Question{To: uint64(c), Word: i})
		require.NoError(t, err)
		require.Equal(t, testbody.ActorAnswer{Word: 2 * i, Bytes: 8}, answer)
	}
	// What is no question is a dead letter, and so is what decode panics with; the others come.
	_, err = flood.Call(ctx, s, testbody.Flood{To: uint64(c), N: 10})
	require.NoError(t, err)
	require.NoError(t, s.Wait(ctx))
	answer, err := ask.Call(ctx, s, testbody.Question{To: uint64(c), Word: 7})
	require.NoError(t, err)
	require.EqualValues(t, 14, answer.Word)
}

func TestDecodeThatPanics(t *testing.T) {
	const n = 100
	s, y, ctx := open(t)
	end := &adder{end: n, done: make(chan uint64, 1)}
	to, err := actor.Spawn(y, func() *adder { return end })
	require.NoError(t, err)
	c, err := actorc.In(s, to, func(m actorc.Message) (uint64, error) {
		w := binary.NativeEndian.Uint64(m.Payload())
		if w%10 == 5 {
			panic("as the test wants")
		}
		return w, nil
	})
	require.NoError(t, err)
	_, err = flood.Call(ctx, s, testbody.Flood{To: uint64(c), N: n})
	require.NoError(t, err)
	require.EqualValues(t, n*(n+1)/2-(5+15+25+35+45+55+65+75+85+95), <-end.done)
	require.False(t, end.disorder)
}

// The actor of Go ends: what comes afterwards is a dead letter, and C goes on.
func TestTheActorOfGoEnds(t *testing.T) {
	s, y, ctx := open(t)
	to, err := actor.Spawn(y, func() *adder { return &adder{} })
	require.NoError(t, err)
	c, err := actorc.In(s, to, func(actorc.Message) (uint64, error) { return 1, nil })
	require.NoError(t, err)
	to.Stop()
	<-to.Done()
	_, err = flood.Call(ctx, s, testbody.Flood{To: uint64(c), N: 100})
	require.NoError(t, err)
	require.NoError(t, s.Wait(ctx))
	require.NoError(t, c.Drain())
}

// The end of an actor in C, by a drain or with its scheduler, is not that of the actor of Go.
func TestTheActorsInCEnd(t *testing.T) {
	const n = 100
	s, y, ctx := open(t)
	end := &adder{end: n + 1, done: make(chan uint64, 1)}
	to, err := actor.Spawn(y, func() *adder { return end })
	require.NoError(t, err)
	decode := func(m actorc.Message) (uint64, error) {
		return binary.NativeEndian.Uint64(m.Payload()), nil
	}
	drained, err := actorc.In(s, to, decode)
	require.NoError(t, err)
	_, err = actorc.In(s, to, decode) // it ends with s
	require.NoError(t, err)
	_, err = flood.Call(ctx, s, testbody.Flood{To: uint64(drained), N: n})
	require.NoError(t, err)
	require.NoError(t, drained.Drain())
	require.NoError(t, s.Wait(ctx))
	require.ErrorIs(t, drained.Stop(), actorc.ErrEnded)
	require.NoError(t, s.Close(ctx))
	require.Zero(t, s.Stats().HookFailures)
	require.NoError(t, to.Tell(n+1))
	require.EqualValues(t, (n+1)*(n+2)/2, <-end.done)
	require.False(t, end.disorder)
}

func TestSendWaitsForRoomInC(t *testing.T) {
	s, y, ctx := open(t)
	c, err := spawnC.Call(ctx, s, testbody.Actor{Room: 1})
	require.NoError(t, err)
	r, err := actorc.Of[uint64](y, c, testbody.ActorAdd)
	require.NoError(t, err)
	for range 1000 {
		require.NoError(t, r.Send(ctx, 1))
	}
	sum, err := actorc.Ask[uint64, uint64](ctx, s, c, testbody.ActorSum, 0)
	for errors.Is(err, actorc.ErrMailboxFull) {
		sum, err = actorc.Ask[uint64, uint64](ctx, s, c, testbody.ActorSum, 0)
	}
	require.NoError(t, err)
	require.EqualValues(t, 1000, sum)
}

func TestWhatCannotBeJoined(t *testing.T) {
	s, y, _ := open(t)
	var wrong *coro.OptionError
	_, err := actorc.Of[string](y, 1, 0)
	require.ErrorContains(t, err, "actorc.Of(string)")
	require.ErrorAs(t, err, &wrong)
	_, err = actorc.Of[[49]byte](y, 1, 0)
	require.ErrorAs(t, err, &wrong)
	_, err = actorc.In(s, actor.Ref[int]{}, func(actorc.Message) (int, error) { return 0, nil })
	require.ErrorAs(t, err, &wrong)
	_, err = actor.Forward[int](y, nil, nil)
	require.ErrorIs(t, err, actor.ErrOption)
	r, err := actorc.Of[int](y, 1, 0)
	require.NoError(t, err)
	require.ErrorIs(t, r.Tell(1), actor.ErrStopped)
}

// A panic is of one type, wherever it was.
func TestAPanicOfABehaviourIsOneOfCoro(t *testing.T) {
	y, err := actor.New()
	require.NoError(t, err)
	r, err := actor.Spawn(y, func() actor.Func[int] {
		return func(*actor.Context[int], int) error { panic("bad") }
	})
	require.NoError(t, err)
	require.NoError(t, r.Tell(1))
	var p *coro.PanicError
	require.ErrorAs(t, y.Run(t.Context()), &p)
	require.Equal(t, "bad", p.Value)
	require.Contains(t, fmt.Sprintf("%+v", p), "TestAPanicOfABehaviourIsOneOfCoro")
	require.NoError(t, y.Close())
}

// Go spawns an actor of a kind in C, anywhere and on a worker.
func TestSpawnOfAKind(t *testing.T) {
	s, _, ctx := open(t)
	kind := actorc.KindOf(testbody.ActorKind)
	for i, k := range []actorc.Kind{kind, kind.OnWorker(0), kind.OnWorker(1)} {
		a, err := k.Spawn(s, testbody.ActorState(uint64(i)))
		require.NoError(t, err)
		require.NoError(t, a.Send(testbody.ActorAdd, binary.NativeEndian.AppendUint64(nil, 40)))
		sum, err := actorc.Ask[coro.None, uint64](ctx, s, a, testbody.ActorSum, coro.None{})
		require.NoError(t, err)
		require.Equal(t, uint64(40+i), sum)
		require.NoError(t, a.Stop())
		require.NoError(t, s.Wait(ctx))
		require.ErrorIs(t, a.Send(testbody.ActorAdd, nil), actorc.ErrEnded)
	}
	var refused *coro.OptionError
	for _, k := range []actorc.Kind{{}, kind.OnWorker(-1), kind.OnWorker(1 << 20),
		actorc.KindOf(testbody.ActorNoKind)} {
		_, err := k.Spawn(s, nil)
		require.ErrorAs(t, err, &refused)
	}
	_, err := kind.Spawn(s, testbody.ActorState(0)) // it ends with s, and frees its state
	require.NoError(t, err)
	require.NoError(t, s.Close(ctx))
	_, err = kind.Spawn(s, nil)
	require.ErrorIs(t, err, coro.ErrClosed)
}
