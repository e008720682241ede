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

// An object is what csrc has of one.
type object interface {
	Address() uintptr
	Free()
}

// A waitable is an object of s in C memory. That lives as long as Go refers to it; if its address was given away, as long as
// s.
type waitable struct {
	s       *Scheduler
	edge    edge
	spinner spinner
	clean   runtime.Cleanup
	given   atomic.Bool
	object  object
}

// adopt makes owner, of which o is a part, the Go side of an object of s that was just made.
func adopt[T any](owner *T, o *waitable, s *Scheduler, core object, status csrc.Status) (*T, error) {
	if status != csrc.OK {
		return nil, statusError(status)
	}
	o.s, o.object = s, core
	o.clean = runtime.AddCleanup(owner, object.Free, core)
	return owner, nil
}

// Address is the object for C bodies of the scheduler, as an argument of theirs: of a Chan a coro_chan *, of a Semaphore a coro_sem *, of
// a Mutex a coro_mutex *, and so on. From now on its memory is kept until the scheduler is closed, and nothing refers to that.
func (o *waitable) Address() uintptr {
	if !o.given.Swap(true) {
		o.clean.Stop()
		runtime.AddCleanup(o.s, object.Free, o.object)
	}
	return o.object.Address()
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

// A sleeper is a goroutine that waits. The poller completes it.
type sleeper struct{ woken chan struct{} }

func (w *sleeper) complete() { w.woken <- struct{}{} }

// cancelIfEnded is false: it hears of the end itself, and is no coroutine.
func (w *sleeper) cancelIfEnded() bool { return false }

var sleepers = sync.Pool{New: func() any { return &sleeper{make(chan struct{}, 1)} }}

// A want is what somebody waits for.
type want struct {
	bytes   uintptr                      // of the value that is passed
	try     func() csrc.Status           // does it if it can be done at once, else returns csrc.TimedOut; nil: it never can
	may     func() bool                  // tells whether trying is worth while; nil: always
	values  int                          // that are to go until it is worth while; 0: one is enough
	begin   func(csrc.GoWaiter) csrc.Status // does it, or has the guest wait until it is done
	used    func(csrc.GoWaiter)             // gets the guest when it was done, before it is freed; nil: there is nothing in it
	certain bool                         // nothing ends the wait but what it waits for
}

// wait does what is wanted as soon as it can be done.
func (o *waitable) wait(ctx context.Context, want want) (csrc.Status, error) {
	if want.certain {
		ctx = context.WithoutCancel(ctx)
	}
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	if c := bodyOf(ctx); c != nil {
		if err := c.mayWait(); err != nil && !want.certain {
			if want.try != nil {
				if status := want.try(); status != csrc.TimedOut {
					return status, nil
				}
			}
			return 0, err
		}
		return o.waitAsBody(ctx, c, want)
	}
	var status csrc.Status
	if want.try != nil && o.spinner.spin(tryFor, tryLong, want.turns(), func() bool {
		if want.may != nil && !want.may() {
			return false
		}
		status = want.try()
		return status != csrc.TimedOut
	}) {
		return status, nil
	}
	w := sleepers.Get().(*sleeper)
	slot := o.s.poller.reserve(w)
	g, status := o.s.core.NewGoWaiter(slot, want.bytes)
	if status == csrc.OK {
		status = want.begun(g)
	}
	if status != csrc.Waits {
		o.s.poller.release(slot)
		sleepers.Put(w)
		return status, nil
	}
	status, err := o.sleep(ctx, w, g, want.certain)
	if err != nil {
		o.s.poller.release(slot)
	} else {
		want.use(g)
	}
	g.Free()
	sleepers.Put(w)
	return status, err
}

// await is wait for what is no channel.
func (o *waitable) await(ctx context.Context, want want) error {
	status, err := o.wait(ctx, want)
	if err != nil {
		return err
	}
	return o.taken(status)
}

// taken is the end of what takes something from others, at once or after waiting.
func (o *waitable) taken(status csrc.Status) error {
	o.edge.acquire()
	runtime.KeepAlive(o)
	return objectError(status)
}

// took is taken for those that only want to know.
func (o *waitable) took(status csrc.Status) bool {
	o.edge.acquire()
	runtime.KeepAlive(o)
	return status == csrc.OK
}

func (want *want) use(g csrc.GoWaiter) {
	if want.used != nil {
		want.used(g)
	}
}

// turns is how long there is between two looks.
func (want *want) turns() int {
	if want.may != nil {
		return max(peekTurns, turnsFor(want.values))
	}
	return spinTurns
}

// begun has g begin. If it does not wait it is freed.
func (want *want) begun(g csrc.GoWaiter) csrc.Status {
	status := want.begin(g)
	if status == csrc.OK {
		want.use(g)
	}
	if status != csrc.Waits {
		g.Free()
	}
	return status
}

// lookPause is how long, at most, there is between two looks of one who waits without a poller.
const lookPause = time.Millisecond

// sleep waits for the poller. With an error, g was withdrawn.
func (o *waitable) sleep(ctx context.Context, w *sleeper, g csrc.GoWaiter, certain bool) (csrc.Status, error) {
	select {
	case <-w.woken:
		return g.Status(), nil
	case <-ctx.Done():
		if g.Withdraw() {
			return 0, context.Cause(ctx)
		}
	case <-o.s.ended:
		if !certain && g.Withdraw() {
			return 0, ErrClosed
		}
	}
	for pause := time.Microsecond; ; pause = min(2*pause, lookPause) { // it is certain; but there may be no poller any more
		select {
		case <-w.woken:
			return g.Status(), nil
		case <-o.s.ended:
			o.s.poller.completeAll(o.s.core.GoWaiters(nil))
			time.Sleep(pause)
		}
	}
}

func (o *waitable) waitAsBody(ctx context.Context, c *Coroutine, want want) (csrc.Status, error) {
	g, status := c.join.NewGoWaiter(want.bytes)
	if status == csrc.OK {
		status = want.begun(g)
	}
	if status != csrc.Waits {
		return status, nil
	}
	if want.certain {
		c.cling(g.Fired)
		return want.had(g), nil
	}
	happened := g.Fired
	if ctx != c.Context() { // it may end before the body's own does
		s := c.lane.s
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
		c.cling(g.Fired)
	}
	return want.had(g), nil
}

// had is the end of a body's wait.
func (want *want) had(g csrc.GoWaiter) csrc.Status {
	status := g.Status()
	want.use(g)
	g.Free()
	return status
}
