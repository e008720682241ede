package coro

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/organzine/coro/internal/asm"
	"github.com/organzine/coro/internal/ctxerr"
)

// The state of a coroutine: 32 bits of permits, and flags.
const (
	permitsMask = 1<<32 - 1
	permitsMost = 1 << 28
	hasEvent    = 1 << 32 // what the coroutine waits for inside coro may have happened
	isCanceled  = 1 << 33
	isParked    = 1 << 34 // suspended until there is a permit, or a cancel
	// suspended until there is an event, or a cancel; with isParked: or a permit
	isAwaiting  = 1 << 35
	isCommitted = 1 << 36 // suspended until there is an event
	isRefused   = 1 << 37 // the wait ended without a permit: cleared by Park, and by each await
	isEnded     = 1 << 38
	isUnborn    = 1 << 39 // the coroutine has no record yet
)

type operation uint8

const (
	opEnd operation = iota
	opYield
	opWait
)

// step is what becomes of a state. True: the executor or waker that stores the state resumes the
// body.
func step(state uint64) (uint64, bool) {
	switch {
	case state&isParked != 0 && state&permitsMask != 0:
		return state&^(isParked|isAwaiting) - 1, true
	case state&isParked != 0 && state&isCanceled != 0:
		return state&^(isParked|isAwaiting) | isRefused, true
	case state&isAwaiting != 0 && state&(hasEvent|isCanceled) != 0:
		return state&^(isParked|isAwaiting) | isRefused, true
	case state&isCommitted != 0 && state&hasEvent != 0:
		return state &^ isCommitted, true
	}
	return state, false
}

// signal adds a flag and permits. runnable: the caller must see to it that the coroutine is
// resumed. If the coroutine is full then, the caller tells the core.
func (c *Coroutine) signal(flag uint64, permits uint32) (runnable bool, err error) {
	for {
		old := c.state.Load()
		if old&isEnded != 0 {
			return false, ErrStale
		}
		// There is room for more permits than can come before the core is told that c is
		// full.
		now, runnable := step((old | flag) + uint64(permits))
		if c.state.CompareAndSwap(old, now) {
			return runnable, nil
		}
	}
}

// isFull tells whether the coroutine has as many permits as it may have.
func (c *Coroutine) isFull() bool { return c.state.Load()&permitsMask >= permitsMost }

// tellFull tells the core whether the coroutine is full, so that C bodies and goroutines hear of
// it. It is called after each change of that, and looks with the pool's lock held: what the last
// call tells is so.
func (c *Coroutine) tellFull() {
	c.pool.mu.Lock()
	c.tellFullLocked()
	c.pool.mu.Unlock()
}

func (c *Coroutine) tellFullLocked() {
	if c.state.Load()&isEnded == 0 { // the coroutine does not end while the lock is held
		c.pool.core.SetFull(c.join, c.isFull())
	}
}

// tookPermit is for after a permit was taken of a state.
func (c *Coroutine) tookPermit(old uint64) {
	if old&permitsMask == permitsMost {
		c.tellFull()
	}
}

// publishWait lets others see that the body waits. The executor calls it when the body's goroutine
// is back. False: the body can go on at once.
func (c *Coroutine) publishWait() bool {
	for {
		old := c.state.Load()
		now, runnable := step(old | c.wait)
		if c.state.CompareAndSwap(old, now) {
			if runnable {
				c.tookPermit(old)
			}
			return !runnable
		}
	}
}

// check tells whether the caller is the body.
func (c *Coroutine) check() error {
	if c == nil || c.goid.Load() != asm.Goroutine() {
		return ErrNotCurrent
	}
	return nil
}

// suspend waits, for what step makes of that kind of wait, and returns when the body is resumed.
func (c *Coroutine) suspend(wait uint64) {
	c.op, c.wait = opWait, wait
	c.yield(struct{}{})
}

// Yield lets the others run: the coroutine goes to the back of its executor's queue. It returns
// ErrNotCurrent, a [NoWaitError], or nil.
func (c *Coroutine) Yield() error {
	if c.check() != nil || c.sections.level != noSection {
		if err := c.mustNotYield(); err != nil {
			return err
		}
	}
	c.op = opYield
	c.yield(struct{}{})
	return nil
}

func (c *Coroutine) mustNotYield() error {
	if err := c.check(); err != nil {
		return err
	}
	return c.refused(true)
}

// Park waits for a permit and takes it, like coro_park: the coroutine has one more for each Wake. A
// permit that is there is taken first. Without having taken one Park returns the cause, if the
// coroutine is canceled or the context ends first; a permit that comes later stays for the next
// Park.
func (c *Coroutine) Park(ctx context.Context) error {
	if err := c.check(); err != nil {
		return err
	}
	if c.takePermit() {
		c.spend()
		return nil
	}
	if err := c.mayWait(ctx); err != nil {
		return err
	}
	if !c.isOwn(ctx) {
		return c.parkUntil(ctx)
	}
	c.suspend(isParked)
	if c.state.Load()&isRefused != 0 {
		c.state.And(^uint64(isRefused))
		return c.why()
	}
	return nil
}

// takePermit takes a permit, if there is one.
func (c *Coroutine) takePermit() bool {
	for {
		old := c.state.Load()
		if old&permitsMask == 0 {
			return false
		}
		if c.state.CompareAndSwap(old, old-1) {
			c.tookPermit(old)
			return true
		}
	}
}

// parkUntil is the wait of Park where the end of ctx ends it too.
func (c *Coroutine) parkUntil(ctx context.Context) error {
	w := c.bindWait(ctx)
	defer w.unbind()
	for {
		c.state.And(^uint64(hasEvent))
		if w.over.Load() {
			c.pool.deliver()
			if c.takePermit() {
				return nil
			}
			if !c.join.WakeComes() {
				return ctxerr.Of(ctx)
			}
			c.op = opYield // until the wake has come to the pool
			c.yield(struct{}{})
			continue
		}
		c.suspend(isParked | isAwaiting)
		old := c.state.Load()
		if old&isRefused == 0 {
			return nil
		}
		c.state.And(^uint64(isRefused))
		if old&isCanceled != 0 {
			return c.why()
		}
	}
}

// isOwn tells whether the end of ctx ends no wait that the cancel of c does not end: then a wait
// with ctx need not be bound to it.
func (c *Coroutine) isOwn(ctx context.Context) bool {
	if own, ok := ctx.(*ownContext); ok {
		return own.c == c
	}
	return ctx.Done() == nil
}

// Wake is Handle.Wake from inside. It is cheaper if h is another body of this scheduler, which then
// runs as soon as the caller waits. It returns ErrStale if that coroutine has ended, ErrOverflow if
// that already has 2²⁸ permits, or ErrNotCurrent.
func (c *Coroutine) Wake(h Handle) error {
	if err := c.check(); err != nil {
		return err
	}
	t := c.pool.find(h)
	if t == nil {
		return h.Wake()
	}
	if t.isFull() {
		return ErrOverflow
	}
	runnable, err := t.signal(0, 1)
	if t.isFull() {
		t.tellFull()
	}
	if runnable {
		c.exec.hand(t)
	}
	return err
}

// await suspends the body until happened is true: what makes it true sends an event afterwards.
// await returns the cause if the coroutine is canceled first.
func (c *Coroutine) await(happened func() bool) error {
	for {
		c.state.And(^uint64(hasEvent | isRefused))
		if happened() {
			return nil
		}
		if c.state.Load()&isCanceled != 0 {
			return c.why()
		}
		c.suspend(isAwaiting)
	}
}

// awaitCommitted is await that no cancel ends: the event is certain to come.
func (c *Coroutine) awaitCommitted(happened func() bool) {
	for {
		c.state.And(^uint64(hasEvent))
		if happened() {
			return
		}
		c.suspend(isCommitted)
	}
}

// awaitUntil is await that the end of w ends too, with errOver. nil: there is no w.
func (c *Coroutine) awaitUntil(w *boundWait, happened func() bool) error {
	if w == nil {
		return c.await(happened)
	}
	err := c.await(func() bool { return happened() || w.over.Load() })
	if err == nil && !happened() {
		err = errOver
	}
	return err
}

// Sleep suspends the coroutine for d, by the monotonic clock. It returns the cause, if the
// coroutine is canceled or the context ends first, or ErrNotCurrent.
func (c *Coroutine) Sleep(ctx context.Context, d time.Duration) error {
	if err := c.check(); err != nil {
		return err
	}
	if err := c.refused(true); err != nil {
		return err
	}
	return c.bound(ctx, func(w *boundWait) error { return c.sleep(w, d) })
}

func (c *Coroutine) sleep(w *boundWait, d time.Duration) error {
	s := c.pool.s
	var fired atomic.Bool
	s.core.BeginPending(1)
	t := time.AfterFunc(d, func() {
		fired.Store(true)
		s.core.SendEvent(c.join)
		s.core.EndPending()
	})
	err := c.awaitUntil(w, fired.Load)
	if err == nil {
		return nil
	}
	if t.Stop() {
		s.core.EndPending()
	} else {
		c.awaitCommitted(fired.Load) // the event is on its way
	}
	return err
}
