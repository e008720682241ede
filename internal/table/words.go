package table

import (
	"sync"
	"sync/atomic"
)

// Words finds pointers by words that are not 0, such as addresses. Finding one takes no lock, and
// may go on while others change the table; a caller finds what was put before. The zero Words is
// empty.
type Words[T any] struct {
	mu      sync.Mutex
	buckets atomic.Pointer[buckets[T]] // nil: nothing was ever there
	count   int
}

// Buckets are a power of two, and shift is 64 less its logarithm.
type buckets[T any] struct {
	shift int
	list  []atomic.Pointer[entry[T]]
}

// An entry is one of those with the same bucket. Only next changes.
type entry[T any] struct {
	word  uintptr
	value *T
	next  atomic.Pointer[entry[T]]
}

const firstLog = 6

func newBuckets[T any](log int) *buckets[T] {
	return &buckets[T]{64 - log, make([]atomic.Pointer[entry[T]], 1<<log)}
}

// of is the bucket of a word.
func (b *buckets[T]) of(word uintptr) *atomic.Pointer[entry[T]] {
	hash := uint64(word) * 0x9e3779b97f4a7c15
	return &b.list[hash>>(b.shift&63)]
}

// At is the pointer of a word; nil: there is none. It costs 1 to 2 ns.
func (w *Words[T]) At(word uintptr) *T {
	buckets := w.buckets.Load()
	if buckets == nil {
		return nil
	}
	for e := buckets.of(word).Load(); e != nil; e = e.next.Load() {
		if e.word == word {
			return e.value
		}
	}
	return nil
}

// Put gives a word that has none a pointer.
func (w *Words[T]) Put(word uintptr, v *T) {
	w.mu.Lock()
	defer w.mu.Unlock()
	buckets := w.buckets.Load()
	if buckets == nil || w.count >= len(buckets.list) {
		buckets = grown(buckets)
		w.buckets.Store(buckets)
	}
	buckets.add(word, v)
	w.count++
}

func (b *buckets[T]) add(word uintptr, v *T) {
	at := b.of(word)
	e := &entry[T]{word: word, value: v}
	e.next.Store(at.Load())
	at.Store(e)
}

// grown is a copy of the buckets with more of them. Callers of At go on in the old ones.
func grown[T any](old *buckets[T]) *buckets[T] {
	if old == nil {
		return newBuckets[T](firstLog)
	}
	more := newBuckets[T](64 - old.shift + 1)
	for i := range old.list {
		for e := old.list[i].Load(); e != nil; e = e.next.Load() {
			more.add(e.word, e.value)
		}
	}
	return more
}

// Remove takes the pointer of a word that has one away.
func (w *Words[T]) Remove(word uintptr) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := w.buckets.Load().of(word)
	for e := at.Load(); e != nil; at, e = &e.next, e.next.Load() {
		if e.word == word {
			at.Store(e.next.Load())
			w.count--
			return
		}
	}
}
