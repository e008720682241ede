package actor

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

type forwarded struct {
	n      int
	hidden struct {
		list [2]Reply[int]
		any  any
	}
}

// holds is an actor of M that waits for goOn in its first message, and then does f with it.
func holds[M any](t *testing.T, y *System, goOn chan struct{}, f func(c *Context[M]) error,
	opts ...SpawnOption) Ref[M] {
	var none M
	r := spawn(t, y, func(c *Context[M], _ M) error {
		<-goOn
		return f(c)
	}, append(opts, Waiting())...)
	require.NoError(t, r.Tell(none))
	return r
}

func stop[M any](c *Context[M]) error { c.Stop(); return nil }

// requireFails asks an actor that forwards its question in a message for `to`, and then lets that
// go on.
func requireFails[M any](t *testing.T, y *System, to Ref[M], message func(Reply[int]) M,
	goOn chan struct{}, want error) {
	t.Helper()
	forwards := spawn(t, y, func(_ *Context[query], q query) error {
		err := to.Tell(message(q.to))
		close(goOn)
		return err
	})
	_, err := Ask(context.Background(), forwards, func(to Reply[int]) query { return query{to: to} })
	require.ErrorIs(t, err, want)
}

// A question that was forwarded, in any part of a message, is told that this has become a dead
// letter.
func TestAForwardedReplyFailsWithItsMessage(t *testing.T) {
	var dead atomic.Int32
	y := open(t, OnDeadLetter(func(DeadLetter) { dead.Add(1) }))
	goOn := make(chan struct{})
	requireFails(t, y, holds(t, y, goOn, stop[query]),
		func(to Reply[int]) query { return query{to: to} }, goOn, ErrStopped)
	goOn = make(chan struct{})
	requireFails(t, y, holds(t, y, goOn, stop[Reply[int]]),
		func(to Reply[int]) Reply[int] { return to }, goOn, ErrStopped)
	for i := range 3 {
		goOn = make(chan struct{})
		requireFails(t, y, holds(t, y, goOn, stop[forwarded]), func(to Reply[int]) (m forwarded) {
			if i < 2 {
				m.hidden.list[i] = to
			} else {
				m.hidden.any = query{to: to}
			}
			return m
		}, goOn, ErrStopped)
		goOn = make(chan struct{})
		requireFails(t, y, holds(t, y, goOn, stop[any]), func(to Reply[int]) any {
			return []any{to, query{to: to}, [2]any{nil, query{to: to}}}[i]
		}, goOn, ErrStopped)
	}
	require.EqualValues(t, 8, dead.Load())
	require.EqualValues(t, 8, y.Stats().Stopped)
}

// A behaviour that fails with the message, where it is dropped too, and a message of After.
func TestAForwardedReplyFailsWithABehaviour(t *testing.T) {
	for _, opts := range [][]SpawnOption{{Resume()}, {Resume(), Drop()}, {Restart(1, 0), Retry(1)}} {
		y := open(t)
		bad := spawn(t, y, func(*Context[query], query) error { return errBad }, opts...)
		requireFails(t, y, bad, func(to Reply[int]) query { return query{to: to} },
			make(chan struct{}), errBad)
	}
	y := open(t)
	later := spawn(t, y, func(c *Context[query], q query) error {
		if q.n == 0 {
			c.After(1<<60, query{n: 1, to: q.to})
			c.Stop()
		}
		return nil
	})
	requireFails(t, y, later, func(to Reply[int]) query { return query{to: to} },
		make(chan struct{}), ErrStopped)
}

// What was answered stays so, and messages without replies have nothing to be failed.
func TestDeadLettersThatAskNobody(t *testing.T) {
	y := open(t)
	goOn := make(chan struct{})
	r := holds(t, y, goOn, stop[any])
	answers := spawn(t, y, func(_ *Context[query], q query) error {
		for _, m := range []any{query{to: q.to}, query{}, nil, 1, &query{}, []Reply[int]{q.to}, "x"} {
			if err := r.Tell(m); err != nil {
				return err
			}
		}
		return q.to.Answer(7)
	})
	v, err := Ask(t.Context(), answers, func(to Reply[int]) query { return query{to: to} })
	require.NoError(t, err)
	require.Equal(t, 7, v)
	close(goOn)
	<-r.Done()
	require.EqualValues(t, 7, y.Stats().Stopped)
}
