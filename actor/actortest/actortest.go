// Package actortest runs actors under the control of a test: one message after the other, in an
// order that a seed chooses, with a time that passes only when the test says so.
//
//	s := actortest.New(t, 1)
//	probe := actortest.NewProbe[Event](s)
//	acc, err := actor.Spawn(s, func() *account { return &account{events: probe.Ref} })
//	require.NoError(t, acc.Tell(Deposit{100}))
//	require.Equal(t, []Event{{100}}, probe.Take())
//
// Behaviours are called by the test's goroutine, within Step, Settle, Advance and Take, so that
// they may call require. Each turn has one message. Whatever does not depend on the order in which
// actors have their turns passes with every seed: try several.
package actortest

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/organzine/coro/actor"
	"github.com/organzine/coro/internal/actorhook"
)

// patience is how long Settle waits for a Waiting actor.
const patience = 10 * time.Second

// A System is an actor.System that a test steps through. Run, Rest, Stop, Drain and Close settle it
// first. But for the methods of actor.System itself, it is for the test's goroutine.
type System struct {
	*actor.System
	t      testing.TB
	steps  actorhook.Stepper
	random *rand.Rand
	clock  *clock
}

// New makes a system, which is closed when the test ends. The seed chooses the order of turns.
func New(t testing.TB, seed uint64, opts ...actor.Option) *System {
	t.Helper()
	s := &System{t: t, random: rand.New(rand.NewPCG(seed, 0)), clock: &clock{}}
	list := make([]any, len(opts))
	for i, o := range opts {
		list[i] = o
	}
	y, steps, err := actorhook.New(s.clock, func() { s.Settle() }, list)
	if err != nil {
		t.Fatal(err)
	}
	s.System, s.steps = y.(*actor.System), steps
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			t.Errorf("actortest: actors do not end: %v", err)
			return
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Step has one actor handle one message, or what else its turn is for. It returns false if there is
// nothing to do: everything rests, or a Waiting actor waits.
func (s *System) Step() bool {
	n := s.steps.Ready()
	if n == 0 {
		return false
	}
	s.steps.Step(s.random.IntN(n))
	return true
}

// Settle steps until everything rests, exactly: no actor has a message, and no turn is under way.
// Time does not pass. It returns how many steps there were. Where a Waiting actor waits for more
// than 10 s the test fails.
func (s *System) Settle() (steps int) {
	s.t.Helper()
	for {
		waiting, changed := s.steps.Waiting()
		switch {
		case s.Step():
			steps++
		case waiting == 0:
			return steps
		default:
			select {
			case <-changed:
			case <-time.After(patience):
				s.t.Fatalf("actortest: %d Waiting actors wait for what is outside",
					waiting)
			}
		}
	}
}

// Now is the time since the system was made, as Advance has it pass.
func (s *System) Now() time.Duration { return s.clock.Now() }

// Advance has time pass: After, Every, Passivate and the back-off of restarts go by it. It settles
// before, and after each moment at which something happens.
func (s *System) Advance(d time.Duration) {
	s.t.Helper()
	s.Settle()
	until := s.clock.Now() + d
	for f := s.clock.next(until); f != nil; f = s.clock.next(until) {
		f()
		s.Settle()
	}
}

// A clock has what happens when, and of the same moment in the order of the calls.
type clock struct {
	mu   sync.Mutex
	at   time.Duration
	list []*alarm
}

type alarm struct {
	at   time.Duration
	call func()
}

// Now is part of actorhook.Clock.
func (c *clock) Now() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

// After is part of actorhook.Clock.
func (c *clock) After(d time.Duration, f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := &alarm{c.at + max(d, 0), f}
	i, _ := slices.BinarySearchFunc(c.list, a, func(x, y *alarm) int {
		if x.at <= y.at {
			return -1
		}
		return 1
	})
	c.list = slices.Insert(c.list, i, a)
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		i := slices.Index(c.list, a)
		if i < 0 {
			return false
		}
		c.list = slices.Delete(c.list, i, i+1)
		return true
	}
}

// next goes on to the next moment at which something happens, and returns what; nil: to `until`.
func (c *clock) next(until time.Duration) func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.list) == 0 || c.list[0].at > until {
		c.at = until
		return nil
	}
	a := c.list[0]
	c.list = slices.Delete(c.list, 0, 1)
	c.at = a.at
	return a.call
}
