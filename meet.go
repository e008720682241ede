package coro

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/organzine/coro/internal/bubble"
	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/spin"
)

// A goroutine that waits at a channel without room looks at a waiter of its own before it sleeps:
// step WTQ4 of waitq.h. So the waiter is in the channel's queue from the start, and one who comes
// to the other end hands the value over without a wake. All of that goes without cgo.

// A meeting is a waiter in C memory, to be used again.
type meeting struct{ g core.GoWaiter }

var meetings sync.Pool

// newMeeting returns nil if there is no memory.
func newMeeting() *meeting {
	if m, ok := meetings.Get().(*meeting); ok {
		return m
	}
	g, status := core.NewMeeting()
	if status != core.OK {
		return nil
	}
	m := &meeting{g}
	runtime.AddCleanup(m, core.GoWaiter.Free, g)
	return m
}

// meet has a goroutine pass the value at v, of at most core.MeetMost bytes, through c, which has
// no room. It returns core.ByCall if the value is to be passed by cgo.
func (o *object) meet(
	ctx context.Context, c core.Chan, send bool, v unsafe.Pointer, bytes uintptr,
) (core.Status, error) {
	if ctx.Err() != nil || bodyOf(ctx) != nil {
		return core.ByCall, nil
	}
	done := ctx.Done() // of the user's own, it may panic: nobody is on any list now
	m := newMeeting()
	if m == nil {
		return core.ByCall, nil
	}
	value := unsafe.Slice((*byte)(v), bytes)
	met := unsafe.Slice((*byte)(m.g.MetValue(bytes)), bytes)
	if send {
		copy(met, value)
	}
	status := c.Meet(o.s.core, m.g, send)
	var err error
	if status == core.Waits {
		if !o.spinner.Spin(tryFor, tryLong, spin.Turns, m.g.Met) {
			if bubble.In() {
				err = o.leaveMeeting(m)
			} else {
				err = o.sleepMeeting(done, m)
			}
		}
		status = m.g.Status()
	}
	if !send && err == nil && status == core.OK {
		copy(value, met)
	}
	meetings.Put(m)
	return status, causeOfWait(ctx, err)
}

// sleepMeeting waits for the poller, unless m is done. With an error, m was withdrawn.
func (o *object) sleepMeeting(done <-chan struct{}, m *meeting) error {
	w := goWaiters.Get().(*goWaiter)
	id := o.s.poller.reserve(w)
	var err error
	if m.g.TakeBack(id) {
		_, err = o.sleep(done, nil, w, m.g, false)
		if err != nil {
			o.s.poller.release(id)
		}
	} else {
		o.s.poller.release(id)
	}
	goWaiters.Put(w)
	return err
}

// A lookedAt is a goWaiter whose goroutine is in a bubble, and looks whether the poller has
// completed the wait: a channel would be the bubble's.
type lookedAt struct {
	goWaiter
	done atomic.Bool
}

func (w *lookedAt) complete() { w.done.Store(true) }

// leaveMeeting is sleepMeeting for a goroutine in a bubble. It waits only for an end that is on its
// way: with ErrBubble, m was withdrawn.
func (o *object) leaveMeeting(m *meeting) error {
	w := &lookedAt{}
	id := o.s.poller.reserve(w)
	if !m.g.TakeBack(id) {
		o.s.poller.release(id)
		return nil
	}
	if m.g.Withdraw() {
		o.s.poller.release(id)
		return ErrBubble
	}
	for !w.done.Load() {
		if o.s.life.Err() != nil { // there may be no poller any more
			o.s.poller.completeAll(o.s.core.GoWaiters(nil))
		}
		runtime.Gosched()
	}
	return nil
}
