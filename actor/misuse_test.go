package actor

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func nothing[M any](*Context[M], M) error { return nil }

func TestOptionsOutOfRange(t *testing.T) {
	for _, o := range []Option{nil, Executors(0), Executors(-1), Executors(4097)} {
		_, err := New(o)
		require.ErrorIs(t, err, ErrOption)
	}
	y := open(t)
	for _, o := range []SpawnOption{nil, Name(""), Room(0), Room(-1), Room(1<<30 + 1),
		Restart(0, 0), Restart(1, -1), Backoff(0, 1), Backoff(2, 1), Backoff(1, 1), ThenStop(), Retry(0)} {
		_, err := Spawn(y, of(nothing[int]), o)
		require.ErrorIs(t, err, ErrOption)
	}
	require.Zero(t, y.Stats().Actors)
}

func TestNilsAreErrors(t *testing.T) {
	y := open(t)
	_, err := Spawn[int, Func[int]](y, nil)
	require.ErrorIs(t, err, ErrOption)
	_, err = Spawn(y, func() Func[int] { return nil })
	require.ErrorIs(t, err, ErrOption)
	_, err = Spawn(y, func() *noter { return nil })
	require.ErrorIs(t, err, ErrOption)
	_, err = Spawn(y, func() Receiver[int] { return nil })
	require.ErrorIs(t, err, ErrOption)
	_, err = Spawn(nil, of(nothing[int]))
	require.ErrorIs(t, err, ErrOption)
	_, err = Spawn((*System)(nil), of(nothing[int]))
	require.ErrorIs(t, err, ErrOption)
	_, err = Spawn((*Context[int])(nil), of(nothing[int]))
	require.ErrorIs(t, err, ErrOption)

	none := Ref[int]{}
	require.ErrorIs(t, none.Tell(1), ErrNoRef)
	require.ErrorIs(t, none.Send(t.Context(), 1), ErrNoRef)
	_, err = Ask(t.Context(), none, func(Reply[int]) int { return 1 })
	require.ErrorIs(t, err, ErrNoRef)
	none.Stop()
	none.Drain()
	require.Nil(t, none.Done())
	require.Equal(t, "no actor", none.Name())
	_, err = Adapt(none, func(string) int { return 0 })
	require.ErrorIs(t, err, ErrNoRef)
	_, err = RoundRobin[int]()
	require.ErrorIs(t, err, ErrNoRef)
	_, err = LeastLoaded(none)
	require.ErrorIs(t, err, ErrNoRef)

	r := spawn(t, y, nothing[int])
	_, err = Adapt[string](r, nil)
	require.ErrorIs(t, err, ErrNoRef)
	_, err = ConsistentHash(nil, r)
	require.ErrorIs(t, err, ErrOption)
	_, err = Ask[int](t.Context(), r, nil)
	require.ErrorIs(t, err, ErrNoRef)
	require.ErrorIs(t, Reply[int]{}.Answer(1), ErrAnswered)
	require.False(t, Timer{}.Stop())
	inside := spawn(t, y, func(c *Context[int], _ int) error {
		require.ErrorIs(t, c.Become(nil), ErrOption)
		_, err := c.Watch(nil, func(Ended) int { return 0 })
		require.ErrorIs(t, err, ErrNoRef)
		_, err = c.Watch(none, func(Ended) int { return 0 })
		require.ErrorIs(t, err, ErrNoRef)
		_, err = c.Watch(r, nil)
		require.ErrorIs(t, err, ErrNoRef)
		require.ErrorIs(t, AskThen[int](c, none, nil, nil), ErrNoRef)
		return nil
	}, Escalate())
	require.NoError(t, inside.Tell(1))
	rest(t, y)
	require.NoError(t, y.Err())
}

func TestNamesTwice(t *testing.T) {
	y := open(t)
	a := spawn(t, y, nothing[int], Name("a"))
	_, err := Spawn(y, of(nothing[string]), Name("a"))
	require.ErrorIs(t, err, ErrName)
	require.ErrorContains(t, err, `"a" is the name of a actor.Func[int]`)
	found, err := Lookup[int](y, "a")
	require.NoError(t, err)
	require.Equal(t, a, found)
	_, err = Lookup[string](y, "a")
	require.ErrorIs(t, err, ErrName)
	_, err = Lookup[int](y, "b")
	require.ErrorIs(t, err, ErrName)
	a.Stop()
	<-a.Done()
	_, err = Lookup[int](y, "a")
	require.ErrorIs(t, err, ErrName)
	spawn(t, y, nothing[string], Name("a"))
}

// Of many that want the same name, at the same time, one gets it.
func TestNamesAtTheSameTime(t *testing.T) {
	y := open(t)
	var all sync.WaitGroup
	var mu sync.Mutex
	got := 0
	for range 8 {
		all.Go(func() {
			for range 100 {
				r, err := Spawn(y, of(nothing[int]), Name("a"))
				if err == nil {
					mu.Lock()
					got++
					mu.Unlock()
					r.Stop()
					<-r.Done()
				} else if !errors.Is(err, ErrName) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	require.Positive(t, got)
}

func TestSpawnAndTellAfterTheEnd(t *testing.T) {
	y, err := New()
	require.NoError(t, err)
	r := spawn(t, y, nothing[int])
	require.NoError(t, y.Close())
	require.NoError(t, y.Close(), "twice")
	require.NoError(t, y.Stop(t.Context()))
	require.NoError(t, y.Drain(t.Context()))
	require.NoError(t, y.Run(t.Context()))
	require.ErrorIs(t, r.Tell(1), ErrStopped)
	require.ErrorIs(t, r.Send(t.Context(), 1), ErrStopped)
	_, err = Ask(t.Context(), r, func(Reply[int]) int { return 1 })
	require.ErrorIs(t, err, ErrStopped)
	_, err = Spawn(y, of(nothing[int]))
	require.ErrorIs(t, err, ErrStopped)
	<-r.Done()
}

// asker asks another actor as its message says.
type asking struct {
	whom Ref[asking]
	then *asking
	to   Reply[error]
}

func askNext(ctx context.Context) func(c *Context[asking], m asking) error {
	return func(c *Context[asking], m asking) error {
		if m.then == nil {
			return m.to.Answer(nil)
		}
		v, err := Ask(ctx, m.whom, func(to Reply[error]) asking {
			return asking{m.then.whom, m.then.then, to}
		})
		if err == nil {
			err = v
		}
		return m.to.Answer(err)
	}
}

func TestAskToItselfAndInACircle(t *testing.T) {
	y := open(t)
	a := spawn(t, y, askNext(t.Context()), Waiting(), Name("a"))
	b := spawn(t, y, askNext(t.Context()), Waiting(), Name("b"))
	c := spawn(t, y, askNext(t.Context()), Waiting(), Name("c"))
	ask := func(path ...Ref[asking]) error {
		m := &asking{}
		for i := len(path) - 1; i > 0; i-- {
			m = &asking{whom: path[i], then: m}
		}
		v, err := Ask(t.Context(), path[0], func(to Reply[error]) asking {
			return asking{m.whom, m.then, to}
		})
		require.NoError(t, err)
		return v
	}
	require.NoError(t, ask(a, b, c))
	var circle *DeadlockError
	require.ErrorAs(t, ask(a, a), &circle)
	require.Equal(t, []string{"a"}, circle.Circle)
	err := ask(a, b, c, a)
	require.ErrorAs(t, err, &circle)
	require.Equal(t, []string{"c", "a", "b"}, circle.Circle)
	require.ErrorIs(t, err, ErrDeadlock)
	require.ErrorContains(t, err, "c waits for a waits for b waits for c")
	require.NoError(t, ask(c, b, a), "and it goes on")
}

func TestAPlainBehaviourMayNotWait(t *testing.T) {
	y := open(t)
	full := spawn(t, y, func(*Context[int], int) error { <-t.Context().Done(); return nil },
		Room(1), Waiting(), Name("full"))
	require.NoError(t, full.Tell(1))
	seen := make(chan error, 10)
	plain := spawn(t, y, func(c *Context[int], _ int) error {
		_, err := Ask(t.Context(), full, func(Reply[int]) int { return 1 })
		seen <- err
		seen <- full.Send(t.Context(), 2)
		seen <- c.System().Rest(t.Context())
		seen <- c.System().Drain(t.Context())
		seen <- c.System().Run(t.Context())
		seen <- c.System().Close()
		return nil
	}, Name("plain"))
	require.NoError(t, plain.Tell(1))
	for range 6 {
		err := <-seen
		require.ErrorIs(t, err, ErrWaits)
		require.ErrorContains(t, err, "actor: plain: its behaviour may not wait")
	}
	waits := spawn(t, y, func(c *Context[int], m int) error {
		seen <- c.Self().Send(t.Context(), m)
		seen <- c.System().Rest(t.Context())
		seen <- c.System().Close()
		return nil
	}, Waiting(), Room(1))
	require.NoError(t, waits.Tell(1))
	for range 3 {
		require.ErrorIs(t, <-seen, ErrDeadlock)
	}
}

func TestABehaviourStopsItsSystem(t *testing.T) {
	for _, opts := range [][]SpawnOption{nil, {Waiting()}} {
		y := open(t)
		r := spawn(t, y, func(c *Context[int], _ int) error {
			return c.System().Stop(context.Background())
		}, opts...)
		require.NoError(t, r.Tell(1))
		require.NoError(t, y.Run(t.Context()))
	}
}

func TestContextsThatEnd(t *testing.T) {
	y := open(t)
	hold := make(chan struct{})
	r := spawn(t, y, func(_ *Context[query], q query) error {
		<-hold
		_ = q.to.Answer(q.n)
		return nil
	}, Waiting())
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Ask(ended, r, func(to Reply[int]) query { return query{1, to} })
	require.ErrorIs(t, err, context.Canceled, "before")
	rest(t, y)
	require.Zero(t, y.Stats().Handled)

	during, cancel := context.WithCancel(t.Context())
	_, err = Ask(during, r, func(to Reply[int]) query { cancel(); return query{2, to} })
	require.ErrorIs(t, err, context.Canceled)
	close(hold)
	rest(t, y)
	for i := range 100 { // the late answer is nobody else's
		v, err := Ask(t.Context(), r, func(to Reply[int]) query { return query{i, to} })
		require.NoError(t, err)
		require.Equal(t, i, v)
	}
	if err := y.Stop(ended); err != nil {
		require.ErrorIs(t, err, context.Canceled)
	}
	<-r.Done()
}

func TestAskOfOneThatStopsOrFails(t *testing.T) {
	y := open(t)
	r := spawn(t, y, func(c *Context[query], q query) error {
		switch q.n {
		case 0:
			return errBad
		case 1:
			c.Stop()
		}
		return nil
	}, Resume())
	_, err := Ask(t.Context(), r, func(to Reply[int]) query { return query{0, to} })
	require.ErrorIs(t, err, errBad)
	require.NoError(t, r.Tell(query{n: 1}))
	_, err = Ask(t.Context(), r, func(to Reply[int]) query { return query{2, to} })
	require.ErrorIs(t, err, ErrStopped)
}

func TestAnswersTwice(t *testing.T) {
	y := open(t)
	again := make(chan error, 2)
	r := spawn(t, y, func(_ *Context[query], q query) error {
		again <- q.to.Answer(1)
		again <- q.to.Fail(errBad)
		return nil
	})
	v, err := Ask(t.Context(), r, func(to Reply[int]) query { return query{0, to} })
	require.NoError(t, err)
	require.Equal(t, 1, v)
	require.NoError(t, <-again)
	require.ErrorIs(t, <-again, ErrAnswered)
}

func TestAFullMailboxAndItsOwnSender(t *testing.T) {
	y := open(t)
	seen := make(chan error, 1)
	r := spawn(t, y, func(c *Context[int], m int) error {
		if m == 0 {
			seen <- c.Self().Tell(1)
		}
		return nil
	}, Room(1), Name("r"))
	require.NoError(t, r.Tell(0))
	err := <-seen
	require.ErrorIs(t, err, ErrFull)
	require.ErrorContains(t, err, "actor: r: its mailbox is full")
	rest(t, y)
	require.NoError(t, r.Tell(1), "there is room again")
}

// What waits for room when the actor ends is told so.
func TestSendersOfAnActorThatEnds(t *testing.T) {
	y := open(t)
	hold := make(chan struct{})
	r := spawn(t, y, func(*Context[int], int) error { <-hold; return nil }, Room(1), Waiting())
	require.NoError(t, r.Tell(0))
	var all sync.WaitGroup
	var accepted atomic.Int64
	for range 10 {
		all.Go(func() {
			err := r.Send(t.Context(), 1)
			if err == nil {
				accepted.Add(1)
			} else if !errors.Is(err, ErrStopped) {
				t.Error(err)
			}
		})
	}
	for r.c.side.Load().room.waits.Load() < 10 {
		time.Sleep(time.Millisecond)
	}
	r.Stop()
	close(hold)
	all.Wait()
	<-r.Done()
	rest(t, y)
	st := y.Stats()
	require.EqualValues(t, 1+accepted.Load(), st.Handled+st.Stopped)
}

func TestCloseWithEverythingInFlight(t *testing.T) {
	for range 20 {
		var dead sync.Map
		y, err := New(OnDeadLetter(func(d DeadLetter) {
			if _, twice := dead.LoadOrStore(d.Message, true); twice {
				t.Error("twice")
			}
		}))
		require.NoError(t, err)
		var handled sync.Map
		refs := make([]Ref[int], 10)
		for i := range refs {
			opts := []SpawnOption{}
			if i%3 == 0 {
				opts = append(opts, Waiting())
			}
			refs[i] = spawn(t, y, func(c *Context[int], m int) error {
				handled.Store(m, true)
				c.After(time.Hour, -m)
				return nil
			}, opts...)
		}
		var all sync.WaitGroup
		var mu sync.Mutex
		accepted := 0
		for g := range 4 {
			all.Go(func() {
				for k := 1; ; k++ {
					if err := refs[k%10].Tell(g*1_000_000 + k); err != nil {
						if !errors.Is(err, ErrStopped) {
							t.Error(err)
						}
						return
					}
					mu.Lock()
					accepted++
					mu.Unlock()
				}
			})
		}
		time.Sleep(time.Millisecond)
		require.NoError(t, y.Close())
		all.Wait()
		st := y.Stats()
		n, letters := 0, 0
		handled.Range(func(any, any) bool { n++; return true })
		dead.Range(func(m, _ any) bool {
			if m.(int) > 0 {
				letters++
			}
			return true
		})
		require.Equal(t, accepted, n+letters)
		require.EqualValues(t, n, st.Handled)
		require.EqualValues(t, letters+n, st.Stopped, "each that was handled has left a timer")
	}
}

// A Context that was kept is told, wherever it is used but by an actor of the same type on the same
// executor.
func TestKeptContext(t *testing.T) {
	const told = "actor: a Context is used outside of the call that has it: keep Self(), and send it a message"
	y := open(t, Executors(1))
	var kept *Context[int]
	keeps := func(c *Context[int], _ int) error { kept = c; return nil }
	uses := map[string]func(){
		"Name":      func() { kept.Name() },
		"Stop":      func() { kept.Stop() },
		"Become":    func() { _ = kept.Become(of(keeps)()) },
		"After":     func() { kept.After(time.Hour, 1) },
		"Every":     func() { kept.Every(time.Hour, 1) },
		"Passivate": func() { kept.Passivate(time.Hour) },
		"Watch":     func() { _, _ = kept.Watch(kept.Self(), func(Ended) int { return 1 }) },
		"AskThen": func() {
			_ = AskThen(kept, kept.Self(), func(Reply[int]) int { return 1 },
				func(*Context[int], int, error) error { return nil })
		},
	}
	for name, opts := range map[string][]SpawnOption{"plain": nil, "waiting": {Waiting()}} {
		a := spawn(t, y, keeps, opts...)
		require.NoError(t, a.Tell(1))
		rest(t, y)
		for use, f := range uses {
			require.PanicsWithValue(t, told, f, name, use)
		}
		_, err := Spawn(kept, of(keeps))
		require.ErrorIs(t, err, ErrOption)
		require.ErrorContains(t, err, "no Context of a call under way")
		// an actor of another type: it fails
		other := spawn(t, y, func(*Context[string], string) error { kept.Stop(); return nil }, StopOnFailure())
		require.NoError(t, other.Tell(""))
		<-other.Done()
		rest(t, y)
		require.NoError(t, a.Tell(1), "a goes on")
		rest(t, y)
	}
	st := y.Stats()
	require.EqualValues(t, 2, st.Failures)
	require.EqualValues(t, 4, st.Handled)
}

func TestZeroSystem(t *testing.T) {
	ctx := context.Background()
	newActor := of(func(*Context[int], int) error { return nil })
	for _, y := range []*System{nil, {}} {
		_, err := Spawn(y, newActor, Name("x"))
		require.ErrorIs(t, err, ErrOption)
		require.ErrorContains(t, err, "that New has made")
		_, err = Forward(y, func(int) error { return nil }, func(context.Context, int) error { return nil })
		require.ErrorIs(t, err, ErrOption)
		_, err = Lookup[int](y, "x")
		require.Error(t, err)
		for _, err := range []error{y.Rest(ctx), y.Run(ctx), y.Drain(ctx), y.Stop(ctx), y.Close()} {
			require.ErrorIs(t, err, ErrOption)
			require.ErrorContains(t, err, "make it with New")
		}
	}
	// no reference is no actor's, behind a pointer too
	y := open(t)
	var none *Ref[int]
	var errs []error
	a := spawn(t, y, func(c *Context[int], _ int) error {
		for _, to := range []Address{nil, Ref[int]{}, none} {
			_, err := c.Watch(to, func(Ended) int { return 1 })
			errs = append(errs, err)
		}
		return nil
	})
	require.NoError(t, a.Tell(1))
	rest(t, y)
	require.Len(t, errs, 3)
	for _, err := range errs {
		require.ErrorIs(t, err, ErrNoRef)
	}
}
