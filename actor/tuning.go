package actor

import "time"

// The figures of this package that are tuning: with others it would be slower, or less fair, and no
// less right. Each has its unit, its reason, and where its figure stands; rows are those of
// docs/measured.md, Actors in Go.

// Turns: turn.go, executor.go, stuck.go.
const (
	// turnLasts is about how long a turn goes on, so that the actors of an executor take turns
	// (docs/go-actors.md, Fairness; bench fair).
	turnLasts = 20 * time.Microsecond

	// paceMost is the most messages of a turn from one look at the clock to the next. A look
	// takes as long as one or two short messages (counting).
	paceMost = 64

	// Only work of at least this size is shared, in ns: one message, one turn, or the whole
	// queue. The executor that sends a short message handles it sooner than another one would,
	// which has to be woken, and whose cache has nothing of it (fjthrput, two executors).
	longMessage = 250
	longTurn    = 12_500
	longQueue   = 50_000

	// costFalls: what a message of an executor costs is thought to be less by one part in this
	// number at each look. It falls slowly, as what is short may come between what is long.
	costFalls = 8

	// shareMost is the most actors that an executor takes from the system's queue at once. The
	// rest is for the other executors (fjthrput, two executors).
	shareMost = 64

	// stirLess: an executor takes from another if it has less than half as much to do, and this
	// less, in actors (docs/fairness.md; bench fair).
	stirLess = 8

	// tickLeast and tickMost are the times between two looks for executors that are stuck: after
	// a look that has found one, and after looks that have found none. Ticks cost next to
	// nothing at these distances, and at rest there is none: no figure.
	tickLeast = time.Millisecond
	tickMost  = 8 * time.Millisecond
)

// Mailboxes: mailbox.go, ref.go, pool.go.
const (
	// bulkRoom is how many messages a bulk has room for: one allocation, and one compare-and-swap
	// with the box, for all of them. A mailbox gets bulks where it is bulkDepth messages deep;
	// a shallow one would throw most of the room away (docs/rent.md, bulk; counting, fanin).
	bulkRoom  = 62
	bulkDepth = 16

	// softRoom is how deep a mailbox may be before its senders are held back: a turn that sends
	// into a deeper one ends, and a goroutine outside lets others run once in outsideLetsGo
	// messages. So the messages stay in a cache (docs/go-actors.md, Fairness; fanin).
	softRoom      = 256
	outsideLetsGo = 64

	// magazine is how many free nodes are handed over at once, and magazines how many of these
	// are kept for others: the lock is taken once for that many nodes (fanin).
	magazine  = 64
	magazines = 64

	// bulksKept is the most free bulks that one goroutine keeps for itself (fanin).
	bulksKept = 64
)

// The end: drain.go, running.go.
const (
	// drainGrace is how long Drain waits for the ends of actors that it stops, once its context
	// has ended (System.Drain).
	drainGrace = time.Second

	// runningShown is the most actors that a RunningError names.
	runningShown = 16
)
