package coro

import (
	"context"
	"sync"
	"time"

	"github.com/organzine/coro/csrc"
	"github.com/organzine/coro/internal/asm"
)

// An offloadPool has the goroutines that make the offloaded calls of one scheduler: its offloadWorkers.
//
// Each takes a call, makes it, and looks for the next one. A function may block, so while calls are left some worker must
// be free to look: whoever takes one and sees more has another woken, one at a time. So many short calls are made by a
// few offloadWorkers, without a switch between goroutines, and blocking ones get as many as they need. When the last worker that
// looks takes the last call, or finds none, nobody watches: the next caller rings the bell, and the poller kicks.
type offloadPool struct {
	s      *Scheduler
	most   int // offloadWorkers
	mu     sync.Mutex
	first  *csrc.Call // taken from the core's list, and not made yet
	all    map[*offloadWorker]struct{}
	idle   []*offloadWorker // last in, first out
	looks  int              // offloadWorkers that look for a call
	coming bool             // one of them was woken, or started, and has not looked yet
	unseen bool             // the bell rings for the next call
	closed bool
	trim   *time.Timer
	calls  uint64 // made until now
	before uint64 // made when trim was set
	gone   sync.WaitGroup
}

// An offloadWorker is a goroutine of an offloadPool. What it does is guarded by the offloadPool's lock.
type offloadWorker struct {
	wake chan struct{} // one is put in to wake it
	id   uintptr       // of its goroutine
	now  csrc.InlineCall
	call *csrc.Call   // that it makes now, or nil
	ctx  *callContext // of that
	seen slowCall
}

// How long an offloadPool waits before it lets idle offloadWorkers go.
const idleWorkers = 10 * time.Second

// An offloadWorker that has nothing to do looks so often, so many turns of a loop apart, before it sleeps: some microseconds.
const (
	workerSpins     = 100
	workerSpinTurns = 64
)

func (o *offloadPool) open(s *Scheduler, most int) {
	o.s, o.most, o.all, o.unseen = s, most, map[*offloadWorker]struct{}{}, true
	s.core.Watch(false)
}

// close ends the offloadWorkers, and returns when none is left. No coroutine is left that could call.
func (o *offloadPool) close() {
	o.mu.Lock()
	o.closed = true
	o.release(0)
	if o.trim != nil {
		o.trim.Stop()
	}
	o.mu.Unlock()
	o.gone.Wait()
}

// release lets idle offloadWorkers end but for some.
func (o *offloadPool) release(keep int) {
	for len(o.idle) > keep {
		w := o.idle[0] // that has been idle for longest
		o.idle = o.idle[1:]
		delete(o.all, w)
		close(w.wake)
	}
}

// trimNow is called some time after a worker went idle: if there were no calls since, half of the idle ones go.
func (o *offloadPool) trimNow() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || len(o.idle) == 0 {
		o.trim = nil
		return
	}
	if o.calls == o.before {
		o.release(len(o.idle) / 2)
	}
	o.before = o.calls
	o.trim.Reset(idleWorkers)
}

// kick sees to it that somebody looks, if there are calls. The poller calls it when the bell was rung. The call that it was
// rung for may be gone, and a later one have found nobody watching: so it is said again that the bell is to be rung.
func (o *offloadPool) kick() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.looks == 0 && !o.unwatch() {
		o.another()
	}
}

// another has one more worker look, if there may be one, and none is on its way.
func (o *offloadPool) another() {
	switch {
	case o.coming || o.closed:
		return
	case len(o.idle) > 0:
		last := len(o.idle) - 1
		w := o.idle[last]
		o.idle = o.idle[:last]
		w.wake <- struct{}{}
	case len(o.all) < o.most:
		w := &offloadWorker{wake: make(chan struct{}, 1)}
		o.all[w] = struct{}{}
		o.gone.Add(1)
		go o.run(w)
	default:
		return // each that there is looks again after its call
	}
	o.coming = true
	o.watch()
	o.looks++
}

// watch says that somebody looks.
func (o *offloadPool) watch() {
	if o.unseen {
		o.unseen = false
		o.s.core.Watch(true)
	}
}

// unwatch says that nobody does, unless there is a call after all: then false.
func (o *offloadPool) unwatch() bool {
	o.unseen = true
	o.s.core.Watch(false)
	return !o.s.core.HasCalls()
}

// take is a call that waits, or nil.
func (o *offloadPool) take() *csrc.Call {
	if o.first == nil && o.s.core.HasCalls() {
		o.first = o.s.core.TakeCalls()
	}
	c := o.first
	if c != nil {
		o.first = c.After()
	}
	return c
}

// run is a worker's goroutine.
func (o *offloadPool) run(w *offloadWorker) {
	defer o.gone.Done()
	w.id = asm.Goroutine()
	o.mu.Lock()
	o.coming = false
	o.mu.Unlock()
	for {
		c := o.next(w)
		if c == nil {
			return
		}
		o.make(w, c)
	}
}

// next is the next call for w, which looks; nil: it is to end.
func (o *offloadPool) next(w *offloadWorker) *csrc.Call {
	spun := false
	o.mu.Lock()
	for {
		if c := o.take(); c != nil {
			o.begin(w, c)
			o.mu.Unlock()
			return c
		}
		switch {
		case !spun && o.looks == 1:
			spun = true
			o.mu.Unlock()
			o.spin()
			o.mu.Lock()
			continue
		case o.closed:
			o.looks--
			delete(o.all, w)
			o.mu.Unlock()
			return nil
		case o.looks == 1 && !o.unwatch():
			o.watch()
			continue
		}
		o.looks--
		o.idle = append(o.idle, w)
		if o.trim == nil {
			o.before = o.calls
			o.trim = time.AfterFunc(idleWorkers, o.trimNow)
		}
		o.mu.Unlock()
		if _, ok := <-w.wake; !ok {
			return nil
		}
		o.mu.Lock()
		o.coming = false
	}
}

func (o *offloadPool) spin() {
	for range workerSpins {
		if o.s.core.HasCalls() {
			return
		}
		for range workerSpinTurns {
		}
	}
}

// begin notes that w makes a call, and looks no more; somebody else does if more are waiting.
func (o *offloadPool) begin(w *offloadWorker, c *csrc.Call) {
	o.calls++
	w.now = csrc.InlineCall{ID: c.ID(), Count: o.calls}
	w.call, w.ctx = c, &callContext{parent: o.s.ctx}
	if c.IsCanceled() { // just now: cancelCalls may not have seen it
		w.ctx.end(ErrCanceled)
	}
	o.looks--
	if o.first != nil || o.s.core.HasCalls() {
		o.another()
	} else if o.looks == 0 && !o.unwatch() {
		o.another()
	}
}

// look is the end of begin: w has made its call, and looks again.
func (o *offloadPool) look(w *offloadWorker) {
	o.mu.Lock()
	w.now.ID = 0
	w.call = nil
	o.looks++
	o.watch()
	o.mu.Unlock()
	w.ctx.end(context.Canceled)
}

// cancelCalls ends the contexts of the calls whose coroutines are canceled.
func (o *offloadPool) cancelCalls() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for w := range o.all {
		if w.call != nil && w.call.IsCanceled() {
			w.ctx.end(ErrCanceled)
		}
	}
}

// make makes a call, and completes it whatever happens. Whoever calls again at once finds w looking.
func (o *offloadPool) make(w *offloadWorker, c *csrc.Call) {
	s := o.s
	returned := false
	defer func() {
		if returned {
			return
		}
		if p := recover(); p != nil {
			panicked(c, p)
			o.look(w)
		} else {
			c.Fail("the Go function has ended its goroutine: runtime.Goexit, or FailNow of a test")
			o.lose(w)
		}
		s.edge.release()
		s.core.Complete(c)
	}()
	s.edge.acquire()
	if g := goFuncs.find(c.ID()); !g.accepts(c) {
		g.refuse(c)
	} else if err := g.call(w.ctx, c); err != nil {
		failed(c, err)
	}
	returned = true
	o.look(w)
	s.edge.release()
	s.core.Complete(c)
}

// lose is for a worker whose goroutine ends in a call.
func (o *offloadPool) lose(w *offloadWorker) {
	w.ctx.end(context.Canceled)
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.all, w)
	if o.looks == 0 && (o.first != nil || o.s.core.HasCalls()) { // at the limit nobody else may have been let in
		o.another()
	}
}

// inside tells whether the calling goroutine is a worker's, in a call.
func (o *offloadPool) inside() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.all) == len(o.idle) {
		return false
	}
	id := asm.Goroutine()
	for w := range o.all {
		if w.now.ID != 0 && w.id == id {
			return true
		}
	}
	return false
}

// running appends the names of the functions that run.
func (o *offloadPool) running(names []string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	for w := range o.all {
		if g := goFuncs.find(w.now.ID); g != nil {
			names = append(names, g.name)
		}
	}
	return names
}

// slow reports the calls that have run for longer than the limit, once each.
func (o *offloadPool) slow(now time.Time, limit time.Duration, f func(SlowCall)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for w := range o.all {
		if g := goFuncs.find(w.now.ID); w.seen.see(w.now, now, limit) && g != nil {
			go f(SlowCall{g.name, now.Sub(w.seen.since), false})
		}
	}
}

// WithCallLimit sets how many offloaded calls from C into Go (coro_call_go) run at the same time at most; others wait for
// their turn. Functions that wait for each other may then wait for ever. Without it there is no limit, and each that
// blocks costs a goroutine.
func WithCallLimit(n int) Option {
	return number("WithCallLimit", n, 1, 1<<30, func(c *config) { c.callLimit = n })
}

// A callContext is what a Go function gets that a C body has called. It ends with the call, with the scheduler's context, or
// when the calling coroutine is canceled. Most functions do not look at theirs: it becomes a context of package
// context, which costs as much as the call, for those that do.
type callContext struct {
	parent context.Context // the scheduler's

	mu    sync.Mutex
	real  context.Context // nil: nobody has asked
	quit  context.CancelCauseFunc
	cause error // why it has ended
}

func (c *callContext) get() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.real == nil {
		c.real, c.quit = context.WithCancelCause(c.parent)
		if c.cause != nil {
			c.quit(c.cause)
		}
	}
	return c.real
}

func (c *callContext) end(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause == nil {
		c.cause = cause
	}
	if c.quit != nil {
		c.quit(c.cause)
	}
}

func (c *callContext) Deadline() (time.Time, bool) { return c.parent.Deadline() }
func (c *callContext) Done() <-chan struct{}       { return c.get().Done() }
func (c *callContext) Err() error                  { return c.get().Err() }
func (c *callContext) Value(key any) any           { return c.get().Value(key) }
