package actor

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/organzine/coro/internal/race"
	"github.com/stretchr/testify/require"
)

// A stateful actor fails with messages that are negative, and begins things when it starts and
// stops.
type stateful struct {
	number  int
	started func(c *Context[int], number int)
	receive func(number, m int)
	stopped func(c *Context[int])
}

func (s *stateful) Started(c *Context[int]) error {
	if s.started != nil {
		s.started(c, s.number)
	}
	return nil
}

func (s *stateful) Receive(_ *Context[int], m int) error {
	if m < 0 {
		return errBad
	}
	if s.receive != nil {
		s.receive(s.number, m)
	}
	return nil
}

func (s *stateful) Stopped(c *Context[int], _ error) {
	if s.stopped != nil {
		s.stopped(c)
	}
}

func spawnStateful(t *testing.T, y *System, s stateful, opts ...SpawnOption) Ref[int] {
	number := 0
	r, err := Spawn(y, func() *stateful {
		number++
		next := s
		next.number = number
		return &next
	}, opts...)
	require.NoError(t, err)
	return r
}

func TestTheTimersOfAStateEndWithIt(t *testing.T) {
	for kind, opts := range map[string][]SpawnOption{
		"at once": {Restart(1000, 0)}, "after a back-off": {Restart(1000, 0), Backoff(1, 1)},
	} {
		t.Run(kind, func(t *testing.T) {
			y, k := byHand(t)
			ticks := 0
			r := spawnStateful(t, y, stateful{
				started: func(c *Context[int], number int) { c.Every(time.Millisecond, number) },
				receive: func(number, m int) {
					if ticks++; m != number {
						t.Errorf("a tick of state %d came to state %d", m, number)
					}
				}}, opts...)
			for range 100 {
				require.NoError(t, r.Tell(-1))
				if kind == "after a back-off" {
					backsOff := func() bool { return k.hasTimer(1) }
					require.Eventually(t, backsOff, time.Minute, time.Microsecond)
					k.pass(1)
				}
				rest(t, y)
			}
			require.Equal(t, 1, k.timers())
			ticks = 0
			k.advance(t, y, 10*time.Millisecond)
			require.Equal(t, 10, ticks)
		})
	}
}

// A tick that is in the mailbox when its state ends is not handled by the next one.
func TestATickThatWaitsEndsWithItsState(t *testing.T) {
	y, k := byHand(t)
	g := newGate()
	r := spawnStateful(t, y, stateful{
		started: func(c *Context[int], number int) { c.Every(time.Second, number) },
		receive: func(number, m int) {
			if m == 0 {
				g.pass()
			} else if m != number {
				t.Errorf("a tick of state %d came to state %d", m, number)
			}
		}}, Restart(1, 0), Waiting())
	require.NoError(t, r.Tell(0))
	<-g.in
	require.NoError(t, r.Tell(-1))
	k.pass(time.Second)
	close(g.open)
	rest(t, y)
	require.EqualValues(t, 3, y.Stats().Handled+y.Stats().Dead, "the gate, the tick, the failure")
}

func TestAMessageOfAfterEndsWithItsState(t *testing.T) {
	var dead []DeadLetter
	y := open(t, Executors(1), OnDeadLetter(func(d DeadLetter) { dead = append(dead, d) }))
	var timer Timer
	r := spawnStateful(t, y, stateful{started: func(c *Context[int], number int) {
		timer = c.After(time.Hour, number)
		c.After(time.Hour, 10*number)
	}}, Restart(1, 0))
	require.NoError(t, r.Tell(-1))
	nextBegan := func() bool { return y.Stats().Dead == 3 && y.laters.Load() == 2 }
	require.Eventually(t, nextBegan, time.Minute, time.Millisecond)
	r.Stop()
	<-r.Done()
	rest(t, y)
	require.False(t, timer.Stop())
	messages := []any{}
	for _, d := range dead {
		messages = append(messages, d.Message)
	}
	require.Equal(t, []any{-1, 1, 10, 2, 20}, messages, "in order")
	require.Equal(t, Stopped, dead[1].Cause)
	require.ErrorIs(t, dead[1].Err, ErrStopped)
}

func TestTimersOfStoppedAreRefused(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		y := open(t)
		timers := []Timer{}
		r := spawnStateful(t, y, stateful{stopped: func(c *Context[int]) {
			timers = append(timers, c.After(time.Hour, 1), c.Every(time.Hour, 2))
		}}, Restart(1, 0))
		dead := uint64(1)
		if restarts {
			require.NoError(t, r.Tell(-1))
			rest(t, y)
			require.EqualValues(t, 2, y.Stats().Dead, "its own, and that of After, at once")
			dead = 3
		}
		r.Stop()
		<-r.Done()
		rest(t, y)
		require.EqualValues(t, dead, y.Stats().Dead)
		for _, timer := range timers {
			require.False(t, timer.Stop())
		}
		require.NoError(t, y.Drain(t.Context()))
	}
}

// The time of a back-off ends with the actor: nothing waits for it.
func TestABackoffEndsWithItsActor(t *testing.T) {
	y := open(t)
	r := spawnStateful(t, y, stateful{}, Restart(1, 0), Backoff(time.Hour, time.Hour))
	require.NoError(t, r.Tell(-1))
	require.Eventually(t, func() bool { return y.laters.Load() == 1 }, time.Minute, time.Millisecond)
	r.Stop()
	<-r.Done()
	rest(t, y)
	require.Zero(t, y.laters.Load())
}

func TestAWatchEndsWithItsState(t *testing.T) {
	y := open(t, Executors(1))
	target := spawn(t, y, nothing[int])
	notices := []int{}
	var unwatch []func() bool
	watch := func(c *Context[int], number int) {
		u, err := c.Watch(target, func(Ended) int { return number })
		require.NoError(t, err)
		unwatch = append(unwatch, u)
	}
	r := spawnStateful(t, y, stateful{started: watch,
		receive: func(_, m int) { notices = append(notices, m) },
		stopped: func(c *Context[int]) { watch(c, 99) }}, Restart(9, 0))
	tellAll(t, r, -1, -1)
	require.Equal(t, 1, target.c.sideOf().watchers.Len())
	for i, u := range unwatch[:4] {
		require.False(t, u(), "%d is over", i)
	}
	target.Stop()
	<-target.Done()
	rest(t, y)
	require.Equal(t, []int{3}, notices)
	require.False(t, unwatch[4]())
	require.Zero(t, r.c.sideOf().begun.Len())
}

// A notice that is in the mailbox when its state ends is not handled by the next one.
func TestANoticeThatWaitsEndsWithItsState(t *testing.T) {
	y := open(t)
	target := spawn(t, y, nothing[int])
	g := newGate()
	notices := 0
	r := spawnStateful(t, y, stateful{
		started: func(c *Context[int], number int) {
			if number == 1 {
				_, err := c.Watch(target, func(Ended) int { return 1 })
				require.NoError(t, err)
			}
		},
		receive: func(_, m int) {
			if notices += m; m == 0 {
				g.pass()
			}
		}}, Restart(1, 0), Waiting())
	require.NoError(t, r.Tell(0))
	<-g.in
	require.NoError(t, r.Tell(-1))
	target.Stop()
	<-target.Done()
	close(g.open)
	rest(t, y)
	require.Zero(t, notices)
}

func TestEndedWatchersLeaveNothing(t *testing.T) {
	y := open(t)
	target := spawn(t, y, nothing[int])
	heap := func() int {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc >> 10)
	}
	ended := func(n int) {
		for i := range n {
			r := spawn(t, y, func(c *Context[int], _ int) error {
				_, err := c.Watch(target, func(Ended) int { return 0 })
				c.Stop()
				return err
			})
			require.NoError(t, r.Tell(0))
			if i%100 == 99 { // what is kept for many at a time is not counted
				rest(t, y)
			}
		}
	}
	ended(1000)
	before := heap()
	if race.Enabled { // whose memory is in the heap, too
		ended(1000)
	} else {
		ended(100_000)
		require.Less(t, heap()-before, 1<<10, "KiB")
	}
	require.Zero(t, target.c.sideOf().watchers.Len())
}

// To take back one of many watches does not look at the others.
func TestManyWatchesAreTakenBack(t *testing.T) {
	const n = 100_000
	y := open(t)
	target := spawn(t, y, nothing[int])
	r := spawn(t, y, func(c *Context[int], _ int) error {
		list := [n]func() bool{}
		for i := range list {
			list[i], _ = c.Watch(target, func(Ended) int { return 1 })
		}
		for i := range list { // the last ones first
			require.True(t, list[n-1-i]())
		}
		require.False(t, list[0]())
		return nil
	})
	require.NoError(t, r.Tell(0))
	rest(t, y)
	require.Zero(t, target.c.sideOf().watchers.Len())
	require.Zero(t, r.c.sideOf().begun.Len())
}

// An AskThen that returns an error calls nothing, though the question was answered.
func TestThenIsNotCalledWhereAskThenHasFailed(t *testing.T) {
	y, k := byHand(t)
	var kept Reply[int]
	forward := func(tell func(query) error) Ref[query] {
		r, err := Forward(y, tell, func(context.Context, query) error { return nil })
		require.NoError(t, err)
		return r
	}
	for name, to := range map[string]Ref[query]{
		"answered": forward(func(q query) error { return errors.Join(q.to.Answer(1), ErrFull) }),
		"kept":     forward(func(q query) error { kept = q.to; return ErrFull }),
		"panics":   forward(func(q query) error { _ = q.to.Answer(1); panic("of tell, by a test") }),
	} {
		called := 0
		r := spawn(t, y, func(c *Context[int], _ int) error {
			c.Passivate(time.Minute)
			err := AskThen(c, to, func(to Reply[int]) query { return query{to: to} },
				func(*Context[int], int, error) error { called++; return nil })
			require.ErrorIs(t, err, ErrFull, name)
			return nil
		}, Resume())
		tellAll(t, r, 0)
		if name == "kept" {
			require.ErrorIs(t, kept.Answer(1), ErrAnswered)
		}
		rest(t, y)
		require.Zero(t, called, name)
		require.Less(t, r.c.flags, uint32(oneAwaited), name)
		k.advance(t, y, time.Minute)
		requireEnded(t, r, true)
	}
}
