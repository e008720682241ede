package coro

import (
	"sync"
	"sync/atomic"
)

// A bodyTable holds coroutines by the lower half of their handles, which numbers their records: a small number, and no other
// coroutine's as long as it has not ended. Looking one up takes no lock.
type bodyTable struct {
	mu    sync.Mutex
	pages atomic.Pointer[[]*bodyPage] // nil: nothing was ever there
}

type bodyPage [1024]atomic.Pointer[Coroutine]

// place is where the coroutine with this handle is, or nil.
func (t *bodyTable) place(h Handle) *atomic.Pointer[Coroutine] {
	n := uint32(h)
	pages := t.pages.Load()
	if i := int(n / uint32(len(bodyPage{}))); pages != nil && i < len(*pages) && (*pages)[i] != nil {
		return &(*pages)[i][n%uint32(len(bodyPage{}))]
	}
	return nil
}

// find returns the coroutine of this lane that a handle names, or nil.
func (t *bodyTable) find(h Handle) *Coroutine {
	if p := t.place(h); p != nil {
		if c := p.Load(); c != nil && c.handle == h {
			return c
		}
	}
	return nil
}

// put puts c in: now others may find it.
func (t *bodyTable) put(c *Coroutine) {
	p := t.place(c.handle)
	if p == nil {
		p = t.make(c.handle)
	}
	p.Store(c)
}

// make adds the page for a handle, and returns the place.
func (t *bodyTable) make(h Handle) *atomic.Pointer[Coroutine] {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.place(h); p != nil {
		return p
	}
	i := int(uint32(h) / uint32(len(bodyPage{})))
	var old []*bodyPage
	if p := t.pages.Load(); p != nil {
		old = *p
	}
	pages := make([]*bodyPage, max(len(old), i+1))
	copy(pages, old)
	pages[i] = new(bodyPage)
	t.pages.Store(&pages)
	return t.place(h)
}

// remove is for a c that is about to end: then its record may be another's.
func (t *bodyTable) remove(c *Coroutine) { t.place(c.handle).Store(nil) }

// each calls f for all that are in the table now.
func (t *bodyTable) each(f func(*Coroutine)) {
	pages := t.pages.Load()
	if pages == nil {
		return
	}
	for _, page := range *pages {
		for i := 0; page != nil && i < len(page); i++ {
			if c := page[i].Load(); c != nil {
				f(c)
			}
		}
	}
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
