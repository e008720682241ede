package nats

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// A trio is three server processes that are one cluster.
type trio struct {
	servers map[string]*process
	urls    string // of all three
}

var replicated = []string{"coro-messages", "KV_coro-members", "KV_coro-states"}

func newTrio(t *testing.T) *trio {
	c := &trio{servers: map[string]*process{}}
	ports := freePorts(t, 6)
	var urls, routes []string
	for _, port := range ports[3:] {
		routes = append(routes, serverConfig{Port: port}.url())
	}
	for i := range 3 {
		config := serverConfig{Dir: t.TempDir(), Port: ports[i], Name: fmt.Sprintf("s%d", i),
			ClusterPort: ports[3+i], Routes: strings.Join(routes, ",")}
		urls = append(urls, config.url())
		c.servers[config.Name] = config.process(t)
	}
	c.urls = strings.Join(urls, ",")
	return c
}

// infoOf is what the server that leads a stream says of the stream's replicas, nil if none leads.
func infoOf(t *testing.T, conn *natsgo.Conn, stream string) *jetstream.ClusterInfo {
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	s, err := js.Stream(ctx, stream)
	if err != nil || s.CachedInfo().Cluster.Leader == "" {
		return nil
	}
	return s.CachedInfo().Cluster
}

// leader waits until a server leads the stream that is another one.
func (c *trio) leader(t *testing.T, conn *natsgo.Conn, stream, another string) (name string) {
	require.Eventually(t, func() bool {
		if info := infoOf(t, conn, stream); info != nil && info.Leader != another {
			name = info.Leader
		}
		return name != ""
	}, time.Minute, 10*time.Millisecond)
	return name
}

// settle waits until all three servers have what the others have.
func (c *trio) settle(t *testing.T, conn *natsgo.Conn) {
	require.Eventually(t, func() bool {
		for _, stream := range replicated {
			info := infoOf(t, conn, stream)
			if info == nil || len(info.Replicas) != len(c.servers)-1 {
				return false
			}
			for _, r := range info.Replicas {
				if r.Offline || !r.Current {
					return false
				}
			}
		}
		return true
	}, time.Minute, 50*time.Millisecond)
}

// requireReadAtLeader checks that only the leader answers for a bucket: another replica may not
// have the last puts yet. A node that takes a partition would then begin with an old state,
// which an Unchanged turn answers from.
func requireReadAtLeader(t *testing.T, conn *natsgo.Conn) {
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	for _, b := range []bucket{members, states} {
		s, err := js.Stream(within(t, 20*time.Second), "KV_coro-"+string(b))
		require.NoError(t, err)
		require.Equal(t, 3, s.CachedInfo().Config.Replicas)
		require.False(t, s.CachedInfo().Config.AllowDirect, b)
	}
}

// depose has the server that leads the stream away until another leads.
func (c *trio) depose(t *testing.T, conn *natsgo.Conn, stream string, away, back func(*process)) {
	name := c.leader(t, conn, stream, "")
	away(c.servers[name])
	c.leader(t, conn, stream, name)
	back(c.servers[name])
	c.settle(t, conn)
}

// TestReplicas sends messages while the server is killed that leads a stream, that of messages,
// then that of each bucket, and is started again when another leads. Then each leader is stopped
// for as long, and goes on as one that does not know that it leads no more. In the end two of the
// three servers are killed, so that none can lead: senders are told, and go on when the servers are
// back. If the test is to be short one leader is killed, and stopped.
func TestReplicas(t *testing.T) {
	const keys, round = 100, 5
	led := replicated
	if testing.Short() { // less than a minute, else two
		led = led[2:]
	}
	servers := newTrio(t)
	o := chaosOptions
	o.Replicas = len(servers.servers)
	o.Log = logTo(t)
	c := newSender(t, servers.urls, o)
	requireReadAtLeader(t, c.conn)
	var nodes []*Node
	for range 3 {
		n := join(t, Over(connect(t, servers.urls)), o)
		_, err := ledger(n)
		require.NoError(t, err)
		require.NoError(t, n.Start())
		nodes = append(nodes, n)
	}
	c.send(t, &sending{keys: keys, each: round})
	each := round // of each key
	restarted := make(chan struct{})
	go func() {
		defer close(restarted)
		for _, stream := range led {
			servers.depose(t, c.conn, stream, (*process).kill, func(s *process) { s.start(t) })
		}
		for _, stream := range led {
			servers.depose(t, c.conn, stream,
				func(s *process) { s.signal(syscall.SIGSTOP) }, func(s *process) { s.signal(syscall.SIGCONT) })
		}
	}()
	for goesOn := true; goesOn; each += round {
		select {
		case <-restarted:
			goesOn = false
		default:
		}
		c.send(t, &sending{keys: keys, from: each, each: round, rate: 400})
	}
	c.settle(t, keys, each)

	h := readHistory(t, c.conn)
	h.requireSound(t, keys, each, c.skipped)
	t.Logf("%d messages to %d keys; %d snapshots by %d owners", keys*each, keys, h.audit.writes,
		len(h.audit.tokens))

	if !testing.Short() {
		killMost(t, servers, c, o, each)
	}
	for _, n := range append(nodes, c.sender) { // while the servers are there
		require.NoError(t, n.Leave(within(t, time.Minute)))
	}
}

// killMost kills two of the servers at once: these may have stored what the third has not. Each key
// has had that many messages.
func killMost(t *testing.T, servers *trio, c *cluster, o Options, each int) {
	two := []string{"s0", "s1"}
	for _, name := range two {
		servers.servers[name].kill()
	}
	last := entryOf{Number: each + 1}
	require.ErrorIs(t, c.ledger.Tell(within(t, 3*time.Second), "0", last, ID("last")), ErrUnavailable)
	_, err := Join(within(t, 3*time.Second), Over(connect(t, servers.urls)), o)
	require.ErrorIs(t, err, ErrUnavailable)
	for _, name := range two {
		servers.servers[name].start(t)
	}
	require.NoError(t, c.ledger.Tell(within(t, time.Minute), "0", last, ID("last")))
	require.Eventually(t, func() bool { return c.audit.lag(1, each+1) == 0 }, time.Minute, 10*time.Millisecond)
}
