package coro

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/organzine/coro/csrc"
)

// What Go waits at beside C: channels, semaphores, locks and so on, which live in C memory. A Go body is suspended, a goroutine
// sleeps as it does anywhere in Go: the poller wakes it.

// A coreObject is what csrc has of one.
type coreObject interface {
	Address() uintptr
	Free()
}

// An object is one of s in C memory. That lives as long as Go refers to it; if its address was given away, as long as
// s.
type object struct {
	s       *Scheduler
	edge    raceEdge
	spinner spinner
	clean   runtime.Cleanup
	given   atomic.Bool
	base    coreObject
}

// adopt makes owner, of which o is a part, the Go side of an object of s that was just made.
func adopt[T any](owner *T, o *object, s *Scheduler, core coreObject, status csrc.Status) (*T, error) {
	if status != csrc.OK {
		return nil, statusError(status)
	}
	o.s, o.base = s, core
	o.clean = runtime.AddCleanup(owner, coreObject.Free, core)
	return owner, nil
}

// Address is the object for C bodies of the scheduler, as an argument of theirs: of a Chan a coro_chan *, of a Semaphore a coro_sem *, of
// a Mutex a coro_mutex *, and so on. From now on its memory is kept until the scheduler is closed, and nothing refers to that.
func (o *object) Address() uintptr {
	if !o.given.Swap(true) {
		o.clean.Stop()
		runtime.AddCleanup(o.s, coreObject.Free, o.base)
	}
	return o.base.Address()
}

// objectError is statusError for what is not a channel.
func objectError(status csrc.Status) error {
	switch status {
	case csrc.Perm:
		return ErrNotLocked
	case csrc.Deadlock:
		return ErrLockedAlready
	case csrc.Invalid:
		return ErrDestroyed
	}
	return statusError(status)
}

// How long a goroutine tries before it sleeps; tryLong, about what it takes that both sides are woken, where that pays.
const (
	tryFor  = 8 * time.Microsecond
	tryLong = 100 * time.Microsecond
)

// A goWaiter is a goroutine that waits. The poller completes it.
type goWaiter struct{ woken chan struct{} }

func (w *goWaiter) complete() { w.woken <- struct{}{} }

// cancelIfEnded is false: it hears of the end itself, and is no coroutine.
func (w *goWaiter) cancelIfEnded() bool { return false }

var goWaiters = sync.Pool{New: func() any { return &goWaiter{make(chan struct{}, 1)} }}

// A waitOp is what somebody waits for.
type waitOp struct {
	bytes     uintptr                         // of the value that is passed
	try       func() csrc.Status              // does it if it can be done at once, else returns csrc.TimedOut; nil: it never can
	may       func() bool                     // tells whether trying is worth while; nil: always
	values    int                             // that are to go until it is worth while; 0: one is enough
	begin     func(csrc.GoWaiter) csrc.Status // does it, or has the gowaiter wait until it is done
	used      func(csrc.GoWaiter)             // gets the gowaiter when it was done, before it is freed; nil: there is nothing in it
	committed bool                            // nothing ends the wait but what it waits for
}

// wait does what is wanted as soon as it can be done.
func (o *object) wait(ctx context.Context, op waitOp) (csrc.Status, error) {
	if op.committed {
		ctx = context.WithoutCancel(ctx)
	}
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	if c := bodyOf(ctx); c != nil {
		if err := c.mayWait(); err != nil && !op.committed {
			if op.try != nil {
				if status := op.try(); status != csrc.TimedOut {
					return status, nil
				}
			}
			return 0, err
		}
		return o.waitAsBody(ctx, c, op)
	}
	var status csrc.Status
	if op.try != nil && o.spinner.spin(tryFor, tryLong, op.turns(), func() bool {
		if op.may != nil && !op.may() {
			return false
		}
		status = op.try()
		return status != csrc.TimedOut
	}) {
		return status, nil
	}
	w := goWaiters.Get().(*goWaiter)
	id := o.s.poller.reserve(w)
	g, status := o.s.core.NewGoWaiter(id, op.bytes)
	if status == csrc.OK {
		status = op.begun(g)
	}
	if status != csrc.Waits {
		o.s.poller.release(id)
		goWaiters.Put(w)
		return status, nil
	}
	status, err := o.sleep(ctx, w, g, op.committed)
	if err != nil {
		o.s.poller.release(id)
	} else {
		op.use(g)
	}
	g.Free()
	goWaiters.Put(w)
	return status, err
}

// await is wait for what is no channel.
func (o *object) await(ctx context.Context, op waitOp) error {
	status, err := o.wait(ctx, op)
	if err != nil {
		return err
	}
	return o.taken(status)
}

// taken is the end of what takes something from others, at once or after waiting.
func (o *object) taken(status csrc.Status) error {
	o.edge.acquire()
	runtime.KeepAlive(o)
	return objectError(status)
}

// took is taken for those that only want to know.
func (o *object) took(status csrc.Status) bool {
	o.edge.acquire()
	runtime.KeepAlive(o)
	return status == csrc.OK
}

func (op *waitOp) use(g csrc.GoWaiter) {
	if op.used != nil {
		op.used(g)
	}
}

// turns is how long there is between two looks.
func (op *waitOp) turns() int {
	if op.may != nil {
		return max(peekTurns, turnsFor(op.values))
	}
	return spinTurns
}

// begun has g begin. If it does not wait it is freed.
func (op *waitOp) begun(g csrc.GoWaiter) csrc.Status {
	status := op.begin(g)
	if status == csrc.OK {
		op.use(g)
	}
	if status != csrc.Waits {
		g.Free()
	}
	return status
}

// lookPause is how long, at most, there is between two looks of one who waits without a poller.
const lookPause = time.Millisecond

// sleep waits for the poller. With an error, g was withdrawn.
func (o *object) sleep(ctx context.Context, w *goWaiter, g csrc.GoWaiter, committed bool) (csrc.Status, error) {
	select {
	case <-w.woken:
		return g.Status(), nil
	case <-ctx.Done():
		if g.Withdraw() {
			return 0, context.Cause(ctx)
		}
	case <-o.s.ended:
		if !committed && g.Withdraw() {
			return 0, ErrClosed
		}
	}
	for pause := time.Microsecond; ; pause = min(2*pause, lookPause) { // it is committed; but there may be no poller any more
		select {
		case <-w.woken:
			return g.Status(), nil
		case <-o.s.ended:
			o.s.poller.completeAll(o.s.core.GoWaiters(nil))
			time.Sleep(pause)
		}
	}
}

func (o *object) waitAsBody(ctx context.Context, c *Coroutine, op waitOp) (csrc.Status, error) {
	g, status := c.join.NewGoWaiter(op.bytes)
	if status == csrc.OK {
		status = op.begun(g)
	}
	if status != csrc.Waits {
		return status, nil
	}
	if op.committed {
		c.awaitCommitted(g.Fired)
		return op.had(g), nil
	}
	happened := g.Fired
	if ctx != c.Context() { // it may end before the body's own does
		s := c.pool.s
		defer s.bind(ctx, s.awaitDeadline(ctx), func() { s.core.SendEvent(c.join) })()
		c.setWaitsWith(ctx)
		defer c.setWaitsWith(c.Context())
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
		c.awaitCommitted(g.Fired)
	}
	return op.had(g), nil
}

// had is the end of a body's wait.
func (op *waitOp) had(g csrc.GoWaiter) csrc.Status {
	status := g.Status()
	op.use(g)
	g.Free()
	return status
}
