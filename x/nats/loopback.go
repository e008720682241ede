package nats

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"
)

// Loopback is a Transport in memory, for tests and programs of one process: several nodes may Join
// by the same one. Messages and states are gone with the process.
func Loopback() Transport {
	return &loopback{topics: map[string]*loopTopic{},
		inboxes: map[string]func(string, *message){}, now: time.Now}
}

// loopback has one lock. Calls of deliver, of watchers and inboxes are made by goroutines of
// queues, in order, without it.
type loopback struct {
	mu      sync.Mutex
	topics  map[string]*loopTopic // by cluster
	inboxes map[string]func(string, *message)
	last    int // inbox
	now     func() time.Time

	// fault is called before each operation, for tests. An error of it is that of the
	// operation: when after is true the operation was done all the same.
	fault func(op, of string) (after bool, err error)
}

// loopTopic is what a cluster has.
type loopTopic struct {
	partitions int
	most       int64 // bytes of messages,
	bytes      int64 // that are not acked
	seq        uint64
	ids        *loopIDs
	logs       map[int]*loopLog
	stores     map[bucket]*loopStore
}

type loopLog struct {
	waiting []*loopMessage // not acked, in order
	reads   *loopConsumer
}

type loopMessage struct {
	delivery
	sent time.Time // the last time
}

type loopLink struct {
	hub     *loopback
	t       *loopTopic
	in      []string
	ackWait time.Duration
}

func (h *loopback) open(ctx context.Context, o *Options) (link, error) {
	if ctx.Err() != nil {
		return nil, ended(ctx)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics[o.Cluster]
	if t == nil {
		t = &loopTopic{partitions: o.Partitions, most: o.MaxBytes, ids: newLoopIDs(),
			logs: map[int]*loopLog{}, stores: map[bucket]*loopStore{}}
		orDefault(&t.most, defaultBytes)
		for _, b := range []bucket{members, states} {
			t.stores[b] = &loopStore{hub: h, entries: map[string]entry{},
				watchers: map[*calls]func(entry){}}
		}
		h.topics[o.Cluster] = t
	}
	if t.partitions != o.Partitions {
		return nil, errorf(ErrOption, "Partitions %d: cluster %s has %d", o.Partitions,
			o.Cluster, t.partitions)
	}
	return &loopLink{hub: h, t: t, ackWait: 2 * o.TTL}, nil
}

// do calls f with the lock held, unless there is a fault.
func (h *loopback) do(ctx context.Context, op, of string, f func() error) error {
	if ctx.Err() != nil {
		return ended(ctx)
	}
	var after bool
	var fault error
	if h.fault != nil {
		if after, fault = h.fault(op, of); fault != nil && !after {
			return fault
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := f(); err != nil {
		return err
	}
	return fault
}

func (t *loopTopic) log(partition int) *loopLog {
	g := t.logs[partition]
	if g == nil {
		g = &loopLog{}
		t.logs[partition] = g
	}
	return g
}

func (l *loopLink) publish(ctx context.Context, partition int, m *message) error {
	return l.hub.do(ctx, "publish", m.key, func() error {
		now := l.hub.now()
		l.t.ids.forget(now)
		id := l.t.ids.of(m)
		if _, has := l.t.ids.has[id]; has {
			return nil
		}
		if l.t.bytes+m.bytes() > l.t.most {
			return errorf(ErrFull, "%d of %d bytes are taken", l.t.bytes, l.t.most)
		}
		l.t.bytes += m.bytes()
		l.t.ids.add(id, now)
		l.t.seq++
		g := l.t.log(partition)
		g.waiting = append(g.waiting, &loopMessage{
			delivery: delivery{message: *m, seq: l.t.seq, time: time.Now()}})
		g.feedLocked()
		return nil
	})
}

// loopConsumer is a consumer of a partition.
type loopConsumer struct {
	l       *loopLink
	log     *loopLog
	calls   *calls
	deliver func(*delivery)
	room    int
	sent    int // of log.waiting
	order   uint64
	again   *time.Timer // for what is not acked
	lost    func(error)
}

func (l *loopLink) consume(ctx context.Context, partition int, token uint64, room int,
	deliver func(*delivery), lost func(error)) (consumer, error) {
	c := &loopConsumer{l: l, deliver: deliver, room: room, lost: lost, calls: newCalls()}
	err := l.hub.do(ctx, "consume", fmt.Sprint(partition), func() error {
		c.log = l.t.log(partition)
		if old := c.log.reads; old != nil {
			old.calls.add(func() { old.lost(errDeposed) })
		}
		c.log.reads = c
		c.log.feedLocked()
		return nil
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (g *loopLog) feedLocked() {
	c := g.reads
	for c != nil && c.sent < len(g.waiting) && c.sent < c.room {
		c.sendLocked(g.waiting[c.sent])
		c.sent++
	}
}

func (c *loopConsumer) sendLocked(m *loopMessage) {
	c.order++
	d := m.delivery
	d.order, d.ack = c.order, func() { c.ack(d.seq) }
	c.calls.add(func() { c.deliver(&d) })
	m.sent = time.Now()
	if c.again == nil {
		c.again = time.AfterFunc(c.l.ackWait, c.sendAgain)
	}
}

// sendAgain delivers again what was not acked in time.
func (c *loopConsumer) sendAgain() {
	c.l.hub.mu.Lock()
	defer c.l.hub.mu.Unlock()
	c.again = nil
	if c.log.reads != c || c.sent == 0 {
		return // the next delivery sets the timer
	}
	for _, m := range c.log.waiting[:c.sent] {
		if time.Since(m.sent) >= c.l.ackWait {
			c.sendLocked(m)
		}
	}
	if c.again == nil {
		c.again = time.AfterFunc(c.l.ackWait, c.sendAgain)
	}
}

func (c *loopConsumer) ack(seq uint64) {
	_ = c.l.hub.do(context.Background(), "ack", "", func() error {
		if c.log.reads != c {
			return nil
		}
		i := sort.Search(len(c.log.waiting),
			func(i int) bool { return c.log.waiting[i].seq >= seq })
		if i < c.sent && c.log.waiting[i].seq == seq {
			c.l.t.bytes -= c.log.waiting[i].bytes()
			c.log.waiting = slices.Delete(c.log.waiting, i, i+1)
			c.sent--
			c.log.feedLocked()
		}
		return nil
	})
}

func (c *loopConsumer) stop() { c.calls.stop() }

func (c *loopConsumer) remove(ctx context.Context) error {
	return c.l.hub.do(ctx, "remove", "", func() error {
		if c.log.reads == c {
			c.log.reads = nil
		}
		return nil
	})
}

func (l *loopLink) store(b bucket) store { return l.t.stores[b] }

func (l *loopLink) check(ctx context.Context) error {
	return l.hub.do(ctx, "check", "", func() error {
		l.t.ids.forget(l.hub.now())
		return nil
	})
}

func (l *loopLink) inbox(f func(string, *message)) (string, error) {
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	l.hub.last++
	prefix := fmt.Sprintf("%d.", l.hub.last)
	l.hub.inboxes[prefix] = f
	l.in = append(l.in, prefix)
	return prefix, nil
}

func (l *loopLink) answer(address string, m *message) error {
	prefix, _, _ := strings.Cut(address, ".")
	l.hub.mu.Lock()
	f := l.hub.inboxes[prefix+"."]
	l.hub.mu.Unlock()
	if f != nil {
		f(address, m)
	}
	return nil
}

func (l *loopLink) close() {
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	for _, p := range l.in {
		delete(l.hub.inboxes, p)
	}
}

type loopStore struct {
	hub      *loopback
	revision uint64
	entries  map[string]entry
	watchers map[*calls]func(entry)
}

func (s *loopStore) get(ctx context.Context, key string) (e entry, err error) {
	err = s.hub.do(ctx, "get", key, func() error {
		var ok bool
		if e, ok = s.entries[key]; !ok {
			return errNoEntry
		}
		return nil
	})
	return e, err
}

func (s *loopStore) changeLocked(e entry, revision uint64) error {
	if s.entries[e.key].revision != revision {
		return errRevision
	}
	if e.value == nil {
		delete(s.entries, e.key)
	} else {
		s.entries[e.key] = e
	}
	s.revision = e.revision
	for q, f := range s.watchers {
		q.add(func() { f(e) })
	}
	return nil
}

func (s *loopStore) put(
	ctx context.Context, key string, v []byte, revision uint64,
) (at uint64, err error) {
	err = s.hub.do(ctx, "put", key, func() error {
		at = s.revision + 1
		return s.changeLocked(entry{key, v, at}, revision)
	})
	return at, err
}

func (s *loopStore) delete(ctx context.Context, key string, revision uint64) error {
	return s.hub.do(ctx, "delete", key, func() error {
		return s.changeLocked(entry{key, nil, s.revision + 1}, revision)
	})
}

func (s *loopStore) watch(ctx context.Context, f func(entry)) (func(), error) {
	q := newCalls()
	err := s.hub.do(ctx, "watch", "", func() error {
		for _, e := range s.entries {
			q.add(func() { f(e) })
		}
		q.add(func() { f(entry{}) })
		s.watchers[q] = f
		return nil
	})
	if err != nil {
		q.stop()
		return nil, err
	}
	return func() {
		s.hub.mu.Lock()
		delete(s.watchers, q)
		s.hub.mu.Unlock()
		q.stop()
	}, nil
}
