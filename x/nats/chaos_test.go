package nats

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A cluster is three node processes, each behind a proxy, a server process, and a node of the test
// that only sends.
type cluster struct {
	url     string
	o       Options // of the sender
	config  serverConfig
	server  *process
	nodes   []*process
	proxies []*proxy
	sender  *Node
	ledger  *Kind[line, entryOf]
	audit   *auditor
	conn    *natsgo.Conn // past the proxies

	mu      sync.Mutex
	poisons map[string]bool // messages that become dead letters: key and number
	skipped map[string]int  // their number, by key
}

func newCluster(t *testing.T, config serverConfig, o Options) *cluster {
	config.Dir, config.Port = t.TempDir(), freePorts(t, 1)[0]
	process := config.process(t)
	o.Log = logTo(t)
	c := newSender(t, config.url(), o)
	c.server, c.config = process, config
	c.bury(t)
	for i := range 3 {
		c.proxies = append(c.proxies, newProxy(t, config.address()))
		c.nodes = append(c.nodes, newProcess(t, "node", "CORO_NATS_TEST_URL="+c.proxies[i].url(),
			fmt.Sprintf("CORO_NATS_TEST_NAME=n%d", i)))
	}
	return c
}

// newSender is a cluster that has only the node that sends, as yet.
func newSender(t *testing.T, url string, o Options) *cluster {
	c := &cluster{url: url, o: o, conn: connect(t, url)}
	c.enter(t)
	return c
}

// enter has the node that sends join, where nothing was sent before.
func (c *cluster) enter(t *testing.T) {
	c.sender = join(t, Over(connect(t, c.url)), c.o)
	var err error
	c.ledger, err = ledger(c.sender)
	require.NoError(t, err)
	keepHistory(t, c.conn)
	c.audit = newAuditor(c.sender)
	c.poisons, c.skipped = map[string]bool{}, map[string]int{}
}

// times are how long calls took.
type times struct {
	mu sync.Mutex
	d  []time.Duration
}

func (l *times) add(d time.Duration) {
	l.mu.Lock()
	l.d = append(l.d, d)
	l.mu.Unlock()
}

func (l *times) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.d) == 0 {
		return "none"
	}
	slices.Sort(l.d)
	at := func(q float64) time.Duration {
		return l.d[int(q*float64(len(l.d)-1))].Round(10 * time.Microsecond)
	}
	return fmt.Sprintf("p50 %v, p99 %v, max %v (of %d)", at(.5), at(.99), at(1), len(l.d))
}

// A sending is `each` messages to each key, those of a key in order, from number from+1 on, by 32
// senders, at most `rate` a second (0: as they can). One of 20 is asked. The number is the id.
type sending struct {
	keys, from, each, rate int
	poison                 bool // among the messages
	tells, asks            times
	refused                atomic.Int64 // tries, as there was no room
}

func (c *cluster) send(t *testing.T, s *sending) {
	require.NoError(t, c.trySend(within(t, 8*time.Minute), s))
}

func (c *cluster) trySend(ctx context.Context, s *sending) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var senders sync.WaitGroup
	start, sent := time.Now(), atomic.Int64{}
	for first := range 32 {
		senders.Go(func() {
			skips := make([]int, s.keys)
			for number := s.from + 1; number <= s.from+s.each; number++ {
				for k := first; k < s.keys && ctx.Err() == nil; k += 32 {
					if n := sent.Add(1); s.rate > 0 {
						at := time.Duration(n) * time.Second / time.Duration(s.rate)
						time.Sleep(time.Until(start.Add(at)))
					}
					m := entryOf{Number: number, Slow: rand.IntN(200) == 0, Skips: skips[k]}
					skips[k] = 0
					if s.poison && number < s.from+s.each && rand.IntN(50) == 0 {
						m.Poison = poisonWays[rand.IntN(len(poisonWays))]
						skips[k] = m.Skips + 1
						c.notePoison(fmt.Sprint(k), number)
					}
					if err := c.sendOne(ctx, s, fmt.Sprint(k), m); err != nil {
						cancel(fmt.Errorf("message %+v: %w", m, err))
					}
				}
			}
		})
	}
	senders.Wait()
	return context.Cause(ctx)
}

// sendOne sends a message until it is accepted.
func (c *cluster) sendOne(ctx context.Context, s *sending, key string, m entryOf) error {
	begun, took := time.Now(), &s.tells
	defer func() { took.add(time.Since(begun)) }()
	id := ID(fmt.Sprint(m.Number))
	if rand.IntN(20) == 0 {
		took = &s.asks
		wait, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		switch got, err := Ask[int](wait, c.ledger.To(key, m, id)); {
		case err == nil && got == m.Number, errors.Is(err, ErrDead) && m.Poison != "":
			return nil
		case err == nil, errors.Is(err, ErrDead):
			return fmt.Errorf("answer %d, %w", got, err)
		} // else it may not be stored
	}
	for {
		err := c.ledger.Tell(ctx, key, m, id)
		if !errors.Is(err, ErrFull) {
			return err
		}
		s.refused.Add(1)
		time.Sleep(10 * time.Millisecond)
	}
}

func (c *cluster) notePoison(key string, number int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.poisons[fmt.Sprint(key, " ", number)] = true
	c.skipped[key]++
}

// settle waits until everything is handled.
func (c *cluster) settle(t *testing.T, keys, each int) {
	if !assert.Eventually(t, func() bool { return c.audit.lag(keys, each) == 0 }, 90*time.Second,
		10*time.Millisecond) {
		t.Errorf("%d messages are not handled", c.audit.lag(keys, each))
	}
}

// TestThroughput is the same without faults, for its figures.
func TestThroughput(t *testing.T) {
	if testing.Short() {
		t.Skip("some 10 s")
	}
	const keys = 1000
	each := max(1, counted(10_000)/keys)
	c := newCluster(t, serverConfig{}, chaosOptions)
	c.send(t, &sending{keys: keys, each: 1})
	c.settle(t, keys, 1)
	begun := time.Now()
	s := &sending{keys: keys, from: 1, each: each}
	c.send(t, s)
	sent := time.Since(begun)
	c.settle(t, keys, 1+each)
	all := time.Since(begun)
	readHistory(t, c.conn).requireSound(t, keys, 1+each, c.skipped)
	t.Logf("%d messages: sent in %v (%.0f a second), handled in %v (%.0f a second), by 32 senders",
		keys*each, sent.Round(time.Millisecond), float64(keys*each)/sent.Seconds(),
		all.Round(time.Millisecond), float64(keys*each)/all.Seconds())
	t.Logf("tell: %v; ask: %v", &s.tells, &s.asks)
	alone := &times{}
	for i := range 300 {
		begun := time.Now()
		_, err := Ask[int](within(t, 10*time.Second), c.ledger.To(fmt.Sprint(i), entryOf{Number: 2 + each}))
		require.NoError(t, err)
		alone.add(time.Since(begun))
	}
	t.Logf("one ask at a time: %v", alone)
}
