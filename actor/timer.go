package actor

import (
	"container/list"
	"sync/atomic"
	"time"

	"github.com/organzine/coro/internal/turnclock"
)

// A clock tells a system's time, and calls functions later.
type clock interface {
	now() time.Duration
	after(d time.Duration, f func()) stopper
}

// A stopper is something that is going to happen. stop returns false if it has begun to.
type stopper interface{ stop() bool }

type realClock struct{}

type realTimer struct{ *time.Timer }

func (t realTimer) stop() bool { return t.Stop() }

func (realClock) now() time.Duration { return turnclock.Now() }
func (realClock) after(d time.Duration, f func()) stopper {
	return realTimer{time.AfterFunc(d, f)}
}

// A Timer is a message that is to come, by After or Every. The zero Timer has none.
type Timer struct{ t stopper }

// Stop ends the timer: no message comes any more. It returns false if none was to come: the last
// one was sent, Stop was called before, or the state has ended that has begun the timer. Any
// goroutine may call it.
func (t Timer) Stop() bool { return t.t != nil && t.t.stop() }

// A timer is something that a state has begun. What sets over deals with it.
type timer[M any] struct {
	c      *actorOf[M]
	m      M
	over   atomic.Bool
	every  time.Duration // 0: once
	next   time.Duration
	queued atomic.Bool // the last message of Every is not handled
	extra  nodeExtra[M]
	clock  atomic.Pointer[stopper]
	begun  *list.Element // in the actor's side
}

// After sends m to the actor when d has passed. Until then it is work (System.Rest). It is
// accepted now: if the actor ends before, or is restarted, m becomes a dead letter at that moment.
// In Stopped it becomes one at once. It costs some 300 ns.
func (c *Context[M]) After(d time.Duration, m M) Timer {
	c.check()
	if c.c.flags&stateIsOver != 0 {
		c.c.pool().deadMessage(c.c, m, Stopped, ErrStopped)
		return Timer{}
	}
	t := &timer[M]{c: c.c, m: m}
	c.h.sys.laters.Add(1)
	t.begin(d)
	return Timer{t}
}

// Every sends m to the actor each time that d has passed, until it is stopped, or the actor ends
// or is restarted: the timer belongs to the state, and Started is where the next one begins its
// own. A message whose predecessor is not handled yet is left out; one that waits when the timer
// ends is not handled. d is 1 µs at least. In Stopped it does nothing.
func (c *Context[M]) Every(d time.Duration, m M) Timer {
	c.check()
	if c.c.flags&stateIsOver != 0 {
		return Timer{}
	}
	d = max(d, time.Microsecond)
	t := &timer[M]{c: c.c, m: m, every: d, next: c.h.sys.clock.now() + d}
	t.extra.call = func(c *Context[M]) error {
		t.queued.Store(false)
		if t.over.Load() {
			return nil
		}
		return c.c.recv.Receive(c, t.m)
	}
	t.extra.failed = func(err error) { t.c.pool().deadMessage(t.c, t.m, Failed, err) }
	t.begin(d)
	return Timer{t}
}

func (t *timer[M]) begin(d time.Duration) {
	t.begun = t.c.sideOf().begin(t)
	t.arm(d)
}

func (t *timer[M]) arm(d time.Duration) {
	s := t.c.kind.sys.clock.after(max(d, 0), t.fire)
	t.clock.Store(&s)
	if t.over.Load() { // it was stopped meanwhile
		s.stop()
	}
}

func (t *timer[M]) fire() {
	p := t.c.pool()
	if t.every == 0 {
		if t.end() {
			if p.push(t.c, t.m, nil) != nil {
				p.deadMessage(t.c, t.m, Stopped, ErrStopped)
			}
			p.sys.endOfLater()
		}
		return
	}
	if t.over.Load() {
		return
	}
	if !t.queued.Swap(true) {
		var none M
		if p.push(t.c, none, &t.extra) != nil {
			return
		}
	}
	at := p.sys.clock.now()
	for t.next += t.every; t.next <= at; t.next += t.every * max((at-t.next)/t.every, 1) {
	}
	t.arm(t.next - at)
}

// end takes the timer away. False: it is over already.
func (t *timer[M]) end() bool {
	if t.over.Swap(true) {
		return false
	}
	t.c.sideOf().forget(t.begun)
	return true
}

func (t *timer[M]) stop() bool {
	if !t.end() {
		return false
	}
	if s := t.clock.Load(); s != nil {
		(*s).stop()
	}
	if t.every == 0 {
		t.c.kind.sys.endOfLater()
	}
	return true
}

func (t *timer[M]) endWithState() {
	if t.stop() && t.every == 0 {
		t.c.pool().deadMessage(t.c, t.m, Stopped, ErrStopped)
	}
}
