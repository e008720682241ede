package nats

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// A cutOffNode is a node of one partition, behind a proxy, with a TTL that does not end in a test.
type cutOffNode struct {
	*Node
	server   *server.Server
	proxy    *proxy
	ledger   *Kind[line, entryOf]
	messages jetstream.Stream // past the proxy
	clients  int              // that are connected past it
}

func newCutOffNode(t *testing.T) *cutOffNode {
	s := serve(t, serverOptions(t.TempDir(), -1))
	c := &cutOffNode{server: s, proxy: newProxy(t, s.Addr().String())}
	c.Node = join(t, Over(connect(t, c.proxy.url())), Options{Partitions: 1, TTL: time.Minute})
	var err error
	c.ledger, err = ledger(c.Node)
	require.NoError(t, err)
	require.NoError(t, c.Start())
	js, err := jetstream.New(connect(t, s.ClientURL()))
	require.NoError(t, err)
	c.messages, err = js.Stream(within(t, 20*time.Second), "coro-messages")
	require.NoError(t, err)
	c.clients = 1
	return c
}

// cut ends the node's connection; the next one stalls.
func (c *cutOffNode) cut(t *testing.T) {
	c.proxy.stall(true)
	c.proxy.cut()
	require.Eventually(t, func() bool { return c.server.NumClients() == c.clients }, 10*time.Second,
		time.Millisecond)
}

func (c *cutOffNode) ask(ctx context.Context, t *testing.T, number int) {
	got, err := Ask[int](ctx, c.ledger.To("x", entryOf{Number: number}))
	require.NoError(t, err)
	require.Equal(t, number, got)
}

// consumer is the only one.
func (c *cutOffNode) consumer(ctx context.Context, t *testing.T) *jetstream.ConsumerInfo {
	var only *jetstream.ConsumerInfo
	for i := range c.messages.ListConsumers(ctx).Info() {
		require.Nil(t, only)
		only = i
	}
	require.NotNil(t, only)
	return only
}

// A consumer is deleted while its node is cut off, as by an old owner that comes late. The node,
// whose session lasts, finds that when it is connected again, and makes another.
func TestAConsumerThatGoesWhileTheNodeIsCutOff(t *testing.T) {
	c := newCutOffNode(t)
	ctx := within(t, 30*time.Second)
	c.ask(ctx, t, 1)
	c.cut(t)
	require.NoError(t, c.messages.DeleteConsumer(ctx, c.consumer(ctx, t).Name))
	c.proxy.stall(false)
	c.ask(ctx, t, 2)
}

// A server that was killed counts deliveries again that it has forgotten, and some of those that
// come then are lost: the next one has the number that the node expects, and must not overtake
// them.
func TestAConsumerThatHasForgotten(t *testing.T) {
	c := newCutOffNode(t)
	other := join(t, Over(connect(t, c.server.ClientURL())), Options{Partitions: 1, TTL: time.Minute})
	k, err := ledger(other)
	require.NoError(t, err)
	c.clients++
	ctx := within(t, 30*time.Second)
	c.ask(ctx, t, 1) // delivery 1
	c.cut(t)
	config := c.consumer(ctx, t).Config
	require.NoError(t, c.messages.DeleteConsumer(ctx, config.Durable))
	forgot, err := c.messages.CreateConsumer(ctx, config)
	require.NoError(t, err)
	require.NoError(t, k.Tell(ctx, "x", entryOf{Number: 2}))
	_, err = forgot.Next() // delivery 1, to nobody
	require.NoError(t, err)
	c.proxy.stall(false)
	c.ask(ctx, t, 3) // delivery 2
	require.JSONEq(t, `{"Last":3,"Handled":3,"Disordered":0}`, stateOf(t, other, "x"))
}
