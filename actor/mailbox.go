package actor

import (
	"sync/atomic"
	"unsafe"

	"github.com/organzine/coro/internal/policy"
	"github.com/organzine/coro/internal/race"
)

// mailbox.go - mailboxes: two words, and what they point to.

// A mailbox is two words. state is 0 if the actor is dormant; else it is active: it has a turn, or
// will have one, and belongs to that. box is nil, or the newest of the messages that have come
// since the turn has looked, by which the older ones follow. (The mailbox of the actors in C is one
// word, csrc/actor/box.h. A compare-and-swap of a pointer is a call in Go, that of a number is not:
// so a message to a dormant actor, and the end of its turn, change state alone.)
//
//	GSD1  send: if the box is empty, and then state dormant, makes the actor active by a
//	      compare-and-swap (claim). The actor is the sender's then, and nobody else's: the
//	      message becomes the pending one, and the sender starts the turn. (In a box that is not
//	      empty there may be older messages of the sender, which are first: GSD2)
//	GSD2  send: sets the message's next to what is in the box, and puts the message into the box
//	      by a compare-and-swap, which publishes it
//	GSD3  send: looks at state after GSD2. If it is dormant: claims the actor, and starts the
//	      turn
//	GSD4  send, by the actor's own turn: if the box is empty, and the message at hand is the
//	      last one that is pending, the new one is pending behind that
//	GTN1  turn: goes on with what is pending: of GSD1, or what an earlier turn has left. If
//	      there is none, it takes all out of the box by an exchange with nil, and reverses them
//	GTN2  turn: handles the messages, oldest first, until its time is over, or a signal is there
//	GTN3  turn: if some are left they are pending, and the next turn is queued
//	GTN4  turn: nothing is pending, and the box is empty: makes state dormant by an exchange
//	GTN5  turn: looks at the box, and for signals, after GTN4. GSD3 looks at state after GSD2,
//	      and a signal is posted before its poster looks at state. So one of the two sees the
//	      other, and the one that claims the actor then queues the next turn (signal.go)
//	GEN1  end: exchanges the box with ended: GSD2 of others fails from now on. state stays
//	      active
//
// A deep mailbox is chunked: a node may have a bulk, an array to which its sender adds while the
// node is the newest one, which takes no node for each message.
//
//	GBK1  sender: attaches an empty bulk to its node, then GSD2. Only the owner of a bulk, one
//	      goroutine at a time, attaches it, and adds to it
//	GBK2  sender: finds a node with a bulk of its own in the box, writes the message, then
//	      counts it by a compare-and-swap of the bulk's word; by a store, if GBK3 is by the same
//	      goroutine
//	GBK3  turn: when it comes to the node, closes the bulk by an or of its word, which tells how
//	      many messages it has. GBK2 of a sender that has seen the node before fails from then
//	      on, and GSD1 follows. As the sender has added to nothing newer, its messages stay in
//	      order
//
// A message that a turn has taken is its own; free nodes belong to the goroutine that has them, or
// to a list with a lock. A compare-and-swap that finds the node that it has seen before (ABA) does
// no harm: GSD2 adds to whatever is there. models/chunks.pml checks GSD1 to GTN5 and GBK1 to GBK3.

// A node is a message in a mailbox, or a free one.
type node[M any] struct {
	next  *node[M]
	x     *nodeExtra[M] // nil: m is all that there is
	bulk  atomic.Pointer[bulk[M]]
	depth uint32 // messages in the mailbox, with this one, when it came into the box
	asked uint32 // the generation of x.ask
	m     M
}

const bulkEnd = 1 << 31

// A bulk has messages that follow that of its node.
type bulk[M any] struct {
	word  uint32 // how many, and bulkEnd: it is closed
	at    uint32 // the turn has handled the node's message, and at-1 of these
	n     uint32 // how many, as GBK3 has found
	alone bool   // its owner is the one who runs the turns: GBK2 needs no compare-and-swap
	owner uint64 // local.id, so that there are pointers in messages alone
	m     [bulkRoom]M
}

// ownBulk is the bulk of the newest node in a mailbox, if it is the caller's.
func (l *local[M]) ownBulk(newest *node[M]) *bulk[M] {
	if newest != nil {
		if b := newest.bulk.Load(); b != nil && b.owner == l.id {
			return b
		}
	}
	return nil
}

// add is GBK2. It returns how many messages the mailbox of the bulk's node has; 0: nothing was
// added.
func (b *bulk[M]) add(newest *node[M], m M) int {
	i := atomic.LoadUint32(&b.word)
	if i >= bulkRoom {
		return 0
	}
	b.m[i] = m
	if b.alone {
		race.StoreUint32(&b.word, i+1)
	} else if !atomic.CompareAndSwapUint32(&b.word, i, i+1) {
		return 0
	}
	return int(atomic.LoadUint32(&newest.depth) + i + 1)
}

// message is the one at hand of a node.
func (n *node[M]) message() *M {
	if b := n.bulk.Load(); b != nil && b.at > 0 {
		return &b.m[b.at-1]
	}
	return &n.m
}

// A nodeExtra is what few messages have.
type nodeExtra[M any] struct {
	call func(*Context[M]) error // called in place of the behaviour; m is not used
	// called where call has failed, in place of making m a dead letter; nil: there is no
	// message
	failed func(err error)
	ask    asked // the asker
}

// An actorOf is an actor with messages of type M, or stands for others.
type actorOf[M any] struct {
	actor
	box     atomic.Pointer[node[M]]
	pending *node[M] // oldest first; of the sender that has claimed the actor, then the turn's
	recv    Receiver[M]
}

// An actor is what all actors have, whatever their messages are. It is the first field of an
// actorOf.
type actor struct {
	kind          *kind
	side          atomic.Pointer[side]
	parent        *actor // nil: none, the system
	before, after *actor // siblings; with System.tree
	flags         uint32
	state         uint32 // 0: dormant; else 1, and how many messages are pending
}

func ofType[M any](s *actor) *actorOf[M] { return (*actorOf[M])(unsafe.Pointer(s)) }

func (c *actorOf[M]) pool() *pool[M] { return (*kindOf[M])(unsafe.Pointer(c.kind)).pool }

// What put returns if it has put nothing, or if it has woken the actor. Else it is the number of
// messages in the mailbox.
const (
	wasDormant = 0
	wasEnded   = -1
)

// claim makes a dormant actor active, with that many messages that are pending. The caller starts
// the turn.
func (s *actor) claim(pending uint32) bool {
	return atomic.LoadUint32(&s.state) == 0 &&
		atomic.CompareAndSwapUint32(&s.state, 0, 1+pending)
}

// behind is how many messages are pending.
func (s *actor) behind() uint32 { return max(atomic.LoadUint32(&s.state), 1) - 1 }

// setBehind is for turns: state is theirs, and stays active.
func (s *actor) setBehind(n uint32) { race.StoreUint32(&s.state, 1+n) }

// addToOwn is GSD4, but for the message. nil: nothing was added.
func (l *local[M]) addToOwn(c *actorOf[M]) *node[M] {
	last := c.pending
	if !l.atMessage || last == nil || last.next != nil || last.bulk.Load() != nil ||
		l.free == nil {
		return nil
	}
	n := l.pop()
	n.next = nil
	last.next = n
	c.setBehind(c.behind() + 1)
	return n
}

// put is GSD1 to GSD3, but for the start of the turn.
func (c *actorOf[M]) put(p *pool[M], l *local[M], n *node[M]) int {
	for {
		old := c.box.Load()
		depth := uint32(1)
		switch old {
		case nil:
			n.next = nil
			if c.claim(1) {
				c.pending = n
				return wasDormant
			}
			depth += c.behind()
		case &p.ended:
			return wasEnded
		default:
			n.next = old
			depth += old.count()
			if policy.HasBulk && depth >= bulkDepth && n.x == nil && n.bulk.Load() == nil {
				b := p.getBulk(l)
				b.alone = len(p.locals) == 1 && l == &p.locals[0] &&
					!c.kind.settings.waiting
				n.bulk.Store(b)
			}
		}
		race.StoreUint32(&n.depth, depth) // the node that is read above may be in use again
		if c.box.CompareAndSwap(old, n) {
			if c.claim(0) {
				return wasDormant
			}
			return int(depth)
		}
	}
}

// count is how many messages a mailbox has whose newest node n is, or was a moment ago.
func (n *node[M]) count() uint32 {
	depth := atomic.LoadUint32(&n.depth)
	if b := n.bulk.Load(); b != nil {
		depth += atomic.LoadUint32(&b.word) &^ bulkEnd
	}
	return depth
}

// take is the exchange of GTN1. It returns the messages oldest first.
func (c *actorOf[M]) take() (oldest *node[M]) {
	n := c.box.Swap(nil)
	if n == nil {
		return nil
	}
	count := n.count()
	oldest = reverse(n)
	before := oldest.depth - 1 // those that were pending when it came
	c.setBehind(count - min(count, before))
	return oldest
}

func reverse[M any](n *node[M]) (list *node[M]) {
	for n != nil {
		n, n.next, list = n.next, list, n
	}
	return list
}
