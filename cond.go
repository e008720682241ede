package coro

import (
	"context"
	"runtime"

	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/zero"
)

// A Cond is a condition variable of a Mutex: callers wait there until another caller, which has
// changed what the Mutex guards, signals. C bodies get its Address, as a coro_cond *, and use it
// with the coro_mutex that the Mutex is. Waiters are woken in the order in which they came, and
// never without a signal. See Chan for what waiting suspends, and for how long the memory lives.
type Cond struct {
	object
	core  core.Cond
	mutex *Mutex
}

// NewCond makes a condition variable for m. It returns ErrNoMemory, ErrNoCgo, or an *OptionError if
// m is nil or a zero value.
func NewCond(m *Mutex) (*Cond, error) {
	if m == nil {
		m = new(Mutex)
	}
	if err := makable(m.s, "NewCond"); err != nil {
		return nil, err
	}
	inner, status := core.NewCond()
	c := &Cond{core: inner, mutex: m}
	return adopt(c, &c.object, m.s, inner, status)
}

// Wait unlocks the mutex, which the caller holds, waits for a Signal or Broadcast, and locks the
// mutex again. Whatever Wait returns, the caller holds the mutex as before, even where Wait has to
// wait for that after its context has ended; but for ErrNotRecoverable, of a mutex that was lost
// meanwhile, and ErrDestroyed, of one that was freed. ErrOwnerEnded is told as by Lock. Without
// having taken a signal it returns ErrNotLocked, if the caller does not hold the mutex; the cause,
// if the context ends first or the Go body is canceled; ErrClosed, if the scheduler is closed
// meanwhile; or ErrDestroyed, of the Cond or the mutex. It costs a Lock and an Unlock besides a
// wait, which is never shorter than a wake-up.
func (c *Cond) Wait(ctx context.Context) error {
	if c.self == nil {
		zero.Value("NewCond")
	}
	me, waited := owner(), false
	c.mutex.edge.Release()
	err := c.await(ctx, waitOp{begin: func(g core.GoWaiter) core.Status {
		status := c.core.Wait(g, c.mutex.core, me.number)
		if waited = status == core.Waits; waited {
			me.gave(c.mutex, core.OK)
		}
		return status
	}})
	if waited {
		if bad := c.mutex.relock(ctx, me); bad != nil {
			return bad
		}
	}
	return err
}

// Signal wakes the first waiter, if there is one. It may be called with and without the mutex. It
// returns ErrDestroyed, or nil.
func (c *Cond) Signal() error {
	c.edge.Release()
	defer runtime.KeepAlive(c)
	return statusError(c.core.Signal(), ofObject)
}

// Broadcast wakes all that wait now. It returns what Signal does.
func (c *Cond) Broadcast() error {
	c.edge.Release()
	defer runtime.KeepAlive(c)
	return statusError(c.core.Broadcast(), ofObject)
}
