package nats

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// chaos makes faults until stop is closed, and mends them.
func (c *cluster) chaos(t *testing.T, stop chan struct{}, counts map[string]int) {
	pause := func(d time.Duration) {
		select {
		case <-stop:
		case <-time.After(d):
		}
	}
	ms := func(least, most int) time.Duration {
		return time.Duration(least+rand.IntN(most-least)) * time.Millisecond
	}
	for {
		select {
		case <-stop:
			return
		default:
		}
		i := rand.IntN(len(c.nodes))
		n, p := c.nodes[i], c.proxies[i]
		what := []string{"kill", "leave", "stall", "cut", "stop", "slow", "server", "full"}[rand.IntN(8)]
		counts[what]++
		switch what {
		case "kill":
			n.kill()
			pause(ms(0, 3000))
			n.start(t)
		case "leave":
			n.signal(syscall.SIGTERM)
			_ = n.cmd.Wait()
			n.start(t)
		case "stall": // longer than the TTL, or shorter
			p.stall(true)
			pause(ms(200, 4000))
			p.stall(false)
		case "cut":
			p.cut()
		case "stop":
			n.signal(syscall.SIGSTOP)
			pause(ms(200, 4000))
			n.signal(syscall.SIGCONT)
		case "slow":
			for range 20 {
				n.signal(syscall.SIGSTOP)
				pause(ms(10, 60))
				n.signal(syscall.SIGCONT)
				pause(ms(1, 20))
			}
		case "server":
			c.server.kill()
			pause(ms(0, 1500))
			c.server.start(t)
		case "full":
			c.fill(stop)
			pause(ms(0, 2000))
			c.makeRoom()
		}
		pause(ms(100, 1000))
	}
}

// others is a stream that has nothing to do with the nodes, but takes room at the server.
const others = "others"

// fill fills the server's store, as another program could, until that refuses a message.
func (c *cluster) fill(stop chan struct{}) {
	js, err := jetstream.New(c.conn)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, err = js.CreateStream(ctx, jetstream.StreamConfig{Name: others})
	for some := make([]byte, 500_000); err == nil; {
		select {
		case <-stop:
			return
		default:
			_, err = js.Publish(ctx, others, some)
		}
	}
}

// makeRoom takes back what fill has done.
func (c *cluster) makeRoom() {
	js, err := jetstream.New(c.conn)
	for err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		gone := js.DeleteStream(ctx, others)
		cancel()
		if gone == nil || errors.Is(gone, jetstream.ErrStreamNotFound) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// graves is a stream that has the dead letters of the node processes: key and id.
const graves = "graves"

// bury makes the stream.
func (c *cluster) bury(t *testing.T) {
	js, err := jetstream.New(c.conn)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, err = js.CreateStream(ctx, jetstream.StreamConfig{Name: graves})
		return err == nil
	}, 20*time.Second, 10*time.Millisecond)
}

// buried is a hook that puts dead letters there, however long it takes.
func buried(conn *natsgo.Conn) func(DeadLetter) {
	js, err := jetstream.New(conn)
	if err != nil {
		die(err)
	}
	return func(d DeadLetter) {
		name := d.Key + " " + d.ID
		for done := false; !done; {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			_, err := js.Publish(ctx, graves, []byte(name))
			cancel()
			done = err == nil
		}
	}
}

// dead are the dead letters, each once.
func (c *cluster) dead(t *testing.T) map[string]bool {
	js, err := jetstream.New(c.conn)
	require.NoError(t, err)
	ctx := within(t, time.Minute)
	s, err := js.Stream(ctx, graves)
	require.NoError(t, err)
	all := map[string]bool{}
	from, err := s.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{})
	require.NoError(t, err)
	ms, err := from.Messages()
	require.NoError(t, err)
	defer ms.Stop()
	for range s.CachedInfo().State.Msgs {
		m, err := ms.Next(jetstream.NextContext(ctx))
		require.NoError(t, err)
		all[string(m.Data())] = true
	}
	return all
}

// loseAll starts the server with an empty store, while messages are sent. What was accepted may be
// lost: all nodes are told, as they fail, and name what is gone. Then the nodes join again.
func (c *cluster) loseAll(t *testing.T, keys int) {
	sent := make(chan error, 1)
	go func() {
		s := &sending{keys: keys, each: 1000, rate: 1000, poison: true}
		sent <- c.trySend(within(t, time.Minute), s)
	}()
	require.Eventually(t, func() bool {
		c.sender.mu.Lock()
		defer c.sender.mu.Unlock()
		return len(c.sender.view.serving()) == len(c.nodes)
	}, 30*time.Second, 10*time.Millisecond)
	require.Eventually(t, func() bool { return c.audit.lag(1, 1) == 0 }, 30*time.Second,
		10*time.Millisecond)
	c.server.kill()
	require.NoError(t, os.RemoveAll(c.config.Dir))
	c.server.start(t)
	c.bury(t) // as some nodes may be at a dead letter

	require.ErrorIs(t, <-sent, ErrGone)
	<-c.sender.Done()
	for _, name := range []string{"coro-messages", "coro-members", "coro-states"} {
		require.ErrorContains(t, c.sender.Err(), name)
	}
	for _, n := range c.nodes {
		_ = n.cmd.Wait()
		require.Equal(t, exitGone, n.cmd.ProcessState.ExitCode())
	}
	c.enter(t)
	js, err := jetstream.New(c.conn)
	require.NoError(t, err)
	require.NoError(t, js.DeleteStream(within(t, 10*time.Second), graves))
	c.bury(t)
	for _, n := range c.nodes {
		n.start(t)
	}
}

// TestNothingIsLost sends messages, 20 000 of them or CORO_TEST_SCALE times as many, to 1000 keys,
// while nodes and the server are killed, cut off, stopped and slowed at random, and the server's
// store is filled. One of 50 is poison. Each message that is accepted is handled, once, in order;
// or is a dead letter, if it is poison. Before that the server loses all, and the nodes say so.
func TestNothingIsLost(t *testing.T) {
	if testing.Short() {
		t.Skip("some 30 s")
	}
	const keys = 1000
	each := max(2, counted(20_000)/keys)
	o := chaosOptions
	o.MaxBytes = 64 << 10 // some hundred messages
	c := newCluster(t, serverConfig{MaxStore: 32<<20 + int64(each)*keys<<10}, o)
	c.loseAll(t, keys)
	stop, stopped, counts := make(chan struct{}), make(chan struct{}), map[string]int{}
	go func() {
		defer close(stopped)
		c.chaos(t, stop, counts)
	}()
	end := sync.OnceFunc(func() { close(stop); <-stopped })
	defer end()
	begun := time.Now()
	s := &sending{keys: keys, each: each, rate: 1000, poison: true}
	c.send(t, s)
	end()
	sent := time.Since(begun)
	c.settle(t, keys, each)
	h := readHistory(t, c.conn)
	h.requireSound(t, keys, each, c.skipped)
	require.Equal(t, c.poisons, c.dead(t))
	require.NotZero(t, s.refused.Load(), "the stream was never full")
	var faults []string
	for what, n := range counts {
		faults = append(faults, fmt.Sprintf("%s %d", what, n))
	}
	slices.Sort(faults)
	t.Logf("%d messages to %d keys; sent in %v, handled in %v; %d snapshots by %d owners; faults: %s",
		keys*each, keys, sent.Round(time.Millisecond), time.Since(begun).Round(time.Millisecond),
		h.audit.writes, len(h.audit.tokens), strings.Join(faults, ", "))
	t.Logf("%d dead letters; %d tries were refused, as there was no room", len(c.poisons), s.refused.Load())
	t.Logf("tell: %v; ask: %v", &s.tells, &s.asks)
}
