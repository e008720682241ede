package nats

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// fill sends messages of a KB to different keys, until one is refused. It returns how many were
// accepted.
func fill(t *testing.T, k *Kind[int, string], most int) (accepted int) {
	for accepted < most {
		err := k.Tell(within(t, 20*time.Second), fmt.Sprint(accepted), strings.Repeat("x", 1000))
		if err != nil {
			require.ErrorIs(t, err, ErrFull)
			return accepted
		}
		accepted++
	}
	require.Fail(t, "nothing is refused")
	return 0
}

// requireDrained has a node handle what was accepted, each message once, and checks that there is
// room again.
func requireDrained(t *testing.T, n *Node, k *Kind[int, string], accepted int) {
	ctx := within(t, time.Minute)
	require.NoError(t, n.Start())
	for i := range accepted {
		v, err := Ask[int](ctx, k.To(fmt.Sprint(i), "last", ID("last")))
		for err != nil {
			require.ErrorIs(t, err, ErrFull) // still
			time.Sleep(time.Millisecond)
			v, err = Ask[int](ctx, k.To(fmt.Sprint(i), "last", ID("last")))
		}
		require.Equal(t, 2, v)
	}
	require.NoError(t, n.Err())
}

// count is a kind whose state is the number of messages that a key has handled.
func count(t *testing.T, n *Node) *Kind[int, string] {
	k, err := Define(n, "count", func(c *Turn[int], _ string) error {
		*c.State++
		c.Answer(*c.State)
		return nil
	})
	require.NoError(t, err)
	return k
}

// As many bytes are stored as MaxBytes says. Beyond that Tell is refused, at once, and each
// accepted message is handled.
func TestMaxBytes(t *testing.T) {
	overBoth(t, func(t *testing.T, transport func() Transport) {
		n := join(t, transport(), Options{MaxBytes: 64 << 10, Room: 4})
		k := count(t, n)
		accepted := fill(t, k, 100)
		require.Greater(t, accepted, 30)
		err := k.Tell(context.Background(), "0", strings.Repeat("x", 1000)) // without a deadline
		require.ErrorIs(t, err, ErrFull)
		require.ErrorContains(t, err, "Options.MaxBytes")
		_, err = Ask[int](context.Background(), k.To("0", strings.Repeat("x", 1000)))
		require.ErrorIs(t, err, ErrFull)
		requireDrained(t, n, k, accepted)
	})
}

// Without MaxBytes the bound is half of what the servers can reserve: while messages fill it,
// sessions, leases and states can be written.
func TestTheServersStoreIsFull(t *testing.T) {
	for _, memory := range []bool{false, true} {
		t.Run(fmt.Sprint("memory: ", memory), func(t *testing.T) {
			t.Parallel()
			o := serverOptions(t.TempDir(), -1)
			o.JetStreamMaxStore, o.JetStreamMaxMemory = 256<<10, 256<<10
			s := serve(t, o)
			n := join(t, Over(connect(t, s.ClientURL())), Options{Memory: memory})
			accepted := fill(t, count(t, n), 1000)
			require.Greater(t, accepted, 50)
			other := join(t, Over(connect(t, s.ClientURL())), Options{Memory: memory})
			requireDrained(t, other, count(t, other), accepted)
		})
	}
}

// What the servers cannot reserve is told.
func TestMaxBytesThatTheServersDoNotHave(t *testing.T) {
	o := serverOptions(t.TempDir(), -1)
	o.JetStreamMaxStore = 1 << 20
	conn := connect(t, serve(t, o).ClientURL())
	_, err := Join(within(t, 10*time.Second), Over(conn), Options{MaxBytes: 2 << 20})
	require.ErrorIs(t, err, ErrFull)
	require.ErrorContains(t, err, "MaxBytes 2097152")
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	_, err = js.CreateStream(within(t, 10*time.Second), jetstream.StreamConfig{Name: "others",
		MaxBytes: 1<<20 - 1000})
	require.NoError(t, err)
	_, err = Join(within(t, 10*time.Second), Over(conn), Options{})
	require.ErrorIs(t, err, ErrFull)
	require.ErrorContains(t, err, "max_file_store")
}

// Loopback remembers ids for as long as JetStream.
func TestLoopbackForgetsIDs(t *testing.T) {
	hub := Loopback().(*loopback)
	var mu sync.Mutex
	var passed time.Duration
	hub.now = func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return time.Now().Add(passed)
	}
	n := join(t, hub, Options{Window: 1, TTL: 20 * time.Second})
	k := count(t, n)
	require.NoError(t, n.Start())
	ctx := within(t, 20*time.Second)
	ids := func() int {
		hub.mu.Lock()
		defer hub.mu.Unlock()
		require.Len(t, hub.topics["coro"].ids.list, len(hub.topics["coro"].ids.has))
		return len(hub.topics["coro"].ids.has)
	}
	pass := func(d time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		passed += d
	}
	for i := range 1000 {
		require.NoError(t, k.Tell(ctx, "x", "m", ID(fmt.Sprint(i))))
	}
	pass(idsLast - time.Minute)
	require.NoError(t, k.Tell(ctx, "x", "m", ID("0"))) // within the time
	require.NoError(t, k.Tell(ctx, "y", "m", ID("0"))) // another key
	require.Equal(t, 1001, ids())
	v, err := Ask[int](ctx, k.To("x", "m", ID("last")))
	require.NoError(t, err)
	require.Equal(t, 1001, v)
	pass(time.Minute)
	require.NoError(t, n.link.check(ctx)) // as nodes do now and then
	require.Equal(t, 2, ids())
	require.NoError(t, k.Tell(ctx, "x", "m", ID("0")))
	v, err = Ask[int](ctx, k.To("x", "m"))
	require.NoError(t, err)
	require.Equal(t, 1003, v)
	pass(idsLast)
	require.NoError(t, n.link.check(ctx))
	require.Zero(t, ids())
}
