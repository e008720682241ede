package table

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// Words finds pointers by words that are not 0, such as addresses. Finding one takes no lock, and
// may go on while others change the table; a caller finds what was put before. The zero Words is
// empty.
type Words[T any] struct {
	mu      sync.Mutex
	buckets atomic.Pointer[[]atomic.Pointer[entry[T]]] // a power of two; nil: nothing was ever there
	count   int
}

// An entry is one of those with the same bucket. Only next changes.
type entry[T any] struct {
	word  uintptr
	value *T
	next  atomic.Pointer[entry[T]]
}

const firstBuckets = 64

func bucketOf[T any](buckets []atomic.Pointer[entry[T]], word uintptr) *atomic.Pointer[entry[T]] {
	hash := uint64(word) * 0x9e3779b97f4a7c15
	return &buckets[hash>>(64-bits.TrailingZeros(uint(len(buckets))))]
}

// At is the pointer of a word; nil: there is none. It costs 1 to 2 ns.
func (w *Words[T]) At(word uintptr) *T {
	buckets := w.buckets.Load()
	if buckets == nil {
		return nil
	}
	for e := bucketOf(*buckets, word).Load(); e != nil; e = e.next.Load() {
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
	if buckets == nil || w.count >= len(*buckets) {
		buckets = grown(buckets)
		w.buckets.Store(buckets)
	}
	add(*buckets, word, v)
	w.count++
}

func add[T any](buckets []atomic.Pointer[entry[T]], word uintptr, v *T) {
	b := bucketOf(buckets, word)
	e := &entry[T]{word: word, value: v}
	e.next.Store(b.Load())
	b.Store(e)
}

// grown is a copy of the buckets with more of them. Callers of At go on in the old ones.
func grown[T any](old *[]atomic.Pointer[entry[T]]) *[]atomic.Pointer[entry[T]] {
	if old == nil {
		first := make([]atomic.Pointer[entry[T]], firstBuckets)
		return &first
	}
	more := make([]atomic.Pointer[entry[T]], 2*len(*old))
	for i := range *old {
		for e := (*old)[i].Load(); e != nil; e = e.next.Load() {
			add(more, e.word, e.value)
		}
	}
	return &more
}

// Remove takes the pointer of a word that has one away.
func (w *Words[T]) Remove(word uintptr) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := bucketOf(*w.buckets.Load(), word)
	for e := at.Load(); e != nil; at, e = &e.next, e.next.Load() {
		if e.word == word {
			at.Store(e.next.Load())
			w.count--
			return
		}
	}
}
