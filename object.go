package coro

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/organzine/coro/csrc"
	"github.com/organzine/coro/internal/race"
	"github.com/organzine/coro/internal/spin"
)

// What Go waits at beside C: channels, semaphores, locks and the others, which live in C memory. A
// Go body is suspended; a goroutine sleeps as it does anywhere in Go, and the poller wakes it.

// A coreObject is csrc's side of an object.
type coreObject interface {
	Address() uintptr
	Free()
}

// An object of s lives in C memory: as long as Go refers to the object; once its address was given
// away, as long as s.
type object struct {
	s       *Scheduler
	edge    race.Edge
	spinner spin.Spinner
	clean   runtime.Cleanup
	given   atomic.Bool
	base    coreObject
}

// adopt makes owner, of which o is a part, the Go side of an object of s that was just made.
func adopt[T any](
	owner *T, o *object, s *Scheduler, core coreObject, status csrc.Status,
) (*T, error) {
	if status != csrc.OK {
		return nil, statusError(status, ofObject)
	}
	o.s, o.base = s, core
	o.clean = runtime.AddCleanup(owner, coreObject.Free, core)
	return owner, nil
}

// Address is the object for C bodies, as an argument of theirs: of a Chan a coro_chan *, of a
// Semaphore a coro_sem *, of a Mutex a coro_mutex *, and so on. The C bodies may be of any
// scheduler. From now on the memory is kept until the object's own scheduler is closed and nothing
// refers to that scheduler; nobody may use the address after that.
func (o *object) Address() uintptr {
	if !o.given.Swap(true) {
		o.clean.Stop()
		runtime.AddCleanup(o.s, coreObject.Free, o.base)
	}
	return o.base.Address()
}

// How long a goroutine tries before it sleeps. tryLong is about what waking both sides takes; it is
// used where trying for so long pays.
const (
	tryFor  = 8 * time.Microsecond
	tryLong = 100 * time.Microsecond
)

// A goWaiter is a goroutine that waits. The poller completes it.
type goWaiter struct{ woken chan struct{} }

func (w *goWaiter) complete() { w.woken <- struct{}{} }

// cancelIfEnded is false: the goroutine hears of its context's end itself, and is no coroutine.
func (w *goWaiter) cancelIfEnded() bool { return false }

func (w *goWaiter) startContext() context.Context { return nil }

var goWaiters = sync.Pool{New: func() any { return &goWaiter{make(chan struct{}, 1)} }}

// A waitOp is an operation that may have to wait.
type waitOp struct {
	bytes uintptr // of the value that is passed
	// does it at once, or returns TimedOut; nil: it never can
	try    func() csrc.Status
	may    func() bool                     // is trying worth while? nil: always
	values int                             // to go until trying is worth while; 0: one is enough
	begin  func(csrc.GoWaiter) csrc.Status // does it, or has the gowaiter wait until it is done
	// reads the gowaiter when it is done; nil: nothing to read
	used func(csrc.GoWaiter)

	committed bool // nothing ends the wait but what it waits for
}

// wait does the operation as soon as it can be done.
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
		return waitAsBody(ctx, c, op)
	}
	var status csrc.Status
	if op.try != nil && o.spinner.Spin(tryFor, tryLong, op.turns(), func() bool {
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

// await is wait for an object that is no channel.
func (o *object) await(ctx context.Context, op waitOp) error {
	status, err := o.wait(ctx, op)
	if err != nil {
		return err
	}
	return o.taken(status)
}

// taken ends an operation that takes something from others, at once or after waiting.
func (o *object) taken(status csrc.Status) error {
	o.edge.Acquire()
	runtime.KeepAlive(o)
	return statusError(status, ofObject)
}

// tried is taken for an operation that does not wait.
func (o *object) tried(status csrc.Status) (bool, error) {
	if status == csrc.TimedOut {
		runtime.KeepAlive(o)
		return false, nil
	}
	return status == csrc.OK, o.taken(status)
}

func (op *waitOp) use(g csrc.GoWaiter) {
	if op.used != nil {
		op.used(g)
	}
}

// turns is the pause between two tries.
func (op *waitOp) turns() int {
	if op.may != nil {
		return max(spin.PeekTurns, spin.TurnsFor(op.values))
	}
	return spin.Turns
}

// begun has g begin, and frees g if it does not wait.
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

// lookPause is the longest pause between two looks of a goroutine that waits without a poller.
const lookPause = time.Millisecond

// sleep waits for the poller. With an error, g was withdrawn.
func (o *object) sleep(
	ctx context.Context, w *goWaiter, g csrc.GoWaiter, committed bool,
) (csrc.Status, error) {
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
	// The wait is committed, but there may be no poller any more.
	for pause := time.Microsecond; ; pause = min(2*pause, lookPause) {
		select {
		case <-w.woken:
			return g.Status(), nil
		case <-o.s.ended:
			o.s.poller.completeAll(o.s.core.GoWaiters(nil))
			time.Sleep(pause)
		}
	}
}

// waitAsBody is wait for the Go body c.
func waitAsBody(ctx context.Context, c *Coroutine, op waitOp) (csrc.Status, error) {
	g, status := c.join.NewGoWaiter(op.bytes)
	if status == csrc.OK {
		status = op.begun(g)
	}
	if status != csrc.Waits {
		return status, nil
	}
	if op.committed {
		c.awaitCommitted(g.Fired)
		return op.done(g), nil
	}
	if err := c.awaitUntil(ctx, g.Fired); err != nil {
		if g.Withdraw() {
			g.Free()
			return 0, err
		}
		c.awaitCommitted(g.Fired)
	}
	return op.done(g), nil
}

// done ends the wait of a body.
func (op *waitOp) done(g csrc.GoWaiter) csrc.Status {
	status := g.Status()
	op.use(g)
	g.Free()
	return status
}
