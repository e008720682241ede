package actor

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTopicIsNotAsked(t *testing.T) {
	y := open(t)
	subscriber := spawn(t, y, answers)
	x := topic(t, y, subscriber)
	group, err := RoundRobin(x.Ref())
	require.NoError(t, err)
	adapted, err := Adapt(x.Ref(), func(q query) query { return q })
	require.NoError(t, err)
	message := func(to Reply[int]) query { return query{1, to} }
	for _, r := range []Ref[query]{x.Ref(), group, adapted} {
		_, err := Ask(t.Context(), r, message)
		require.ErrorIs(t, err, ErrNoAnswer)
		require.ErrorContains(t, err, x.Ref().Name())
		require.ErrorContains(t, err, "ask an actor, or a group")
		var seen error
		asks := spawn(t, y, func(c *Context[int], _ int) error {
			seen = AskThen(c, r, message, func(*Context[int], int, error) error { return errBad })
			return nil
		})
		require.NoError(t, asks.Tell(1))
		rest(t, y)
		require.ErrorIs(t, seen, ErrNoAnswer)
	}
	require.EqualValues(t, 3, y.Stats().Handled, "nothing was sent")
	// a Reply that is told is answered by the first
	asked, err := Ask(t.Context(), spawn(t, y, func(_ *Context[query], q query) error {
		return x.Ref().Tell(query{5, q.to})
	}), message)
	require.NoError(t, err)
	require.Equal(t, 5, asked)
}

// A topic that leads back to itself is refused, whatever is between.
func TestTopicsInACircle(t *testing.T) {
	y := open(t)
	a, b, c := topic[int](t, y), topic[int](t, open(t)), topic[string](t, y)
	toB, err := Adapt(b.Ref(), func(s string) int { return len(s) })
	require.NoError(t, err)
	other := spawn(t, y, nothing[int])
	group, err := RoundRobin(other, a.Ref())
	require.NoError(t, err)
	toC, err := Adapt(c.Ref(), func(int) string { return "abc" })
	require.NoError(t, err)
	refused := func(err error) {
		require.ErrorIs(t, err, ErrOption)
		require.ErrorContains(t, err, "would come back to the topic: unsubscribe")
	}
	refused(a.Subscribe(a.Ref()))
	refused(a.Subscribe(group))
	require.NoError(t, a.Subscribe(toC))
	require.NoError(t, c.Subscribe(toB))
	refused(b.Subscribe(a.Ref()))
	refused(b.Subscribe(group))
	refused(b.Subscribe(toC))
	require.NoError(t, b.Subscribe(other))
	require.NoError(t, a.Ref().Tell(7))
	rest(t, y)
	require.EqualValues(t, 1, y.Stats().Handled)
	require.True(t, c.Unsubscribe(toB))
	require.NoError(t, b.Subscribe(group), "the circle is open")
}

// Of two that close a circle together, one is refused.
func TestTopicsInACircleAtTheSameTime(t *testing.T) {
	y := open(t)
	for range 2000 {
		topics := [2]*Topic[int]{topic[int](t, y), topic[int](t, y)}
		var errs [2]error
		var ready atomic.Int32
		var all sync.WaitGroup
		for i := range topics {
			all.Go(func() {
				for ready.Add(1); ready.Load() < 2; {
					runtime.Gosched()
				}
				errs[i] = topics[i].Subscribe(topics[1-i].Ref())
			})
		}
		all.Wait()
		require.NotEqual(t, errs[0] == nil, errs[1] == nil)
		require.NoError(t, topics[0].Ref().Tell(1))
	}
}

func TestTopicMisuse(t *testing.T) {
	y := open(t)
	r := spawn(t, y, nothing[int])
	for _, y := range []*System{nil, {}} {
		_, err := NewTopic[int](y)
		require.ErrorIs(t, err, ErrOption)
		require.ErrorContains(t, err, "that New has made")
	}
	for _, x := range []*Topic[int]{nil, {}} {
		err := x.Subscribe(r)
		require.ErrorIs(t, err, ErrOption)
		require.ErrorContains(t, err, "make it with NewTopic")
		require.False(t, x.Unsubscribe(r))
		require.ErrorIs(t, x.Ref().Tell(1), ErrNoRef)
	}
	x := topic[int](t, y)
	require.ErrorIs(t, x.Subscribe(Ref[int]{}), ErrNoRef)
	require.False(t, x.Unsubscribe(Ref[int]{}))
	x.Ref().Stop()
	x.Ref().Drain()
	require.Nil(t, x.Ref().Done())
	require.Contains(t, x.Ref().Name(), "Topic[int]")
	var watched error
	watches := spawn(t, y, func(c *Context[int], _ int) error {
		_, watched = c.Watch(x.Ref(), func(Ended) int { return 1 })
		return nil
	})
	require.NoError(t, watches.Tell(1))
	rest(t, y)
	require.ErrorIs(t, watched, ErrNoRef)
	require.NoError(t, y.Close())
	require.NoError(t, x.Subscribe(r), "it has ended")
	require.NoError(t, x.Ref().Tell(1))
	require.Empty(t, *x.list.Load())
}
