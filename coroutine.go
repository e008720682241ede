package coro

import (
	"context"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/organzine/coro/internal/asm"
	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/ctxerr"
	"github.com/organzine/coro/internal/leak"
	"github.com/organzine/coro/internal/panicked"
	"github.com/organzine/coro/internal/plain"
)

// A Coroutine is a coroutine whose body is a Go function, as that body sees it. It is a member of
// its scheduler like a coroutine with a C body: woken, joined and counted alike. It runs on an
// executor, a goroutine of the scheduler, and may use everything that Go has. A wait in Go (for a
// channel, a lock, the network) keeps the executor; a wait by the methods here lets the next
// coroutine run. There are as many executors as WithExecutors says, and up to 256 more while those
// are stuck. A body whose waits all end at once, here or at a Chan and the like, yields after about
// 20 µs of them.
//
// The methods are for the body itself, in its own goroutine: from elsewhere, and after the end of
// the body, they return ErrNotCurrent, and nothing happens. Handle, Scheduler and Context may be
// called from anywhere.
type Coroutine struct {
	// What a switch touches.
	next  func() (struct{}, bool) // resumes the body; nil before it runs
	yield func(struct{}) bool     // the way back to the executor
	goid  atomic.Uintptr          // of the goroutine that the body runs on
	exec  *executor               // has resumed the body
	state atomic.Uint64
	wait  uint64    // for opWait: the kind
	op    operation // what the body asks of the executor

	sections  sections
	pool      *executorPool
	goroutine *bodyGoroutine
	handle    Handle
	join      core.Joinable
	typed     typedBody
	name      string
	fromC     bool // started by coro_spawn_go
	daemon    bool

	ctx   context.Context            // given at the start
	own   atomic.Pointer[ownContext] // made when it is asked for
	stop  func() bool                // unbinds ctx; nil: it is not bound
	mu    sync.Mutex
	cause error // of the cancel
	// the innermost section; the body changes it, with mu held
	shield *shield

	boundWait *boundWait // the present wait, if it has a context that is not the coroutine's own

	// With these 8 bytes and the last 16 the allocator gives a body whole cache lines: what a
	// switch touches is in one.
	_ uint64
}

// A typedBody is the part of a Coroutine that knows the type of its result.
type typedBody interface {
	call(*Coroutine)
	fail(error)                         // the body has not come to its own end
	outcome() error                     // of the body
	conclude() error                    // the same, once: the result's buffers are passed on
	payload() (unsafe.Pointer, uintptr) // the result, for C joiners
	complete()                          // the task is done
}

// A goBody is a Coroutine with the types of its body.
type goBody[T any] struct {
	Coroutine
	task    *Task[T]
	f       func(*Coroutine) (T, error)
	bytes   uint8
	buffers []uintptr // offsets of the Buffers in the result
}

func (b *goBody[T]) call(c *Coroutine) { b.task.result, b.task.err = b.f(c) }
func (b *goBody[T]) fail(err error)    { b.task.err = err }

func (b *goBody[T]) outcome() error { return b.task.err }

func (b *goBody[T]) conclude() error {
	t := b.task
	if len(b.buffers) > 0 && t.err == nil {
		if t.err = passResult(unsafe.Pointer(&t.result), b.buffers); t.err != nil {
			t.result = *new(T)
		}
	}
	return t.err
}

func (b *goBody[T]) complete() {
	if len(b.buffers) > 0 && b.task.err == nil && !b.fromC { // else a C joiner has them
		b.task.keepBuffers(b.buffers)
	}
	b.task.completeBody()
}

func (b *goBody[T]) payload() (unsafe.Pointer, uintptr) {
	return unsafe.Pointer(&b.task.result), uintptr(b.bytes)
}

// Go starts f as a coroutine in a scheduler or a group, and returns the Task that waits for what f
// returns. The coroutine ends when f returns. A panic in f is a *PanicError, runtime.Goexit is
// ErrGoexit: neither does any harm to others. A C body may join the coroutine too (coro_join); it
// gets the result if T holds no pointers and at most InlineBytes bytes, or CORO_EFAILED after an
// error, with its text (coro_join_error). A body that was canceled, and returns the cause or the
// Err of its context, is canceled for C bodies too, which get CORO_ECANCELED. In a Group the
// coroutine's context is derived from the group's.
//
// A [Buffer] in what f returns, without an error, is the Task's, and then that of who waits; it is
// freed if the Task is dropped. C joiners get no such result. One that cannot be passed is ErrStale
// or ErrBusy for the Task.
//
// The options are for the coroutine: [AsDaemon].
//
// Go costs about 2 µs; a switch between bodies costs about as much as [iter.Pull] takes for a
// value. Go does not block, but at the limit of [Group.SetLimit]. It returns ErrClosed, ErrNoMemory
// at the record limit, the cause if the group is canceled, or ErrGroupOver after its Wait has
// returned; f is not called then.
func Go[T any](
	in Scope, f func(*Coroutine) (T, error), opts ...BodyOption,
) (*Task[T], error) {
	s, g := in.scope()
	if g != nil {
		return startBody(g, true, f, opts)
	}
	return start(startContext{ctx: context.Background()}, s, f, false, opts)
}

// TryGo is Go in a group, and does not wait at the limit of [Group.SetLimit]: it returns
// ErrGroupFull.
func TryGo[T any](
	g *Group, f func(*Coroutine) (T, error), opts ...BodyOption,
) (*Task[T], error) {
	return startBody(g, false, f, opts)
}

func startBody[T any](
	g *Group, waits bool, f func(*Coroutine) (T, error), opts []BodyOption,
) (*Task[T], error) {
	return startMember(background, g, false, waits, func() (*Task[T], error) {
		return start(startContext{ctx: g.ctx}, g.s, f, false, opts)
	})
}

// A BodyOption is for one coroutine that Go or GoContext starts.
type BodyOption func(*bodyOptions)

type bodyOptions struct{ daemon bool }

// AsDaemon makes the coroutine a daemon, as [Func.Daemon] does for C bodies: it is meant to wait
// without end. It is no stall, and Scheduler.Wait and Run do not wait for it. Close cancels it when
// the others have ended.
func AsDaemon() BodyOption { return func(o *bodyOptions) { o.daemon = true } }

// GoContext is Go with a context, which belongs to the coroutine: when it ends, the coroutine is
// canceled. The coroutine's Context then ends with the same cause, and every present and future
// wait in the coroutine returns the cause. If the context has ended before, GoContext returns its
// cause, and f is not called. In a Group the coroutine is canceled when either context ends.
func GoContext[T any](
	ctx context.Context, in Scope, f func(*Coroutine) (T, error), opts ...BodyOption,
) (*Task[T], error) {
	own, s, g, err := contextIn(ctx, in)
	if err != nil {
		return nil, err
	}
	bind := own.ctx.Done() != nil
	var t *Task[T]
	if g != nil {
		t, err = startMember(own.ctx, g, false, true,
			func() (*Task[T], error) { return start(own.in(g), s, f, bind, opts) })
	} else {
		t, err = start(own, s, f, bind, opts)
	}
	if err != nil {
		own.drop()
	}
	return t, err
}

// start is GoContext in s. bind: the end of ctx cancels the coroutine. Otherwise its group does,
// and ctx has the cause.
func start[T any](
	ctx startContext, s *Scheduler, f func(*Coroutine) (T, error), bind bool,
	opts []BodyOption,
) (*Task[T], error) {
	if f == nil {
		return nil, &OptionError{"Go", "nil", "needs a function"}
	}
	b := newBody(s, bodyName(f), f)
	c := &b.Coroutine
	c.ctx = ctx.ctx
	for _, o := range opts {
		if o == nil {
			return nil, nilOption("Go")
		}
		var options bodyOptions
		o(&options)
		c.daemon = c.daemon || options.daemon
	}
	var unbind func() bool
	if bind {
		c.state.Store(isUnborn)
		unbind = s.bind(ctx.ctx, s.awaitIf(ctx.hasDeadline),
			func() { c.cancel(context.Cause(ctx.ctx)) })
		c.stop = ctx.stopAnd(unbind)
	}
	if err := b.launch(s); err != nil {
		if bind {
			unbind()
		}
		return nil, err
	}
	return b.task, nil
}

// launch gives the body a record, and hands it to the executors.
func (b *goBody[T]) launch(s *Scheduler) error {
	c, t := &b.Coroutine, b.task
	p := s.submitter()
	if p == nil {
		return ErrClosed
	}
	if leak.On() {
		leak.Meet(leakable{s})
	}
	j, status := p.PrepareBody(b.bytes, c.daemon)
	if status != core.OK {
		p.Release()
		return statusError(status, ofScheduler)
	}
	c.enter(j)
	if c.stop != nil {
		c.state.And(^uint64(isUnborn))
	}
	t.join, t.handle = j, c.handle
	t.clean = runtime.AddCleanup(t, drop, ref{s, j.Handle()})
	t.made()
	s.edge.Release()
	p.StartBody(j)
	p.Release()
	return nil
}

// goResultBytes is how many bytes of a Go body's result may have Buffers.
const goResultBytes = 4096

// newBody makes a body without a record.
func newBody[T any](s *Scheduler, name string, f func(*Coroutine) (T, error)) *goBody[T] {
	b := &goBody[T]{f: f, task: &Task[T]{s: s, isBody: true, registered: true}}
	b.pool, b.typed, b.name = &s.executors, b, name
	t := reflect.TypeFor[T]()
	if t.Size() >= unsafe.Sizeof(Buffer{}) {
		b.buffers, _ = plain.Buffers(t, goResultBytes)
	}
	if n, err := inlineBytes("Go", t); err == nil && len(b.buffers) == 0 {
		b.bytes = n // else the result is the Task's alone
	}
	return b
}

// enter gives the coroutine its record: from now on it can be found by its handle.
func (c *Coroutine) enter(j core.Joinable) {
	c.join, c.handle = j, Handle(j.Handle())
	c.pool.bodies.Put(uint32(c.handle), c)
}

func bodyName(f any) string {
	if fn := runtime.FuncForPC(reflect.ValueOf(f).Pointer()); fn != nil {
		return fn.Name()
	}
	return "func"
}

// run runs the body, on its goroutine.
func (c *Coroutine) run() {
	returned := false
	c.goid.Store(asm.Goroutine())
	defer func() {
		c.endShields()
		c.goid.Store(0)
		c.op = opEnd
		if p := recover(); p != nil {
			c.pool.ends.panicked.Add(1)
			c.typed.fail(panicked.New(p))
		} else if !returned {
			c.typed.fail(ErrGoexit)
		}
	}()
	c.typed.call(c)
	returned = true
	c.checkEnd()
}

// start gets the body a goroutine. False: the coroutine was canceled before.
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
	flags, any := c.tellEnd()
	c.state.Or(isEnded)
	left := c.goroutine.leave()
	c.pool.dismiss(c.goroutine) // takes the lock: after that nobody is in tellFullLocked
	c.goroutine = nil
	c.pool.bodies.Clear(uint32(c.handle)) // the record may be another's soon
	if c.stop != nil {
		c.stop()
	}
	c.mu.Lock()
	if own := c.own.Load(); own != nil {
		own.quit(context.Canceled)
	}
	c.mu.Unlock()
	result, n := c.typed.payload()
	if !any {
		n = 0
	}
	c.pool.s.edge.Release()
	// Stale first, then done, then not alive: an observer of one of these observes those
	// before.
	c.pool.core.End(c.join, flags, result, n)
	left.look()
	c.typed.complete()
	c.pool.core.CountEnd(c.daemon)
}

// Handle names the coroutine, for C bodies and for Wake.
func (c *Coroutine) Handle() Handle { return c.handle }

// Scheduler is the scheduler that the coroutine belongs to.
func (c *Coroutine) Scheduler() *Scheduler { return c.pool.s }

// Context ends when the coroutine does, or is canceled, with the cause. It has the values of the
// context given to GoContext. It costs some 300 ns the first time, and 1 ns later.
func (c *Coroutine) Context() context.Context {
	if own := c.own.Load(); own != nil {
		return own
	}
	return c.makeContext()
}

// An ownContext is the context of a body, and of what the body calls: waiting calls find the body
// by it.
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

// reason is why the coroutine is canceled if the canceler does not say: the cause of the context
// given at the start, if that has ended.
func (c *Coroutine) reason() error { return causeOfCancel(c.ctx) }

// cancel cancels the coroutine. It may be called from anywhere; the first cause stays.
func (c *Coroutine) cancel(cause error) {
	c.mu.Lock()
	if c.cause == nil {
		c.cause = cause
	}
	if own := c.own.Load(); own != nil {
		own.quit(c.cause)
	}
	c.mu.Unlock()
	c.settle()
}

// canceledBy is the cause of the cancel; nil: c is not canceled.
func (c *Coroutine) canceledBy() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}

// why is the error of what the cancel ends: errors.Is finds its cause, and the Err of a context.
func (c *Coroutine) why() error {
	cause := c.canceledBy()
	if cause == nil {
		return nil
	}
	err := context.Canceled
	if over := overOf(c.ctx); over != nil {
		err = over.Err()
	}
	return ctxerr.By(cause, err)
}
