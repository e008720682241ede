package actor

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/organzine/coro/internal/ctxerr"
)

// A room is the bound of a mailbox. A message has a space until it is handled.
//
//	GRM1  sender: says that it waits (waits), then looks for a space (admit)
//	GRM2  turn: gives a space back (taken), then looks whether anybody waits. One of the two
//	      sees the other
type room struct {
	taken atomic.Int64
	waits atomic.Int32 // senders

	mu      sync.Mutex
	senders []*roomSender // first come, first served
	closed  bool
}

type roomSender struct {
	told  chan error // what it is told; nil: it has a space
	isOut bool       // it was told; with room.mu
}

// tryEnter takes one of `most` spaces, if there is one that nobody waits for.
func (r *room) tryEnter(most int) bool {
	if r.waits.Load() > 0 {
		return false
	}
	if r.taken.Add(1) > int64(most) {
		r.leave(most)
		return false
	}
	return true
}

// leave gives a space back: GRM2.
func (r *room) leave(most int) {
	r.taken.Add(-1)
	if r.waits.Load() > 0 {
		r.mu.Lock()
		r.admitLocked(most)
		r.mu.Unlock()
	}
}

func (r *room) admitLocked(most int) {
	for len(r.senders) > 0 {
		var err error
		if r.closed {
			err = ErrStopped
		} else if r.taken.Add(1) > int64(most) {
			r.taken.Add(-1)
			return
		}
		r.tellLocked(0, err)
	}
}

func (r *room) tellLocked(i int, err error) {
	w := r.senders[i]
	r.senders = slices.Delete(r.senders, i, i+1)
	r.waits.Add(-1)
	w.isOut = true
	w.told <- err
}

// close tells ErrStopped to all that wait, and to all that will.
func (r *room) close() {
	r.mu.Lock()
	r.closed = true
	r.admitLocked(0)
	r.mu.Unlock()
}

// enter takes a space, and waits for one. h is the caller.
func (r *room) enter(ctx context.Context, to *actor, h *caller) error {
	most := to.kind.settings.room
	if r.tryEnter(most) {
		return nil
	}
	if err := to.kind.sys.reached(); err != nil {
		return err
	}
	if err := h.beginWait(to); err != nil {
		return err
	}
	defer h.endWait()
	return r.wait(ctx, to)
}

// wait takes a space when there is one.
func (r *room) wait(ctx context.Context, to *actor) (err error) {
	most := to.kind.settings.room
	w := &roomSender{told: make(chan error, 1)}
	r.waits.Add(1) // GRM1
	r.mu.Lock()
	r.senders = append(r.senders, w)
	r.admitLocked(most)
	r.mu.Unlock()
	select {
	case err = <-w.told:
	case <-ctx.Done():
		over := ctxerr.Of(ctx)
		r.mu.Lock()
		if !w.isOut {
			r.tellLocked(slices.Index(r.senders, w), over)
		}
		r.mu.Unlock()
		err = <-w.told
	}
	if err == ErrStopped {
		return errorOf(to, err)
	}
	return err
}
