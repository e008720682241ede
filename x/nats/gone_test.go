package nats

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// A deserted node is one whose cluster's streams are deleted while it runs.
type deserted struct {
	*Node
	ledger *Kind[line, entryOf]
	server *server.Server
	config *server.Options
	js     jetstream.JetStream
	o      Options
}

func newDeserted(t *testing.T, o Options) *deserted {
	o.TTL, o.Partitions = 400*time.Millisecond, 2
	d := &deserted{config: serverOptions(t.TempDir(), freePorts(t, 1)[0]), o: o}
	d.server = serve(t, d.config)
	d.join(t)
	conn := connect(t, d.server.ClientURL())
	var err error
	d.js, err = jetstream.New(conn)
	require.NoError(t, err)
	d.ask(t, 1)
	return d
}

// join has another node of the cluster take the place of the last one.
func (d *deserted) join(t *testing.T) {
	d.Node = join(t, Over(connect(t, d.server.ClientURL())), d.o)
	var err error
	d.ledger, err = ledger(d.Node)
	require.NoError(t, err)
	require.NoError(t, d.Start())
}

func (d *deserted) ask(t *testing.T, number int) {
	got, err := Ask[int](within(t, 30*time.Second), d.ledger.To("x", entryOf{Number: number}))
	require.NoError(t, err)
	require.Equal(t, number, got)
}

// age writes the members many times, so that the next tokens are far from the first ones.
func (d *deserted) age(t *testing.T) {
	ctx := within(t, 30*time.Second)
	revision := uint64(0)
	for range 1000 {
		var err error
		revision, err = d.link.store(members).put(ctx, "age", []byte("x"), revision)
		require.NoError(t, err)
	}
	require.NoError(t, d.Leave(ctx))
	d.join(t)
	d.ask(t, 2)
}

// requireGone checks that the node fails, names what is gone, and that all calls say so.
func (d *deserted) requireGone(t *testing.T, begun time.Time, names ...string) {
	select {
	case <-d.Done():
	case <-time.After(20 * time.Second):
		require.Fail(t, "the node goes on")
	}
	t.Logf("after %v", time.Since(begun).Round(time.Millisecond))
	calls := map[string]error{"Err": d.Err(), "Start": d.Start()}
	calls["Tell"] = d.ledger.Tell(context.Background(), "x", entryOf{Number: 2})
	_, calls["Ask"] = Ask[int](context.Background(), d.ledger.To("x", entryOf{Number: 2}))
	for call, err := range calls {
		require.ErrorIs(t, err, ErrGone, call)
		for _, name := range names {
			require.ErrorContains(t, err, name, call)
		}
	}
	require.NoError(t, d.Leave(within(t, 10*time.Second)))
}

// An operator deletes the stream, or a bucket: the node fails, and another Join makes it again.
// What it had is lost, and nothing else.
func TestAStreamThatIsDeleted(t *testing.T) {
	for _, c := range []struct {
		stream, says string
		next         int // number of the next message that the key expects
	}{
		{"coro-messages", "stream coro-messages", 2},
		{"KV_coro-members", "bucket coro-members", 3}, // d.age has sent one
		{"KV_coro-states", "bucket coro-states", 1},
	} {
		t.Run(c.stream, func(t *testing.T) {
			t.Parallel()
			d := newDeserted(t, Options{})
			if c.stream == "KV_coro-members" {
				d.age(t)
			}
			token := d.held(partitionOf("ledger", "x", 2)).token
			begun := time.Now()
			require.NoError(t, d.js.DeleteStream(within(t, 10*time.Second), c.stream))
			d.requireGone(t, begun, c.says)
			d.join(t)
			d.ask(t, c.next)
			require.Greater(t, d.held(partitionOf("ledger", "x", 2)).token, token)
			require.Equal(t, fmt.Sprintf(`{"Last":%d,"Handled":%d,"Disordered":0}`, c.next, c.next),
				stateOf(t, d.Node, "x"))
		})
	}
}

// A sender is told of it before its node has found it.
func TestTellWhereTheStreamIsDeleted(t *testing.T) {
	d := newDeserted(t, Options{})
	o := d.o
	o.TTL = time.Minute
	sender := join(t, Over(connect(t, d.server.ClientURL())), o)
	k, err := ledger(sender)
	require.NoError(t, err)
	require.NoError(t, d.js.DeleteStream(within(t, 10*time.Second), "coro-messages"))
	err = k.Tell(within(t, 3*time.Second), "x", entryOf{Number: 2})
	require.ErrorIs(t, err, ErrGone)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, sender.Err())
}

// A stream that another node has made again meanwhile is not the one whose messages were accepted.
func TestAStreamThatIsMadeAnew(t *testing.T) {
	d := newDeserted(t, Options{})
	ctx := within(t, 20*time.Second)
	s, err := d.js.Stream(ctx, "coro-messages")
	require.NoError(t, err)
	begun := time.Now()
	require.NoError(t, d.js.DeleteStream(ctx, "coro-messages"))
	_, err = d.js.CreateStream(ctx, s.CachedInfo().Config)
	require.NoError(t, err)
	d.requireGone(t, begun, "stream coro-messages", "made again")
}

// A server that keeps all in memory is restarted: all is gone. Where it keeps files nothing is.
func TestAServerThatIsRestarted(t *testing.T) {
	for _, memory := range []bool{true, false} {
		t.Run(fmt.Sprint("memory: ", memory), func(t *testing.T) {
			t.Parallel()
			d := newDeserted(t, Options{Memory: memory})
			sender := join(t, Over(connect(t, d.server.ClientURL())), d.o)
			d.server.Shutdown()
			d.server.WaitForShutdown()
			time.Sleep(3 * d.o.TTL) // a server that is away is no reason
			require.NoError(t, d.Err())
			begun := time.Now()
			d.server = serve(t, d.config)
			if !memory {
				d.ask(t, 2)
				time.Sleep(2 * d.o.TTL)
				require.NoError(t, d.Err())
				require.NoError(t, d.Leave(within(t, 10*time.Second))) // while the server is there
				require.NoError(t, sender.Leave(within(t, 10*time.Second)))
				return
			}
			d.requireGone(t, begun, "stream coro-messages", "bucket coro-members",
				"bucket coro-states")
			<-sender.Done() // what it was told to be accepted is lost
			require.ErrorIs(t, sender.Err(), ErrGone)
			d.join(t)
			d.ask(t, 1)
			require.NoError(t, d.Leave(within(t, 10*time.Second)))
		})
	}
}
