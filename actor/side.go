package actor

import (
	"sync"
	"sync/atomic"
	"time"
)

// A side is what few actors have: a name, children, a bound, watchers, timers. It is made when it
// is needed first, and when an actor ends.
type side struct {
	name string // set before others see the actor
	make any    // func() Receiver[M]

	// What the turns of the actor alone use.
	fails   []time.Duration // when the actor was restarted, lately, by the system's clock
	retries int             // of the message at hand, in a row
	pause   time.Duration   // of the last back-off
	reason  error           // why it ends, or is restarted
	life    uint32          // restarts until now

	posted atomic.Bool // there are signals
	room   room
	idle   atomic.Pointer[idleWatch] // of Passivate
	beat   atomic.Int64              // the last turn since Passivate, by the system's clock

	waitsOn *slot // whose answer or room a Waiting actor waits for; with waitsMu

	mu       sync.Mutex
	signals  []signal
	paused   bool // no turn is queued: the poster of a signal has one started
	ended    bool
	cause    error // why it has ended
	watchers []watcher
	done     chan struct{} // nil: nobody has asked
	timers   map[stopper]struct{}

	// With System.tree.
	first, last *slot // children, in the order of their spawns
	children    int
	awaits      bool // the end of the last child
	drains      int  // children whose ends are awaited, to be drained after them
}

// sideOf returns the side of an actor, and makes it if there is none.
func (s *slot) sideOf() *side {
	if x := s.side.Load(); x != nil {
		return x
	}
	x := &side{}
	if s.side.CompareAndSwap(nil, x) {
		return x
	}
	return s.side.Load()
}
