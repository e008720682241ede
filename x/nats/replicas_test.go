package nats

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// A trio is three servers of this process that are one cluster.
type trio struct {
	options [3]*server.Options
	servers [3]*server.Server
	urls    string // of all three
}

func newTrio(t *testing.T) *trio {
	c := &trio{}
	ports := freePorts(t, 6)
	var urls, routes []string
	for i := range c.options {
		o := serverOptions(t.TempDir(), ports[i])
		o.ServerName = fmt.Sprintf("s%d", i)
		o.Cluster = server.ClusterOpts{Name: "trio", Host: o.Host, Port: ports[3+i]}
		urls = append(urls, fmt.Sprintf("nats://%s:%d", o.Host, o.Port))
		routes = append(routes, fmt.Sprintf("nats://%s:%d", o.Host, o.Cluster.Port))
		c.options[i] = o
	}
	c.urls = strings.Join(urls, ",")
	for i, o := range c.options {
		o.Routes = server.RoutesFromStr(strings.Join(routes, ","))
		c.start(t, i)
	}
	c.settle(t)
	return c
}

func (c *trio) start(t *testing.T, i int) { c.servers[i] = serve(t, c.options[i].Clone()) }

// settle waits until all three know each other, and have what the others have.
func (c *trio) settle(t *testing.T) {
	require.Eventually(t, func() bool {
		peers := 0
		for _, s := range c.servers {
			if s.Healthz(&server.HealthzOptions{}).Status != "ok" {
				return false
			}
			peers = max(peers, len(s.JetStreamClusterPeers())) // the leader has them
		}
		return peers == len(c.servers)
	}, time.Minute, 10*time.Millisecond)
}

// leader waits until a server leads the stream.
func (c *trio) leader(t *testing.T, stream string) (leader int) {
	require.Eventually(t, func() bool {
		for i, s := range c.servers {
			if s.JetStreamIsStreamLeader(server.DEFAULT_GLOBAL_ACCOUNT, stream) {
				leader = i
				return true
			}
		}
		return false
	}, time.Minute, 10*time.Millisecond)
	return leader
}

// restart shuts the server down that leads the stream, and starts it again with what it has stored,
// as soon as another leads.
func (c *trio) restart(t *testing.T, stream string) {
	i := c.leader(t, stream)
	c.servers[i].Shutdown()
	c.servers[i].WaitForShutdown()
	c.leader(t, stream)
	c.start(t, i)
	c.settle(t)
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

// TestReplicas sends messages while a server is shut down and started again, three times: the one
// that leads the stream of messages, then that of each bucket.
func TestReplicas(t *testing.T) {
	const keys, round = 100, 5
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
	c.send(t, keys, 0, round, 0)
	each := round // of each key
	restarted := make(chan struct{})
	go func() {
		defer close(restarted)
		for _, stream := range []string{"coro-messages", "KV_coro-members", "KV_coro-states"} {
			servers.restart(t, stream)
		}
	}()
	for goesOn := true; goesOn; each += round {
		select {
		case <-restarted:
			goesOn = false
		default:
		}
		c.send(t, keys, each, round, 400)
	}
	c.settle(t, keys, each)
	h := readHistory(t, c.conn)
	h.requireSound(t, keys, each)
	t.Logf("%d messages to %d keys; %d snapshots by %d owners", keys*each, keys, h.audit.writes,
		len(h.audit.tokens))
	for _, n := range append(nodes, c.sender) { // while the servers are there
		require.NoError(t, n.Leave(within(t, time.Minute)))
	}
}
