package actortest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/organzine/coro/actor"
	"github.com/organzine/coro/actor/actortest"
	"github.com/organzine/coro/corotest"
	"github.com/stretchr/testify/require"
)

func of[M any](f func(*actor.Context[M], M) error) func() actor.Func[M] {
	return func() actor.Func[M] { return f }
}

// order is in which order three actors have handled their messages.
func order(t *testing.T, seed uint64) (got string) {
	s := actortest.New(t, seed)
	for i := range 3 {
		r, err := actor.Spawn(s, of(func(_ *actor.Context[int], m int) error {
			got += fmt.Sprintf("%d.%d ", i, m)
			return nil
		}))
		require.NoError(t, err)
		for m := range 4 {
			require.NoError(t, r.Tell(m))
		}
	}
	require.True(t, s.Step())
	require.Equal(t, 1, int(s.Stats().Handled), "a step is a message")
	require.Equal(t, 11, s.Settle())
	require.False(t, s.Step())
	return got
}

func TestASeedChoosesTheOrder(t *testing.T) {
	corotest.VerifyNone(t)
	seen := map[string]bool{}
	for seed := range uint64(20) {
		first := order(t, seed)
		require.Equal(t, first, order(t, seed))
		seen[first] = true
	}
	require.Greater(t, len(seen), 15)
}

func TestTimePassesByAdvanceAlone(t *testing.T) {
	s := actortest.New(t, 1)
	probe := actortest.NewProbe[time.Duration](s)
	r, err := actor.Spawn(s, of(func(c *actor.Context[string], m string) error {
		switch m {
		case "start":
			c.After(time.Hour, "once")
			c.Every(25*time.Minute, "tick")
			c.Passivate(24 * time.Hour)
		case "once":
			return probe.Ref.Tell(s.Now())
		}
		return nil
	}))
	require.NoError(t, err)
	require.NoError(t, r.Tell("start"))
	ended := s.Watch(r)
	s.Advance(59 * time.Minute)
	require.Empty(t, probe.Take())
	s.Advance(time.Minute)
	require.Equal(t, []time.Duration{time.Hour}, probe.Take())
	require.EqualValues(t, 1+1+2+1, s.Stats().Handled, "start, once, two ticks, and the probe's")
	s.Advance(48 * time.Hour)
	require.Empty(t, ended.Take(), "ticks keep it from being idle")
	r.Stop()
	require.Equal(t, []actor.Ended{{Name: r.Name()}}, ended.Take())
}

func TestPassivate(t *testing.T) {
	s := actortest.New(t, 1)
	r, err := actor.Spawn(s, of(func(c *actor.Context[int], m int) error {
		c.Passivate(time.Minute)
		return nil
	}))
	require.NoError(t, err)
	require.NoError(t, r.Tell(1))
	s.Advance(50 * time.Second)
	require.NoError(t, r.Tell(2))
	s.Advance(50 * time.Second)
	require.NoError(t, r.Tell(3))
	ended := s.Watch(r)
	s.Advance(time.Minute)
	require.Len(t, ended.Take(), 1)
	require.ErrorIs(t, r.Tell(4), actor.ErrStopped)
}

func TestBackoffPassesByTheClock(t *testing.T) {
	s := actortest.New(t, 1)
	starts := 0
	r, err := actor.Spawn(s, func() actor.Func[int] {
		starts++
		return func(*actor.Context[int], int) error { return errors.New("bad") }
	}, actor.Restart(5, 0), actor.Backoff(time.Second, time.Minute))
	require.NoError(t, err)
	for i := range 3 {
		require.NoError(t, r.Tell(i))
	}
	s.Settle()
	require.Equal(t, 1, starts)
	s.Advance(time.Second)
	require.Equal(t, 2, starts)
	s.Advance(2 * time.Second)
	require.Equal(t, 3, starts)
	require.EqualValues(t, 3, s.Stats().Failed)
}

func TestWaitingActorsAreWaitedFor(t *testing.T) {
	type query struct{ to actor.Reply[int] }
	s := actortest.New(t, 1)
	answers, err := actor.Spawn(s, of(func(_ *actor.Context[query], q query) error {
		return q.to.Answer(7)
	}))
	require.NoError(t, err)
	probe := actortest.NewProbe[int](s)
	asks, err := actor.Spawn(s, of(func(*actor.Context[int], int) error {
		v, err := actor.Ask(context.Background(), answers,
			func(to actor.Reply[int]) query { return query{to} })
		return errors.Join(err, probe.Ref.Tell(v))
	}), actor.Waiting())
	require.NoError(t, err)
	require.NoError(t, asks.Tell(0))
	require.Equal(t, []int{7}, probe.Take())
}

func TestDrainCloseAndFailuresInSteps(t *testing.T) {
	s := actortest.New(t, 1)
	probe := actortest.NewProbe[int](s)
	for i := range 10 {
		require.NoError(t, probe.Ref.Tell(i))
	}
	bad, err := actor.Spawn(s, of(func(*actor.Context[int], int) error { panic("bad") }))
	require.NoError(t, err)
	require.NoError(t, s.Drain(t.Context()))
	require.Len(t, probe.Take(), 10)
	require.NoError(t, s.Err())
	require.ErrorIs(t, bad.Tell(1), actor.ErrStopped)

	s = actortest.New(t, 1)
	bad, err = actor.Spawn(s, of(func(*actor.Context[int], int) error { panic("bad") }))
	require.NoError(t, err)
	require.NoError(t, bad.Tell(1))
	s.Settle()
	require.ErrorContains(t, s.Run(t.Context()), "panic: bad")
}
