package actor

import (
	"time"

	"github.com/organzine/coro/internal/actorhook"
	"github.com/organzine/coro/internal/steal"
)

func init() { actorhook.New = newStepped }

// A stepper runs the turns of a system whose executor is the goroutine of a test.
type stepper struct {
	y       *System
	e       *executor
	settle  func()
	ready   []*actor
	changed chan struct{} // with System.mu
}

type steppedClock struct{ actorhook.Clock }

type steppedTimer func() bool

func (t steppedTimer) stop() bool         { return t() }
func (c steppedClock) now() time.Duration { return c.Now() }
func (c steppedClock) after(d time.Duration, f func()) stopper {
	return steppedTimer(c.After(d, f))
}

func newStepped(
	clock actorhook.Clock, settle func(), options []any,
) (any, actorhook.Stepper, error) {
	opts := []Option{}
	for _, o := range options {
		opts = append(opts, o.(Option))
	}
	y, err := New(append(opts, Executors(1))...)
	if err != nil {
		return nil, nil, err
	}
	st := &stepper{y: y, e: y.executors[0], settle: settle, changed: make(chan struct{})}
	y.stepped, y.clock = st, steppedClock{clock}
	y.idle = nil // nobody is to be woken
	y.parked.Store(0)
	st.e.each = true
	return y, st, nil
}

// gather takes in what has become ready.
func (st *stepper) gather() {
	for _, q := range []*steal.Queue[actor]{&st.e.queue, &st.e.held} {
		for s := q.Pop(); s != nil; s = q.Pop() {
			st.ready = append(st.ready, s)
		}
	}
	st.y.mu.Lock()
	for s := st.y.popLocked(); s != nil; s = st.y.popLocked() {
		st.ready = append(st.ready, s)
	}
	st.y.mu.Unlock()
}

// Ready is how many actors have a turn to come.
func (st *stepper) Ready() int {
	st.gather()
	if st.e.err != nil {
		return len(st.ready) + 1
	}
	return len(st.ready)
}

// Step runs the turn of the i-th of these, on the calling goroutine.
func (st *stepper) Step(i int) {
	if st.e.err != nil {
		st.e.step(nil)
	} else {
		s := st.ready[i]
		st.ready = append(st.ready[:i], st.ready[i+1:]...)
		st.e.step(s)
	}
	st.e.publish()
}

// step runs one turn, or deals with the failure of the last one.
func (e *executor) step(s *actor) {
	defer e.register()()
	done := false
	defer func() {
		if !done {
			e.err = failureOf(recover()) // after a runtime.Goexit the goroutine ends all the same
		}
	}()
	if err := e.err; err != nil {
		e.err = nil
		e.actor.kind.ops.failed(e, e.actor, err)
	} else {
		s.kind.ops.turn(e, s)
	}
	done = true
}

// Waiting is how many turns of Waiting actors are under way.
func (st *stepper) Waiting() (int, <-chan struct{}) {
	st.y.mu.Lock()
	defer st.y.mu.Unlock()
	return int(st.y.waiting.Load()), st.changed
}

// changedLocked tells those that wait for a change.
func (y *System) changedLocked() {
	if st := y.stepped; st != nil {
		close(st.changed)
		st.changed = make(chan struct{})
	}
}

// settleHere lets the calling test run everything.
func (y *System) settleHere() {
	if y.stepped != nil {
		y.stepped.settle()
	}
}
