package nats

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A cluster is three node processes, each behind a proxy, a server process, and a node of the test
// that only sends.
type cluster struct {
	server  *process
	nodes   []*process
	proxies []*proxy
	sender  *Node
	ledger  *Kind[line, entryOf]
	audit   *auditor
	conn    *natsgo.Conn // past the proxies
}

func newCluster(t *testing.T) *cluster {
	server := serverConfig{Dir: t.TempDir(), Port: freePorts(t, 1)[0]}
	process := server.process(t)
	o := chaosOptions
	o.Log = logTo(t)
	c := newSender(t, server.url(), o)
	c.server = process
	for i := range 3 {
		c.proxies = append(c.proxies, newProxy(t, server.address()))
		c.nodes = append(c.nodes, newProcess(t, "node", "CORO_NATS_TEST_URL="+c.proxies[i].url(),
			fmt.Sprintf("CORO_NATS_TEST_NAME=n%d", i)))
	}
	return c
}

// newSender is a cluster that has only the node that sends, as yet.
func newSender(t *testing.T, url string, o Options) *cluster {
	c := &cluster{sender: join(t, Over(connect(t, url)), o), conn: connect(t, url)}
	var err error
	c.ledger, err = ledger(c.sender)
	require.NoError(t, err)
	keepHistory(t, c.conn)
	c.audit = newAuditor(c.sender)
	return c
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

// send sends `each` messages to each key, those of a key in order, by 32 senders, at most `rate` a
// second (0: as they can). One of 20 is asked.
func (c *cluster) send(t *testing.T, keys, from, each, rate int) (tells, asks *times) {
	tells, asks = &times{}, &times{}
	ctx := within(t, 8*time.Minute)
	var senders sync.WaitGroup
	var failed atomic.Pointer[error]
	start, sent := time.Now(), atomic.Int64{}
	for s := range 32 {
		senders.Go(func() {
			for number := from + 1; number <= from+each; number++ {
				for k := s; k < keys && failed.Load() == nil; k += 32 {
					if n := sent.Add(1); rate > 0 {
						time.Sleep(time.Until(start.Add(time.Duration(n) * time.Second / time.Duration(rate))))
					}
					m := entryOf{number, rand.IntN(200) == 0}
					begun := time.Now()
					if rand.IntN(20) > 0 {
						if err := c.ledger.Tell(ctx, fmt.Sprint(k), m); err != nil {
							failed.Store(&err)
						}
						tells.add(time.Since(begun))
						continue
					}
					wait, cancel := context.WithTimeout(ctx, 5*time.Second)
					got, err := Ask[int](wait, c.ledger.To(fmt.Sprint(k), m, ID(fmt.Sprint(number))))
					cancel()
					if err != nil { // it may not be stored: the id has it counted once
						if err := c.ledger.Tell(ctx, fmt.Sprint(k), m, ID(fmt.Sprint(number))); err != nil {
							failed.Store(&err)
						}
					} else if got != number {
						err := fmt.Errorf("answer %d of %d", got, number)
						failed.Store(&err)
					}
					asks.add(time.Since(begun))
				}
			}
		})
	}
	senders.Wait()
	if err := failed.Load(); err != nil {
		require.NoError(t, *err)
	}
	return tells, asks
}

// settle waits until everything is handled.
func (c *cluster) settle(t *testing.T, keys, each int) {
	if !assert.Eventually(t, func() bool { return c.audit.lag(keys, each) == 0 }, 90*time.Second,
		10*time.Millisecond) {
		t.Errorf("%d messages are not handled", c.audit.lag(keys, each))
	}
}

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
		what := []string{"kill", "leave", "stall", "cut", "stop", "slow", "server"}[rand.IntN(7)]
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
		}
		pause(ms(100, 1000))
	}
}

// TestNothingIsLost sends messages, 20 000 of them or CORO_TEST_SCALE times as many, to 1000 keys,
// while nodes and the server are killed, cut off, stopped and slowed at random.
func TestNothingIsLost(t *testing.T) {
	if testing.Short() {
		t.Skip("some 20 s")
	}
	const keys = 1000
	each := max(1, counted(20_000)/keys)
	c := newCluster(t)
	stop, stopped, counts := make(chan struct{}), make(chan struct{}), map[string]int{}
	go func() {
		defer close(stopped)
		c.chaos(t, stop, counts)
	}()
	end := sync.OnceFunc(func() { close(stop); <-stopped })
	defer end()
	begun := time.Now()
	tells, asks := c.send(t, keys, 0, each, 1000)
	end()
	sent := time.Since(begun)
	c.settle(t, keys, each)
	h := readHistory(t, c.conn)
	h.requireSound(t, keys, each)
	var faults []string
	for what, n := range counts {
		faults = append(faults, fmt.Sprintf("%s %d", what, n))
	}
	slices.Sort(faults)
	t.Logf("%d messages to %d keys; sent in %v, handled in %v; %d snapshots by %d owners; faults: %s",
		keys*each, keys, sent.Round(time.Millisecond), time.Since(begun).Round(time.Millisecond),
		h.audit.writes, len(h.audit.tokens), strings.Join(faults, ", "))
	t.Logf("tell: %v; ask: %v", tells, asks)
}

// TestThroughput is the same without faults, for its figures.
func TestThroughput(t *testing.T) {
	if testing.Short() {
		t.Skip("some 10 s")
	}
	const keys = 1000
	each := max(1, counted(10_000)/keys)
	c := newCluster(t)
	c.send(t, keys, 0, 1, 0)
	c.settle(t, keys, 1)
	begun := time.Now()
	tells, asks := c.send(t, keys, 1, each, 0)
	sent := time.Since(begun)
	c.settle(t, keys, 1+each)
	all := time.Since(begun)
	readHistory(t, c.conn).requireSound(t, keys, 1+each)
	t.Logf("%d messages: sent in %v (%.0f a second), handled in %v (%.0f a second), by 32 senders",
		keys*each, sent.Round(time.Millisecond), float64(keys*each)/sent.Seconds(),
		all.Round(time.Millisecond), float64(keys*each)/all.Seconds())
	t.Logf("tell: %v; ask: %v", tells, asks)
	alone := &times{}
	for i := range 300 {
		begun := time.Now()
		_, err := Ask[int](within(t, 10*time.Second), c.ledger.To(fmt.Sprint(i), entryOf{Number: 2 + each}))
		require.NoError(t, err)
		alone.add(time.Since(begun))
	}
	t.Logf("one ask at a time: %v", alone)
}
