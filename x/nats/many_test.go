package nats

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The default number of partitions: how long it takes to take them, and to move a third.
func TestManyPartitions(t *testing.T) {
	if testing.Short() {
		t.Skip("some 10 s")
	}
	s := serve(t, serverOptions(t.TempDir(), -1))
	var nodes []*Node
	for i := range 3 {
		begun := time.Now()
		n := join(t, Over(connect(t, s.ClientURL())), Options{Partitions: 1024, TTL: 10 * time.Second})
		bank(t, n)
		require.NoError(t, n.Start())
		nodes = append(nodes, n)
		require.Eventually(t, func() bool {
			sum := 0
			for _, n := range nodes {
				sum += len(n.Partitions())
			}
			return sum == 1024 && len(n.Partitions()) > 250
		}, time.Minute, 10*time.Millisecond)
		t.Logf("node %d: its %d of 1024 partitions after %v", i+1, len(n.Partitions()),
			time.Since(begun).Round(10*time.Millisecond))
	}
	begun := time.Now()
	require.NoError(t, nodes[0].Leave(within(t, time.Minute)))
	require.Eventually(t, func() bool {
		return len(nodes[1].Partitions())+len(nodes[2].Partitions()) == 1024
	}, time.Minute, 10*time.Millisecond)
	t.Logf("one leaves: its partitions are the others' after %v", time.Since(begun).Round(10*time.Millisecond))
}
