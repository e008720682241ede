package actor

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/organzine/coro/internal/asm"
	"github.com/organzine/coro/internal/panicked"
	"github.com/organzine/coro/internal/race"
	"github.com/organzine/coro/internal/steal"
	"github.com/organzine/coro/internal/table"
	"github.com/organzine/coro/internal/turnclock"
)

// A caller is a goroutine that calls behaviours.
type caller struct {
	sys       *System
	exec      *executor // nil: it runs one turn of a Waiting actor
	actor     *actor    // whose turn it is
	stop      bool      // the turn is to end after this message
	floods    bool      // since it has sent into a deep mailbox
	each      bool      // turns are of one message
	handled   uint32    // messages
	published uint32    // of these, of a Waiting actor: in System.handled
	err       error     // how the behaviour of actor has failed, still to be dealt with
}

// flood ends the turn, since it has sent into a deep mailbox.
func (h *caller) flood() { h.stop, h.floods = true, true }

// callers maps asm.Goroutine to the goroutine that calls behaviours.
var callers table.Words[caller]

// register puts the calling goroutine into callers, until unregister; a nil h puts none there.
// Where goroutines have no numbers all calls are as those from outside.
func (h *caller) register() (unregister func()) {
	me := asm.Goroutine()
	if me == 0 || h == nil {
		return func() {}
	}
	callers.Put(me, h)
	return func() { callers.Remove(me) }
}

// thisCaller is the caller of a function of this package, if that is a goroutine that calls
// behaviours.
func thisCaller() *caller { return callers.At(asm.Goroutine()) }

// An executor is a goroutine that calls the behaviours of a system's actors, in turns.
type executor struct {
	caller
	index   int
	wakeup  chan struct{}
	started bool // the waker's
	fresh   bool // woken, and has not looked yet; with System.mu
	random  uint32

	clock turnclock.Clock // its turns are messages

	turns uint32 // without order: those that look after it read it
	cost  uint32 // ns a message, lately; without order: thieves look
	done  atomic.Uint64
	seen  uint32      // turns at the last tick; with System.mu
	stuck atomic.Bool // by the last tick: see stuck.go
	_     [64]byte
	queue steal.Queue[actor]
	held  steal.Queue[actor] // actors that have sent into deep mailboxes, for when there is nothing else
}

// main runs turns until the system is closed.
func (e *executor) main() {
	defer e.caller.register()() // also after a runtime.Goexit
	e.clock.GoOn()
	for e.run() {
	}
	e.sys.ends.Done()
}

// run runs turns until the system is closed, or a behaviour fails: the next run deals with that, as
// what it calls may fail too.
func (e *executor) run() (again bool) {
	closed := false
	defer func() {
		if closed {
			return
		}
		v := recover()
		e.err = failureOf(v)
		again = true
		if v == nil { // runtime.Goexit: this goroutine is at its end
			go e.main()
		}
	}()
	if err := e.err; err != nil {
		e.err = nil
		e.actor.kind.ops.failed(e, e.actor, err)
	}
	for {
		s := (*actor)(nil)
		if e.clock.IsDue(e.handled) {
			s = e.look()
		}
		if s == nil {
			s = e.queue.Pop()
		}
		if s == nil {
			s = e.held.Pop()
		}
		if s == nil {
			if s = e.find(); s == nil {
				closed = true
				return false
			}
		}
		race.StoreUint32(&e.turns, e.turns+1)
		s.kind.ops.turn(e, s)
	}
}

// failureOf is the error of what a recover has returned; nil: there was no panic.
func failureOf(v any) error {
	if v == nil {
		return ErrGoexit
	}
	return panicked.New(v)
}

// start starts the turn of an actor that the executor has made active: GSD1, GSD3.
func (e *executor) start(s *actor) {
	if s.kind.settings.waiting {
		e.sys.startWaiting(s)
		return
	}
	e.push(s)
}

// push puts an active actor at the back of the queue. If there is no room, half of the queue goes
// to the system's.
func (e *executor) push(s *actor) {
	if !e.queue.Push(s) {
		e.spill()
		e.queue.Push(s)
	}
}

// hold lets an actor wait that fills another one's mailbox, so that the other gets on: until the
// queue is empty, or e looks at the clock. Nobody waits for anybody, so that there is no deadlock.
func (e *executor) hold(s *actor) {
	if !e.held.Push(s) {
		e.push(s)
	}
}

// unhold lets some go on.
func (e *executor) unhold() {
	for n := (e.held.Len() + 3) / 4; n > 0; n-- {
		if s := e.held.Pop(); s != nil {
			e.push(s)
		}
	}
}

func (e *executor) spill() {
	y := e.sys
	y.mu.Lock()
	for range steal.Room / 2 {
		if s := e.queue.Pop(); s != nil {
			y.queue.Push(s)
			y.has.Add(1)
		}
	}
	y.mu.Unlock()
}

// share wakes an executor, to steal.
func (e *executor) share() {
	y := e.sys
	y.mu.Lock()
	w := y.wakeLocked()
	y.mu.Unlock()
	w.wake()
}

// wake lets an executor go on that wakeLocked has returned.
func (e *executor) wake() {
	switch {
	case e == nil:
	case !e.started:
		e.started = true
		e.sys.ends.Add(1)
		go e.main()
	default:
		e.wakeup <- struct{}{}
	}
}

// look does what has to be done now and then: it lets other goroutines run, takes in what has come
// from outside, takes from an executor that has far more to do, and shares. It returns what is to
// run next, if that has come from outside.
func (e *executor) look() (next *actor) {
	each, letsGo := e.clock.Look(e.handled)
	if each > 0 {
		race.StoreUint32(&e.cost, max(uint32(min(each, time.Second)), e.cost-e.cost/costFalls))
	}
	e.publish()
	if e.stuck.Load() {
		e.stuck.Store(false)
	}
	y := e.sys
	if letsGo {
		e.clock.Gosched()
		e.stir()
		e.clock.GoOn()
	}
	if y.has.Load() > 0 {
		next = e.letIn()
	}
	e.unhold()
	if y.parked.Load() > 0 && (e.isWorthSharing() || y.has.Load() > 0) {
		e.share()
	}
	return next
}

// publish shows others how many messages were handled.
func (e *executor) publish() {
	if n := uint64(e.handled - uint32(e.done.Load())); n > 0 {
		e.done.Add(n)
	}
}

// isWorthSharing tells whether another executor should have part of the queue.
func (e *executor) isWorthSharing() bool {
	n := uint32(e.queue.Len())
	if e.stuck.Load() {
		return n > 0 || e.held.Len() > 0
	}
	cost := atomic.LoadUint32(&e.cost)
	return n > 1 && (cost >= longMessage || uint64(n)*uint64(cost) >= longQueue)
}

// takeShared takes the executor's part of what the system has. False: there is nothing.
func (e *executor) takeShared() bool {
	y := e.sys
	y.mu.Lock()
	defer y.mu.Unlock()
	if e.fresh {
		e.fresh, y.woken = false, false
	}
	got := e.queue.Len()
	for n := min(y.waitingLocked()/y.active+1, shareMost); n > 0 && !e.queue.IsFull(); n-- {
		s := y.popLocked()
		if s == nil {
			break
		}
		e.queue.Push(s)
	}
	return e.queue.Len() > got
}

// letIn returns the first one that has come from outside, to run next. The others are shared,
// unless messages are long: then they would wait for long behind the queue, and each is let in at a
// look.
func (e *executor) letIn() *actor {
	y := e.sys
	y.mu.Lock()
	first := y.comeLocked()
	y.mu.Unlock()
	if e.cost < longTurn || first == nil {
		e.takeShared()
	}
	return first
}

func (e *executor) roll() int {
	e.random = e.random*1664525 + 1013904223
	return int(e.random >> 8)
}

// stir takes from another executor if that has far more to do. All are busy then: nobody steals.
func (e *executor) stir() {
	all := e.sys.executors
	v := all[e.roll()%len(all)]
	if own, his := e.queue.Len(), v.queue.Len(); v != e && his > 2*own+stirLess {
		e.queue.StealFrom(&v.queue, uint32(his-own)/2)
	}
}

// steal takes half of the queue of another executor, if that is worth while.
func (e *executor) steal() bool {
	all := e.sys.executors
	first := e.roll()
	for i := range all {
		v := all[(i+first)%len(all)]
		if v != e && v.isWorthSharing() && (e.queue.StealFrom(&v.queue, steal.Room) ||
			e.queue.StealFrom(&v.held, steal.Room)) {
			return true
		}
	}
	return false
}

// find waits for something to run. nil: the system is closed.
func (e *executor) find() *actor {
	for {
		found := e.takeShared() || e.steal()
		if !found {
			runtime.Gosched()
			found = e.takeShared() || e.steal()
		}
		if !found && !e.park() {
			return nil
		}
		if s := e.queue.Pop(); s != nil { // else others have taken it meanwhile
			return s
		}
	}
}

// park sleeps until somebody wakes the executor, unless there is something to do. False: the system
// is closed.
func (e *executor) park() bool {
	y := e.sys
	e.queue.Forget()
	e.publish()
	y.mu.Lock()
	if y.waitingLocked() > 0 {
		y.mu.Unlock()
		return true
	}
	y.active--
	y.parked.Add(1)
	y.idle = append(y.idle, e)
	e.clock.Soon(e.handled)
	y.restedLocked()
	closed := y.closed
	y.mu.Unlock()
	if closed {
		return false
	}
	_, open := <-e.wakeup
	return open
}
