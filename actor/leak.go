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
