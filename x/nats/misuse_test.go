package nats

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"sync/atomic"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
)

func TestJoinWithWrongOptions(t *testing.T) {
	ctx := within(t, 20*time.Second)
	for _, o := range []Options{{Cluster: "a.b"}, {Name: "a b"}, {Partitions: -1}, {Partitions: 1 << 20},
		{TTL: time.Millisecond}, {TTL: 2 * time.Hour}, {Room: -1}, {Tries: -1}, {Tries: mostTries + 1},
		{Tries: 1 << 55}, {Tries: math.MaxInt}, {Idle: -1}, {Window: 5000},
		{MaxBytes: -1}, {MaxBytes: 1}, {MaxBytes: 1 << 60},
		{Replicas: 9}} {
		_, err := Join(ctx, Loopback(), o)
		require.ErrorIs(t, err, ErrOption, "%+v", o)
	}
	_, err := Join(ctx, nil, Options{})
	require.ErrorIs(t, err, ErrOption)
	_, err = Join(ctx, Over(nil), Options{})
	require.ErrorIs(t, err, ErrOption)
}

func TestJoinTwiceWithOneName(t *testing.T) {
	overBoth(t, func(t *testing.T, transport func() Transport) {
		join(t, transport(), Options{Name: "one"})
		_, err := Join(within(t, 10*time.Second), transport(), Options{Name: "one", Partitions: 8,
			TTL: time.Second})
		require.ErrorIs(t, err, ErrName)
		_, err = Join(within(t, 10*time.Second), transport(), Options{Partitions: 9})
		require.ErrorIs(t, err, ErrOption)
		require.ErrorContains(t, err, "8")
	})
}

func TestANameOfANodeThatHasCrashed(t *testing.T) {
	over := Loopback()
	n := join(t, over, Options{Name: "one", TTL: 200 * time.Millisecond})
	n.cancel(nil) // it is not renewed any more
	join(t, over, Options{Name: "one", TTL: 200 * time.Millisecond})
}

func TestJoinWhereThereIsNoServer(t *testing.T) {
	s := serve(t, serverOptions(t.TempDir(), -1))
	conn := connect(t, s.ClientURL())
	s.Shutdown()
	s.WaitForShutdown()
	_, err := Join(within(t, 500*time.Millisecond), Over(conn), Options{})
	require.ErrorIs(t, err, ErrUnavailable)
	conn.Close()
	_, err = Join(context.Background(), Over(conn), Options{}) // at once
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorIs(t, err, natsgo.ErrConnectionClosed)
}

func TestJoinWhileTheServerIsAway(t *testing.T) {
	o := serverOptions(t.TempDir(), -1)
	s := serve(t, o)
	conn := connect(t, s.ClientURL())
	o.Port = s.Addr().(*net.TCPAddr).Port
	s.Shutdown()
	s.WaitForShutdown()
	joined := make(chan error, 1)
	go func() {
		n, err := Join(within(t, 30*time.Second), Over(conn), Options{})
		if err == nil {
			err = n.Leave(within(t, 10*time.Second))
		}
		joined <- err
	}()
	require.Never(t, func() bool { return len(joined) > 0 }, 100*time.Millisecond, 10*time.Millisecond)
	serve(t, o)
	require.NoError(t, <-joined)
}

func TestJoinWithoutJetStream(t *testing.T) {
	o := serverOptions(t.TempDir(), -1)
	o.JetStream = false
	s := serve(t, o)
	_, err := Join(within(t, 10*time.Second), Over(connect(t, s.ClientURL())), Options{})
	require.ErrorIs(t, err, ErrNoJetStream)
	require.ErrorContains(t, err, "-js")
}

func TestContextsThatEnd(t *testing.T) {
	overBoth(t, func(t *testing.T, transport func() Transport) {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := Join(ended, transport(), Options{})
		require.ErrorIs(t, err, context.Canceled)
		n := join(t, transport(), Options{})
		k := bank(t, n)
		require.ErrorIs(t, k.Tell(ended, "x", balance{}), context.Canceled)
		_, err = Ask[int64](ended, k.To("x", balance{}))
		require.ErrorIs(t, err, context.Canceled)
		_, err = Ask[int64](within(t, 50*time.Millisecond), k.To("x", balance{})) // nobody serves
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, n.Leave(ended), context.Canceled)
		<-n.Done()
		require.NoError(t, n.Err())
	})
}

// Errors have both what has ended the context, and its Err.
func TestCausesOfContexts(t *testing.T) {
	cause := errors.New("the caller's reason")
	overBoth(t, func(t *testing.T, transport func() Transport) {
		n := join(t, transport(), Options{})
		k := bank(t, n) // nobody serves
		calls := map[string]func(context.Context) error{
			"Tell":  func(ctx context.Context) error { return k.Tell(ctx, "x", balance{}) },
			"Ask":   func(ctx context.Context) error { _, err := Ask[int64](ctx, k.To("x", balance{})); return err },
			"Leave": func(ctx context.Context) error { return n.Leave(ctx) },
			"Join": func(ctx context.Context) error {
				_, err := Join(ctx, transport(), Options{Partitions: 8})
				return err
			},
		}
		for _, name := range []string{"Join", "Tell", "Ask", "Leave"} {
			ended, cancel := context.WithCancelCause(context.Background())
			cancel(cause)
			err := calls[name](ended)
			require.ErrorIs(t, err, cause, name)
			require.ErrorIs(t, err, context.Canceled, name)
			if name == "Ask" {
				late, cancel := context.WithTimeoutCause(context.Background(), 50*time.Millisecond, cause)
				defer cancel()
				err = calls[name](late)
				require.ErrorIs(t, err, cause, name)
				require.ErrorIs(t, err, context.DeadlineExceeded, name)
			}
		}
	})
}

func TestWrongSendOptions(t *testing.T) {
	overBoth(t, func(t *testing.T, transport func() Transport) {
		n := join(t, transport(), Options{})
		k := bank(t, n)
		require.NoError(t, n.Start())
		ctx := within(t, 20*time.Second)
		for _, o := range []SendOption{nil, ID("")} {
			require.ErrorIs(t, k.Tell(ctx, "x", deposit{1, 1}, o), ErrOption)
			_, err := Ask[int64](ctx, k.To("x", deposit{1, 1}, With("a", "b"), o))
			require.ErrorIs(t, err, ErrOption)
		}
		b, err := Ask[int64](ctx, k.To("x", balance{}))
		require.NoError(t, err)
		require.Zero(t, b)
	})
}

func TestTellWhileTheServerIsAway(t *testing.T) {
	o := serverOptions(t.TempDir(), -1)
	s := serve(t, o)
	n := join(t, Over(connect(t, s.ClientURL())), Options{TTL: time.Second})
	k := bank(t, n)
	require.NoError(t, n.Start())
	b, err := Ask[int64](within(t, 10*time.Second), k.To("x", deposit{1, 1}))
	require.NoError(t, err)
	require.EqualValues(t, 1, b)
	o.Port = s.Addr().(*net.TCPAddr).Port
	s.Shutdown()
	s.WaitForShutdown()
	err = k.Tell(within(t, 300*time.Millisecond), "x", deposit{1, 2})
	require.Error(t, err)
	told := make(chan error, 1)
	go func() { told <- k.Tell(within(t, 30*time.Second), "x", deposit{1, 3}) }()
	require.Eventually(t, func() bool { return len(n.Partitions()) == 0 }, 10*time.Second,
		time.Millisecond, "a node that is cut off keeps its partitions")
	serve(t, o)
	require.NoError(t, <-told)
	b, err = Ask[int64](within(t, 20*time.Second), k.To("x", deposit{1, 4}))
	require.NoError(t, err)
	require.Contains(t, []int64{3, 4}, b) // the first Tell may have been stored
}

func TestWrongKinds(t *testing.T) {
	n := join(t, Loopback(), Options{})
	handle := func(*Turn[account], deposit) error { return nil }
	_, err := Define(n, "a.b", handle)
	require.ErrorIs(t, err, ErrOption)
	_, err = Define[account, deposit](n, "a", nil)
	require.ErrorIs(t, err, ErrOption)
	_, err = Define(n, "a", handle, Messages(nil))
	require.ErrorIs(t, err, ErrOption)
	_, err = Define(n, "a", handle, nil)
	require.ErrorIs(t, err, ErrOption)
	require.ErrorContains(t, err, "nil KindOption")
	_, err = Define[account, deposit](nil, "a", handle)
	require.ErrorIs(t, err, ErrOption)
	_, err = Define(n, "a", func(*Turn[account], move) error { return nil })
	require.ErrorContains(t, err, "OneOf")
	_, err = Define(n, "a", handle)
	require.NoError(t, err)
	_, err = Define(n, "a", handle)
	require.ErrorIs(t, err, ErrOption)
	require.NoError(t, n.Start())
	_, err = Define(n, "b", handle)
	require.ErrorIs(t, err, ErrOption)
	_, err = Ask[int](context.Background(), Question{})
	require.ErrorIs(t, err, ErrOption)
	require.Panics(t, func() { OneOf[move](deposit{}, nil) })
	require.Panics(t, func() { OneOf[move](deposit{}, deposit{}) })
}

func TestStatesThatCannotBeWritten(t *testing.T) {
	overBoth(t, func(t *testing.T, transport func() Transport) {
		dead := make(chan DeadLetter, 10)
		n := join(t, transport(), Options{Tries: 2, OnDeadLetter: func(d DeadLetter) { dead <- d }})
		k, err := Define(n, "sum", func(c *Turn[float64], m []float64) error {
			for _, v := range m {
				*c.State /= v
				*c.State++
			}
			c.Answer(*c.State)
			if m == nil {
				c.State = nil
			}
			return nil
		})
		require.NoError(t, err)
		require.NoError(t, n.Start())
		ctx := within(t, 20*time.Second)
		require.NoError(t, k.Tell(ctx, "x", []float64{2}))
		require.NoError(t, k.Tell(ctx, "x", []float64{0})) // infinite: JSON cannot have that
		require.NoError(t, k.Tell(ctx, "x", nil))
		v, err := Ask[float64](ctx, k.To("x", []float64{1}))
		require.NoError(t, err)
		require.InDelta(t, 2.0, v, 0)
		require.ErrorContains(t, (<-dead).Err, "Inf")
		require.ErrorContains(t, (<-dead).Err, "nil")
		require.ErrorIs(t, k.Tell(ctx, "x", []float64{math.NaN()}), ErrOption)
	})
}

func TestMessagesThatAreTooLarge(t *testing.T) {
	o := serverOptions(t.TempDir(), -1)
	o.MaxPayload = 10_000
	s := serve(t, o)
	dead := make(chan DeadLetter, 10)
	n := join(t, Over(connect(t, s.ClientURL())), Options{Tries: 2,
		OnDeadLetter: func(d DeadLetter) { dead <- d }})
	k, err := Define(n, "text", func(c *Turn[string], m string) error {
		*c.State += m
		c.Answer(len(*c.State))
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, n.Start())
	ctx := within(t, 20*time.Second)
	require.ErrorIs(t, k.Tell(ctx, "x", string(make([]byte, 20_000))), ErrTooLarge)
	text := fmt.Sprintf("%06000d", 1)
	require.NoError(t, k.Tell(ctx, "x", text))
	require.NoError(t, k.Tell(ctx, "x", text))
	require.ErrorIs(t, (<-dead).Err, ErrTooLarge)
	size, err := Ask[int](ctx, k.To("x", "y"))
	require.NoError(t, err)
	require.Equal(t, 6001, size)
}

// Leave returns when its context ends, whatever a handler does.
func TestLeaveWhileAHandlerDoesNotReturn(t *testing.T) {
	n := join(t, Loopback(), Options{})
	begun, goesOn := make(chan struct{}, 10), make(chan struct{})
	k, err := Define(n, "a", func(*Turn[int], int) error {
		begun <- struct{}{}
		<-goesOn
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, n.Start())
	require.NoError(t, k.Tell(within(t, 10*time.Second), "x", 1))
	<-begun
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, n.Leave(ctx), context.DeadlineExceeded)
	close(goesOn)
	<-n.Done()
	require.NoError(t, n.Err())
}

func TestAHandlerThatAsksItself(t *testing.T) {
	n := join(t, Loopback(), Options{})
	var k *Kind[int, string]
	got := make(chan error, 1)
	k, err := Define(n, "a", func(c *Turn[int], m string) error {
		switch m {
		case "self":
			_, err := Ask[int](c.Context(), k.To(c.Key(), "x"))
			got <- err
		case "other":
			v, err := Ask[int](c.Context(), k.To("other", "x"))
			if err != nil {
				return err
			}
			c.Answer(v)
		default:
			c.Answer(1)
		}
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, n.Start())
	ctx := within(t, 20*time.Second)
	require.NoError(t, k.Tell(ctx, "a", "self"))
	require.ErrorIs(t, <-got, ErrInside)
	v, err := Ask[int](ctx, k.To("a", "other"))
	require.NoError(t, err)
	require.Equal(t, 1, v)
}

func TestTracesGoFromTheSenderToTheHandler(t *testing.T) {
	overBoth(t, func(t *testing.T, transport func() Transport) {
		type span struct{}
		n := join(t, transport(), Options{
			Inject: func(ctx context.Context, h Header) {
				if v, ok := ctx.Value(span{}).(string); ok {
					h["traceparent"] = v
				}
			},
			Extract: func(ctx context.Context, h Header) context.Context {
				return context.WithValue(ctx, span{}, h["traceparent"])
			},
		})
		k, err := Define(n, "a", func(c *Turn[int], _ int) error {
			v, _ := c.Context().Value(span{}).(string)
			c.Answer(v + c.Header("x"))
			return nil
		})
		require.NoError(t, err)
		require.NoError(t, n.Start())
		ctx := context.WithValue(within(t, 10*time.Second), span{}, "trace 1")
		v, err := Ask[string](ctx, k.To("a", 1, With("x", " and more")))
		require.NoError(t, err)
		require.Equal(t, "trace 1 and more", v)
	})
}

// Room bounds what is at a node, and a slow key does not keep the others of its partition.
func TestRoom(t *testing.T) {
	overBoth(t, func(t *testing.T, transport func() Transport) {
		n := join(t, transport(), Options{Partitions: 1, Room: 4})
		var most, now atomic.Int64
		goesOn := make(chan struct{})
		k, err := Define(n, "a", func(c *Turn[int], m int) error {
			if v := now.Add(1); v > most.Load() {
				most.Store(v)
			}
			defer now.Add(-1)
			if c.Key() != "fast" {
				<-goesOn
			}
			c.Answer(m)
			return nil
		})
		require.NoError(t, err)
		require.NoError(t, n.Start())
		ctx := within(t, 20*time.Second)
		for i := range 3 {
			require.NoError(t, k.Tell(ctx, fmt.Sprint("slow", i), i))
		}
		for i := range 10 {
			v, err := Ask[int](ctx, k.To("fast", i))
			require.NoError(t, err)
			require.Equal(t, i, v)
		}
		for i := range 20 {
			require.NoError(t, k.Tell(ctx, fmt.Sprint("more", i), i))
		}
		require.Eventually(t, func() bool { return now.Load() == 4 }, 10*time.Second, time.Millisecond)
		close(goesOn)
		require.NoError(t, n.Leave(ctx))
		require.EqualValues(t, 4, most.Load())
	})
}

// A connection that is gone for good.
func TestTheConnectionIsClosed(t *testing.T) {
	s := serve(t, serverOptions(t.TempDir(), -1))
	conn, err := natsgo.Connect(s.ClientURL())
	require.NoError(t, err)
	n := join(t, Over(conn), Options{TTL: 400 * time.Millisecond})
	k := bank(t, n)
	require.NoError(t, n.Start())
	_, err = Ask[int64](within(t, 10*time.Second), k.To("x", deposit{1, 1}))
	require.NoError(t, err)
	conn.Close()
	require.ErrorIs(t, k.Tell(context.Background(), "x", balance{}), ErrUnavailable)
	<-n.Done()
	for _, err := range []error{n.Err(), k.Tell(context.Background(), "x", balance{})} {
		require.ErrorIs(t, err, ErrUnavailable)
		require.ErrorIs(t, err, natsgo.ErrConnectionClosed)
	}
	require.Empty(t, n.Partitions())
	require.NoError(t, n.Leave(within(t, 10*time.Second)))
}
