package coro

import (
	"context"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/ctxerr"
	"github.com/organzine/coro/internal/race"
	"github.com/organzine/coro/internal/spin"
)

// What Go waits at beside C: channels, semaphores, locks and the others, which live in C memory. A
// Go body is suspended; a goroutine sleeps as it does anywhere in Go, and the poller wakes it.

// A coreObject is core's side of an object.
type coreObject interface {
	Address() uintptr
	Destroy() core.Status // the memory stays
	Free()
}

// An object of s lives in C memory, as long as Go refers to the object. While C has the address, s
// refers to the object.
//
// A copy does what its original does: all state is C's, or the original's, and the copy keeps the
// original alive, and with it the memory.
type object struct {
	s       *Scheduler
	self    *object // the original; nil: a zero value
	edge    *race.Edge
	spinner spin.Spinner
	state   atomic.Uint32 // the original's; changed with the lock of s.exposures
	sample  sample
	base    coreObject
	room    uintptr // bytes in C besides the object itself
	// tells whether C will not use the address any more; nil: that is not known
	over func() bool
}

// The states of an object.
const (
	private = iota // C was never given the address
	exposed        // C was given it
	freed
)

// exposures are the objects whose addresses C has.
type exposures struct {
	mu      sync.Mutex
	objects map[*object]struct{}
	most    int // objects, until they are looked through
}

// forget lets go of o, if C will not use it any more. l.mu is held.
func (l *exposures) forget(o *object) {
	if o.over != nil && o.over() {
		delete(l.objects, o)
	}
}

// forgetSome forgets what C will not use any more, each time that there are twice as many objects.
// l.mu is held.
func (l *exposures) forgetSome() {
	if len(l.objects) < l.most {
		return
	}
	for o := range l.objects {
		l.forget(o)
	}
	l.most = max(exposuresLeast, 2*len(l.objects))
}

// makable returns why maker can make no object of s; or nil.
func makable(s *Scheduler, maker string) error {
	switch {
	case !core.Available:
		return ErrNoCgo
	case s == nil || s.core == nil:
		return &OptionError{maker, "nil",
			"needs a scheduler made with New, or a mutex of one"}
	}
	return nil
}

// adopt makes owner the Go side of an object of s that was just made. o is a part of owner.
func adopt[T any](
	owner *T, o *object, s *Scheduler, inner coreObject, status core.Status,
) (*T, error) {
	if status != core.OK {
		return nil, statusError(status, ofObject)
	}
	o.s, o.self, o.base, o.edge = s, o, inner, new(race.Edge)
	o.sample.init()
	runtime.AddCleanup(owner, coreObject.Free, inner)
	return owner, nil
}

// original returns the object that o is, or is a copy of. It panics if o is a zero value.
func (o *object) original(method string) *object {
	if o.self == nil {
		panic("coro: " + method +
			" of a zero value: make the object with NewChan, NewMutex or the like")
	}
	return o.self
}

// Address is the object for C bodies, as an argument of theirs: of a Chan a coro_chan *, of a
// Semaphore a coro_sem *, of a Mutex a coro_mutex *, and so on. The C bodies may be of any
// scheduler. From now on the memory is kept until Free; without Free, until the object's own
// scheduler is closed and nothing refers to that scheduler. Nobody may use the address after that.
// After Free, Address is 0, which C refuses with CORO_EINVAL.
func (o *object) Address() uintptr {
	o = o.original("Address")
	if o.state.Load() != exposed && !o.expose() {
		return 0
	}
	return o.base.Address()
}

// expose makes s refer to o. False: o is freed.
func (o *object) expose() bool {
	l := &o.s.exposures
	l.mu.Lock()
	defer l.mu.Unlock()
	if o.state.Load() == freed {
		return false
	}
	if l.objects == nil {
		l.objects = make(map[*object]struct{})
	}
	l.forgetSome()
	l.objects[o] = struct{}{}
	o.state.Store(exposed)
	return true
}

// Free gives the object back, so that its memory no longer waits for the end of the scheduler. Use
// it for an object that has an Address and lives shorter than its scheduler, when no C body will
// use the address any more. Free is allowed, and not needed, for an object whose Address was never
// asked for.
//
// From now on each call with the object returns ErrDestroyed. A C body that uses the address
// nevertheless gets CORO_EINVAL as long as the memory is not used again: it is not before Go
// refers to the object no more, and has collected it. Later the behaviour of that C body is
// undefined.
//
// Free returns ErrBusy while others wait at the object, or hold it: then nothing is changed. It
// returns ErrDestroyed if the object was freed before. An object that a C body has destroyed is
// freed too. Free does not block, and costs some 100 ns.
func (o *object) Free() error {
	o = o.original("Free")
	l := &o.s.exposures
	l.mu.Lock()
	defer l.mu.Unlock()
	if o.state.Load() == freed {
		return ErrDestroyed
	}
	status := o.base.Destroy()
	runtime.KeepAlive(o)
	if status != core.OK && status != core.Invalid { // Invalid: C has destroyed it
		return statusError(status, ofObject)
	}
	o.state.Store(freed)
	delete(l.objects, o)
	makeGarbage(o.room)
	return nil
}

// makeGarbage has the garbage collector, which does not see C memory, come about as soon as if so
// many bytes of Go's memory had become garbage.
func makeGarbage(bytes uintptr) { runtime.KeepAlive(make([]byte, min(bytes, garbageMost))) }

// A goWaiter is a goroutine that waits. The poller completes it.
type goWaiter struct{ woken chan struct{} }

func (w *goWaiter) complete() { w.woken <- struct{}{} }

// cancelIfEnded is false: the goroutine hears of its context's end itself, and is no coroutine.
func (w *goWaiter) cancelIfEnded() bool { return false }

func (w *goWaiter) startContext() context.Context { return nil }
func (w *goWaiter) forgetDeadline(uint32)         {}

var goWaiters = sync.Pool{New: func() any { return &goWaiter{make(chan struct{}, 1)} }}

// A waitOp is an operation that may have to wait.
type waitOp struct {
	bytes uintptr // of the value that is passed
	// does it at once, or returns TimedOut; nil: it never can
	try func() core.Status
	may func() bool // is trying worth while? nil: always
	// to go until trying is worth while; 0: one is enough
	values int
	begin  func(core.GoWaiter) core.Status // does it, or makes the gowaiter wait until it is done
	// reads the gowaiter when it is done; nil: nothing to read
	used func(core.GoWaiter)
	// of a goroutine: its close ends the wait with os.ErrDeadlineExceeded; nil: nothing does
	over func() <-chan struct{}

	committed bool // nothing ends the wait but what it waits for
}

// wait does the operation as soon as it can be done.
func (o *object) wait(ctx context.Context, op waitOp) (core.Status, error) {
	if op.committed {
		ctx = context.WithoutCancel(ctx)
	}
	if ctx.Err() != nil {
		return 0, ctxerr.Of(ctx)
	}
	if c := bodyOf(ctx); c != nil {
		if err := c.mayWait(ctx); err != nil && !op.committed {
			if op.try != nil {
				if status := op.try(); status != core.TimedOut {
					return status, nil
				}
			}
			return 0, err
		}
		return o.waitAsBody(ctx, c, op)
	}
	var status core.Status
	if op.try != nil && o.spinner.Spin(tryFor, tryLong, op.turns(), func() bool {
		if op.may != nil && !op.may() {
			return false
		}
		status = op.try()
		return status != core.TimedOut
	}) {
		return status, nil
	}
	if err := outside(); err != nil {
		return 0, err
	}
	done := ctx.Done() // of the user's own, it may panic: nobody is on any list now
	w := goWaiters.Get().(*goWaiter)
	id := o.s.poller.reserve(w)
	g, status := o.s.core.NewGoWaiter(id, op.bytes)
	if status == core.OK {
		status = op.begun(g)
	}
	if status != core.Waits {
		o.s.poller.release(id)
		goWaiters.Put(w)
		return status, nil
	}
	status, err := o.sleep(done, op.deadline(), w, g, op.committed)
	if err != nil {
		o.s.poller.release(id)
	} else {
		op.use(g)
	}
	g.Free()
	goWaiters.Put(w)
	return status, causeOfWait(ctx, err)
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
func (o *object) taken(status core.Status) error {
	o.edge.Acquire()
	runtime.KeepAlive(o)
	return statusError(status, ofObject)
}

// tried is taken for an operation that does not wait.
func (o *object) tried(status core.Status) (bool, error) {
	if status == core.TimedOut {
		runtime.KeepAlive(o)
		return false, nil
	}
	return status == core.OK || status == core.OwnerDead, o.taken(status)
}

func (op *waitOp) use(g core.GoWaiter) {
	if op.used != nil {
		op.used(g)
	}
}

func (op *waitOp) deadline() <-chan struct{} {
	if op.over == nil {
		return nil
	}
	return op.over()
}

// turns is the pause between two tries.
func (op *waitOp) turns() int {
	if op.may != nil {
		return max(spin.PeekTurns, spin.TurnsFor(op.values))
	}
	return spin.Turns
}

// begun lets g begin, and frees g if it does not wait.
func (op *waitOp) begun(g core.GoWaiter) core.Status {
	status := op.begin(g)
	if status == core.OK {
		op.use(g)
	}
	if status != core.Waits {
		g.Free()
	}
	return status
}

// sleep waits for the poller. With an error, g was withdrawn: errOver if done was closed.
func (o *object) sleep(
	done, deadline <-chan struct{}, w *goWaiter, g core.GoWaiter, committed bool,
) (core.Status, error) {
	select {
	case <-w.woken:
		return g.Status(), nil
	case <-done:
		if g.Withdraw() {
			return 0, errOver
		}
	case <-deadline:
		if g.Withdraw() {
			return 0, os.ErrDeadlineExceeded
		}
	case <-o.s.life.Done():
		if !committed && g.Withdraw() {
			return 0, ErrClosed
		}
	}
	// The wait is committed, but there may be no poller any more.
	for pause := lookPauseLeast; ; pause = min(2*pause, lookPause) {
		select {
		case <-w.woken:
			return g.Status(), nil
		case <-o.s.life.Done():
			o.s.poller.completeAll(o.s.core.GoWaiters(nil))
			time.Sleep(pause)
		}
	}
}

// waitAsBody is wait for the Go body c.
func (o *object) waitAsBody(
	ctx context.Context, c *Coroutine, op waitOp,
) (status core.Status, err error) {
	err = c.bound(ctx, func(w *boundWait) error {
		status, err = o.waitBound(c, w, &op)
		return err
	})
	return status, err
}

// waitBound waits until w ends, too. nil: there is no w.
func (o *object) waitBound(c *Coroutine, w *boundWait, op *waitOp) (core.Status, error) {
	g, status := c.join.NewGoWaiter(op.bytes)
	if status == core.OK {
		status = op.begun(g)
	}
	if status != core.Waits {
		return status, nil
	}
	if op.committed {
		c.awaitCommitted(g.Fired)
		return op.done(g), nil
	}
	if err := o.awaitFired(c, w, g); err != nil {
		if g.Withdraw() {
			g.Free()
			return 0, err
		}
		c.awaitCommitted(g.Fired)
	}
	return op.done(g), nil
}

// awaitFired lets c wait until g is fired: until then it returns what awaitUntil does, if c is
// canceled or w ends; or ErrClosed, if the object's scheduler has ended. A body of that scheduler
// has ended before. A body of another one is sent an event.
func (o *object) awaitFired(c *Coroutine, w *boundWait, g core.GoWaiter) error {
	if o.s == c.pool.s {
		return c.awaitUntil(w, g.Fired)
	}
	s := c.pool.s
	defer s.bind(o.s.life, false, func() { s.core.SendEvent(c.join) })()
	err := c.awaitUntil(w, func() bool { return g.Fired() || o.s.life.Err() != nil })
	if err == nil && !g.Fired() {
		err = ErrClosed
	}
	return err
}

// done ends the wait of a body.
func (op *waitOp) done(g core.GoWaiter) core.Status {
	status := g.Status()
	op.use(g)
	g.Free()
	return status
}
