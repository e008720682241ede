package nats

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// An auditor looks at snapshots: neither tokens nor what a key has handled go back, and each
// message counts once, at its place.
type auditor struct {
	states store
	mu     sync.Mutex
	seen   map[string]uint64 // revisions
	last   map[string]snapshot
	lines  map[string]line
	writes int
	tokens map[uint64]bool
	wrong  []string
}

func newAuditor(n *Node) *auditor {
	return &auditor{states: n.link.store(states), seen: map[string]uint64{}, last: map[string]snapshot{},
		lines: map[string]line{}, tokens: map[uint64]bool{}}
}

// watch has the auditor see each snapshot from now on.
func (a *auditor) watch(t testing.TB) {
	stop, err := a.states.watch(context.Background(), a.see)
	require.NoError(t, err)
	t.Cleanup(stop)
}

func (a *auditor) see(e entry) {
	if e.key == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if e.revision <= a.seen[e.key] {
		return
	}
	a.seen[e.key] = e.revision
	s, err := decodeSnapshot(e.value)
	var l line
	if err == nil {
		err = json.Unmarshal(s.state, &l)
	}
	if err != nil {
		a.wrong = append(a.wrong, err.Error())
		return
	}
	old, before := a.last[e.key], a.lines[e.key]
	dead := l == before // that message was a dead letter
	if s.token < old.token || s.at < old.at || l.Last <= before.Last && !dead ||
		l.Handled+l.Skipped != l.Last || l.Disordered > 0 {
		a.wrong = append(a.wrong, fmt.Sprintf("%s: %d %d %+v after %d %d %+v", e.key, s.token, s.seq, l,
			old.token, old.seq, before))
	}
	a.last[e.key], a.lines[e.key] = s, l
	a.tokens[s.token] = true
	a.writes++
}

// lag is the number of messages that are not handled, by a look at the keys that have some.
func (a *auditor) lag(keys, each int) (n int) {
	for i := range keys {
		key := snapshotKey("ledger", fmt.Sprint(i))
		a.mu.Lock()
		last := a.lines[key].Last
		a.mu.Unlock()
		if last < each {
			if e, err := a.states.get(context.Background(), key); err == nil {
				a.see(e)
			}
		}
		a.mu.Lock()
		n += max(0, each-a.lines[key].Last)
		a.mu.Unlock()
	}
	return n
}

// A history is every write of both buckets, in order, as the server has it: a watch would miss some
// when the server is killed.
type history struct {
	audit *auditor
	taken map[uint64]int // partitions, by the revision at which their lease was taken
	wrong []string
}

// keepHistory has the server keep each write of the buckets, and not only the last of each key.
func keepHistory(t testing.TB, conn *natsgo.Conn) {
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	for _, b := range []bucket{members, states} {
		ctx := within(t, 20*time.Second)
		s, err := js.Stream(ctx, "KV_coro-"+string(b))
		require.NoError(t, err)
		c := s.CachedInfo().Config
		c.MaxMsgsPerSubject = 1 << 30
		_, err = js.UpdateStream(ctx, c)
		require.NoError(t, err)
	}
}

func eachWrite(t testing.TB, conn *natsgo.Conn, b bucket, f func(entry)) {
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	ctx := within(t, time.Minute)
	name := "coro-" + string(b)
	s, err := js.Stream(ctx, "KV_"+name)
	require.NoError(t, err)
	left := s.CachedInfo().State.Msgs
	require.NotZero(t, left)
	c, err := js.OrderedConsumer(ctx, "KV_"+name, jetstream.OrderedConsumerConfig{})
	require.NoError(t, err)
	ms, err := c.Messages()
	require.NoError(t, err)
	defer ms.Stop()
	for ; left > 0; left-- {
		m, err := ms.Next(jetstream.NextContext(ctx))
		require.NoError(t, err)
		at, err := m.Metadata()
		require.NoError(t, err)
		e := entry{strings.TrimPrefix(m.Subject(), "$KV."+name+"."), m.Data(), at.Sequence.Stream}
		if m.Headers().Get("KV-Operation") != "" {
			e.value = nil
		}
		f(e)
	}
}

// readHistory reads what keepHistory has kept.
func readHistory(t testing.TB, conn *natsgo.Conn) *history {
	h := &history{audit: &auditor{seen: map[string]uint64{}, last: map[string]snapshot{},
		lines: map[string]line{}, tokens: map[uint64]bool{}}, taken: map[uint64]int{}}
	v := newView()
	eachWrite(t, conn, members, func(e entry) {
		h.lease(v, e)
		v.see(e)
	})
	eachWrite(t, conn, states, func(e entry) {
		h.audit.see(e)
		h.token(e)
	})
	return h
}

// lease checks that no lease was taken from a node whose session lasted.
func (h *history) lease(v *view, e entry) {
	name, is := strings.CutPrefix(e.key, "lease.")
	if !is {
		return
	}
	p, err := strconv.Atoi(name)
	var now lease
	if err == nil {
		err = json.Unmarshal(e.value, &now)
	}
	switch old := v.leases[p]; {
	case err != nil:
		h.wrong = append(h.wrong, fmt.Sprintf("%s: %v", e.key, err))
	case now.Holder != "":
		h.taken[e.revision] = p
		if !v.free(old, now.Holder) {
			h.wrong = append(h.wrong, fmt.Sprintf("%s: %+v was taken from %+v", e.key, now, old))
		}
	}
}

// token checks that a snapshot has the token of an owner of its key's partition.
func (h *history) token(e entry) {
	kind, key, _ := strings.Cut(e.key, ".")
	name, err := base64.RawURLEncoding.DecodeString(key)
	var s snapshot
	if err == nil {
		s, err = decodeSnapshot(e.value)
	}
	p, was := h.taken[s.token]
	if err != nil || !was || p != partitionOf(kind, string(name), chaosOptions.Partitions) {
		h.wrong = append(h.wrong, fmt.Sprintf("%s %s: token %d of nobody: %v", kind, name, s.token, err))
	}
}

// requireSound checks that each key has handled all, but for the poison among it.
func (h *history) requireSound(t testing.TB, keys, each int, poison map[string]int) {
	require.Empty(t, h.wrong)
	require.Empty(t, h.audit.wrong)
	require.Len(t, h.audit.lines, keys)
	for i := range keys {
		k := fmt.Sprint(i)
		at := snapshotKey("ledger", k)
		require.Equal(t, line{Last: each, Handled: each - poison[k], Skipped: poison[k]}, h.audit.lines[at], k)
	}
}
