package coro

import (
	"context"
	"runtime"

	"github.com/organzine/coro/internal/core"
)

// A Once is done once, by the first that comes: a coroutine, C or Go, or a goroutine. C bodies get
// its Address, as a coro_once *, and each brings its own function. Use it for what C and Go bodies
// need to find set up; among goroutines alone, [sync.Once] is better. When it is done, Do costs
// some ns, without a cgo call. See Chan for what waiting suspends, and for how long the memory
// lives.
type Once struct {
	object
	core core.Once
}

// NewOnce makes a Once of s. It returns what NewMutex does.
func NewOnce(s *Scheduler) (*Once, error) {
	if err := makable(s, "NewOnce"); err != nil {
		return nil, err
	}
	inner, status := core.NewOnce()
	o := &Once{core: inner}
	return adopt(o, &o.object, s, inner, status)
}

// Do calls f if no function was begun before, or else waits until the Once is done. A panic or a
// [runtime.Goexit] in f goes on to the caller, and the Once is done nevertheless. Do returns nil
// when the Once is done; ErrLockedAlready from inside f; the cause, if the context ends while Do
// waits, or the Go body is canceled; ErrClosed, if the scheduler is closed meanwhile; or
// ErrDestroyed.
func (o *Once) Do(ctx context.Context, f func()) error {
	if o.core.IsDone() {
		return o.taken(core.OK)
	}
	me := owner().number
	try := func() core.Status { return o.core.TryBegin(me) }
	status := try()
	if status == core.TimedOut {
		var err error
		status, err = o.wait(ctx, waitOp{
			try:   try,
			begin: func(g core.GoWaiter) core.Status { return o.core.Begin(g, me) },
		})
		if err != nil {
			return err
		}
	}
	if status != core.Yours {
		return o.taken(status)
	}
	defer func() {
		o.edge.Release()
		o.core.End()
		runtime.KeepAlive(o)
	}()
	f()
	return nil
}
