package nats

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var errFault = fmt.Errorf("%w: fault of a test", ErrUnavailable)

// Each operation of the transport fails now and then, before or after it is done; acks are lost.
func TestRandomFaults(t *testing.T) {
	const keys, each = 40, 50
	hub := Loopback().(*loopback)
	var faulty atomic.Bool
	hub.fault = func(op, of string) (bool, error) {
		if !faulty.Load() || op == "watch" || rand.IntN(10) > 0 {
			return false, nil
		}
		return rand.IntN(2) == 0, errFault
	}
	o := Options{TTL: 300 * time.Millisecond, Idle: 5 * time.Millisecond, Room: 16}
	sender := join(t, hub, o)
	k, err := ledger(sender)
	require.NoError(t, err)
	a := newAuditor(sender)
	a.watch(t)
	for range 3 {
		n := join(t, hub, o)
		_, err := ledger(n)
		require.NoError(t, err)
		require.NoError(t, n.Start())
	}
	faulty.Store(true)
	var senders sync.WaitGroup
	for i := range keys {
		senders.Go(func() {
			for number := range each {
				if err := k.Tell(within(t, time.Minute), fmt.Sprint(i), entryOf{Number: number + 1}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	senders.Wait()
	time.AfterFunc(time.Second, func() { faulty.Store(false) })
	require.Eventually(t, func() bool { return a.lag(keys, each) == 0 }, time.Minute, time.Millisecond)
	a.mu.Lock()
	defer a.mu.Unlock()
	require.Empty(t, a.wrong)
}

// cutOff has a node's own calls of the transport fail.
type cutOff struct {
	Transport
	off atomic.Bool
}

type cutLink struct {
	link
	c *cutOff
}

type cutStore struct {
	store
	c *cutOff
}

func (c *cutOff) open(ctx context.Context, o *Options) (link, error) {
	l, err := c.Transport.open(ctx, o)
	return cutLink{l, c}, err
}

func (l cutLink) store(b bucket) store { return cutStore{l.link.store(b), l.c} }

func (s cutStore) put(ctx context.Context, key string, v []byte, r uint64) (uint64, error) {
	if s.c.off.Load() {
		return 0, errFault
	}
	return s.store.put(ctx, key, v, r)
}

// An owner is cut off while its handler works, and another node takes over. Later the old owner
// gets its connection back, and comes to write: it is refused. The effects count once.
func TestAnOldOwnerIsRefused(t *testing.T) {
	for _, wrote := range []bool{false, true} { // the new owner, by then
		t.Run(fmt.Sprint("new owner wrote: ", wrote), func(t *testing.T) {
			hub := Loopback()
			ctx := within(t, 30*time.Second)
			cut := &cutOff{Transport: hub}
			begun, goesOn := make(chan string, 10), make(chan struct{})
			define := func(n *Node, waits func(name string)) *Kind[line, entryOf] {
				k, err := Define(n, "ledger", func(c *Turn[line], m entryOf) error {
					c.State.Last, c.State.Handled = m.Number, c.State.Handled+1
					waits(n.Name())
					c.Answer(int(c.Token()))
					return nil
				})
				require.NoError(t, err)
				return k
			}
			o := Options{TTL: 200 * time.Millisecond, Name: "old", Partitions: 1}
			old := join(t, cut, o)
			var once atomic.Bool // it may be the owner again
			k := define(old, func(name string) {
				if !once.Swap(true) {
					begun <- name
					<-goesOn
				}
			})
			require.NoError(t, old.Start())
			require.NoError(t, k.Tell(ctx, "x", entryOf{Number: 1}))
			require.Equal(t, "old", <-begun)
			old.mu.Lock()
			h := old.holds[0]
			old.mu.Unlock()
			cut.off.Store(true)
			held := make(chan struct{})
			o.Name = "new"
			other := join(t, hub, o)
			k1 := define(other, func(name string) { begun <- name; <-held })
			require.NoError(t, other.Start())
			require.Equal(t, "new", <-begun) // the same message
			write := func() error {          // as the old owner's activation would, had it not heard
				cut.off.Store(false)
				s := snapshot{token: h.token, seq: 1, at: time.Now().UnixNano(),
					state: []byte(`{"Last":1,"Handled":1,"Disordered":0}`)}
				s.ids = nil
				_, err := old.link.store(states).put(ctx, snapshotKey("ledger", "x"), s.encode(), 0)
				return err
			}
			if !wrote { // the old owner writes first: the new one finds its token, and goes on from there
				require.NoError(t, write())
			}
			close(held)
			token, err := Ask[int](ctx, k1.To("x", entryOf{Number: 2}))
			require.NoError(t, err)
			require.Greater(t, uint64(token), h.token)
			if wrote {
				require.ErrorIs(t, write(), errRevision)
			}
			close(goesOn)
			require.Eventually(t, func() bool { return old.alive() }, 10*time.Second, time.Millisecond)
			e, err := other.link.store(states).get(ctx, snapshotKey("ledger", "x"))
			require.NoError(t, err)
			s, err := decodeSnapshot(e.value)
			require.NoError(t, err)
			require.EqualValues(t, token, s.token)
			var l line
			require.NoError(t, json.Unmarshal(s.state, &l))
			require.Equal(t, line{Last: 2, Handled: 2}, l)
		})
	}
}

// An old owner that loads what a new one has written stops.
func TestALowerTokenLoadsNothing(t *testing.T) {
	n := join(t, Loopback(), Options{Partitions: 1})
	k := bank(t, n)
	ctx := within(t, 20*time.Second)
	s := snapshot{token: 1000, state: []byte(`{}`)}
	_, err := n.link.store(states).put(ctx, snapshotKey("account", "x"), s.encode(), 0)
	require.NoError(t, err)
	a := &activation[account, move]{k: k, h: &hold{n: n, token: 999, ctx: ctx}, key: "x"}
	require.ErrorIs(t, a.load(), errDeposed)
	a.h.token = 1000
	require.NoError(t, a.load())
}

// A batch that came while the session was over is left out. If the session is renewed after all,
// later messages must not overtake the batch.
func TestABatchThatIsLeftOut(t *testing.T) {
	n := join(t, Loopback(), Options{Partitions: 1, TTL: 20 * time.Second})
	k, err := ledger(n)
	require.NoError(t, err)
	require.NoError(t, n.Start())
	ctx := within(t, 30*time.Second)
	_, err = Ask[int](ctx, k.To("x", entryOf{Number: 1}))
	require.NoError(t, err)
	n.mu.Lock()
	h, until := n.holds[0], n.until
	n.until = time.Time{}
	n.mu.Unlock()
	require.NoError(t, k.Tell(ctx, "x", entryOf{Number: 2}))
	require.Eventually(t, func() bool { return h.lost.Load() }, 5*time.Second, time.Millisecond)
	n.mu.Lock()
	n.until = until
	n.mu.Unlock()
	n.wake()
	_, err = Ask[int](ctx, k.To("x", entryOf{Number: 3}))
	require.NoError(t, err)
	e, err := n.link.store(states).get(ctx, snapshotKey("ledger", "x"))
	require.NoError(t, err)
	s, err := decodeSnapshot(e.value)
	require.NoError(t, err)
	require.JSONEq(t, `{"Last":3,"Handled":3,"Disordered":0}`, string(s.state))
}

// Deliveries with a gap: none of a key overtakes one that was lost on its way.
func TestADeliveryThatIsLost(t *testing.T) {
	hub := &lossy{Transport: Loopback()}
	hub.each.Store(7)
	n := join(t, hub, Options{Partitions: 2, Room: 5, TTL: 200 * time.Millisecond})
	k, err := ledger(n)
	require.NoError(t, err)
	a := newAuditor(n)
	a.watch(t)
	require.NoError(t, n.Start())
	for i := range 100 {
		require.NoError(t, k.Tell(within(t, 20*time.Second), fmt.Sprint(i%3), entryOf{Number: 1 + i/3}))
	}
	require.Eventually(t, func() bool { return a.lag(1, 34) == 0 }, 20*time.Second, time.Millisecond)
	a.mu.Lock()
	defer a.mu.Unlock()
	require.Empty(t, a.wrong)
	require.Greater(t, len(a.tokens), 2)
}

// lossy loses one delivery of each n.
type lossy struct {
	Transport
	each atomic.Int64
	n    atomic.Int64
}

type lossyLink struct {
	link
	l *lossy
}

func (l *lossy) open(ctx context.Context, o *Options) (link, error) {
	k, err := l.Transport.open(ctx, o)
	return lossyLink{k, l}, err
}

func (k lossyLink) consume(ctx context.Context, p int, token uint64, room int, deliver func(*delivery),
	lost func(error)) (consumer, error) {
	return k.link.consume(ctx, p, token, room, func(d *delivery) {
		if k.l.n.Add(1)%k.l.each.Load() != 0 {
			deliver(d)
		}
	}, lost)
}

func TestPartitionsAreSpreadAndStay(t *testing.T) {
	nodes := strings.Fields("a b c d e")
	owned, moved := map[string]int{}, 0
	for p := range 1024 {
		o := ownerOf(fmt.Sprint(p), nodes)
		owned[o]++
		if less := ownerOf(fmt.Sprint(p), nodes[:4]); o != "e" {
			require.Equal(t, o, less)
		} else {
			moved++
		}
	}
	for _, n := range nodes {
		require.InDelta(t, 1024/5, owned[n], 60)
	}
	require.Equal(t, owned["e"], moved)
	require.Empty(t, ownerOf("1", nil))
	require.Equal(t, 783, partitionOf("account", "7", 1024)) // for ever
	used := map[int]int{}
	for i := range 100_000 {
		used[partitionOf("account", fmt.Sprint(i), 1024)]++
	}
	require.Len(t, used, 1024)
}

func TestSnapshotsKeepAWindowOfIDs(t *testing.T) {
	var s snapshot
	at := time.Now()
	d := func(seq uint64, id string) *delivery {
		return &delivery{message: message{id: id}, seq: seq, time: at.Add(time.Duration(seq))}
	}
	for i := range uint64(10) {
		require.False(t, s.has(d(i+1, fmt.Sprint(i+1))))
		s.handled(d(i+1, fmt.Sprint(i+1)), 3)
		s.token = i
		s.state = []byte{byte(i)}
		got, err := decodeSnapshot(s.encode())
		require.NoError(t, err)
		require.Equal(t, s, got)
	}
	require.Len(t, s.ids, 3)
	require.True(t, s.has(d(1, "1")))
	require.True(t, s.has(d(11, "9")), "published twice")
	require.False(t, s.has(d(11, "1")), "out of the window")
	again := d(1, "another")
	again.time = at.Add(time.Hour)
	require.False(t, s.has(again), "a stream that was made anew")
	_, err := decodeSnapshot(s.encode()[:40])
	require.ErrorIs(t, err, ErrDecode)
}

// watches remembers what watches the members.
type watches struct {
	Transport
	see []func(entry)
}

type watchesLink struct {
	link
	w *watches
}

type watchesStore struct {
	store
	w *watches
}

func (w *watches) open(ctx context.Context, o *Options) (link, error) {
	l, err := w.Transport.open(ctx, o)
	return watchesLink{l, w}, err
}

func (l watchesLink) store(b bucket) store { return watchesStore{l.link.store(b), l.w} }

func (s watchesStore) watch(ctx context.Context, f func(entry)) (func(), error) {
	s.w.see = append(s.w.see, f)
	return s.store.watch(ctx, f)
}

// A watch that had got stuck, and goes on after another has begun, is not believed.
func TestAWatchThatComesLate(t *testing.T) {
	w := &watches{Transport: Loopback()}
	n := join(t, w, Options{TTL: 20 * time.Second})
	require.Eventually(t, func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		return n.view.whole
	}, 10*time.Second, time.Millisecond)
	require.NoError(t, n.watch())
	require.Len(t, w.see, 2)
	names := func() []string {
		n.mu.Lock()
		defer n.mu.Unlock()
		return n.view.serving()
	}
	entryOfNode := func(name string) entry {
		return entry{"node." + name, encode(session{ID: "1", Serves: true}), 1}
	}
	w.see[1](entry{})
	w.see[1](entryOfNode("a"))
	w.see[0](entryOfNode("b"))
	require.Equal(t, []string{"a"}, names())
}

// again counts deliveries.
type again struct {
	Transport
	mu sync.Mutex
	n  map[string]int // by message
}

type againLink struct {
	link
	a *again
}

func (a *again) open(ctx context.Context, o *Options) (link, error) {
	l, err := a.Transport.open(ctx, o)
	return againLink{l, a}, err
}

func (l againLink) consume(ctx context.Context, p int, token uint64, room int, deliver func(*delivery),
	lost func(error)) (consumer, error) {
	return l.link.consume(ctx, p, token, room, func(d *delivery) {
		deliver(d)
		l.a.mu.Lock()
		l.a.n[d.id]++
		l.a.mu.Unlock()
	}, lost)
}

func (a *again) of(id string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.n[id]
}

// A handler is slower than the consumer waits for an ack, and the messages behind it fill the room:
// what comes again while it is in hand is left out, and all are handled once, in order.
func TestMessagesThatComeAgainWhileTheyAreInHand(t *testing.T) {
	overBoth(t, func(t *testing.T, transport func() Transport) {
		a := &again{Transport: transport(), n: map[string]int{}}
		n := join(t, a, Options{TTL: 100 * time.Millisecond, Partitions: 1, Room: 2})
		goesOn := make(chan struct{})
		k, err := Define(n, "ledger", func(c *Turn[[]int], m entryOf) error {
			if m.Number == 1 {
				<-goesOn
			}
			*c.State = append(*c.State, m.Number)
			c.Answer(m.Number)
			return nil
		})
		require.NoError(t, err)
		ctx := within(t, 30*time.Second)
		for i := range 5 {
			require.NoError(t, k.Tell(ctx, "x", entryOf{Number: i + 1}, ID(fmt.Sprint(i+1))))
		}
		require.NoError(t, n.Start())
		require.Eventually(t, func() bool { return a.of("1") > 2 && a.of("2") > 2 }, 20*time.Second,
			time.Millisecond)
		require.Zero(t, a.of("3"), "no room")
		close(goesOn)
		_, err = Ask[int](ctx, k.To("x", entryOf{Number: 6}))
		require.NoError(t, err)
		require.Equal(t, "[1,2,3,4,5,6]", stateOf(t, n, "x"))
	})
}
