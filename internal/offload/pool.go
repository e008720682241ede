// Package offload makes the calls of C bodies into Go functions: offloaded calls by a pool of
// goroutines, inline calls on the thread of the worker.
package offload

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/organzine/coro/internal/asm"
	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/race"
)

// A Pool has the goroutines that make the offloaded calls of one scheduler: its workers.
//
// Each worker takes a call, makes it, and looks for the next one. A function may block, so while
// calls are left some worker must be free to look: a worker that takes one call and sees more has
// another worker woken, one at a time. So many short calls are made by a few workers, without a
// switch between goroutines, and blocking calls get as many workers as they need. When the last
// worker that looks takes the last call, or finds none, nobody watches: the next caller wakes the
// sleeper, an idle worker that sleeps in C (rest.go). If there is none, the caller rings the bell,
// and the poller kicks.
type Pool struct {
	Core    *core.Scheduler
	Edge    *race.Edge      // of the scheduler
	Context context.Context // the scheduler's; that of a call is derived from it
	// Caller is the context that the coroutine was started with whose end Go hears of under an
	// id; nil: none. What is asked of it with a lock held (Err, Done, its cause) is no user's
	// code.
	Caller func(id uint32) context.Context
	// Contexts is true once any coroutine was started with a context.
	Contexts atomic.Bool
	// Canceled is the cause of the end of the context of a call whose coroutine is canceled:
	// caller is the context that the coroutine was started with, or nil.
	Canceled func(caller context.Context) error
	Max      int // workers

	mu     sync.Mutex
	id     uint32
	first  *core.Call // taken from the core's list, and not made yet
	all    map[*worker]struct{}
	idle   []*worker // last in, first out
	looks  int       // workers that look for a call
	coming bool      // one of them was woken, or started, and has not looked yet
	unseen bool      // the bell rings for the next call, or sleeper is woken
	closed bool
	trim   *time.Timer
	calls  uint64 // made until now
	before uint64 // made when trim was set
	gone   sync.WaitGroup

	visiting     *worker // see here.go
	visited      *worker // visitors that have left, linked by after
	visitedCount int
	contexts     []callContext // not in use yet

	sleeper *worker // an idle one that sleeps in C, or is about to, until the next call; nil: none
	inC     backoff // whether there is to be one
}

// A worker is a goroutine of a Pool. The pool's lock guards what the worker does.
type worker struct {
	wake chan struct{} // one is put in to wake it
	id   uintptr       // of its goroutine
	now  core.InlineCall
	call *core.Call   // that it makes now, or nil
	ctx  *callContext // of that
	seen slowCall

	after, before *worker // of a visitor
}

// Open makes p, whose exported fields are set, ready for the calls of its scheduler, where
// nothing was spawned yet.
func (p *Pool) Open() {
	p.all, p.unseen = map[*worker]struct{}{}, true
	p.Core.Watch(core.Unwatched)
	p.id = pools.Add(p)
	p.Core.SetID(p.id)
}

// Close ends the workers, and returns when none is left. No coroutine is left that could call, and
// nobody looks the pool up any more.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	p.release(0)
	if p.trim != nil {
		p.trim.Stop()
	}
	p.mu.Unlock()
	p.gone.Wait()
	pools.Remove(p.id)
}

// release lets all idle workers end but keep of them.
func (p *Pool) release(keep int) {
	for len(p.idle) > keep {
		w := p.idle[0] // has been idle for longest
		p.idle = p.idle[1:]
		delete(p.all, w)
		close(w.wake)
		p.rouse(w)
	}
}

// Idle is how many workers there are, and how many of them are idle. trims: some may be let go.
func (p *Pool) Idle() (idle, all int, trims bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.idle), len(p.all), p.trim != nil
}

// Stats is how many calls are being made, how many workers there are, and how many calls were begun
// until now.
func (p *Pool) Stats() (calls, workers int, all uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.each(func(w *worker) {
		if w.call != nil {
			calls++
		}
	})
	return calls, len(p.all), p.calls
}

// TrimNow is called some time after a worker went idle. If there were no calls since, half of the
// idle workers go.
func (p *Pool) TrimNow() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.idle) == 0 {
		p.trim = nil
		return
	}
	if p.calls == p.before {
		p.release(len(p.idle) / 2)
	}
	p.before = p.calls
	p.trim.Reset(idleTime)
}

// Kick sees to it that some worker looks, if there are calls. The poller calls it when the bell was
// rung. The call that the bell was rung for may be gone, and a later call may have found nobody
// watching: so Kick says again that the bell is to be rung. If there is a sleeper, that looks in
// any case after what the bell was rung for.
func (p *Pool) Kick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.looks == 0 && p.sleeper == nil && !p.unwatch() {
		p.another()
	}
}

// another has one more worker look, if there may be one, and none is on its way.
func (p *Pool) another() {
	switch {
	case p.coming || p.closed:
		return
	case len(p.idle) > 0:
		last := len(p.idle) - 1
		w := p.idle[last]
		p.idle = p.idle[:last]
		w.wake <- struct{}{}
		p.rouse(w)
	case len(p.all) < p.Max:
		w := &worker{wake: make(chan struct{}, 1)}
		p.all[w] = struct{}{}
		p.gone.Add(1)
		go p.run(w)
	default:
		return // each worker looks again after its call
	}
	p.coming = true
	p.watch()
	p.looks++
}

// watch tells the core that some worker looks.
func (p *Pool) watch() {
	if p.unseen {
		p.unseen = false
		p.Core.Watch(core.Watched)
	}
}

// unwatch tells the core that no worker looks. False: there is a call after all.
func (p *Pool) unwatch() bool {
	p.unseen = true
	p.Core.Watch(p.unwatched())
	return !p.Core.HasCalls()
}

// take returns a call that waits, or nil.
func (p *Pool) take() *core.Call {
	if p.first == nil && p.Core.HasCalls() {
		p.first = p.Core.TakeCalls()
	}
	c := p.first
	if c != nil {
		p.first = c.After()
	}
	return c
}

// run is a worker's goroutine.
func (p *Pool) run(w *worker) {
	defer p.gone.Done()
	w.id = asm.Goroutine()
	p.mu.Lock()
	p.coming = false
	p.mu.Unlock()
	for {
		c := p.next(w)
		if c == nil {
			return
		}
		p.make(w, c)
	}
}

// next returns the next call for w, which looks; nil: w is to end.
func (p *Pool) next(w *worker) *core.Call {
	spun := false
	ctx := &callContext{pool: p} // made here, where the lock is not held
	p.mu.Lock()
	for {
		if c := p.take(); c != nil {
			p.begin(w, c, ctx)
			p.mu.Unlock()
			return c
		}
		switch {
		case !spun && p.looks == 1:
			spun = true
			p.mu.Unlock()
			p.spin()
			p.mu.Lock()
			continue
		case p.closed:
			p.looks--
			delete(p.all, w)
			p.mu.Unlock()
			return nil
		case p.looks == 1 && !p.unwatch():
			p.watch()
			continue
		}
		p.looks--
		if !p.rest(w) {
			p.mu.Unlock()
			return nil
		}
	}
}

func (p *Pool) spin() {
	for range lookSpins {
		if p.Core.HasCalls() {
			return
		}
		for range lookTurns {
		}
	}
}

// caller is the context that the calling coroutine was started with, or nil.
func (p *Pool) caller(c *core.Call) context.Context {
	if !p.Contexts.Load() {
		return nil
	}
	if id, ok := c.CallerID(); ok {
		return p.Caller(id)
	}
	return nil
}

// timeOf is the time that is ns of the monotonic clock.
func timeOf(ns uint64) time.Time {
	d := time.Duration(math.MaxInt64)
	if now := core.Now(); ns <= now {
		d = -time.Duration(now - ns)
	} else if ns-now < math.MaxInt64 {
		d = time.Duration(ns - now)
	}
	return time.Now().Add(d)
}

// begin notes that w makes a call, with ctx, which is new, and looks no more. If more calls wait
// another worker looks.
func (p *Pool) begin(w *worker, c *core.Call, ctx *callContext) {
	p.calls++
	w.now = core.InlineCall{ID: c.ID(), Count: p.calls}
	ctx.caller, ctx.until = p.caller(c), c.Shield()
	w.call, w.ctx = c, ctx
	if c.IsCanceled() { // just now: CancelCalls may not have seen it
		w.ctx.cancel()
	}
	p.looks--
	if p.waiting() {
		p.another()
	} else if p.looks == 0 && !p.unwatch() {
		p.another()
	}
}

// look is the end of begin: w has made its call, and looks again.
func (p *Pool) look(w *worker) {
	p.mu.Lock()
	w.now.ID = 0
	w.call = nil
	p.looks++
	p.watch()
	p.mu.Unlock()
	w.ctx.end(context.Canceled)
}

// CancelCalls ends the contexts of the calls whose coroutines are canceled.
func (p *Pool) CancelCalls() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.each(func(w *worker) {
		if w.call != nil && w.call.IsCanceled() {
			w.ctx.cancel()
		}
	})
}

// make makes a call, and completes it whatever happens. A coroutine that calls again at once finds
// w looking.
func (p *Pool) make(w *worker, c *core.Call) {
	returned, stays := false, false
	defer func() {
		if returned {
			return
		}
		if !stays { // the function, or a method of what it has panicked with
			c.Fail(hasExited)
			p.lose(w)
		} else {
			p.look(w)
		}
		p.Edge.Release()
		p.Core.Complete(c)
	}()
	defer func() {
		if v := recover(); v != nil {
			panicked(c, v)
			stays = true
		}
	}()
	p.invoke(w, c)
	returned = true
	p.look(w)
	p.Edge.Release()
	p.Core.Complete(c)
}

// hasExited is the error of a call whose function has ended its goroutine.
const hasExited = "the Go function has ended its goroutine: runtime.Goexit, or FailNow of a test"

// invoke calls the function of c, which w makes, and ends c, unless the function does not return.
func (p *Pool) invoke(w *worker, c *core.Call) {
	p.Edge.Acquire()
	if f := find(c.ID()); !f.Accepts(c) {
		f.refuse(c)
	} else if err := f.Call(w.ctx, c); err != nil {
		Failed(c, err)
	}
}

// lose is for a worker whose goroutine ends in a call.
func (p *Pool) lose(w *worker) {
	w.ctx.end(context.Canceled)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.all, w)
	// at the limit no other may have been let in
	if p.looks == 0 && p.waiting() {
		p.another()
	}
}

// Callers returns the handles of the coroutines that wait for the function which the calling
// goroutine runs: one, if the call was offloaded, or those whose inline calls are made together.
func (p *Pool) Callers() []uint64 {
	if c := p.current(); c != nil {
		return []uint64{c.Caller()}
	}
	return p.Core.InlineCallers()
}

// current is the call that the calling goroutine makes, as a worker; nil: it makes none. The
// identity of a goroutine is its own as long as it lives: workers in p.all do.
func (p *Pool) current() *core.Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.all) == len(p.idle) && p.visiting == nil {
		return nil
	}
	id := asm.Goroutine()
	var call *core.Call // the innermost, which comes first
	p.each(func(w *worker) {
		if call == nil && w.call != nil && w.id == id {
			call = w.call
		}
	})
	return call
}

// Running returns the names of the functions that run, inline or offloaded.
func (p *Pool) Running() (list []string) {
	for _, c := range p.Core.InlineCalls(nil) {
		if f := find(c.ID); f != nil {
			list = append(list, f.Name)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.each(func(w *worker) {
		if f := find(w.now.ID); f != nil {
			list = append(list, f.Name)
		}
	})
	return list
}
