package nats

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nuid"
	"github.com/organzine/coro/actor"
)

// A Node is a member of a cluster: it sends, and after Start it has actors.
type Node struct {
	o      Options
	id     string    // of this Join
	log    *logQueue // nil: nothing is logged
	link   link
	sys    *actor.System
	ctx    context.Context // until Leave, or a failure, which is its cause
	cancel context.CancelCauseFunc
	ends   sync.WaitGroup // of goroutines
	ending atomic.Bool
	done   chan struct{}

	woken    chan struct{}
	renewNow chan struct{}
	taking   chan struct{} // one for each partition that is taken at the moment

	asks asks

	mu       sync.Mutex
	kinds    map[string]behaviour
	serves   bool
	leaving  bool
	err      error
	sessions int
	session  session
	until    time.Time // the session lasts
	sawSelf  time.Time // in the view
	view     *view
	watched  *view // of the last watch; it becomes the view when it is whole
	unwatch  func()
	holds    map[int]*hold // a nil one is being taken
	live     []string      // that owners was made of
	owners   []string      // of partitions
}

// Join makes a node of a cluster. ctx is for the call. While the servers do not answer, or none of
// them leads yet, Join tries again, until ctx ends; without a deadline for three times the TTL, and
// 15 s at least. A node that only sends needs no Start.
//
// Errors: ErrOption; ErrName after up to twice the TTL; ErrNoJetStream; ErrUnavailable; and those
// of ctx.
func Join(ctx context.Context, t Transport, o Options) (n *Node, err error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	if t == nil {
		return nil, errorf(ErrOption, "Transport nil: use Over(conn) or Loopback()")
	}
	ctx, cancel := limited(ctx, 3*max(o.TTL, callTime))
	defer cancel()
	id := nuid.Next()
	err = persist(ctx, context.Background(), o.TTL/4, func() (again bool, err error) {
		n, err = tryJoin(ctx, t, o, id)
		return errors.Is(err, ErrUnavailable), err
	})
	return n, err
}

// tryJoin is one try of Join.
func tryJoin(ctx context.Context, t Transport, o Options, id string) (*Node, error) {
	n := &Node{o: o, id: id, woken: make(chan struct{}, 1), renewNow: make(chan struct{}, 1),
		taking: make(chan struct{}, takingAtOnce), done: make(chan struct{}),
		kinds: map[string]behaviour{},
		holds: map[int]*hold{}, view: newView()}
	if h := o.Log.Handler(); h != slog.DiscardHandler {
		n.log = newLogQueue(n, h)
		n.o.Log = slog.New(n.log)
	}
	var err error
	if n.link, err = t.open(ctx, &n.o); err != nil {
		return nil, err
	}
	if n.sys, err = actor.New(actor.OnFailure(func(f *actor.Failure) {
		n.o.Log.Error("actor failed", "err", f)
	})); err != nil {
		n.link.close()
		return nil, err
	}
	n.ctx, n.cancel = context.WithCancelCause(context.Background())
	if err = n.enter(ctx); err == nil {
		if err = n.watch(); err == nil {
			err = n.listen()
		}
	}
	if err != nil {
		n.end()
		return nil, err
	}
	n.ends.Add(3)
	go n.watchOver()
	go n.keep()
	go n.run()
	return n, nil
}

// Name is the node's.
func (n *Node) Name() string { return n.o.Name }

// Start has the node take its share of the partitions, and their messages handled. Kinds are
// defined before.
func (n *Node) Start() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.err != nil:
		return n.err
	case n.leaving:
		return errorf(ErrLeft, "%s", n.o.Name)
	}
	n.serves = true
	n.again()
	return nil
}

// Done is closed when the node has ended: by Leave, or by an error, which Err tells. Its handlers
// have returned by then.
func (n *Node) Done() <-chan struct{} { return n.done }

// Err is why the node has ended, if not by Leave: ErrName; ErrGone; or ErrUnavailable, where the
// connection was closed.
func (n *Node) Err() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.err
}

// Partitions are those that the node owns at the moment, in order.
func (n *Node) Partitions() (list []int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for p, h := range n.holds {
		if h != nil && h.isReady() {
			list = append(list, p)
		}
	}
	slices.Sort(list)
	return list
}

func (n *Node) wake() {
	select {
	case n.woken <- struct{}{}:
	default:
	}
}

// run takes and releases partitions as the view says.
func (n *Node) run() {
	defer n.ends.Done()
	tick := time.NewTicker(n.o.TTL / 8)
	defer tick.Stop()
	for {
		select {
		case <-n.ctx.Done():
			return
		case <-n.woken:
		case <-tick.C:
			n.look()
		}
		n.reconcile()
	}
}

// look is what is to be done as time passes.
func (n *Node) look() {
	n.mu.Lock()
	over := !n.until.IsZero() && !n.aliveLocked()
	blind := n.aliveLocked() && time.Since(n.sawSelf) > n.o.TTL
	n.mu.Unlock()
	if over {
		n.endSession("not renewed in time")
		n.again()
	}
	if blind { // the watch has got stuck
		if err := n.watch(); err != nil {
			n.o.Log.Warn("watch", "node", n.o.Name, "err", err)
		}
	}
	n.reap()
}

// reconcile starts what brings the partitions to their owners.
func (n *Node) reconcile() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.serves || n.leaving || !n.view.whole || !n.aliveLocked() ||
		n.view.nodes[n.o.Name].ID != n.session.ID {
		return
	}
	if live := n.view.serving(); n.owners == nil || !slices.Equal(live, n.live) {
		n.live, n.owners = live, make([]string, n.o.Partitions)
		for p := range n.owners {
			n.owners[p] = ownerOf(strconv.Itoa(p), live)
		}
	}
	for p, owner := range n.owners {
		h, has := n.holds[p]
		switch {
		case owner == n.o.Name && !has:
			if l := n.view.leases[p]; n.view.free(l, n.o.Name) {
				select {
				case n.taking <- struct{}{}:
				default:
					continue // its end wakes
				}
				n.holds[p] = nil
				n.ends.Add(1)
				go n.take(p, l.revision, n.session.ID)
			}
		case owner != n.o.Name && !has && n.view.leases[p].Holder == n.o.Name:
			n.holds[p] = nil // lost, or its release failed: the lease is still to be given back
			n.ends.Add(1)
			go n.giveBack(p, n.view.leases[p].revision)
		case owner != n.o.Name && h != nil && h.beginRelease():
			n.ends.Add(1)
			go func() {
				defer n.ends.Done()
				ctx, cancel := context.WithTimeout(n.ctx, n.o.TTL)
				defer cancel()
				h.release(ctx)
			}()
		}
	}
}

// Leave hands all partitions over, and ends the node: what is in hand is finished, and its effects
// are written. If ctx ends before, the rest is left to others, which take it when the TTL has
// passed; then Leave returns the error of ctx, and the node ends when its handlers have returned.
// Nothing that was accepted is lost either way. A handler or a hook of the node that calls Leave
// gets ErrInside: it has to start a goroutine that does.
func (n *Node) Leave(ctx context.Context) error {
	if c := here(); c != nil && c.n == n {
		return errorf(ErrInside,
			"Leave of node %s: call it by another goroutine, go node.Leave(…)",
			n.o.Name)
	}
	n.mu.Lock()
	if n.leaving {
		n.mu.Unlock()
		select {
		case <-n.done:
			return nil
		case <-ctx.Done():
			return ended(ctx)
		}
	}
	n.leaving = true
	n.mu.Unlock()
	_ = n.renew(ctx) // it does not serve any more
	for n.busy() {
		n.mu.Lock()
		var each sync.WaitGroup
		for _, h := range n.holds {
			if h != nil && h.beginRelease() {
				each.Go(func() { h.release(ctx) })
			}
		}
		n.mu.Unlock()
		each.Wait()
		if ctx.Err() != nil {
			break
		}
		if n.busy() { // some are taken, or released already
			select {
			case <-n.woken:
			case <-time.After(viewPause):
			case <-ctx.Done():
			}
		}
	}
	if ctx.Err() == nil {
		n.endLoops() // before the session is deleted
		n.mu.Lock()
		s := n.session
		n.mu.Unlock()
		_ = n.link.store(members).delete(ctx, n.nodeKey(), s.revision)
	}
	n.endSession("left")
	go n.end()
	select {
	case <-n.done:
	case <-ctx.Done(): // a handler does not return
	}
	if ctx.Err() != nil {
		return ended(ctx)
	}
	return nil
}

func (n *Node) busy() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.holds) > 0
}

// endLoops ends the goroutines that renew and take.
func (n *Node) endLoops() {
	n.cancel(errorf(ErrLeft, "%s", n.o.Name))
	n.ends.Wait()
}

// fail ends the node by an error: the first one counts.
func (n *Node) fail(err error) {
	n.mu.Lock()
	if n.err == nil {
		n.leaving, n.err = true, err
	}
	n.mu.Unlock()
	n.cancel(err)
	n.o.Log.Error("node failed", "node", n.o.Name, "err", err)
	n.endSession(err.Error())
	go n.end()
}

// end ends what the node has here, once.
func (n *Node) end() {
	if n.ending.Swap(true) {
		<-n.done
		return
	}
	n.endLoops()
	n.mu.Lock()
	unwatch := n.unwatch
	n.unwatch = nil
	n.mu.Unlock()
	if unwatch != nil {
		unwatch()
	}
	n.link.close()
	if err := n.sys.Close(); err != nil && !errors.Is(err, actor.ErrStopped) {
		n.o.Log.Warn("actors", "err", err)
	}
	if n.log != nil {
		n.log.flush()
	}
	close(n.done)
}
