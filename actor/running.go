package actor

import (
	"fmt"
	"strings"

	"github.com/organzine/coro/internal/race"
)

// A RunningError is returned by Stop and Drain when their context has ended and actors have not.
type RunningError struct {
	// The actors whose calls keep them, and perhaps others, from ending, and what each is at:
	// "acc/7 in Receive", "acc/7 in Receive, waiting for acc/8". 16 at most; none, if all that
	// is left would end in a moment.
	Actors []string
	Left   int   // actors that have not ended, with those
	Cause  error // the error of the context
}

func (e *RunningError) Error() string {
	who := "none of them in a call that lasts"
	if len(e.Actors) > 0 {
		who = "held up by " + strings.Join(e.Actors, ", ")
	}
	return fmt.Sprintf("actor: %d actors have not ended, %s: %v", e.Left, who, e.Cause)
}

// Unwrap returns Cause.
func (e *RunningError) Unwrap() error { return e.Cause }

// running is the error of a system that is stopped, and whose actors have not ended. They may end
// at the same moment.
func (y *System) running(cause error) error {
	e := &RunningError{Cause: cause}
	add := func(s *actor) {
		if what := s.isIn(); what != "" && len(e.Actors) < runningShown {
			e.Actors = append(e.Actors, s.name()+" in "+what)
		}
	}
	for _, s := range y.inTurns() {
		add(s)
	}
	y.tree.Lock()
	defer y.tree.Unlock()
	e.Left = y.live
	for s := y.first; s != nil && len(e.Actors) < runningShown; s = s.next() {
		if s.kind.settings.waiting {
			add(s)
		}
	}
	return e
}

// inTurns is the actor whose turn each executor is at, or was at last.
func (y *System) inTurns() (list []*actor) {
	for _, e := range y.executors {
		if s := race.LoadPointer(&e.actor); s != nil {
			list = append(list, s)
		}
	}
	return list
}

// next is the actor that follows s in the tree, parents before children. The caller holds tree.
func (s *actor) next() *actor {
	if x := s.side.Load(); x != nil && x.first != nil {
		return x.first
	}
	for ; s != nil; s = s.parent {
		if s.after != nil {
			return s.after
		}
	}
	return nil
}

// calls says that a turn of the actor calls a function of the program's, until ended is called.
func (x *side) calls(what string) (ended func()) {
	before := x.call.Swap(&what)
	return func() { x.call.Store(before) }
}

// isIn is what an actor that was stopped is in, as far as that is the program's; "": nothing, or it
// has ended. An actor in Receive has a signal that it has not heeded.
func (s *actor) isIn() (what string) {
	x := s.side.Load()
	if x == nil {
		return ""
	}
	if call := x.call.Load(); call != nil {
		what = *call
	} else if x.posted.Load() {
		what = "Receive"
	} else {
		return ""
	}
	waitsMu.Lock()
	on := x.waitsOn
	waitsMu.Unlock()
	if on != nil {
		what += ", waiting for " + on.name()
	}
	return what
}
