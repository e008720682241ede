package coro

import (
	"context"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/organzine/coro/internal/asm"
	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/turnclock"
)

// How long a body may go on whose waits all end at once. A body that always finds a value in its
// channel, or a permit, never suspends, and the others of its executor would wait without end. So
// such waits count, and once they have gone on for some 20 µs in one turn the next one yields
// first, if there is something else to do. (csrc/kernel/budget.h is the same for C coroutines.)
//
// A wait takes 10 to 40 ns, and a look at the clock as long. So the clock is read a few times in
// 20 µs. To find out whether the caller is a body takes 5 ns. So one wait in 16 to 64 is looked at,
// and counts for as many, where that is not known anyway. The number of values that have passed the
// channel's end tells which one (the leaf returns that: to read the number here would bring its
// cache line twice), or a count in the cache line that the wait writes.

// A budget belongs to a goroutine that runs bodies, and only that uses it.
type budget struct {
	left  int32         // waits until the next look
	every int32         // waits from one look to the next
	turn  uint32        // the executor's count of turns when left last ran out
	since time.Duration // what budgetTurn is counted from, by turnclock.Now; 0: nothing yet
}

func newBudget() budget { return budget{left: sampleFirst, every: sampleFirst} }

// hasSpent looks at the clock, unless this turn has just begun. True: the turn has been long, the
// body may be suspended, and there is something else to do.
func (k *bodyGoroutine) hasSpent() bool {
	b, e := &k.budget, k.body.exec
	if b.turn != e.turns { // most turns end before left runs out once more
		b.turn, b.since, b.left = e.turns, 0, b.every
		return false
	}
	now := turnclock.Now()
	if !b.look(now) || k.body.sections.level == noWaitSection || !e.hasMore(now) {
		return false
	}
	e.clock.Hurry(e.turns+1, now)
	return true
}

// look is a look at the clock. True: budgetTurn is over, and begins again. look sets how many waits
// there are until the next one: it comes three times in budgetTurn, or after waitsMost waits, or at
// each wait. The number falls in one step, so that waits which become long go on for waitsMost at
// most until that is found out.
func (b *budget) look(now time.Duration) (over bool) {
	switch took := now - b.since; {
	case b.since == 0:
		b.since = now
	case took >= budgetTurn:
		b.every = int32(time.Duration(b.every)*budgetTurn/2/took) + 1
		b.since, over = now, true
	case took < budgetTurn/2:
		b.every = min(2*b.every, waitsMost)
	}
	b.left = b.every
	return over
}

// hasMore tells whether e, whose body asks, has something else to do: another body, one that comes
// from outside, or to let goroutines run.
func (e *executor) hasMore(now time.Duration) bool {
	p := e.pool
	if e.next.Load() != nil || e.queue.Len() > 0 || p.core.HasItems() ||
		e.clock.LetsGo(now) {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting() > 0
}

// spend counts a wait of c, which is the caller, that has ended at once. It may yield.
func (c *Coroutine) spend() {
	if k := c.goroutine; k.spends(1) {
		k.spent()
	}
}

// spends counts waits of the body of k. True: spent is to be called, or spentFor.
func (k *bodyGoroutine) spends(waits int32) bool {
	k.left -= waits
	return k.left <= 0
}

// spent makes the body of k, which calls it, yield if it is time for that.
func (k *bodyGoroutine) spent() {
	if k.hasSpent() {
		_ = k.body.Yield()
	}
}

// spentFor is spent for a wait with ctx. With another's context, or none of a body's, a wait never
// suspends the body.
func (k *bodyGoroutine) spentFor(ctx context.Context) {
	if k.hasSpent() && ctx != nil && bodyOf(ctx) == k.body {
		_ = k.body.Yield()
	}
}

// A sample tells which waits at an object are looked at: those whose number has no bit of a mask. A
// channel has its mask in C, where its leaves use that.
type sample struct{ mask atomic.Uint32 }

func (s *sample) init() { s.mask.Store(sampleFirst - 1) }

// isSampled tells whether the wait with that number is to be looked at.
func (o *object) isSampled(number uint32) bool { return number&o.sample.mask.Load() == 0 }

// spend looks at a wait of the caller with ctx, that may end at once. It may yield.
func (o *object) spend(ctx context.Context) {
	mask := o.sample.mask.Load()
	if next := spend(ctx, mask); next != mask {
		o.sample.mask.Store(next)
	}
}

// spendAt is that of object for a wait at a channel, that has ended at once, or may.
func spendAt(ctx context.Context, c core.Chan) {
	mask := c.Sample()
	if next := spend(ctx, mask); next != mask {
		c.SetSample(next)
	}
}

// spend looks at a wait of the caller with ctx. It stands for as many as the mask, of the object's
// samples, says. It may yield. It returns the mask from now on.
func spend(ctx context.Context, mask uint32) uint32 {
	var k *bodyGoroutine
	if !isBackground(ctx) { // else mostly a goroutine; a body is not suspended with that either
		k = bodyGoroutines.At(asm.Goroutine())
	}
	if k == nil {
		if mask >= sampleFirst-1 { // no slow body is here
			return maskOf(sampleMost)
		}
		return mask
	}
	if !k.spends(int32(mask + 1)) {
		return mask
	}
	k.spentFor(ctx)
	return maskOf(k.every) // where waits take long, more of them are looked at
}

// maskOf is the mask with which one wait in n is looked at, or one in sampleMost.
func maskOf(n int32) uint32 {
	return uint32(1)<<(bits.Len32(uint32(min(n, sampleMost)))-1) - 1
}
