package actor

import "sync"

// A Waiting actor waits for another one's answer, or room, and that one perhaps for a third one.
// Each wait is looked at before it begins, so that there is never a circle, whatever the systems.

var waitsMu sync.Mutex // guards side.waitsOn

// mayWait is the error of a behaviour that may not wait.
func (h *caller) mayWait() error {
	if h != nil && h.exec != nil {
		return errorOf(h.actor, ErrWaits)
	}
	return nil
}

// beginWait says that the behaviour of h, nil for a caller outside, waits for what another actor
// does, until endWait. It returns an error to a behaviour that may not wait, or would wait for
// itself.
func (h *caller) beginWait(on *actor) error {
	if h == nil || h.exec != nil {
		return h.mayWait()
	}
	waitsMu.Lock()
	defer waitsMu.Unlock()
	for s := on; s != nil; s = s.waitsOn() {
		if s == h.actor {
			return h.circle(on)
		}
	}
	h.actor.sideOf().waitsOn = on
	return nil
}

func (h *caller) endWait() {
	if h != nil {
		waitsMu.Lock()
		h.actor.sideOf().waitsOn = nil
		waitsMu.Unlock()
	}
}

// waitsOn is the actor that a Waiting actor waits for. The caller holds waitsMu.
func (s *actor) waitsOn() *actor {
	if x := s.side.Load(); x != nil {
		return x.waitsOn
	}
	return nil
}

// circle is the error of a wait of h's actor that would be for itself.
func (h *caller) circle(on *actor) error {
	names := []string{h.actor.name()}
	for s := on; s != h.actor; s = s.waitsOn() {
		names = append(names, s.name())
	}
	return &DeadlockError{names}
}
