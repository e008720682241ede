package nats

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/organzine/coro/actor"
)

// A hold is a partition that the node owns: its lease, its consumer, and its actors.
type hold struct {
	n         *Node
	partition int
	token     uint64
	ctx       context.Context // until it is lost
	cancel    context.CancelFunc
	leave     chan struct{} // closed: nothing new is begun
	in        chan *delivery
	reads     sync.WaitGroup // the loop
	ready     atomic.Bool
	leaving   atomic.Bool
	lost      atomic.Bool

	mu       sync.Mutex
	consumer consumer
	order    uint64             // of the last delivery
	seen     place              // the last message in the stream that was delivered
	inHand   map[place]struct{} // messages that are not finished
	actors   map[address]actor.Ref[[]*delivery]
}

// A place is that of a message in the stream. A server that was killed may have forgotten the
// numbers of messages that were acked, and give them again, to later messages.
type place struct {
	seq  uint64
	time int64 // in ns of Unix time
}

func (d *delivery) place() place { return place{d.seq, d.time.UnixNano()} }

// An address is that of an actor.
type address struct{ kind, key string }

func (h *hold) isReady() bool { return h.ready.Load() && !h.lost.Load() && !h.leaving.Load() }

func leaseKey(p int) string { return "lease." + strconv.Itoa(p) }

// pause waits, but not longer than the node lasts.
func (n *Node) pause(d time.Duration) {
	select {
	case <-n.ctx.Done():
	case <-time.After(d):
	}
}

// take makes a hold of a partition, whose lease has that revision and is free.
func (n *Node) take(p int, revision uint64, session string) {
	defer n.ends.Done()
	defer func() { <-n.taking; n.wake() }()
	st := n.link.store(members)
	give := func(err error) {
		if !errors.Is(err, errRevision) && n.ctx.Err() == nil {
			n.o.Log.Warn("partition not taken", "node", n.o.Name, "partition", p, "err",
				err)
			n.pause(n.o.TTL / 8) // not at once again
		}
		n.mu.Lock()
		delete(n.holds, p)
		n.mu.Unlock()
	}
	ctx, cancel := context.WithTimeout(n.ctx, n.callTimeout())
	defer cancel()
	token, err := st.put(ctx, leaseKey(p), encode(lease{Holder: n.o.Name, Session: session}),
		revision)
	if err != nil {
		if errors.Is(err, errRevision) { // the view comes later than the change; or has not come at all
			n.pause(viewPause)
		}
		give(err)
		return
	}
	h := &hold{n: n, partition: p, token: token, leave: make(chan struct{}),
		in: make(chan *delivery, n.o.Room), inHand: map[place]struct{}{},
		actors: map[address]actor.Ref[[]*delivery]{}}
	h.ctx, h.cancel = context.WithCancel(n.ctx)
	n.mu.Lock()
	n.holds[p] = h
	// The view may be late: what it says of this lease by now is older.
	if l := n.view.leases[p]; l.revision < token {
		n.view.leases[p] = lease{n.o.Name, session, token}
	}
	over := n.session.ID != session || !n.aliveLocked()
	n.mu.Unlock()
	h.reads.Add(1)
	go h.read()
	if over {
		h.lose(errors.New("the session is over"))
		return
	}
	c, err := n.link.consume(ctx, p, token, n.o.Room, h.deliver, h.lose)
	if err != nil {
		n.pause(n.o.TTL / 8) // not at once again
		h.lose(err)
		return
	}
	h.mu.Lock()
	h.consumer = c
	h.mu.Unlock()
	// If another has taken the lease meanwhile, this consumer has ended that one's: away with
	// it.
	if e, err := st.get(ctx, leaseKey(p)); err != nil || e.revision != token {
		h.lose(errDeposed)
		if c.remove(ctx) != nil {
			n.o.Log.Warn("consumer left", "node", n.o.Name, "partition", p)
		}
	}
	if h.lost.Load() {
		c.stop()
		return
	}
	h.ready.Store(true)
	n.o.Log.Info("partition taken", "node", n.o.Name, "partition", p, "token", token)
}

// deliver takes a message from the consumer. It does not wait.
func (h *hold) deliver(d *delivery) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lost.Load() || h.leaving.Load() {
		return
	}
	h.order++
	if d.order != h.order {
		// One was lost on its way: later ones must not overtake it. A new consumer begins
		// with it.
		h.loseLocked(errorf(errRevision, "delivery %d came as %d", d.order, h.order))
		return
	}
	at := d.place()
	if _, has := h.inHand[at]; has {
		return // delivered again while it is handled
	}
	if at.seq <= h.seen.seq && at.time <= h.seen.time {
		d.ack() // the first ack was lost
		return
	}
	h.seen = place{at.seq, max(at.time, h.seen.time)}
	select {
	case h.in <- d:
		h.inHand[at] = struct{}{}
	default:
		h.loseLocked(errors.New("more messages than asked for"))
	}
}

// finish answers and acks a message. Its effects are in a snapshot.
func (h *hold) finish(d *delivery) {
	if d.answered != nil && d.reply != "" {
		if err := h.n.link.answer(d.reply, d.answered); err != nil {
			h.n.o.Log.Warn("answer", "kind", d.kind, "key", d.key, "err", err)
		}
	}
	d.ack()
	h.mu.Lock()
	delete(h.inHand, d.place())
	h.mu.Unlock()
}

// read gives messages to their actors: those that have come, key by key.
func (h *hold) read() {
	defer h.reads.Done()
	for {
		var keys []address
		batches := map[address][]*delivery{}
		add := func(d *delivery) {
			a := address{d.kind, d.key}
			if batches[a] == nil {
				keys = append(keys, a)
			}
			batches[a] = append(batches[a], d)
		}
		select {
		case <-h.ctx.Done():
			return
		case <-h.leave:
			return
		case d := <-h.in:
			add(d)
		}
		for more := true; more; {
			select {
			case d := <-h.in:
				add(d)
			default:
				more = false
			}
		}
		for _, a := range keys {
			h.tell(a, batches[a])
		}
	}
}

func (h *hold) tell(a address, batch []*delivery) {
	k := h.n.kind(a.kind)
	for {
		h.mu.Lock()
		ref, has := h.actors[a]
		h.mu.Unlock()
		if has {
			if ref.Tell(batch) == nil {
				return
			}
			<-ref.Done() // it was idle
		}
		ref, err := k.spawn(h, a.key)
		if err != nil { // the system ends
			h.lose(err)
			return
		}
		h.mu.Lock()
		h.actors[a] = ref
		h.mu.Unlock()
	}
}

// ended forgets an actor that was idle.
func (h *hold) ended(a address, r actor.Ref[[]*delivery]) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.actors[a] == r {
		delete(h.actors, a)
	}
}

// usable tells why nothing more may be begun.
func (h *hold) usable() error {
	switch {
	case h.lost.Load():
		return errDeposed
	case h.leaving.Load():
		return errLeaving
	case !h.n.alive():
		return errDeposed
	}
	return nil
}

// goesOn tells whether more may be begun. Where nothing may, as the session is over, the hold is
// lost, also if the session is renewed after all: what is not begun now is left out.
func (h *hold) goesOn() bool {
	err := h.usable()
	if errors.Is(err, errDeposed) {
		h.lose(err)
	}
	return err == nil
}

var errLeaving = errors.New("the partition is handed over")

// lose gives the partition up at once. It does not wait. Messages in hand are not acked, and so
// come to the node that takes the partition next, which may be this one.
func (h *hold) lose(why error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.loseLocked(why)
}

func (h *hold) loseLocked(why error) {
	if h.lost.Swap(true) {
		return
	}
	h.n.o.Log.Warn("partition lost", "node", h.n.o.Name, "partition", h.partition, "why", why)
	h.cancel()
	c := h.consumer
	go func() {
		if c != nil {
			c.stop()
		}
		h.endActors(h.n.o.TTL)
		h.forget()
	}()
}

func (h *hold) forget() {
	h.n.mu.Lock()
	if h.n.holds[h.partition] == h {
		delete(h.n.holds, h.partition)
	}
	h.n.mu.Unlock()
	h.n.wake()
}

// endActors stops the actors, and waits for their ends, for a time.
func (h *hold) endActors(atMost time.Duration) {
	h.reads.Wait()
	h.mu.Lock()
	refs := make([]actor.Ref[[]*delivery], 0, len(h.actors))
	for _, r := range h.actors {
		refs = append(refs, r)
	}
	h.mu.Unlock()
	late := time.NewTimer(atMost)
	defer late.Stop()
	for _, r := range refs {
		r.Stop()
	}
	for _, r := range refs {
		select {
		case <-r.Done():
		case <-late.C:
			h.n.o.Log.Warn("a handler does not return", "actor", r.Name())
			return
		}
	}
}

// beginRelease tells whether the caller is to release the hold.
func (h *hold) beginRelease() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ready.Load() && !h.lost.Load() && !h.leaving.Swap(true)
}

// release hands the partition over: what is handled is finished, and the lease given back.
func (h *hold) release(ctx context.Context) {
	close(h.leave)
	h.consumer.stop()
	atMost := h.n.o.TTL
	if until, ok := ctx.Deadline(); ok {
		atMost = time.Until(until) * 3 / 4
	}
	h.endActors(atMost)
	if !h.lost.Load() {
		if err := h.consumer.remove(ctx); err != nil {
			h.n.o.Log.Warn("consumer left", "partition", h.partition, "err", err)
		}
		err := h.n.putFree(ctx, h.partition, h.token)
		h.n.o.Log.Info("partition released", "node", h.n.o.Name, "partition", h.partition,
			"err", err)
	}
	h.cancel()
	h.forget()
}

// putFree gives a lease back, if it has that revision.
func (n *Node) putFree(ctx context.Context, p int, revision uint64) error {
	r, err := n.link.store(members).put(ctx, leaseKey(p), encode(lease{}), revision)
	n.mu.Lock()
	defer n.mu.Unlock()
	if err == nil && n.view.leases[p].revision < r { // the watch comes later
		n.view.leases[p] = lease{revision: r}
	}
	return err
}

// giveBack gives the lease of a partition back that the node does not hold.
func (n *Node) giveBack(p int, revision uint64) {
	defer n.ends.Done()
	ctx, cancel := context.WithTimeout(n.ctx, n.callTimeout())
	defer cancel()
	if err := n.putFree(ctx, p, revision); err != nil {
		n.pause(n.o.TTL / 8)
	}
	n.mu.Lock()
	delete(n.holds, p)
	n.mu.Unlock()
	n.wake()
}
