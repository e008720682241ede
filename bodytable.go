package coro

import (
	"sync"
	"sync/atomic"
)

// A bodyTable holds coroutines by slot. Looking one up takes no lock.
type bodyTable struct {
	mu    sync.Mutex
	pages atomic.Pointer[[]*bodyPage]
	free  []uint32
	used  uint32 // slots that were ever given out
}

type bodyPage [1024]atomic.Pointer[Coroutine]

func (t *bodyTable) page(slot uint32) *bodyPage {
	pages := t.pages.Load()
	if i := int(slot / uint32(len(bodyPage{}))); pages != nil && i < len(*pages) {
		return (*pages)[i]
	}
	return nil
}

// at returns what is in a slot, which may be any number.
func (t *bodyTable) at(slot uint32) *Coroutine {
	if p := t.page(slot); p != nil {
		return p[slot%uint32(len(p))].Load()
	}
	return nil
}

// reserve returns a slot with nothing in it.
func (t *bodyTable) reserve() uint32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.free); n > 0 {
		slot := t.free[n-1]
		t.free = t.free[:n-1]
		return slot
	}
	slot := t.used
	t.used++
	if t.page(slot) == nil {
		var pages []*bodyPage
		if old := t.pages.Load(); old != nil {
			pages = *old
		}
		pages = append(pages[:len(pages):len(pages)], new(bodyPage))
		t.pages.Store(&pages)
	}
	return slot
}

// put puts c, which has its handle, into its slot: now others may find it.
func (t *bodyTable) put(c *Coroutine) {
	p := t.page(c.slot)
	p[c.slot%uint32(len(p))].Store(c)
}

// release empties a slot.
func (t *bodyTable) release(slot uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.page(slot)
	p[slot%uint32(len(p))].Store(nil)
	t.free = append(t.free, slot)
}

// each calls f for all that are in the table now.
func (t *bodyTable) each(f func(*Coroutine)) {
	t.mu.Lock()
	used := t.used
	t.mu.Unlock()
	for slot := range used {
		if c := t.at(slot); c != nil {
			f(c)
		}
	}
}

// find returns the coroutine of this lane that a handle names, or nil.
func (l *lane) find(h Handle) *Coroutine {
	slot, ok := l.s.core.Body(uint64(h))
	if !ok {
		return nil
	}
	if c := l.table.at(slot); c != nil && c.handle == h {
		return c
	}
	return nil
}

// blocked lists at most limit of those that wait, and counts all.
func (l *lane) blocked(limit int) (list []Blocked, count int) {
	l.table.each(func(c *Coroutine) {
		waits := ""
		switch state := c.state.Load(); {
		case state&isParked != 0:
			waits = "park"
		case state&(isAwaiting|isClinging) != 0:
			waits = "await"
		default:
			return
		}
		count++
		if len(list) < limit {
			list = append(list, Blocked{c.Handle(), c.name, -1, waits})
		}
	})
	return list, count
}
