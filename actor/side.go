package actor

import (
	"container/list"
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
	again   bool            // the next turn begins with it
	since   uint32          // caller.handled when that began
	pause   time.Duration   // of the last back-off
	reason  error           // why it ends, or is restarted
	life    uint32          // restarts until now

	posted atomic.Bool // there are signals
	room   room
	idle   atomic.Pointer[idleWatch] // of Passivate
	beat   atomic.Int64              // the last turn since Passivate, by the system's clock

	call atomic.Pointer[string] // the function of the program's that a turn calls; nil: Receive, or none

	waitsOn *actor // whose answer or room a Waiting actor waits for; with waitsMu

	mu       sync.Mutex
	signals  []signal
	paused   bool // no turn is queued: the poster of a signal starts one
	ended    bool
	cause    error         // why it has ended
	watchers *list.List    // of *watch; nil: none
	done     chan struct{} // nil: nobody has asked
	begun    *list.List    // of begun; nil: nothing

	// System.tree guards these.
	first, last *actor // children, in the order of their spawns
	children    int
	awaits      bool // the end of the last child
	drains      int  // children whose ends are awaited, to be drained after them
}

// sideOf returns the side of an actor, and makes it if there is none.
func (s *actor) sideOf() *side {
	if x := s.side.Load(); x != nil {
		return x
	}
	x := &side{}
	if s.side.CompareAndSwap(nil, x) {
		return x
	}
	return s.side.Load()
}

// What a state has begun ends with the state: by a restart, or the end of the actor. It is in the
// actor's side until it is over: timers, watches, and the time of a back-off.
type begun interface{ endWithState() }

// stateIsOver: the state may still call the package, in Stopped, but nothing begins any more.
const stateIsOver = isEnding | isRestarting

func (x *side) begin(b begun) *list.Element {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.begun == nil {
		x.begun = list.New()
	}
	return x.begun.PushBack(b)
}

// forget takes away what is over. It does nothing where endState has.
func (x *side) forget(at *list.Element) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.begun != nil {
		x.begun.Remove(at)
	}
}

// endState ends what the state has begun, in the order in which it has.
func (x *side) endState() {
	x.mu.Lock()
	all := x.begun
	x.begun = nil
	x.mu.Unlock()
	if all == nil {
		return
	}
	for e := all.Front(); e != nil; e = e.Next() {
		e.Value.(begun).endWithState()
	}
}
