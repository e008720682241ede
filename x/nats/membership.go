package nats

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A session is a node's life in the cluster: the entry node.NAME, renewed by compare-and-swap. A
// node whose session ends, as it was not renewed in time, begins another.
type session struct {
	ID     string `json:"session"`
	Serves bool   `json:"serves"` // it takes partitions

	revision uint64
	seen     time.Time // when the revision came, by the watcher's clock
}

// A lease says whose a partition is. It lives as long as the session of its holder. The revision at
// which it was taken is the fencing token: nobody else writes the entry while it is held.
type lease struct {
	Holder  string `json:"holder"` // "": it was given back
	Session string `json:"session"`

	revision uint64
}

// A view is what a node has seen of the members bucket.
type view struct {
	nodes  map[string]session
	leases map[int]lease
	whole  bool
}

func newView() *view { return &view{nodes: map[string]session{}, leases: map[int]lease{}} }

// see takes an entry in.
func (v *view) see(e entry) {
	switch kind, name, _ := strings.Cut(e.key, "."); kind {
	case "":
		v.whole = true
	case "node":
		delete(v.nodes, name)
		s := session{revision: e.revision, seen: time.Now()}
		if e.value != nil && json.Unmarshal(e.value, &s) == nil {
			v.nodes[name] = s
		}
	case "lease":
		p, err := strconv.Atoi(name)
		if err != nil {
			return
		}
		delete(v.leases, p)
		l := lease{revision: e.revision}
		if e.value != nil && json.Unmarshal(e.value, &l) == nil {
			v.leases[p] = l
		}
	}
}

// serving is who takes partitions, in order.
func (v *view) serving() (names []string) {
	for name, s := range v.nodes {
		if s.Serves {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// free tells whether nobody else holds the lease.
func (v *view) free(l lease, self string) bool {
	if l.Holder == "" || l.Holder == self {
		return true
	}
	s, ok := v.nodes[l.Holder]
	return !ok || s.ID != l.Session
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // structs of strings and booleans
	}
	return b
}

// watch starts to watch the members, from the beginning.
func (n *Node) watch() error {
	v := newView()
	n.mu.Lock()
	n.watched = v
	n.mu.Unlock()
	stop, err := n.link.store(members).watch(n.ctx, func(e entry) {
		n.mu.Lock()
		if n.watched != v { // a later watch has begun
			n.mu.Unlock()
			return
		}
		v.see(e)
		if v.whole {
			n.view = v
			if s, ok := v.nodes[n.o.Name]; ok && s.ID == n.session.ID {
				n.sawSelf = s.seen
			}
		}
		n.mu.Unlock()
		n.wake()
	})
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.unwatch != nil {
		go n.unwatch()
	}
	n.unwatch, n.sawSelf = stop, time.Now()
	return nil
}

// callTimeout is for one attempt of what has to be done within the TTL.
func (n *Node) callTimeout() time.Duration { return min(callTime, n.o.TTL/2) }

func (n *Node) nodeKey() string { return "node." + n.o.Name }

// enter begins a session. An entry of another node with the name is overwritten if it does not
// change for the TTL.
func (n *Node) enter(ctx context.Context) error {
	st := n.link.store(members)
	var other uint64
	var since time.Time
	for {
		begun := time.Now()
		e, err := st.get(ctx, n.nodeKey())
		if err != nil && !errors.Is(err, errNoEntry) {
			return err
		}
		var old session
		if err == nil && json.Unmarshal(e.value, &old) == nil &&
			!strings.HasPrefix(old.ID, n.id+".") {
			switch {
			case other == 0:
				other, since = e.revision, begun
			case other != e.revision:
				return errorf(ErrName, "%s", n.o.Name)
			}
			if begun.Sub(since) < n.o.TTL*5/4 {
				select {
				case <-time.After(n.o.TTL / 8):
					continue
				case <-ctx.Done():
					return ended(ctx)
				}
			}
		}
		n.mu.Lock()
		n.sessions++
		s := session{ID: n.id + "." + strconv.Itoa(n.sessions),
			Serves: n.serves && !n.leaving}
		n.mu.Unlock()
		begun = time.Now()
		r, err := st.put(ctx, n.nodeKey(), encode(s), e.revision)
		if errors.Is(err, errRevision) {
			continue // another node was faster, or an answer was lost: look again
		}
		if err != nil {
			return err
		}
		s.revision = r
		n.mu.Lock()
		n.session, n.until, n.sawSelf = s, begun.Add(n.o.TTL), begun
		n.mu.Unlock()
		n.o.Log.Info("session", "node", n.o.Name, "id", s.ID)
		return nil
	}
}

// renew renews the session, and says whether the node serves.
func (n *Node) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, n.callTimeout())
	defer cancel()
	n.mu.Lock()
	s := n.session
	s.Serves = n.serves && !n.leaving
	n.mu.Unlock()
	st := n.link.store(members)
	begun := time.Now()
	r, err := st.put(ctx, n.nodeKey(), encode(s), s.revision)
	if errors.Is(err, errRevision) { // perhaps by our own put, whose answer was lost
		e, err1 := st.get(ctx, n.nodeKey())
		var now session
		if err1 == nil && json.Unmarshal(e.value, &now) == nil && now.ID == s.ID {
			begun = time.Now() // the entry is still ours at least since then; but renew it first
			r, err = st.put(ctx, n.nodeKey(), encode(s), e.revision)
		}
	}
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	s.revision = r
	n.session, n.until = s, begun.Add(n.o.TTL)
	return nil
}

// keep renews the session until the node ends, and begins another when it is over.
func (n *Node) keep() {
	defer n.ends.Done()
	ended := false
	for {
		select {
		case <-n.ctx.Done():
			return
		case <-n.renewNow:
		case <-time.After(n.o.TTL / 4):
		}
		var err error
		if ended {
			err = n.enter(n.ctx)
			if errors.Is(err, ErrName) {
				n.fail(err)
				return
			}
		} else if err = n.renew(n.ctx); errors.Is(err, errRevision) {
			n.endSession("another node has ended it")
			ended = true
			n.again()
			continue
		}
		if err != nil {
			if n.ctx.Err() == nil {
				n.o.Log.Warn("session not renewed", "node", n.o.Name, "err", err)
			}
			continue
		}
		ended = false
		n.wake()
	}
}

// again lets keep go on at once.
func (n *Node) again() {
	select {
	case n.renewNow <- struct{}{}:
	default:
	}
}

// endSession gives all partitions up at once, without a word to others.
func (n *Node) endSession(why string) {
	n.mu.Lock()
	n.until = time.Time{}
	holds := make([]*hold, 0, len(n.holds))
	for _, h := range n.holds {
		if h != nil { // one that is taken at the moment sees it itself
			holds = append(holds, h)
		}
	}
	n.mu.Unlock()
	n.o.Log.Warn("session over", "node", n.o.Name, "why", why)
	for _, h := range holds {
		h.lose(errors.New(why))
	}
}

// alive tells whether the session lasts.
func (n *Node) alive() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.aliveLocked()
}

func (n *Node) aliveLocked() bool { return time.Now().Before(n.until) }

// reap ends the sessions of others that were not renewed for the TTL and a quarter. If this node
// only has not seen the renewal, the revision is another, and nothing happens.
func (n *Node) reap() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.aliveLocked() || !n.view.whole {
		return
	}
	for name, s := range n.view.nodes {
		if name == n.o.Name || time.Since(s.seen) < n.o.TTL*5/4 {
			continue
		}
		s.seen = time.Now() // try again after as long
		n.view.nodes[name] = s
		n.ends.Add(1)
		go func() {
			defer n.ends.Done()
			ctx, cancel := context.WithTimeout(n.ctx, n.callTimeout())
			defer cancel()
			err := n.link.store(members).delete(ctx, "node."+name, s.revision)
			n.o.Log.Info("session of another is over", "node", n.o.Name, "other", name,
				"err", err)
		}()
	}
}
