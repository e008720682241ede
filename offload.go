package coro

import (
	"bytes"
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/organzine/coro/csrc"
)

// An office has the goroutines that make the offloaded calls of one scheduler: its runners.
//
// Each takes a call, makes it, and looks for the next one. A function may block, so while calls are left some runner must
// be free to look: whoever takes one and sees more has another woken, one at a time. So many short calls are made by a
// few runners, without a switch between goroutines, and blocking ones get as many as they need. When the last runner that
// looks takes the last call, or finds none, nobody watches: the next caller rings the bell, and the poller kicks.
type office struct {
	s      *Scheduler
	most   int // runners
	mu     sync.Mutex
	first  *csrc.Call // taken from the core's list, and not made yet
	all    map[*runner]struct{}
	idle   []*runner // last in, first out
	looks  int       // runners that look for a call
	coming bool      // one of them was woken, or started, and has not looked yet
	unseen bool      // the bell rings for the next call
	closed bool
	trim   *time.Timer
	calls  uint64 // made until now
	before uint64 // made when trim was set
	gone   sync.WaitGroup
}

// A runner is a goroutine of an office. What it does is guarded by the office's lock.
type runner struct {
	wake chan struct{} // one is put in to wake it
	id   string        // of its goroutine
	now  csrc.InlineCall
	call *csrc.Call   // that it makes now, or nil
	ctx  *callContext // of that
	seen sighting
}

// How long an office waits before it lets idle runners go.
const idleRunners = 10 * time.Second

// A runner that has nothing to do looks so often, so many turns of a loop apart, before it sleeps: some microseconds.
const (
	runnerSpins     = 100
	runnerSpinTurns = 64
)

func (o *office) open(s *Scheduler, most int) {
	o.s, o.most, o.all, o.unseen = s, most, map[*runner]struct{}{}, true
	s.core.Watch(false)
}

// close ends the runners, and returns when none is left. No coroutine is left that could call.
func (o *office) close() {
	o.mu.Lock()
	o.closed = true
	o.release(0)
	if o.trim != nil {
		o.trim.Stop()
	}
	o.mu.Unlock()
	o.gone.Wait()
}

// release lets idle runners end but for some.
func (o *office) release(keep int) {
	for len(o.idle) > keep {
		r := o.idle[0] // that has been idle for longest
		o.idle = o.idle[1:]
		delete(o.all, r)
		close(r.wake)
	}
}

// trimNow is called some time after a runner went idle: if there were no calls since, half of the idle ones go.
func (o *office) trimNow() {
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
	o.trim.Reset(idleRunners)
}

// kick sees to it that somebody looks, if there are calls. The poller calls it when the bell was rung. The call that it was
// rung for may be gone, and a later one have found nobody watching: so it is said again that the bell is to be rung.
func (o *office) kick() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.looks == 0 && !o.unwatch() {
		o.another()
	}
}

// another has one more runner look, if there may be one, and none is on its way.
func (o *office) another() {
	switch {
	case o.coming || o.closed:
		return
	case len(o.idle) > 0:
		last := len(o.idle) - 1
		r := o.idle[last]
		o.idle = o.idle[:last]
		r.wake <- struct{}{}
	case len(o.all) < o.most:
		r := &runner{wake: make(chan struct{}, 1)}
		o.all[r] = struct{}{}
		o.gone.Add(1)
		go o.run(r)
	default:
		return // each that there is looks again after its call
	}
	o.coming = true
	o.watch()
	o.looks++
}

// watch says that somebody looks.
func (o *office) watch() {
	if o.unseen {
		o.unseen = false
		o.s.core.Watch(true)
	}
}

// unwatch says that nobody does, unless there is a call after all: then false.
func (o *office) unwatch() bool {
	o.unseen = true
	o.s.core.Watch(false)
	return !o.s.core.HasCalls()
}

// take is a call that waits, or nil.
func (o *office) take() *csrc.Call {
	if o.first == nil && o.s.core.HasCalls() {
		o.first = o.s.core.TakeCalls()
	}
	c := o.first
	if c != nil {
		o.first = c.After()
	}
	return c
}

// run is a runner's goroutine.
func (o *office) run(r *runner) {
	defer o.gone.Done()
	r.id = goroutineID()
	o.mu.Lock()
	o.coming = false
	o.mu.Unlock()
	for {
		c := o.next(r)
		if c == nil {
			return
		}
		o.make(r, c)
	}
}

// next is the next call for r, which looks; nil: it is to end.
func (o *office) next(r *runner) *csrc.Call {
	spun := false
	o.mu.Lock()
	for {
		if c := o.take(); c != nil {
			o.begin(r, c)
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
			delete(o.all, r)
			o.mu.Unlock()
			return nil
		case o.looks == 1 && !o.unwatch():
			o.watch()
			continue
		}
		o.looks--
		o.idle = append(o.idle, r)
		if o.trim == nil {
			o.before = o.calls
			o.trim = time.AfterFunc(idleRunners, o.trimNow)
		}
		o.mu.Unlock()
		if _, ok := <-r.wake; !ok {
			return nil
		}
		o.mu.Lock()
		o.coming = false
	}
}

func (o *office) spin() {
	for range runnerSpins {
		if o.s.core.HasCalls() {
			return
		}
		for range runnerSpinTurns {
		}
	}
}

// begin notes that r makes a call, and looks no more; somebody else does if more are waiting.
func (o *office) begin(r *runner, c *csrc.Call) {
	o.calls++
	r.now = csrc.InlineCall{ID: c.ID(), Count: o.calls}
	r.call, r.ctx = c, &callContext{parent: o.s.ctx}
	if c.IsCanceled() { // just now: cancelCalls may not have seen it
		r.ctx.end(ErrCanceled)
	}
	o.looks--
	if o.first != nil || o.s.core.HasCalls() {
		o.another()
	} else if o.looks == 0 && !o.unwatch() {
		o.another()
	}
}

// look is the end of begin: r has made its call, and looks again.
func (o *office) look(r *runner) {
	o.mu.Lock()
	r.now.ID = 0
	r.call = nil
	o.looks++
	o.watch()
	o.mu.Unlock()
	r.ctx.end(context.Canceled)
}

// cancelCalls ends the contexts of the calls whose coroutines are canceled.
func (o *office) cancelCalls() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for r := range o.all {
		if r.call != nil && r.call.IsCanceled() {
			r.ctx.end(ErrCanceled)
		}
	}
}

// make makes a call, and completes it whatever happens. Whoever calls again at once finds r looking.
func (o *office) make(r *runner, c *csrc.Call) {
	s := o.s
	returned := false
	defer func() {
		if returned {
			return
		}
		if p := recover(); p != nil {
			panicked(c, p)
			o.look(r)
		} else {
			c.Fail("the Go function has ended its goroutine: runtime.Goexit, or FailNow of a test")
			o.lose(r)
		}
		s.edge.release()
		s.core.Complete(c)
	}()
	s.edge.acquire()
	if g := goFuncs.find(c.ID()); !g.accepts(c) {
		g.refuse(c)
	} else if err := g.call(r.ctx, c); err != nil {
		failed(c, err)
	}
	returned = true
	o.look(r)
	s.edge.release()
	s.core.Complete(c)
}

// lose is for a runner whose goroutine ends in a call.
func (o *office) lose(r *runner) {
	r.ctx.end(context.Canceled)
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.all, r)
	if o.looks == 0 && (o.first != nil || o.s.core.HasCalls()) { // at the limit nobody else may have been let in
		o.another()
	}
}

// inside tells whether the calling goroutine is a runner's, in a call.
func (o *office) inside() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.all) == len(o.idle) {
		return false
	}
	id := goroutineID()
	for r := range o.all {
		if r.now.ID != 0 && r.id == id {
			return true
		}
	}
	return false
}

// running appends the names of the functions that run.
func (o *office) running(names []string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	for r := range o.all {
		if g := goFuncs.find(r.now.ID); g != nil {
			names = append(names, g.name)
		}
	}
	return names
}

// slow reports the calls that have run for longer than the limit, once each.
func (o *office) slow(now time.Time, limit time.Duration, f func(SlowCall)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for r := range o.all {
		if g := goFuncs.find(r.now.ID); r.seen.see(r.now, now, limit) && g != nil {
			go f(SlowCall{g.name, now.Sub(r.seen.since), false})
		}
	}
}

// goroutineID is the number of this goroutine, as tracebacks have it.
func goroutineID() string {
	var buf [64]byte
	_, id, _ := bytes.Cut(buf[:runtime.Stack(buf[:], false)], []byte("goroutine "))
	id, _, _ = bytes.Cut(id, []byte(" "))
	return string(id)
}

// WithCallLimit sets how many offloaded calls from C into Go (coro_call_go) run at the same time at most; others wait for
// their turn. Functions that wait for each other may then wait for ever. Without it there is no limit, and each that
// blocks costs a goroutine.
func WithCallLimit(n int) Option {
	return number("WithCallLimit", n, 1, 1<<30, func(c *config) { c.callLimit = n })
}
