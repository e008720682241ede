package coro

import (
	"context"
	"slices"

	"github.com/organzine/coro/internal/asm"
	"github.com/organzine/coro/internal/core"
)

// A lockOwner is the caller, as the owner of a lock: a Go body, whichever goroutine it runs on, or
// a goroutine. Its number is never another's.
type lockOwner struct {
	number uint64
	body   *bodyGoroutine // nil: a goroutine
}

func owner() lockOwner {
	if k := bodyGoroutines.At(asm.Goroutine()); k != nil {
		return lockOwner{k.owner, k}
	}
	return lockOwner{core.GoroutineOwner(asm.GoroutineID()), nil}
}

// ownerThatWaits is owner for a call that waits with ctx, or may end at once. It may yield.
func ownerThatWaits(ctx context.Context) lockOwner {
	me := owner()
	if k := me.body; k != nil && k.spends(1) {
		k.spentFor(ctx)
	}
	return me
}

// A heldLock is a lock that has an owner, whose body is at its end: released before others can see
// that, look afterwards. look gives the lock to those that wait.
type heldLock interface {
	released()
	look()
}

// heldLocks are the locks of one body.
type heldLocks []heldLock

// got notes that the caller has locked l, if status says so. It returns status.
func (o lockOwner) got(l heldLock, status core.Status) core.Status {
	if o.body != nil && (status == core.OK || status == core.OwnerDead) {
		o.body.holds = append(o.body.holds, l)
	}
	return status
}

// gave notes that the caller has unlocked l, if status says so. It returns status.
func (o lockOwner) gave(l heldLock, status core.Status) core.Status {
	if o.body == nil || status != core.OK {
		return status
	}
	h := o.body.holds
	last := len(h) - 1
	if last >= 0 && h[last] == l { // mostly
		h[last] = nil
		o.body.holds = h[:last]
		return status
	}
	for i := last - 1; i >= 0; i-- {
		if h[i] == l {
			o.body.holds = slices.Delete(h, i, i+1)
			break
		}
	}
	return status
}

// leave returns the locks that the body of k, which is at its end, holds. k may be nil.
func (k *bodyGoroutine) leave() heldLocks {
	if k == nil || len(k.holds) == 0 {
		return nil
	}
	left := k.holds
	k.holds = nil
	for _, l := range left {
		l.released()
	}
	return left
}

// look tells those that wait that the owner of the locks has ended.
func (h heldLocks) look() {
	for _, l := range h {
		l.look()
	}
}
