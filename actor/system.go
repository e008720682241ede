// Package actor has actors: state that belongs to one behaviour, to which others send messages of
// one type.
//
//	type account struct{ balance int64 }
//
//	func (a *account) Receive(c *actor.Context[Msg], m Msg) error {
//		switch m := m.(type) { … }
//		return nil
//	}
//
//	sys, err := actor.New()
//	acc, err := actor.Spawn(sys, newAccount, actor.Name("acc/7"), actor.Restart(3, time.Minute))
//	err = acc.Tell(Deposit{100})
//	balance, err := actor.Ask(ctx, acc, func(to actor.Reply[int64]) Msg { return Balance{to} })
//
// Messages are values of type M, and are not boxed. The messages of one sender to one actor are
// handled in the order of the sends, one at a time. A message that was accepted (Tell returned nil)
// is handled, or becomes a dead letter, which is counted.
//
// An executor is a goroutine that calls behaviours, one after the other. So a behaviour must not
// wait: for a channel, for input, in Sleep. One that waits is spawned with [Waiting]: its turns
// have goroutines. A turn of an actor ends after some messages, by the clock, and the actor goes
// to the back of the queue. An idle system uses no CPU. The package needs no cgo.
//
// The package works in a bubble of testing/synctest if the System is made there, and used there
// alone. Its timers go by the bubble's clock, and an actor that rests is durably blocked. What
// waits for actors of a System that was made elsewhere returns [ErrBubble].
package actor

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/organzine/coro/internal/bubble"
	"github.com/organzine/coro/internal/ctxerr"
	"github.com/organzine/coro/internal/leak"
	"github.com/organzine/coro/internal/steal"
)

// A System has actors, and the executors that call their behaviours. Its methods may be called by
// any goroutine.
type System struct {
	executors    []*executor
	clock        clock
	onDeadLetter hook[DeadLetter]
	onFailure    hook[*Failure]
	inBubble     bool // it was made in one

	pools     sync.Map // of *pool[M], by the type M
	questions sync.Map // of *questions, by (*R)(nil) for an answer R
	dead      deadLetters
	failures  atomic.Uint64
	spawned   atomic.Uint64
	handled   atomic.Uint64 // by Waiting actors
	waiting   atomic.Int64  // turns of Waiting actors
	laters    atomic.Int64  // messages and back-offs whose time will come
	has       atomic.Int32  // waitingLocked
	parked    atomic.Int32  // len(idle)
	ends      sync.WaitGroup

	_       [64]byte
	mu      sync.Mutex
	come    steal.List[actor] // active actors that were woken from outside, and no executor has
	queue   steal.List[actor] // and others that no executor has
	turn    bool              // see popLocked
	idle    []*executor
	active  int  // executors that are not idle
	woken   bool // one was woken, and has not looked yet
	ticker  ticker
	closed  bool
	resting []chan struct{} // those that wait for the rest

	tree        sync.Mutex // parents, children
	first, last *actor     // actors without a parent
	live        int
	draining    bool // Drain was called
	stopping    bool
	failure     error         // that has escalated
	ended       chan struct{} // stopping, and no actor is left
	failed      chan struct{} // failure is set
	closing     sync.Once

	stepped *stepper // nil: the executors run by themselves

	namesMu sync.Mutex
	names   map[string]*actor
}

// An Option is an option of [New].
type Option func(*System) error

// Executors sets how many goroutines call behaviours at a time, 1 to 4096. The default is
// runtime.GOMAXPROCS(0).
func Executors(n int) Option {
	return func(y *System) error {
		if n < 1 || n > 4096 {
			return errorf(ErrOption, "Executors(%d): must be from 1 to 4096", n)
		}
		y.executors = make([]*executor, n)
		return nil
	}
}

// OnDeadLetter calls f once for each dead letter, on a goroutine of its own (some 0.5 µs). What has
// made the message a dead letter waits for f, an executor for example: so f must not wait. Nor must
// f publish to a [Topic] with a full subscriber, which makes one more dead letter. A panic in f, or
// a runtime.Goexit, harms nothing (Stats.HookFailures; [docs/hooks.md]).
//
// [docs/hooks.md]: https://github.com/organzine/coro/blob/main/docs/hooks.md
func OnDeadLetter(f func(DeadLetter)) Option {
	return func(y *System) error { y.onDeadLetter.set("actor.OnDeadLetter", f); return nil }
}

// OnFailure calls f once for each failure of a behaviour, before its actor is restarted or stopped,
// on a goroutine of its own (some 0.5 µs). The actor waits for f, and its executor does: so f must
// not wait. A panic in f, or a runtime.Goexit, harms nothing (Stats.HookFailures; [docs/hooks.md]).
//
// [docs/hooks.md]: https://github.com/organzine/coro/blob/main/docs/hooks.md
func OnFailure(f func(*Failure)) Option {
	return func(y *System) error { y.onFailure.set("actor.OnFailure", f); return nil }
}

// New makes a system. It is to be closed. An option out of range is an ErrOption.
func New(opts ...Option) (*System, error) {
	y := &System{clock: realClock{}, ended: make(chan struct{}), failed: make(chan struct{}),
		names: make(map[string]*actor), executors: make([]*executor, runtime.GOMAXPROCS(0)),
		inBubble: bubble.In()}
	for _, o := range opts {
		if o == nil {
			return nil, errorf(ErrOption, "a nil Option")
		}
		if err := o(y); err != nil {
			return nil, err
		}
	}
	for i := range y.executors {
		e := &executor{index: i, wakeup: make(chan struct{}, 1), random: uint32(i)}
		e.caller = caller{sys: y, exec: e}
		e.queue.Alone = len(y.executors) == 1
		e.held.Alone = e.queue.Alone
		y.executors[i] = e
		y.idle = append(y.idle, e)
	}
	y.parked.Store(int32(len(y.idle)))
	if leak.On() {
		leak.Made(leakable{y})
	}
	return y, nil
}

// startFrom starts the turn of an actor that the calling goroutine has made active.
func (y *System) startFrom(s *actor) {
	if h := thisCaller(); h != nil && h.exec != nil && h.sys == y {
		h.exec.start(s)
		return
	}
	y.start(s)
}

// start starts the turn of an actor that a caller outside has made active: GSD1, GSD3.
func (y *System) start(s *actor) {
	if s.kind.settings.waiting {
		y.startWaiting(s)
		return
	}
	y.mu.Lock()
	y.come.Push(s)
	y.has.Add(1)
	y.changedLocked()
	w := y.wakeLocked()
	y.mu.Unlock()
	w.wake()
}

// waitingLocked is how many active actors no executor has.
func (y *System) waitingLocked() int { return y.come.Len() + y.queue.Len() }

// popLocked takes one of these, by turns one that has come and another; nil: there is none.
func (y *System) popLocked() *actor {
	y.turn = !y.turn
	if y.queue.Len() == 0 || (y.turn && y.come.Len() > 0) {
		return y.comeLocked()
	}
	y.has.Add(-1)
	return y.queue.Pop()
}

// comeLocked takes the first one that has come; nil: there is none.
func (y *System) comeLocked() *actor {
	if y.come.Len() == 0 {
		return nil
	}
	y.has.Add(-1)
	return y.come.Pop()
}

// wakeLocked takes an executor off the idle ones, for the caller to wake, unless one is on its way.
func (y *System) wakeLocked() *executor {
	if y.woken || len(y.idle) == 0 {
		return nil
	}
	e := y.idle[len(y.idle)-1]
	y.idle = y.idle[:len(y.idle)-1]
	y.active++
	y.parked.Add(-1)
	e.fresh, y.woken = true, true
	y.tickLocked()
	return e
}

func (y *System) isAtRestLocked() bool {
	return y.active == 0 && y.waitingLocked() == 0 && y.waiting.Load() == 0 &&
		y.laters.Load() == 0
}

// restedLocked tells those that wait for the rest, if it has come.
func (y *System) restedLocked() {
	if len(y.resting) > 0 && y.isAtRestLocked() {
		for _, done := range y.resting {
			close(done)
		}
		y.resting = nil
	}
}

// Rest waits until nothing can happen any more unless somebody outside sends: no actor has
// messages, and no message of After is to come. Actors that wait for what is outside (Every,
// Passivate) are no work. It returns the error of ctx if that ends before. A behaviour gets
// ErrWaits or ErrDeadlock.
func (y *System) Rest(ctx context.Context) error {
	if err := y.beginWait(); err != nil {
		return err
	}
	y.settleHere()
	y.mu.Lock()
	if y.stepped != nil || y.isAtRestLocked() {
		y.mu.Unlock()
		return nil
	}
	done := make(chan struct{})
	y.resting = append(y.resting, done)
	y.mu.Unlock()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		y.mu.Lock()
		y.resting = slices.DeleteFunc(y.resting,
			func(c chan struct{}) bool { return c == done })
		y.mu.Unlock()
		return ctxerr.Of(ctx)
	}
}

// reached is the error of a caller that would wait for y, where New has not made y, and where the
// caller is in a bubble and y in none, or the other way round.
func (y *System) reached() error {
	if y == nil || y.clock == nil {
		return errorf(ErrOption, "a zero System: make it with New")
	}
	if bubble.In() != y.inBubble {
		return errorf(ErrBubble, "make the System where it is used")
	}
	return nil
}

// beginWait is the error of a behaviour that would wait for itself, as its system waits for it; and
// that of reached.
func (y *System) beginWait() error {
	if err := y.reached(); err != nil {
		return err
	}
	h := thisCaller()
	switch {
	case h == nil || h.sys != y:
		return nil
	case h.exec != nil:
		return errorOf(h.actor, ErrWaits)
	}
	return &DeadlockError{[]string{h.actor.name()}}
}

// Run waits until the system has ended: by Stop, Drain or Close; by the end of ctx, when Run drains
// it; or by a failure that no actor has dealt with, which Run returns. Otherwise it returns nil.
func (y *System) Run(ctx context.Context) error {
	if err := y.beginWait(); err != nil {
		return err
	}
	select {
	case <-y.ended:
	case <-y.failed:
		<-y.ended
	case <-ctx.Done():
		if err := y.Drain(context.WithoutCancel(ctx)); err != nil {
			return err
		}
	}
	return y.Err()
}

// Err is the failure that no actor has dealt with, a *Failure, or nil.
func (y *System) Err() error {
	y.tree.Lock()
	defer y.tree.Unlock()
	return y.failure
}

// fail ends the system with a failure.
func (y *System) fail(f *Failure) {
	y.tree.Lock()
	if y.failure == nil {
		y.failure = f
		close(y.failed)
	}
	y.tree.Unlock()
	y.stopAll()
}

// stopAll stops all actors.
func (y *System) stopAll() {
	y.tree.Lock()
	first := !y.stopping
	y.stopping = true
	if first && y.live == 0 {
		close(y.ended)
	}
	list := siblingsFrom(y.first)
	y.tree.Unlock()
	for _, s := range list {
		s.post(signal{sigStop, nil})
	}
}

// Stop ends all actors, each after the message that it is at. What is left becomes dead letters.
// Spawn and Tell return ErrStopped from then on. Stop waits for the end, or until ctx ends: then it
// returns a *RunningError, which names the actors whose calls do not return, and wraps the error of
// ctx. The actors are stopped nevertheless. Within a behaviour of the system it does not wait.
func (y *System) Stop(ctx context.Context) error {
	if err := y.reached(); err != nil {
		return err
	}
	y.stopAll()
	if y.beginWait() != nil {
		return nil
	}
	y.settleHere()
	select {
	case <-y.ended:
		return nil
	case <-ctx.Done():
		return y.running(ctxerr.Of(ctx))
	}
}

// Close stops all actors, waits for their ends, and ends the executors. It waits as long as a
// behaviour does not return: Stop before it, with a context, bounds that and names the behaviour.
// It may be called several times, and after Stop and Drain; but not by a behaviour of the system,
// which gets ErrWaits or ErrDeadlock.
func (y *System) Close() error {
	if err := y.beginWait(); err != nil {
		return err
	}
	if err := y.Stop(context.Background()); err != nil {
		return err
	}
	y.closing.Do(func() {
		y.mu.Lock()
		y.closed = true
		idle := y.idle
		y.idle = nil
		y.parked.Store(0)
		if y.ticker.timer != nil {
			y.ticker.timer.Stop()
		}
		y.mu.Unlock()
		for _, e := range idle {
			close(e.wakeup)
		}
		y.ends.Wait()
	})
	return nil
}

// Stats are figures of a system. While messages are sent they do not fit together exactly.
type Stats struct {
	Actors   int    // that live
	Spawned  uint64 // until now
	Handled  uint64 // messages; exact at rest
	Failures uint64 // of behaviours
	Dead     uint64 // letters, in all
	Stopped  uint64 // of these, since their actors have ended
	Failed   uint64 // of these, since a behaviour has failed with them
	Refused  uint64 // of these, since subscribers of a Topic had no room

	// Calls of OnFailure and OnDeadLetter that have panicked, or have called runtime.Goexit.
	// The first one of each is logged, by slog.
	HookFailures uint64
}

// Stats may be called at any time, also after Close.
func (y *System) Stats() Stats {
	y.tree.Lock()
	st := Stats{Actors: y.live}
	y.tree.Unlock()
	st.Spawned, st.Failures, st.Handled = y.spawned.Load(), y.failures.Load(), y.handled.Load()
	for _, e := range y.executors {
		st.Handled += e.done.Load()
	}
	st.Stopped, st.Failed = y.dead[Stopped].Load(), y.dead[Failed].Load()
	st.Refused = y.dead[Refused].Load()
	st.Dead = st.Stopped + st.Failed + st.Refused
	st.HookFailures = y.onDeadLetter.Failures() + y.onFailure.Failures()
	return st
}

// A later is a call that is to come, and is work until then. As something begun it ends with the
// actor, or by the next restart.
type later struct {
	y *System
	t stopper
}

// later calls f, which is none of the program's, when a time has passed.
func (y *System) later(d time.Duration, f func()) later {
	y.laters.Add(1)
	return later{y, y.clock.after(d, func() {
		f()
		y.endOfLater()
	})}
}

func (l later) endWithState() {
	if l.t.stop() {
		l.y.endOfLater()
	}
}

func (y *System) endOfLater() {
	if y.laters.Add(-1) == 0 {
		y.mu.Lock()
		y.restedLocked()
		y.mu.Unlock()
	}
}
