package actor

import (
	"sync/atomic"
	"unsafe"

	"github.com/organzine/coro/internal/race"
)

// A mailbox is one word, the box: dormant (nil), active with nothing new, or the newest message, by
// which the older ones follow. It is as the mailbox of the actors in C (csrc/actor/box.h), without
// a generation: the collector keeps an actor as long as there are references.
//
//	S1  send: sets the message's next to what is in the box (dormant, active: to nil), and puts the
//	    message into the box by a compare-and-swap, which publishes it
//	S2  send: if the box was dormant, the sender, and nobody else, has the turn started
//	T1  turn: goes on with what an earlier one has left (pending). If there is none, it looks into
//	    the box. One message alone stays there while it is handled, and then T4 takes it out with
//	    the same compare-and-swap. Else the turn takes all by an exchange with active, and reverses
//	    them
//	T2  turn: handles the messages, oldest first, until its time is over
//	T3  turn: if some are left they are pending, which only turns use, and the next turn is queued
//	T4  turn: makes the box dormant by a compare-and-swap. That fails if a message has come: T1
//	T5  turn: looks for signals after T4. A signal is posted before its poster looks at the box. So
//	    one of the two sees the other, and starts the turn again (signal.go)
//	B1  end: exchanges the box with ended: S1 of others fails from now on
//
// A deep mailbox is chunked: a node may have a bulk, an array to which its sender adds while the
// node is the newest one, which takes no node for each message.
//
//	K1  sender: attaches an empty bulk to its node, then S1. Only the owner of a bulk, one goroutine
//	    at a time, attaches it, and adds to it
//	K2  sender: finds a node with a bulk of its own in the box, writes the message, then counts it by
//	    a compare-and-swap of the bulk's word
//	K3  turn: when it comes to the node, closes the bulk by an or of its word, which tells how many
//	    messages it has. K2 of a sender that has seen the node before fails from then on, and S1
//	    follows. As the sender has added to nothing newer, its messages stay in order
//
// A message that a turn has taken is its own; free nodes belong to the goroutine that has them, or
// to a list with a lock. A compare-and-swap that finds the node that it has seen before (ABA) does
// no harm: S1 adds to whatever is there, and T4 is of the only taker. models/chunks.pml checks S1
// to T4 and K1 to K3.

// A node is a message in a mailbox, or a free one.
type node[M any] struct {
	next  *node[M]
	x     *nodeExtra[M] // nil: m is all that there is
	bulk  atomic.Pointer[bulk[M]]
	depth uint32 // messages in the mailbox, with this one, when it came
	asked uint32 // the generation of x.ask
	m     M
}

const (
	bulkRoom  = 62
	bulkDepth = 16 // how deep a mailbox is that gets bulks
	bulkEnd   = 1 << 31
)

// A bulk has messages that follow that of its node.
type bulk[M any] struct {
	word  atomic.Uint32 // how many, and bulkEnd: it is closed
	at    uint32        // the turn has handled the node's message, and at-1 of these
	n     uint32        // how many, as K3 has found
	owner *local[M]
	m     [bulkRoom]M
}

// ownBulk is the bulk of the newest node in a mailbox, if it is the caller's.
func (l *local[M]) ownBulk(newest *node[M]) *bulk[M] {
	if newest != nil {
		if b := newest.bulk.Load(); b != nil && b.owner == l {
			return b
		}
	}
	return nil
}

// add is K2. It returns how many messages the mailbox of the bulk's node has; 0: nothing was added.
func (b *bulk[M]) add(newest *node[M], m *M) int {
	i := b.word.Load()
	if i >= bulkRoom {
		return 0
	}
	b.m[i] = *m
	if !b.word.CompareAndSwap(i, i+1) {
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
	call func(*Context[M]) error // is called instead of the behaviour; m is nothing
	dead func()                  // is called if the message is a dead letter, and m is nothing
	ask  asked                   // the asker
}

// A cell is an actor.
type cell[M any] struct {
	slot
	box     atomic.Pointer[node[M]]
	pending *node[M] // oldest first; the turn's
	recv    Receiver[M]
}

// A slot is what all actors have, whatever their messages are. It is the first field of a cell.
type slot struct {
	kind          *kind
	side          atomic.Pointer[side]
	parent        *slot // nil: none, the system
	before, after *slot // siblings; with System.tree
	flags         uint32
	behind        uint32 // messages that turns have taken and not handled; without order
}

func cellOf[M any](s *slot) *cell[M] { return (*cell[M])(unsafe.Pointer(s)) }

func (c *cell[M]) pool() *pool[M] { return (*kindOf[M])(unsafe.Pointer(c.kind)).pool }

// What put returns if it has put nothing, or if it has woken the actor. Else it is the number of
// messages in the mailbox.
const (
	wasDormant = 0
	wasEnded   = -1
	wasForward = -2 // the cell stands for others
)

// put is S1. The caller does S2.
func (c *cell[M]) put(p *pool[M], l *local[M], n *node[M]) int {
	for {
		old := c.box.Load()
		depth := uint32(1)
		switch old {
		case nil:
			n.next = nil
			race.StoreUint32(&n.depth, 1)
			if c.box.CompareAndSwap(nil, n) {
				return wasDormant
			}
			continue
		case &p.active:
			n.next = nil
			depth += atomic.LoadUint32(&c.behind)
		case &p.ended:
			return wasEnded
		case &p.forward:
			return wasForward
		default:
			n.next = old
			depth += atomic.LoadUint32(&old.depth)
			if b := old.bulk.Load(); b != nil {
				depth += b.word.Load() &^ bulkEnd
			}
			if depth >= bulkDepth && n.x == nil && n.bulk.Load() == nil {
				n.bulk.Store(p.getBulk(l))
			}
		}
		race.StoreUint32(&n.depth, depth) // the node that is read above may be in use again
		if c.box.CompareAndSwap(old, n) {
			return int(depth)
		}
	}
}

// take is the exchange of T1, of all but the last node, which the turn has handled; nil: of all. It
// returns them oldest first.
func (c *cell[M]) take(p *pool[M], handled *node[M]) (oldest *node[M]) {
	n := c.box.Swap(&p.active)
	if n == &p.active {
		return nil
	}
	behind := n.depth
	if b := n.bulk.Load(); b != nil {
		behind += b.word.Load() &^ bulkEnd
	}
	if handled != nil {
		behind -= handled.depth
	}
	race.StoreUint32(&c.behind, behind)
	return reverse(n, handled)
}

func reverse[M any](n, until *node[M]) (list *node[M]) {
	for n != until {
		n, n.next, list = n.next, list, n
	}
	return list
}
