package actor

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A stuck actor waits in the gate, in one of its functions.
type stuck struct {
	in string
	g  *gate
}

func (s *stuck) pass(here string) {
	if s.in == here {
		s.g.pass()
	}
}
func (s *stuck) Started(*Context[int]) error      { s.pass("Started"); return nil }
func (s *stuck) Receive(*Context[int], int) error { s.pass("Receive"); return errBad }
func (s *stuck) Stopped(*Context[int], error)     { s.pass("Stopped") }

func TestStopAndDrainNameWhatHoldsThemUp(t *testing.T) {
	for kind, opts := range kinds {
		for _, in := range []string{"Started", "Receive", "Stopped", "actor.OnFailure"} {
			for way, end := range map[string]func(*System, context.Context) error{
				"Stop": (*System).Stop, "Drain": (*System).Drain,
			} {
				t.Run(kind+"/"+in+"/"+way, func(t *testing.T) {
					t.Parallel()
					s := &stuck{in, newGate()}
					y, err := New(Executors(1), OnFailure(func(*Failure) { s.pass("actor.OnFailure") }))
					require.NoError(t, err)
					for range 10 {
						spawn(t, y, nothing[int])
					}
					r, err := Spawn(y, func() *stuck { return s },
						append([]SpawnOption{Name("acc/7"), Resume()}, opts...)...)
					require.NoError(t, err)
					require.NoError(t, r.Tell(0))
					if in == "Stopped" {
						rest(t, y)
						r.Stop()
					}
					<-s.g.in
					ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
					defer cancel()
					err = end(y, ctx)
					late := (*RunningError)(nil)
					require.ErrorAs(t, err, &late)
					require.ErrorIs(t, err, context.DeadlineExceeded)
					require.Equal(t, []string{"acc/7 in " + in}, late.Actors)
					require.GreaterOrEqual(t, late.Left, 1)
					close(s.g.open)
					closes(t, y)
				})
			}
		}
	}
}

func TestAStopTellsWhatAStuckActorWaitsFor(t *testing.T) {
	y, err := New()
	require.NoError(t, err)
	g := newGate()
	slow := spawn(t, y, func(*Context[query], query) error { g.pass(); return nil }, Waiting(), Name("slow"))
	ctx, giveUp := context.WithCancel(t.Context())
	asks := spawn(t, y, func(*Context[int], int) error {
		_, err := Ask(ctx, slow, func(to Reply[int]) query { return query{to: to} })
		return err
	}, Waiting(), Name("asks"), Resume())
	require.NoError(t, asks.Tell(0))
	<-g.in
	soon, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err = y.Stop(soon)
	require.ErrorContains(t, err, "slow in Receive")
	require.ErrorContains(t, err, "asks in Receive, waiting for slow")
	giveUp()
	close(g.open)
	closes(t, y)
}

// A drain that is late stops, and says so; what ends within the grace is no RunningError.
func TestADrainWhoseContextEndsStopsWhatIsLeft(t *testing.T) {
	y := open(t, Executors(1))
	r := spawn(t, y, func(c *Context[int], _ int) error { return c.Self().Tell(0) })
	require.NoError(t, r.Tell(0))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err := y.Drain(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.False(t, errors.As(err, new(*RunningError)), "%v", err)
	<-r.Done()
}
