package actor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// circleOf has actors ask, the first one the second one, and so on, and the last one the first one
// by the reference that `back` makes of it. The answer is how the last one's question has ended.
func circleOf(t *testing.T, systems []*System, back func(Ref[Reply[error]]) Ref[Reply[error]],
	opts ...SpawnOption) error {
	type m = Reply[error]
	refs := make([]Ref[m], len(systems))
	for i, y := range systems {
		refs[i] = spawn(t, y, func(_ *Context[m], to m) error {
			next := back(refs[0])
			if i+1 < len(refs) {
				next = refs[i+1]
			}
			v, err := Ask(t.Context(), next, func(to m) m { return to })
			if err != nil {
				return to.Answer(err)
			}
			return to.Answer(v)
		}, append(opts, Waiting(), Name("actor "+string(rune('a'+i))))...)
	}
	err, failed := Ask(t.Context(), refs[0], func(to m) m { return to })
	require.NoError(t, failed)
	for _, r := range refs {
		r.Stop()
		<-r.Done()
		require.Nil(t, r.c.waitsOn())
	}
	return err
}

func TestACircleOfQuestionsIsFound(t *testing.T) {
	type ref = Ref[Reply[error]]
	y, z := open(t), open(t)
	same := func(r ref) ref { return r }
	adapt := func(r ref) ref {
		r, err := Adapt(r, func(m Reply[error]) Reply[error] { return m })
		require.NoError(t, err)
		return r
	}
	groups := map[string]func(ref) ref{
		"direct": same, "Adapt": adapt, "Adapt twice": func(r ref) ref { return adapt(adapt(r)) },
		"RoundRobin": func(r ref) ref {
			g, err := RoundRobin(r)
			require.NoError(t, err)
			return g
		},
		"LeastLoaded of an ended one": func(r ref) ref {
			ended, err := Spawn(y, of(func(*Context[Reply[error]], Reply[error]) error { return nil }))
			require.NoError(t, err)
			ended.Stop()
			<-ended.Done()
			g, err := LeastLoaded(adapt(ended), adapt(r))
			require.NoError(t, err)
			return g
		},
		"ConsistentHash": func(r ref) ref {
			g, err := ConsistentHash(func(Reply[error]) uint64 { return 7 }, adapt(r))
			require.NoError(t, err)
			return adapt(g)
		},
	}
	names := []string{"actor a", "actor b", "actor c"}
	for name, back := range groups {
		for n := range 3 {
			for _, other := range []*System{y, z} {
				systems := []*System{y, other, y}[:n+1]
				for _, opts := range [][]SpawnOption{nil, {Room(1)}} {
					var circle *DeadlockError
					require.ErrorAs(t, circleOf(t, systems, back, opts...), &circle, name)
					require.ElementsMatch(t, names[:n+1], circle.Circle, name)
					require.Equal(t, names[n], circle.Circle[0], "the one that asks")
				}
			}
		}
	}
}

// One that waits for room, and then for the answer, waits all the time.
func TestACircleOfAQuestionThatHasWaitedForRoom(t *testing.T) {
	y := open(t)
	var a, b Ref[query]
	got := make(chan error, 1)
	begun, goOn := make(chan struct{}), make(chan struct{})
	b = spawn(t, y, func(_ *Context[query], q query) error {
		switch q.n {
		case 1:
			close(begun)
			<-goOn
		case 2: // the question of a
			_, err := Ask(t.Context(), a, func(to Reply[int]) query { return query{3, to} })
			got <- err
			return q.to.Answer(0)
		}
		return nil
	}, Waiting(), Room(1), Name("b"))
	a = spawn(t, y, func(*Context[query], query) error {
		_, err := Ask(t.Context(), b, func(to Reply[int]) query { return query{2, to} })
		return err
	}, Waiting(), Name("a"))
	require.NoError(t, b.Tell(query{n: 1}))
	<-begun
	require.NoError(t, a.Tell(query{}))
	require.Eventually(t, func() bool { return b.c.side.Load().room.waits.Load() == 1 },
		time.Minute, 100*time.Microsecond)
	close(goOn)
	var circle *DeadlockError
	require.ErrorAs(t, <-got, &circle)
	require.Equal(t, []string{"b", "a"}, circle.Circle)
}

// A function that makes, or adapts, a question may ask: nobody waits then yet.
func TestAQuestionWithinAQuestion(t *testing.T) {
	y := open(t)
	answer := spawn(t, y, answers)
	ask := func(to Ref[query]) int {
		v, err := Ask(t.Context(), to, func(to Reply[int]) query { return query{1, to} })
		require.NoError(t, err)
		return v
	}
	adapted, err := Adapt(answer, func(q query) query { q.n += ask(answer); return q })
	require.NoError(t, err)
	got := make(chan int, 1)
	asks := spawn(t, y, func(*Context[int], int) error {
		v, err := Ask(t.Context(), adapted, func(to Reply[int]) query {
			return query{ask(adapted), to}
		})
		got <- v
		return err
	}, Waiting())
	require.NoError(t, asks.Tell(1))
	require.Equal(t, 3, <-got)
	rest(t, y)
	require.Nil(t, asks.c.waitsOn())
}
