package coro

import (
	"context"
	"runtime"

	"github.com/organzine/coro/csrc"
)

// A Cond is a condition variable of a Mutex: a place to wait until somebody else, who has changed what the Mutex guards, says so. For C
// bodies it is a coro_cond, to be used with the coro_mutex that the Mutex is. Who waits is woken in the order of coming, and never for
// nothing. See Chan for who is suspended by it, and how long its memory lives.
type Cond struct {
	object
	core  csrc.Cond
	mutex *Mutex
}

// NewCond makes one for m. It returns ErrNoMemory or ErrNoCgo.
func NewCond(m *Mutex) (*Cond, error) {
	if !csrc.Available {
		return nil, ErrNoCgo
	}
	core, status := csrc.NewCond()
	c := &Cond{core: core, mutex: m}
	return adopt(c, &c.object, m.s, core, status)
}

// Wait unlocks the mutex, which the caller holds, waits for a Signal or Broadcast, and locks it again: whatever Wait returns, the caller
// holds it as before, even where it has to wait for that after its context has ended. It returns ErrNotLocked if the caller does not
// hold the mutex; the cause, if the context ends first, or the Go body is canceled; ErrClosed, if the scheduler is closed
// meanwhile: then no signal was taken. It costs a Lock and an Unlock besides a wait, which is never shorter than a wake-up.
func (c *Cond) Wait(ctx context.Context) error {
	me, waited := owner(), false
	c.mutex.edge.release()
	err := c.await(ctx, waitOp{begin: func(g csrc.GoWaiter) csrc.Status {
		status := c.core.Wait(g, c.mutex.core, me)
		waited = status == csrc.Waits
		return status
	}})
	if waited {
		if bad := c.mutex.relock(ctx, me); bad != nil {
			return bad
		}
	}
	return err
}

// Signal wakes the first who waits, if anybody does. It may be called with and without the mutex. It returns ErrDestroyed, or nil.
func (c *Cond) Signal() error {
	c.edge.release()
	defer runtime.KeepAlive(c)
	return objectError(c.core.Signal())
}

// Broadcast is Signal for all who wait now.
func (c *Cond) Broadcast() error {
	c.edge.release()
	defer runtime.KeepAlive(c)
	return objectError(c.core.Broadcast())
}
