package actor

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var kinds = map[string][]SpawnOption{"plain": nil, "waiting": {Waiting()}}

// A gate has behaviours wait for the test.
type gate struct{ in, open chan struct{} }

func newGate() *gate { return &gate{make(chan struct{}), make(chan struct{})} }

func (g *gate) pass() {
	g.in <- struct{}{}
	<-g.open
}

// posted waits until an actor has a signal that it has not heeded.
func posted[M any](t *testing.T, r Ref[M]) {
	t.Helper()
	require.Eventually(t, r.c.sideOf().posted.Load, time.Minute, time.Millisecond)
}

const many = 100

// busy spawns an actor that counts messages, and is at the first of many, in the gate.
func busy(t *testing.T, at Spawner, handled *int, opts ...SpawnOption) (Ref[int], *gate) {
	g := newGate()
	r := spawn(t, at, func(_ *Context[int], m int) error {
		if m == 1 {
			g.pass()
		}
		*handled++
		return nil
	}, opts...)
	for range 10_000 { // turns look at the clock after many messages then
		require.NoError(t, r.Tell(0))
	}
	rest(t, r.c.kind.sys)
	*handled = 0
	require.NoError(t, r.Tell(1))
	<-g.in
	for range many - 1 {
		require.NoError(t, r.Tell(2))
	}
	return r, g
}

func TestAStopIsHeededAfterTheMessageAtHand(t *testing.T) {
	for name, opts := range kinds {
		t.Run(name, func(t *testing.T) {
			for way, stop := range map[string]func(y *System, r Ref[int]){
				"Ref.Stop":    func(_ *System, r Ref[int]) { r.Stop() },
				"System.Stop": func(y *System, _ Ref[int]) { y.stopAll() },
			} {
				handled := 0
				y := open(t, Executors(1))
				r, g := busy(t, y, &handled, opts...)
				stop(y, r)
				close(g.open)
				<-r.Done()
				require.Equal(t, 1, handled, way)
				require.EqualValues(t, many-1, y.Stats().Dead, way)
			}
		})
	}
}

func TestAStopEndsAWaitingActorWhoseMailboxIsNeverEmpty(t *testing.T) {
	y := open(t)
	r := spawn(t, y, func(*Context[int], int) error {
		time.Sleep(time.Millisecond)
		return nil
	}, Waiting(), Room(8))
	for range 2 {
		go func() {
			for r.Send(context.Background(), 1) == nil {
			}
		}()
	}
	full := func() bool { return r.c.side.Load().room.taken.Load() == 8 }
	require.Eventually(t, full, time.Minute, time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, y.Stop(ctx))
}

func TestASiblingsRestartIsHeededAfterTheMessageAtHand(t *testing.T) {
	for name, opts := range kinds {
		t.Run(name, func(t *testing.T) {
			y := open(t, Executors(2))
			handled, endedAt := 0, make(chan int, 9)
			var bad, sibling Ref[int]
			g := newGate()
			parent := spawn(t, y, func(c *Context[int], _ int) (err error) {
				bad, err = Spawn(c, of(func(*Context[int], int) error { return errBad }), Restart(1, 0))
				if err != nil {
					return err
				}
				sibling, err = Spawn(c, func() *retiring {
					return &retiring{func(int) {
						if handled++; handled == 1 {
							g.pass()
						}
					}, func() { endedAt <- handled }}
				}, append([]SpawnOption{Restart(1, 0)}, opts...)...)
				return err
			}, AllForOne())
			tellAll(t, parent, 0)
			require.NoError(t, sibling.Tell(0))
			<-g.in
			for range many {
				require.NoError(t, sibling.Tell(0))
			}
			require.NoError(t, bad.Tell(0))
			posted(t, sibling)
			close(g.open)
			require.Equal(t, 1, <-endedAt)
			rest(t, y)
			require.Equal(t, 1+many, handled, "the next state handles what waits")
		})
	}
}

// A retiring actor tells the end of its state.
type retiring struct {
	receive func(int)
	stopped func()
}

func (r *retiring) Receive(_ *Context[int], m int) error { r.receive(m); return nil }
func (r *retiring) Stopped(*Context[int], error)         { r.stopped() }

func TestAnEscalationIsHeededAfterTheMessageAtHand(t *testing.T) {
	for name, opts := range kinds {
		t.Run(name, func(t *testing.T) {
			y := open(t, Executors(2))
			handled := 0
			var child Ref[int]
			g := newGate()
			parent := spawn(t, y, func(c *Context[int], m int) (err error) {
				if handled++; m == 1 {
					child, err = Spawn(c, of(func(*Context[int], int) error { return errBad }))
					g.pass()
				}
				return err
			}, opts...)
			require.NoError(t, parent.Tell(1))
			<-g.in
			for range many {
				require.NoError(t, parent.Tell(2))
			}
			require.NoError(t, child.Tell(0))
			posted(t, parent)
			close(g.open)
			require.ErrorIs(t, y.Run(t.Context()), errBad)
			require.Equal(t, 1, handled)
		})
	}
}

// A panickyStarter panics where it starts for the first time.
type panickyStarter struct{ panics bool }

func (p panickyStarter) Started(*Context[int]) error {
	if p.panics {
		panic("of Started, by a test")
	}
	return nil
}
func (panickyStarter) Receive(*Context[int], int) error { return nil }

func TestAStopIsNotLostBehindAStartedThatPanics(t *testing.T) {
	y := open(t, Executors(1))
	handled := 0
	_, g := busy(t, y, &handled)
	made := 0
	r, err := Spawn(y, func() panickyStarter { made++; return panickyStarter{made == 1} }, Restart(1, 0))
	require.NoError(t, err)
	r.Stop()
	close(g.open)
	select {
	case <-r.Done():
	case <-time.After(time.Minute):
		require.Fail(t, "the actor does not end")
	}
}

func TestTheFunctionOfWatchIsTheWatchers(t *testing.T) {
	for name, fail := range badEnds {
		for kind, opts := range kinds {
			t.Run(name+"/"+kind, func(t *testing.T) {
				var failed []string
				y, err := New(Executors(1), OnFailure(func(f *Failure) { failed = append(failed, f.Actor) }))
				require.NoError(t, err)
				target := spawn(t, y, nothing[int])
				called := 0
				var told atomic.Int32 // Waiting ones run at once
				for i := range 3 {
					w := spawn(t, y, func(c *Context[int], m int) error {
						if m == 2 {
							told.Add(1)
							return nil
						}
						_, err := c.Watch(target, func(Ended) int {
							if i == 1 {
								called++
								fail()
							}
							return 2
						})
						return err
					}, append([]SpawnOption{Resume(), Retry(3), Name(fmt.Sprint("w", i))}, opts...)...)
					tellAll(t, w, 1)
				}
				target.Stop()
				<-target.Done()
				rest(t, y)
				require.EqualValues(t, 2, told.Load(), "those before and behind are told")
				require.Equal(t, 1, called)
				require.Equal(t, []string{"w1"}, failed)
				require.Zero(t, y.Stats().Dead, "there was no message")

				w, err := Lookup[int](y, "w1")
				require.NoError(t, err)
				require.NoError(t, w.Tell(1), "it goes on, and watches what has ended")
				rest(t, y)
				require.Equal(t, 2, called)
				require.Equal(t, []string{"w1", "w1"}, failed)
				closes(t, y)
			})
		}
	}
}

// A behaviour that fails with a notice: the message is a dead letter, after the tries.
func TestANoticeThatFailsIsADeadLetter(t *testing.T) {
	var dead []DeadLetter
	y := open(t, OnDeadLetter(func(d DeadLetter) { dead = append(dead, d) }))
	target := spawn(t, y, nothing[int])
	tries, called := 0, 0
	w := spawn(t, y, func(c *Context[int], m int) error {
		if m == 2 {
			tries++
			return errBad
		}
		_, err := c.Watch(target, func(Ended) int { called++; return 2 })
		return err
	}, Resume(), Retry(2))
	tellAll(t, w, 1)
	target.Stop()
	<-target.Done()
	rest(t, y)
	require.Equal(t, [...]int{3, 1}, [...]int{tries, called})
	require.Len(t, dead, 1)
	require.Equal(t, 2, dead[0].Message)
	require.Equal(t, "failed", dead[0].Cause.String())
	require.ErrorAs(t, dead[0].Err, new(*Failure))
	require.ErrorIs(t, dead[0].Err, errBad)
}

// A spawnsAtTheEnd spawns a child in Stopped.
type spawnsAtTheEnd struct {
	errs chan error
}

func (spawnsAtTheEnd) Receive(*Context[int], int) error { return errBad }
func (s spawnsAtTheEnd) Stopped(c *Context[int], _ error) {
	_, err := Spawn(c, of(nothing[int]))
	s.errs <- err
}

func TestAStateThatEndsHasNoMoreChildren(t *testing.T) {
	y := open(t)
	s := spawnsAtTheEnd{errs: make(chan error, 2)}
	r, err := Spawn(y, func() spawnsAtTheEnd { return s }, Restart(1, 0))
	require.NoError(t, err)
	tellAll(t, r, 0)
	require.ErrorIs(t, <-s.errs, ErrStopped, "in a restart")
	require.Equal(t, 1, y.Stats().Actors)
	r.Stop()
	require.ErrorIs(t, <-s.errs, ErrStopped)
}

func TestARestThatIsGivenUpLeavesNothing(t *testing.T) {
	y := open(t)
	r := spawn(t, y, func(c *Context[int], _ int) error { c.After(time.Hour, 1); return nil })
	require.NoError(t, r.Tell(0))
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		require.ErrorIs(t, y.Rest(ctx), context.DeadlineExceeded)
		cancel()
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	require.Empty(t, y.resting)
}
