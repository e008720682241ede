package coro

import (
	"context"
	"reflect"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/organzine/coro/csrc"
	"github.com/organzine/coro/internal/asm"
	"github.com/organzine/coro/internal/leak"
)

// A Coroutine is a coroutine whose body is a Go function, as that body sees it: a member of its scheduler like one with a C body,
// woken, joined and counted alike. It runs on an executor, a goroutine of the scheduler, and may use everything that Go has; but
// what waits in Go (for a channel, a lock, the network) keeps the executor, while waiting by the methods here lets the next
// coroutine run. Executors are as many as WithExecutors says, and a few more while those are stuck.
//
// The methods are for the body itself, in its own goroutine: from elsewhere, and after its end, they return ErrNotCurrent, and
// nothing happens. Handle and Context may be called from anywhere.
type Coroutine struct {
	// What a switch touches.
	next  func() (struct{}, bool) // of the goroutine: resumes the body; nil before it runs
	yield func(struct{}) bool     // of the goroutine: the way back
	goid  atomic.Uintptr          // of the goroutine that the body runs on
	exec  *executor               // that has resumed it
	state atomic.Uint64
	wait  uint64    // for opWait: the kind
	op    operation // what it asks of the executor

	section   noWaitSection // its depth
	pool      *executorPool
	goroutine *bodyGoroutine
	handle    Handle
	join      csrc.Joinable
	typed     typedBody
	name      string
	fromC     bool // started by coro_spawn_go

	ctx   context.Context            // given at the start
	own   atomic.Pointer[ownContext] // made when it is asked for
	stop  func() bool                // of the context given at the start
	mu    sync.Mutex
	cause error // why it was canceled

	waitsWith context.Context // the one of the present wait, if that is not its own

	// With these 16 bytes the allocator gives it whole cache lines: what a switch touches is in one.
}

// A typedBody is the part of a Coroutine that knows the type of its result.
type typedBody interface {
	call(*Coroutine)
	fail(error)                         // it has not come to its own end
	outcome() error                     // of the body
	payload() (unsafe.Pointer, uintptr) // the result, for C joiners
	complete()                          // the task is done
}

// The state of a coroutine: permits:32, and flags.
const (
	permitsMask = 1<<32 - 1
	permitsMost = 1 << 28
	hasEvent    = 1 << 32 // something that it waits for inside coro may have happened
	isCanceled  = 1 << 33
	isParked    = 1 << 34 // suspended until it has a permit, or is canceled
	isAwaiting  = 1 << 35 // suspended until there is an event, or it is canceled; with isParked: or a permit
	isCommitted = 1 << 36 // suspended until there is an event
	isRefused   = 1 << 37 // its park has ended without a permit
	isEnded     = 1 << 38
)

type operation uint8

const (
	opEnd operation = iota
	opYield
	opWait
)

type goBody[T any] struct {
	Coroutine
	task  *Task[T]
	f     func(*Coroutine) (T, error)
	bytes uint8
}

func (b *goBody[T]) call(c *Coroutine) { b.task.result, b.task.err = b.f(c) }
func (b *goBody[T]) fail(err error)    { b.task.err = err }

func (b *goBody[T]) outcome() error { return b.task.err }
func (b *goBody[T]) complete()      { b.task.completeBody() }

func (b *goBody[T]) payload() (unsafe.Pointer, uintptr) {
	return unsafe.Pointer(&b.task.result), uintptr(b.bytes)
}

// Go starts f as a coroutine in a scheduler or a group, and returns the Task that waits for what f
// returns. The coroutine ends when f returns. A panic in f is a *PanicError, runtime.Goexit is
// ErrGoexit: neither does any harm to others. A C body may join the coroutine too (coro_join); it gets
// the result if T holds no pointers and at most InlineBytes bytes, or CORO_EABORTED after an error. In
// a Group the coroutine's context is derived from the group's.
//
// Go costs about 2 µs; a switch between bodies costs about as much as [iter.Pull] takes for a value. Go
// never blocks. It returns ErrClosed, or ErrNoMemory at the record limit, and the cause if the group is
// canceled; f is not called then.
func Go[T any](in Scope, f func(*Coroutine) (T, error)) (*Task[T], error) {
	s, g := in.scope()
	if g != nil {
		return startMember(g, func() (*Task[T], error) { return start(g.ctx, s, f, false) })
	}
	return start(context.Background(), s, f, false)
}

// GoContext is Go with a context, which belongs to the coroutine: when it ends, the coroutine is
// canceled. The coroutine's Context then ends with the same cause, and every present and future wait in
// the coroutine returns the cause. If the context has ended before, GoContext returns its cause, and f
// is not called. In a Group the coroutine is canceled when either context ends.
func GoContext[T any](ctx context.Context, in Scope, f func(*Coroutine) (T, error)) (*Task[T], error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s, g := in.scope()
	bind := ctx.Done() != nil
	if g != nil {
		return startMember(g, func() (*Task[T], error) {
			return start(memberContext{ctx, g.ctx}, s, f, bind)
		})
	}
	return start(ctx, s, f, bind)
}

// start is GoContext in s. bind: the end of ctx cancels the coroutine. Otherwise its group does, and ctx
// has the cause.
func start[T any](ctx context.Context, s *Scheduler, f func(*Coroutine) (T, error), bind bool) (*Task[T],
	error) {
	if f == nil {
		return nil, &OptionError{"Go", "nil", "needs a function"}
	}
	b := newBody(s, bodyName(f), f)
	c, t := &b.Coroutine, b.task
	c.ctx = ctx
	p := s.submitter()
	if p == nil {
		return nil, ErrClosed
	}
	if leak.On() {
		leak.Meet(leakable{s})
	}
	j, status := p.PrepareBody(b.bytes)
	if status != csrc.OK {
		p.Release()
		return nil, statusError(status, ofScheduler)
	}
	c.enter(j)
	t.join, t.handle = j, c.handle
	t.clean = runtime.AddCleanup(t, drop, ref{s, j.Handle()})
	t.made()
	if bind {
		c.stop = s.bind(ctx, s.awaitDeadline(ctx), func() { c.cancel(context.Cause(ctx)) })
	}
	s.edge.release()
	p.StartBody(j)
	p.Release()
	return t, nil
}

// newBody makes a body that has no record yet.
func newBody[T any](s *Scheduler, name string, f func(*Coroutine) (T, error)) *goBody[T] {
	b := &goBody[T]{f: f, task: &Task[T]{s: s, isBody: true, registered: true}}
	b.pool, b.typed, b.name = &s.executors, b, name
	if n, err := inlineBytes("Go", reflect.TypeFor[T]()); err == nil {
		b.bytes = n
	}
	return b
}

// enter gives it the record: from now on it can be found by its handle.
func (c *Coroutine) enter(j csrc.Joinable) {
	c.join, c.handle = j, Handle(j.Handle())
	c.pool.table.put(c)
}

func bodyName(f any) string {
	if fn := runtime.FuncForPC(reflect.ValueOf(f).Pointer()); fn != nil {
		return fn.Name()
	}
	return "func"
}

// run is called on the goroutine.
func (c *Coroutine) run() {
	returned := false
	c.goid.Store(asm.Goroutine())
	defer func() {
		c.goid.Store(0)
		c.op = opEnd
		if p := recover(); p != nil {
			c.typed.fail(&PanicError{p, debug.Stack()})
		} else if !returned {
			c.typed.fail(ErrGoexit)
		}
	}()
	c.typed.call(c)
	returned = true
	c.checkEnd()
}

// start gets the body a goroutine. False: it was canceled before.
func (c *Coroutine) start() bool {
	if c.pool.quits.Load() {
		c.cancel(ErrCanceled)
	}
	if c.state.Load()&isCanceled != 0 {
		c.typed.fail(c.why())
		return false
	}
	if c.fromC && leak.On() {
		leak.Made(leakBody{leakTask{c.join, c.pool.s}, c.name})
	}
	c.goroutine = c.pool.goroutine()
	c.goroutine.body = c
	c.next = c.goroutine.next
	return true
}

// end is called by the executor when the body has come to its end, or will never start.
func (c *Coroutine) end() {
	var flags uint8
	switch {
	case c.next == nil:
		flags = csrc.EndCanceled
	case c.typed.outcome() != nil:
		flags = csrc.EndAborted
	}
	c.state.Or(isEnded)
	c.pool.dismiss(c.goroutine) // in the lock: after that nobody is in tellFullLocked
	c.goroutine = nil
	c.pool.table.remove(c)
	if c.stop != nil {
		c.stop()
	}
	c.mu.Lock()
	if own := c.own.Load(); own != nil {
		own.quit(context.Canceled)
	}
	c.mu.Unlock()
	result, n := c.typed.payload()
	c.pool.s.edge.release()
	// Stale first, then done, then not alive: whoever sees one of these sees those before.
	c.pool.core.End(c.join, flags, result, n)
	c.typed.complete()
	c.pool.core.CountEnd()
}

// Handle names the coroutine, for C bodies and for Wake.
func (c *Coroutine) Handle() Handle { return c.handle }

// Scheduler is what the coroutine belongs to.
func (c *Coroutine) Scheduler() *Scheduler { return c.pool.s }

// Context ends when the coroutine does, or is canceled, with the cause. It has the values of the
// context given to GoContext. It costs some 300 ns the first time, and 1 ns later.
func (c *Coroutine) Context() context.Context {
	if own := c.own.Load(); own != nil {
		return own
	}
	return c.makeContext()
}

// An ownContext is the context of a body, and of what the body calls: waiting calls find the body by it.
type ownContext struct {
	context.Context
	c    *Coroutine
	quit context.CancelCauseFunc
}

type bodyKey struct{}

func (own *ownContext) Value(key any) any {
	if key == (bodyKey{}) {
		return own.c
	}
	return own.Context.Value(key)
}

func (c *Coroutine) makeContext() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	own := c.own.Load()
	if own == nil {
		ctx, quit := context.WithCancelCause(c.ctx)
		own = &ownContext{ctx, c, quit}
		if c.cause != nil {
			quit(c.cause)
		}
		if c.state.Load()&isEnded != 0 {
			quit(context.Canceled)
		}
		c.own.Store(own)
	}
	return own
}

// bodyOf returns the body that calls with this context; nil: a goroutine does.
func bodyOf(ctx context.Context) *Coroutine {
	if c, _ := ctx.Value(bodyKey{}).(*Coroutine); c.check() == nil {
		return c
	}
	return nil
}

// reason is why the coroutine is canceled if the canceler does not say: the cause of the context given
// at the start, if that has ended.
func (c *Coroutine) reason() error {
	if err := causeOf(c.ctx); err != nil {
		return err
	}
	return ErrCanceled
}

// cancel may be called from anywhere.
func (c *Coroutine) cancel(cause error) {
	c.mu.Lock()
	if c.cause == nil {
		c.cause = cause
	}
	if own := c.own.Load(); own != nil {
		own.quit(c.cause)
	}
	c.mu.Unlock()
	if old := c.state.Or(isCanceled); old&(isCanceled|isEnded) == 0 {
		c.pool.s.core.SendEvent(c.join) // so that it is looked at again, if it waits
	}
}

func (c *Coroutine) why() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}

// step is what becomes of a state. True: whoever has it can go on.
func step(state uint64) (uint64, bool) {
	switch {
	case state&isParked != 0 && state&permitsMask != 0:
		return state&^(isParked|isAwaiting) - 1, true
	case state&isParked != 0 && (state&isCanceled != 0 || state&isAwaiting != 0 && state&hasEvent != 0):
		return state&^(isParked|isAwaiting) | isRefused, true
	case state&isAwaiting != 0 && state&(hasEvent|isCanceled) != 0:
		return state &^ isAwaiting, true
	case state&isCommitted != 0 && state&hasEvent != 0:
		return state &^ isCommitted, true
	}
	return state, false
}

// signal adds a flag and permits. runnable: the caller has to see to it that the coroutine is resumed. If it is full then, the caller has the
// core told.
func (c *Coroutine) signal(flag uint64, permits uint32) (runnable bool, err error) {
	for {
		old := c.state.Load()
		if old&isEnded != 0 {
			return false, ErrStale
		}
		now, runnable := step((old | flag) + uint64(permits)) // there is room for more than can come before the core is told that it is full
		if c.state.CompareAndSwap(old, now) {
			return runnable, nil
		}
	}
}

// isFull tells whether it has as many permits as it may be given.
func (c *Coroutine) isFull() bool { return c.state.Load()&permitsMask >= permitsMost }

// tellFull tells the core whether it is full, so that C bodies and goroutines hear of it. It is called after each change of that, and looks with
// the pool's lock held: what the last one tells is so.
func (c *Coroutine) tellFull() {
	c.pool.mu.Lock()
	c.tellFullLocked()
	c.pool.mu.Unlock()
}

func (c *Coroutine) tellFullLocked() {
	if c.state.Load()&isEnded == 0 { // it does not end while we have the lock
		c.pool.core.SetFull(c.join, c.isFull())
	}
}

// tookPermit is for after a permit was taken of a state.
func (c *Coroutine) tookPermit(old uint64) {
	if old&permitsMask == permitsMost {
		c.tellFull()
	}
}

// publishWait is called by the executor after the body has asked to wait. False: it can go on at once.
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

// suspend waits, for what publishWait makes of that kind of wait, and returns when the body is resumed.
func (c *Coroutine) suspend(wait uint64) {
	c.op, c.wait = opWait, wait
	c.yield(struct{}{})
}

// Yield lets the others run: the coroutine goes to the back of its executor's queue. It returns ErrNotCurrent, or nil.
func (c *Coroutine) Yield() error {
	if c.check() != nil || c.section.depth != 0 {
		return c.mustNotYield()
	}
	c.op = opYield
	c.yield(struct{}{})
	return nil
}

func (c *Coroutine) mustNotYield() error {
	if err := c.check(); err != nil {
		return err
	}
	return c.mustNotWait()
}

// Park waits for a permit and takes it, like coro_park: the coroutine has one more for each Wake. A
// permit that is there is taken first. Without having taken one Park returns the cause, if the
// coroutine is canceled or the context ends first; a permit that comes later stays for the next Park.
func (c *Coroutine) Park(ctx context.Context) error {
	if err := c.check(); err != nil {
		return err
	}
	for {
		old := c.state.Load()
		if old&permitsMask == 0 {
			break
		}
		if c.state.CompareAndSwap(old, old-1) {
			c.tookPermit(old)
			return nil
		}
	}
	if err := c.mayWait(); err != nil {
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

// parkUntil is the wait of Park where the end of ctx ends it too.
func (c *Coroutine) parkUntil(ctx context.Context) error {
	defer c.bound(ctx)()
	for {
		c.state.And(^uint64(hasEvent))
		if ctx.Err() != nil {
			return context.Cause(ctx)
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

// isOwn tells whether the end of ctx ends no wait that the cancel of c does not end: then a wait with
// ctx need not be bound to it.
func (c *Coroutine) isOwn(ctx context.Context) bool {
	if own, ok := ctx.(*ownContext); ok {
		return own.c == c
	}
	return ctx.Done() == nil
}

// bound has the end of ctx send c an event, until stop is called.
func (c *Coroutine) bound(ctx context.Context) (stop func()) {
	s := c.pool.s
	unbind := s.bind(ctx, s.awaitDeadline(ctx), func() { s.core.SendEvent(c.join) })
	c.setWaitsWith(ctx)
	return func() {
		c.setWaitsWith(nil)
		unbind()
	}
}

// Wake is Handle.Wake from inside: cheaper if h is another body of this scheduler, which then runs as soon as the caller waits. It
// returns ErrStale if that coroutine has ended, ErrOverflow if it already has 2²⁸ permits, ErrNotCurrent.
func (c *Coroutine) Wake(h Handle) error {
	if err := c.check(); err != nil {
		return err
	}
	t := c.pool.table.find(h)
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

// await suspends until happened, which something followed by an event makes true. It returns the cause if the coroutine is
// canceled first.
func (c *Coroutine) await(happened func() bool) error {
	for {
		c.state.And(^uint64(hasEvent))
		if happened() {
			return nil
		}
		if c.state.Load()&isCanceled != 0 {
			return c.why()
		}
		c.suspend(isAwaiting)
	}
}

// awaitCommitted is await that no cancel ends.
func (c *Coroutine) awaitCommitted(happened func() bool) {
	for {
		c.state.And(^uint64(hasEvent))
		if happened() {
			return
		}
		c.suspend(isCommitted)
	}
}

// awaitUntil is await that the end of ctx ends too, with its cause.
func (c *Coroutine) awaitUntil(ctx context.Context, happened func() bool) error {
	if c.isOwn(ctx) {
		return c.await(happened)
	}
	defer c.bound(ctx)()
	err := c.await(func() bool { return happened() || ctx.Err() != nil })
	if err == nil && !happened() {
		err = context.Cause(ctx)
	}
	return err
}

// Sleep suspends the coroutine for d, by the monotonic clock. It returns the cause, if the coroutine is
// canceled or the context ends first, or ErrNotCurrent.
func (c *Coroutine) Sleep(ctx context.Context, d time.Duration) error {
	if err := c.check(); err != nil {
		return err
	}
	if err := c.mayWait(); err != nil {
		return err
	}
	s := c.pool.s
	var fired atomic.Bool
	s.core.BeginPending(1)
	t := time.AfterFunc(d, func() {
		fired.Store(true)
		s.core.SendEvent(c.join)
		s.core.EndPending()
	})
	err := c.awaitUntil(ctx, fired.Load)
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
