package offload

import (
	"context"

	"github.com/organzine/coro/internal/asm"
	"github.com/organzine/coro/internal/core"
)

// Calls of a coroutine that runs on a goroutine's thread (core.Lend) are made by that goroutine, as
// a worker of the pool that makes one call: a visitor. Visitors are in a list of their own, linked
// by after and before, the last one in front. Those that have left are kept for later ones.

// Here makes the call c on the calling goroutine. ctx is the context that the calling coroutine
// belongs to; nil: the background's. It never ends, and its methods but Value are no user's code.
// When Here returns the call has ended, and is to be completed. If the function ends its goroutine
// instead, Here completes the call.
func (p *Pool) Here(ctx context.Context, c *core.Call) {
	w := p.enter(c, ctx)
	stays := false
	defer func() {
		if !stays {
			c.Fail(hasExited)
		}
		p.leave(w)
		if !stays {
			p.Edge.Release()
			p.Core.Complete(c)
		}
	}()
	p.makeHere(w, c)
	stays = true
}

// makeHere makes the call, and ends it by a panic of the function.
func (p *Pool) makeHere(w *worker, c *core.Call) {
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

// enter puts a visitor for c into the list.
func (p *Pool) enter(c *core.Call, caller context.Context) *worker {
	p.mu.Lock()
	ctx := p.contextFor(caller)
	ctx.until = c.Shield()
	w := p.visited
	if w != nil {
		p.visited = w.after
		p.visitedCount--
	} else {
		w = &worker{}
	}
	p.calls++
	w.id, w.call, w.ctx = asm.Goroutine(), c, ctx
	w.now = core.InlineCall{ID: c.ID(), Count: p.calls}
	if w.after = p.visiting; w.after != nil {
		w.after.before = w
	}
	p.visiting = w
	canceled := c.IsCanceled() // just now: CancelCalls may not have seen it
	p.mu.Unlock()
	if canceled {
		ctx.cancel()
	}
	return w
}

// contextFor is a new context of a call, pool and caller set. Those without a caller are made
// several at a time: as long as any is in use, all lie in memory, and they hold nothing more.
func (p *Pool) contextFor(caller context.Context) *callContext {
	if caller != nil {
		return &callContext{pool: p, caller: caller}
	}
	if len(p.contexts) == 0 {
		p.contexts = make([]callContext, contextsAtOnce)
	}
	ctx := &p.contexts[0]
	p.contexts = p.contexts[1:]
	ctx.pool = p
	return ctx
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
	w.before, w.ctx, w.call = nil, nil, nil
	if w.after = nil; p.visitedCount < visitorsKept {
		w.after = p.visited
		p.visited = w
		p.visitedCount++
	}
	p.mu.Unlock()
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
func (p *Pool) Give(c *core.Call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.first = c.Push(p.first)
	p.another()
}
