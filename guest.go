package coro

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/organzine/coro/csrc"
)

// What Go waits at beside C: channels and semaphores, which live in C memory. A Go body is suspended, a goroutine sleeps as it does
// anywhere in Go: the poller wakes it.

// A waitable is an object of s in C memory. That lives as long as Go refers to it; if its address was given away, as long as
// s.
type waitable struct {
	s       *Scheduler
	edge    edge
	spinner spinner
	clean   runtime.Cleanup
	given   atomic.Bool
	free    func()
}

// give keeps the memory for C bodies.
func (o *waitable) give() {
	if o.given.Swap(true) {
		return
	}
	o.clean.Stop()
	runtime.AddCleanup(o.s, func(free func()) { free() }, o.free)
}

// How often a goroutine tries before it sleeps: for some 4 µs, or 50 where that pays.
const (
	tries     = 32
	triesLong = 400
)

// A sleeper is a goroutine that waits. The poller completes it.
type sleeper struct{ woken chan struct{} }

func (w *sleeper) complete() { w.woken <- struct{}{} }

var sleepers = sync.Pool{New: func() any { return &sleeper{make(chan struct{}, 1)} }}

// wait does what begin does, as soon as it can be done. try does it if it can be done at once; else it returns csrc.TimedOut. used
// gets the guest when it was done, before it is freed.
func (o *waitable) wait(ctx context.Context, bytes uintptr, try func() csrc.Status, begin func(csrc.Guest) csrc.Status,
	used func(csrc.Guest)) (csrc.Status, error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	if c := bodyOf(ctx); c != nil {
		if err := c.mayWait(); err != nil {
			if status := try(); status != csrc.TimedOut {
				return status, nil
			}
			return 0, err
		}
		return o.waitAsBody(ctx, c, bytes, begin, used)
	}
	var status csrc.Status
	if o.spinner.spin(tries, triesLong, func() bool { status = try(); return status != csrc.TimedOut }) {
		return status, nil
	}
	w := sleepers.Get().(*sleeper)
	slot := o.s.poller.reserve(w)
	g, status := o.s.core.NewGuest(slot, bytes)
	if status == csrc.OK {
		status = begun(g, begin, used)
	}
	if status != csrc.Waits {
		o.s.poller.release(slot)
		sleepers.Put(w)
		return status, nil
	}
	status, err := o.sleep(ctx, w, g)
	if err != nil {
		o.s.poller.release(slot)
	} else {
		used(g)
	}
	g.Free()
	sleepers.Put(w)
	return status, err
}

// begun has g begin. If it does not wait it is freed.
func begun(g csrc.Guest, begin func(csrc.Guest) csrc.Status, used func(csrc.Guest)) csrc.Status {
	status := begin(g)
	if status == csrc.OK {
		used(g)
	}
	if status != csrc.Waits {
		g.Free()
	}
	return status
}

// sleep waits for the poller. With an error, g was withdrawn.
func (o *waitable) sleep(ctx context.Context, w *sleeper, g csrc.Guest) (csrc.Status, error) {
	select {
	case <-w.woken:
		return g.Status(), nil
	case <-ctx.Done():
		if g.Withdraw() {
			return 0, context.Cause(ctx)
		}
	case <-o.s.ended:
		if g.Withdraw() {
			return 0, ErrClosed
		}
	}
	for { // it is certain; but there may be no poller any more
		select {
		case <-w.woken:
			return g.Status(), nil
		case <-o.s.ended:
			o.s.poller.completeAll(o.s.core.Guests(nil))
			runtime.Gosched()
		}
	}
}

func (o *waitable) waitAsBody(ctx context.Context, c *Coroutine, bytes uintptr, begin func(csrc.Guest) csrc.Status,
	used func(csrc.Guest)) (csrc.Status, error) {
	g, status := c.join.NewGuest(bytes)
	if status == csrc.OK {
		status = begun(g, begin, used)
	}
	if status != csrc.Waits {
		return status, nil
	}
	happened := g.Fired
	if ctx != c.Context() { // it may end before the body's own does
		stop := context.AfterFunc(ctx, func() { c.lane.s.core.SendEvent(c.join) })
		defer stop()
		happened = func() bool { return g.Fired() || ctx.Err() != nil }
	}
	err := c.await(happened)
	if err == nil && !g.Fired() {
		err = context.Cause(ctx)
	}
	if err != nil {
		if g.Withdraw() {
			g.Free()
			return 0, err
		}
		c.cling(g.Fired)
	}
	status = g.Status()
	used(g)
	g.Free()
	return status, nil
}
