package actor

import "fmt"

// A leakable is a system as package leak sees it.
type leakable struct{ *System }

func (l leakable) Left() string {
	l.mu.Lock()
	closed := l.closed
	l.mu.Unlock()
	if closed {
		return ""
	}
	return fmt.Sprintf("actor system, not closed: %d actors", l.Stats().Actors)
}

// A leakActor is an actor as package leak sees it.
type leakActor struct{ *actor }

func (l leakActor) Left() string {
	if x := l.side.Load(); x != nil {
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.ended {
			return ""
		}
	}
	return "actor that has not ended: " + l.name()
}
