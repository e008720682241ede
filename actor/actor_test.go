package actor

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/organzine/coro/internal/steal"
	"github.com/stretchr/testify/require"
)

func open(t testing.TB, opts ...Option) *System {
	y, err := New(opts...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, y.Close()) })
	return y
}

// of makes the function that Spawn takes of a behaviour.
func of[M any](f func(*Context[M], M) error) func() Func[M] {
	return func() Func[M] { return f }
}

func spawn[M any](t testing.TB, at Spawner, f func(*Context[M], M) error, opts ...SpawnOption) Ref[M] {
	r, err := Spawn(at, of(f), opts...)
	require.NoError(t, err)
	return r
}

func rest(t testing.TB, y *System) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	require.NoError(t, y.Rest(ctx))
}

func TestMessagesAreHandledInOrder(t *testing.T) {
	for n := range 3 {
		y := open(t, Executors(n+1))
		next := 0
		counts := spawn(t, y, func(_ *Context[int], m int) error {
			if m != next {
				t.Errorf("%d came as number %d", m, next)
			}
			next++
			return nil
		})
		for i := range 100_000 {
			require.NoError(t, counts.Tell(i))
		}
		rest(t, y)
		require.Equal(t, 100_000, next)
		require.EqualValues(t, 100_000, y.Stats().Handled)
	}
}

type ping struct {
	from Ref[ping]
	left int
}

// One turn makes more actors active than an executor's queue has room for: the others go to the
// system's queue, each once, and its messages stay in order.
func TestATurnThatMakesManyActorsActive(t *testing.T) {
	const actors, each = 5*steal.Room + 3, 3
	for n := range 2 {
		y := open(t, Executors(n+1))
		var got [actors]int
		refs := make([]Ref[int], actors)
		for i := range refs {
			refs[i] = spawn(t, y, func(_ *Context[int], m int) error {
				if m != got[i] {
					t.Errorf("%d came as number %d", m, got[i])
				}
				got[i]++
				return nil
			})
		}
		sends := spawn(t, y, func(*Context[int], int) error {
			for m := range each {
				for _, r := range refs {
					if err := r.Tell(m); err != nil {
						return err
					}
				}
			}
			return nil
		})
		require.NoError(t, sends.Tell(0))
		rest(t, y)
		for i := range got {
			require.Equal(t, each, got[i])
		}
		require.EqualValues(t, 1+each*actors, y.Stats().Handled)
	}
}

// Name is the same in a call as outside: what Spawn was told, or the type and the address.
func TestNames(t *testing.T) {
	y := open(t)
	said := make(chan string, 1)
	says := func(c *Context[int], _ int) error { said <- c.Name(); return nil }
	for _, opts := range [][]SpawnOption{nil, {Waiting()}} {
		named := spawn(t, y, says, append(opts, Name("it"))...)
		require.NoError(t, named.Tell(1))
		require.Equal(t, "it", <-said)
		require.Equal(t, "it", named.Name())
		other, another := spawn(t, y, says, opts...), spawn(t, y, says, opts...)
		require.NoError(t, other.Tell(1))
		require.Equal(t, other.Name(), <-said)
		require.Contains(t, other.Name(), "Func[int]@0x")
		require.NotEqual(t, other.Name(), another.Name())
		named.Stop()
		<-named.Done()
	}
}

func TestActorsTellEachOther(t *testing.T) {
	y := open(t)
	var rounds atomic.Int64
	play := func(c *Context[ping], m ping) error {
		rounds.Add(1)
		if m.left == 0 {
			return nil
		}
		return m.from.Tell(ping{c.Self(), m.left - 1})
	}
	a, b := spawn(t, y, play), spawn(t, y, play)
	require.NoError(t, a.Tell(ping{b, 10_000}))
	rest(t, y)
	require.EqualValues(t, 10_001, rounds.Load())
}

type query struct {
	n  int
	to Reply[int]
}

func TestAsk(t *testing.T) {
	y := open(t)
	doubles := spawn(t, y, func(_ *Context[query], q query) error { return q.to.Answer(2 * q.n) })
	for i := range 10_000 {
		v, err := Ask(t.Context(), doubles, func(to Reply[int]) query { return query{i, to} })
		require.NoError(t, err)
		require.Equal(t, 2*i, v)
	}
}

func TestStopAndDeadLetters(t *testing.T) {
	var letters []DeadLetter
	y := open(t, Executors(1), OnDeadLetter(func(d DeadLetter) { letters = append(letters, d) }))
	ended := make(chan Ended, 2)
	a := spawn(t, y, func(c *Context[int], m int) error {
		if m == 1 {
			c.Stop()
		}
		return nil
	}, Name("a"))
	watches := spawn(t, y, func(c *Context[Ended], m Ended) error {
		if m.Name == "" {
			_, err := c.Watch(a, func(e Ended) Ended { return e })
			return err
		}
		ended <- m
		return nil
	})
	require.NoError(t, watches.Tell(Ended{}))
	sends := spawn(t, y, func(_ *Context[int], _ int) error {
		for i := range 5 {
			require.NoError(t, a.Tell(i))
		}
		return nil
	})
	require.NoError(t, sends.Tell(0))
	rest(t, y)
	<-a.Done()
	require.Equal(t, Ended{"a", nil}, <-ended)
	require.Len(t, letters, 3)
	for i, d := range letters {
		require.Equal(t, DeadLetter{"a", i + 2, Stopped, ErrStopped}, d)
		require.Equal(t, "stopped", d.Cause.String())
	}
	require.ErrorIs(t, a.Tell(1), ErrStopped)
	require.ErrorContains(t, a.Tell(1), "actor: a: stopped")
	require.NoError(t, watches.Tell(Ended{}), "watch one that has ended")
	require.Equal(t, Ended{"a", nil}, <-ended)
}

func TestFailureEscalates(t *testing.T) {
	y := open(t)
	a := spawn(t, y, func(*Context[int], int) error { panic("no") }, Name("a"))
	require.NoError(t, a.Tell(1))
	err := y.Run(t.Context())
	require.ErrorContains(t, err, "actor: a failed: coro: panic: no")
	var f *Failure
	require.ErrorAs(t, err, &f)
	require.ErrorIs(t, a.Tell(1), ErrStopped)
	_, err = Spawn(y, of(func(*Context[int], int) error { return nil }))
	require.ErrorIs(t, err, ErrStopped)
}

func TestFailures(t *testing.T) {
	odd := errors.New("odd")
	for name, failure := range map[string]func() error{
		"error":  func() error { return odd },
		"panic":  func() error { panic(odd) },
		"Goexit": func() error { runtime.Goexit(); return nil },
	} {
		for _, waiting := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				y := open(t, Executors(1))
				var states, sum, all int
				opts := []SpawnOption{Restart(1000, 0)}
				if waiting {
					opts = append(opts, Waiting())
				}
				a, err := Spawn(y, func() Func[int] {
					states++
					sum = 0
					return func(_ *Context[int], m int) error {
						all++
						if m%2 == 1 {
							return failure()
						}
						sum += m
						return nil
					}
				}, opts...)
				require.NoError(t, err)
				for i := range 100 {
					require.NoError(t, a.Tell(i))
				}
				require.NoError(t, a.Tell(1000))
				rest(t, y)
				require.Equal(t, 51, states)
				require.Equal(t, 1000, sum)
				require.Equal(t, 101, all)
				st := y.Stats()
				require.EqualValues(t, 50, st.Failed)
				require.EqualValues(t, 50, st.Failures)
			})
		}
	}
}

func TestInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y, err := New(Executors(2))
		require.NoError(t, err)
		start := time.Now()
		var at []time.Duration
		a := spawn(t, y, func(c *Context[int], m int) error {
			at = append(at, time.Since(start))
			if m > 0 {
				c.After(time.Hour, m-1)
			}
			return nil
		})
		require.NoError(t, a.Tell(3))
		require.NoError(t, y.Rest(t.Context()))
		require.Equal(t, []time.Duration{0, time.Hour, 2 * time.Hour, 3 * time.Hour}, at)
		require.NoError(t, y.Close())
	})
}

func TestRoom(t *testing.T) {
	y := open(t)
	hold := make(chan struct{})
	a := spawn(t, y, func(*Context[int], int) error { <-hold; return nil }, Room(2), Waiting())
	require.NoError(t, a.Tell(1))
	require.NoError(t, a.Tell(2))
	require.ErrorIs(t, a.Tell(3), ErrFull)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, a.Send(ctx, 3), context.DeadlineExceeded)
	sent := make(chan error)
	go func() { sent <- a.Send(t.Context(), 3) }()
	close(hold)
	require.NoError(t, <-sent)
	rest(t, y)
	require.EqualValues(t, 3, y.Stats().Handled)
}
