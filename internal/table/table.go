// Package table has tables of values by small numbers.
package table

import (
	"sync"
	"sync/atomic"
)

// A Table holds pointers by id. Finding one takes no lock, and may go on while others change the
// table. The ids of a Table are either all the caller's (Put, Clear) or all its own (Add, Remove).
// The zero Table is empty.
type Table[T any] struct {
	mu    sync.Mutex
	pages atomic.Pointer[[]atomic.Pointer[page[T]]] // nil: nothing was ever there
	free  []uint32                                  // ids that Remove has taken back
	next  uint32                                    // the first id that Add has not given
}

type page[T any] [pageEntries]atomic.Pointer[T]

const pageEntries = 64

// Entry is where the pointer of an id is; nil: nothing was ever there.
func (t *Table[T]) Entry(id uint32) *atomic.Pointer[T] {
	if pages := t.pages.Load(); pages != nil && id/pageEntries < uint32(len(*pages)) {
		if p := (*pages)[id/pageEntries].Load(); p != nil {
			return &p[id%pageEntries]
		}
	}
	return nil
}

// At is the pointer of an id; nil: there is none.
func (t *Table[T]) At(id uint32) *T {
	if e := t.Entry(id); e != nil {
		return e.Load()
	}
	return nil
}

// Put gives an id of the caller's a pointer: from now on others find it.
func (t *Table[T]) Put(id uint32, v *T) {
	e := t.Entry(id)
	if e == nil {
		t.mu.Lock()
		e = t.make(id)
		t.mu.Unlock()
	}
	e.Store(v)
}

// Clear takes the pointer of an id that has one away.
func (t *Table[T]) Clear(id uint32) { t.Entry(id).Store(nil) }

// Add gives the pointer an id, the lowest that was never given if none was taken back.
func (t *Table[T]) Add(v *T) (id uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.free); n > 0 {
		id, t.free = t.free[n-1], t.free[:n-1]
	} else {
		id = t.next
		t.next++
	}
	t.make(id).Store(v)
	return id
}

// Remove takes an id of Add back.
func (t *Table[T]) Remove(id uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Clear(id)
	t.free = append(t.free, id)
}

// make returns the entry of an id, which it makes if there is none. With mu held.
func (t *Table[T]) make(id uint32) *atomic.Pointer[T] {
	if e := t.Entry(id); e != nil {
		return e
	}
	i := int(id / pageEntries)
	var old []atomic.Pointer[page[T]]
	if p := t.pages.Load(); p != nil {
		old = *p
	}
	if i >= len(old) {
		pages := make([]atomic.Pointer[page[T]], max(2*len(old), i+1))
		for i := range old {
			pages[i].Store(old[i].Load())
		}
		t.pages.Store(&pages)
		old = pages
	}
	old[i].Store(new(page[T]))
	return t.Entry(id)
}

// Each calls f for each pointer that is in the table now.
func (t *Table[T]) Each(f func(*T)) {
	pages := t.pages.Load()
	if pages == nil {
		return
	}
	for i := range *pages {
		p := (*pages)[i].Load()
		for i := 0; p != nil && i < len(p); i++ {
			if v := p[i].Load(); v != nil {
				f(v)
			}
		}
	}
}

// A List holds values by id, for callers that hold a lock of their own. Unlike a Table it holds
// interfaces too, without an allocation for each. The zero List is empty.
type List[V comparable] struct {
	values []V // the zero value: none
	free   []uint32
}

// Add gives a value, which is not the zero value, an id.
func (l *List[V]) Add(v V) (id uint32) {
	if n := len(l.free); n > 0 {
		id, l.free = l.free[n-1], l.free[:n-1]
		l.values[id] = v
		return id
	}
	l.values = append(l.values, v)
	return uint32(len(l.values) - 1)
}

// Remove takes an id back, and returns its value.
func (l *List[V]) Remove(id uint32) V {
	v := l.values[id]
	var none V
	l.values[id] = none
	l.free = append(l.free, id)
	return v
}

// At is the value of an id that Add has given; the zero value: it was removed.
func (l *List[V]) At(id uint32) V { return l.values[id] }

// Len is the number of values in the list.
func (l *List[V]) Len() int { return len(l.values) - len(l.free) }

// All returns the values, in the order of their ids.
func (l *List[V]) All() []V {
	var none V
	all := make([]V, 0, l.Len())
	for _, v := range l.values {
		if v != none {
			all = append(all, v)
		}
	}
	return all
}
