package actor

import "slices"

// An Ended is the notice that a watched actor has ended.
type Ended struct {
	Name  string
	Cause error // a *Failure, or nil
}

// A watcher is told when an actor has ended.
type watcher interface{ tell(cause error) }

type watch[M any] struct {
	c       *cell[M]
	name    string
	message func(Ended) M
}

func (w *watch[M]) tell(cause error) {
	_ = w.c.pool().push(w.c, w.message(Ended{w.name, cause}), nil)
}

// Watch has the message sent to the actor when target has ended: once for each call, also if it had
// ended before. It is nothing if the actor itself ends before. message is called by another
// goroutine, perhaps. The function that Watch returns takes the call back; it returns false if the
// message was sent.
func (c *Context[M]) Watch(target Address, message func(Ended) M) (unwatch func() bool, err error) {
	s := addressOf(target)
	if s == nil || message == nil {
		return nil, errorOf(s, ErrNoRef)
	}
	w := &watch[M]{c.c, s.name(), message}
	x := s.sideOf()
	x.mu.Lock()
	ended, cause := x.ended, x.cause
	if !ended {
		x.watchers = append(x.watchers, w)
	}
	x.mu.Unlock()
	if ended {
		w.tell(cause)
	}
	return func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		i := slices.Index(x.watchers, watcher(w))
		if i < 0 {
			return false
		}
		x.watchers = slices.Delete(x.watchers, i, i+1)
		return true
	}, nil
}

// addressOf is the single actor of an address, or nil.
func addressOf(a Address) *slot {
	if a == nil || a.Done() == nil {
		return nil
	}
	return a.address()
}
