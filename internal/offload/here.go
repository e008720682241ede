package offload

import (
	"context"
	"sync"

	"github.com/organzine/coro/csrc"
	"github.com/organzine/coro/internal/asm"
)

// Calls of a coroutine that runs on a goroutine's thread (csrc.Lend) are made by that goroutine, as
// a worker of the pool that makes one call. Such workers are in a list of their own, linked by after
// and before, the last one in front.

var visitors = sync.Pool{New: func() any { return new(worker) }}

// Here makes the call c on the calling goroutine. ctx is the context that the calling coroutine
// belongs to. It never ends, and its methods but Value are no user's code. When Here returns the call
// has ended, and is to be completed. If the function ends its goroutine instead, Here completes the
// call, and calls left.
func (p *Pool) Here(ctx context.Context, c *csrc.Call, left func()) {
	w := visitors.Get().(*worker)
	if ctx == context.Background() {
		ctx = nil
	}
	p.enter(w, c, &callContext{pool: p, caller: ctx})
	stays := false
	defer func() {
		if !stays {
			c.Fail(hasExited)
		}
		p.leave(w)
		if !stays {
			p.Edge.Release()
			left()
			p.Core.Complete(c)
		}
	}()
	p.makeHere(w, c)
	stays = true
}

// makeHere makes the call, and ends it by a panic of the function.
func (p *Pool) makeHere(w *worker, c *csrc.Call) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			panicked(c, v)
		}
	}()
	p.invoke(w, c)
	returned = true
}

// enter puts w into the list of the visitors.
func (p *Pool) enter(w *worker, c *csrc.Call, ctx *callContext) {
	ctx.until = c.Shield()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	*w = worker{id: asm.Goroutine(), call: c, ctx: ctx,
		now: csrc.InlineCall{ID: c.ID(), Count: p.calls}, after: p.visiting}
	if w.after != nil {
		w.after.before = w
	}
	p.visiting = w
	if c.IsCanceled() { // just now: CancelCalls may not have seen it
		ctx.cancel()
	}
}

// leave is the end of enter.
func (p *Pool) leave(w *worker) {
	p.mu.Lock()
	if w.before == nil {
		p.visiting = w.after
	} else {
		w.before.after = w.after
	}
	if w.after != nil {
		w.after.before = w.before
	}
	ctx := w.ctx
	*w = worker{}
	p.mu.Unlock()
	visitors.Put(w)
	ctx.end(context.Canceled)
}

// each calls f for each worker, a visitor first. The lock is held.
func (p *Pool) each(f func(*worker)) {
	for w := p.visiting; w != nil; w = w.after {
		f(w)
	}
	for w := range p.all {
		f(w)
	}
}

// Give has the pool make the call, which the core's list has not.
func (p *Pool) Give(c *csrc.Call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.first = c.Push(p.first)
	p.another()
}
