package coro

// Await is Task.Wait for a body: c is suspended until t has ended, and the executor goes on with others. It returns the cause if c is
// canceled first; t goes on then.
func Await[R any](c *Coroutine, t *Task[R]) (R, error) {
	var zero R
	if err := c.check(); err != nil {
		return zero, err
	}
	if err := c.mayWait(); err != nil {
		return zero, err
	}
	t.mu.Lock()
	switch {
	case t.finished.Load():
		t.mu.Unlock()
	case !t.registered && t.s == c.lane.s && t.join.JoinBy(c.join):
		t.registered, t.joined = true, true
		t.mu.Unlock()
		if err := awaitJoined(c, t); err != nil {
			return zero, err
		}
	default:
		if !t.register() { // it has ended just now, or a C body joins it
			ok := t.finish()
			t.mu.Unlock()
			if !ok {
				return zero, ErrBusy
			}
			break
		}
		w := awaiter{c, !t.tells(c)}
		t.awaiters = append(t.awaiters, w)
		w.begin()
		t.mu.Unlock()
		if err := c.await(t.finished.Load); err != nil {
			if !t.forget(w) {
				c.cling(t.finished.Load)
			}
			return zero, err
		}
	}
	t.s.edge.acquire()
	t.settle()
	return t.result, t.err
}

// awaitJoined waits, as the task's joiner.
func awaitJoined[R any](c *Coroutine, t *Task[R]) error {
	if err := c.await(t.join.JoinedEnd); err != nil {
		if t.unjoin(c) {
			return err
		}
		c.cling(t.join.JoinedEnd)
	}
	t.mu.Lock()
	t.take(t.join.TakeJoined)
	t.tell()
	t.mu.Unlock()
	return nil
}

// unjoin gives up that c is the task's joiner. False: the end has come, and is c's to take.
func (t *Task[R]) unjoin(c *Coroutine) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.isAwaited() {
		if !t.join.Unjoin(c.join) {
			return false
		}
		t.registered, t.joined = false, false
		return true
	}
	// Others have relied on c. A C body that joins gets no chance to be next.
	t.slot = t.s.poller.reserve(t)
	if !t.join.Rejoin(c.join, t.slot) {
		t.s.poller.release(t.slot)
		return false
	}
	t.joined, t.counted = false, true
	return true
}

// tells sees to it that the scheduler of c, who is about to wait, does not rest between the end of t and the event for c. False: it cannot
// be done, as t ends elsewhere, or has just ended, and is on its way.
func (t *Task[R]) tells(c *Coroutine) bool {
	switch {
	case t.s != c.lane.s:
		return false
	case t.isBody || t.joined: // an executor tells c, and is awake meanwhile
		return true
	case !t.counted:
		t.counted = t.join.Count(t.slot)
	}
	return t.counted
}

// An awaiter is a body that waits for a task which Go completes.
type awaiter struct {
	c   *Coroutine
	ext bool // the event will come from a goroutine that the scheduler knows nothing of: a token is held for it
}

func (w awaiter) begin() {
	if w.ext {
		w.c.lane.s.core.BeginPending(1)
	}
}

func (w awaiter) tell() {
	s := w.c.lane.s
	s.core.SendEvent(w.c.join)
	w.forget()
}

func (w awaiter) forget() {
	if w.ext {
		w.c.lane.s.core.EndPending()
	}
}
