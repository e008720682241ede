//go:build cgo && linux && (amd64 || arm64)

package core

/*
#include "buffer/buffer.h"

static uint64_t coroi_go_buffer_make(struct coroi_ledger *l, size_t bytes, uintptr_t where)
{
	coro_buffer b = {0};

	coroi_buffer_make_outside(l, bytes, where, &b);
	return b.id;
}
*/
import "C"

import (
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/organzine/coro/internal/asm"
)

// buffer.go - buffers: what csrc/buffer/buffer.h tells, in Go. The steps have the same labels.

// BufferMax is the most bytes of a buffer.
const BufferMax = C.CORO_BUFFER_MAX

type descriptor = C.struct_coroi_descriptor

// A bufferList has free descriptors that Go has in hand. Who has `busy` has the list: nobody waits
// for it, but takes another one.
type bufferList struct {
	busy uint32
	free [C.COROI_BUFFER_CLASSES]struct {
		first *descriptor
		count uint32
	}
	_ [128 - (4+16*C.COROI_BUFFER_CLASSES)%128]byte
}

var bufferLists [C.COROI_BUFFER_GO_LISTS]bufferList

// holdBuffers gets a list, probably one that this goroutine has had before, as Scheduler.submitter
// does. nil: others have all of them.
func holdBuffers() (*bufferList, uint32) {
	var here byte
	i := uint32(uintptr(unsafe.Pointer(&here)) >> 11 * 0x9e3779b1 >> 16)
	for range bufferLists {
		i %= uint32(len(bufferLists))
		if l := &bufferLists[i]; atomic.CompareAndSwapUint32(&l.busy, 0, 1) {
			return l, i
		}
		i++
	}
	return nil, 0
}

func (l *bufferList) release() { asm.StoreReleaseAfterCAS(&l.busy, 0) }

// A Ledger is where the buffers of a scheduler count: as long as the scheduler is not destroyed.
type Ledger struct{ c *C.struct_coroi_ledger }

// Ledger is coroi_ledger_of.
func (s *Scheduler) Ledger() Ledger {
	crossing()
	return Ledger{C.coroi_ledger_of(s.c)}
}

// bump adds to a counter that the caller alone writes. C reads it, and a store of 8 bytes is whole.
func bump(p *C.uint64_t, by uint64) { *p += C.uint64_t(by) }

func bufferClass(n uintptr) uint32 {
	switch {
	case n <= C.COROI_BUFFER_LEAST:
		return 0
	case n > C.COROI_BUFFER_MOST:
		return C.COROI_BUFFER_LARGE
	}
	return uint32(bits.Len64(uint64(n-1))) - 6
}

// bufferTrade is coroi_buffer_trade.
func bufferTrade(class uint32) uint32 {
	return min(uint32(C.COROI_BUFFER_TRADE_BYTES/C.COROI_BUFFER_LEAST)>>class,
		C.COROI_BUFFER_TRADE_MOST)
}

// Make makes a buffer of n bytes, which is in use; where is a mark by which IsLeft knows it. Its
// bytes are what was there before. false: no memory, or the limit is reached.
func (l Ledger) Make(n uintptr, where uintptr) (UsedBuffer, bool) {
	class := bufferClass(n)
	if class == C.COROI_BUFFER_LARGE || buffersByC {
		return l.makeByC(n, where)
	}
	list, i := holdBuffers()
	if list == nil {
		return l.makeByC(n, where)
	}
	d := list.take(class)
	if d == nil || !l.spend(uint64(d.room)) {
		list.release()
		if d != nil {
			giveBuffer(d)
		}
		return UsedBuffer{}, false
	}
	t := &l.c._go[i].tally
	bump(&t.made, 1)
	bump(&t.bytes, uint64(d.room))
	d.length = C.uint64_t(n)
	d.ledger = l.c
	d.where = C.uintptr_t(where)
	word := uint64(d.word) | C.COROI_BUFFER_USED
	storeReleaseAfterCAS(&d.word, word) // BUF1
	list.release()
	return UsedBuffer{d, bufferID(d, word)}, true
}

func (l Ledger) makeByC(n, where uintptr) (UsedBuffer, bool) {
	crossing()
	id := uint64(C.coroi_go_buffer_make(l.c, C.size_t(n), C.uintptr_t(where)))
	if id == 0 {
		return UsedBuffer{}, false
	}
	u, _ := UseBuffer(id) // nobody else has the handle
	return u, true
}

// spend is coroi_ledger_take.
func (l Ledger) spend(bytes uint64) bool {
	if l.c.limit == 0 {
		return true
	}
	used := (*uint64)(unsafe.Pointer(&l.c.used))
	if atomic.AddUint64(used, bytes) <= uint64(l.c.limit) {
		return true
	}
	atomic.AddUint64(used, -bytes)
	return false
}

// take takes a descriptor out of the list, which gets more of them from the depot if it has none.
// nil: no memory.
func (l *bufferList) take(class uint32) *descriptor {
	free := &l.free[class]
	d := free.first
	if d == nil {
		n := C.uint32_t(bufferTrade(class))
		crossing()
		if d = C.coroi_depot_take(C.uint32_t(class), &n); d == nil {
			return nil
		}
		free.count = uint32(n)
	}
	free.first = d.next
	free.count--
	return d
}

// giveBuffer gives a free descriptor to the depot.
func giveBuffer(d *descriptor) {
	d.next = nil
	crossing()
	C.coroi_depot_give(d, d.class, 1)
}

func storeReleaseAfterCAS(p *C.uint64_t, v uint64) {
	asm.StoreReleaseAfterCAS64((*uint64)(unsafe.Pointer(p)), v)
}

func bufferID(d *descriptor, word uint64) uint64 {
	return word>>C.COROI_BUFFER_STATE_BITS<<C.COROI_BUFFER_INDEX_BITS | uint64(d.index)
}

// ownedWord is coroi_buffer_word, and nextWord is coroi_buffer_next.
func ownedWord(id uint64) uint64 {
	return id>>C.COROI_BUFFER_INDEX_BITS<<C.COROI_BUFFER_STATE_BITS | C.COROI_BUFFER_OWNED
}

func nextWord(word, state uint64) uint64 {
	gen := (word>>C.COROI_BUFFER_STATE_BITS + 1) & (1<<40 - 1)
	return max(gen, 1)<<C.COROI_BUFFER_STATE_BITS | state
}

// findBuffer is coroi_buffer_find.
func findBuffer(id uint64) *descriptor {
	index := uint32(id) & (1<<C.COROI_BUFFER_INDEX_BITS - 1)
	chunk := (*descriptor)(atomic.LoadPointer((*unsafe.Pointer)(unsafe.Pointer(
		&C.coroi_buffer_dir[index/C.COROI_BUFFER_CHUNK]))))
	if chunk == nil {
		return nil
	}
	return (*descriptor)(unsafe.Add(unsafe.Pointer(chunk),
		uintptr(index%C.COROI_BUFFER_CHUNK)*unsafe.Sizeof(*chunk)))
}

// change is the compare-and-swap of an owner, from the word of its handle.
func changeBuffer(id, next uint64) (*descriptor, Status) {
	d := findBuffer(id)
	if d == nil {
		return nil, Stale
	}
	at, word := (*uint64)(unsafe.Pointer(&d.word)), ownedWord(id)
	if atomic.CompareAndSwapUint64(at, word, next) {
		return d, OK
	}
	if atomic.LoadUint64(at) == word^(C.COROI_BUFFER_OWNED|C.COROI_BUFFER_USED) {
		return nil, Busy
	}
	return nil, Stale
}

// FreeBuffer frees the buffer: OK, Stale, Busy.
func FreeBuffer(id uint64) Status {
	d, status := changeBuffer(id, nextWord(ownedWord(id), C.COROI_BUFFER_FREE)) // BUF4
	if status != OK {
		return status
	}
	var list *bufferList
	var i uint32
	if d.class != C.COROI_BUFFER_LARGE && !buffersByC {
		list, i = holdBuffers()
	}
	if list == nil {
		crossing()
		C.coroi_buffer_free_outside(d)
		return OK
	}
	l, room := d.ledger, uint64(d.room)
	free := &list.free[d.class]
	d.next = free.first
	free.first = d
	free.count++
	if n := bufferTrade(uint32(d.class)); free.count > 2*n {
		list.spill(d.class, n)
	}
	if l.limit != 0 {
		atomic.AddUint64((*uint64)(unsafe.Pointer(&l.used)), -room)
	}
	t := &l._go[i].tally
	bump(&t.bytes, -room)
	storeReleaseAfterCAS(&t.freed, uint64(t.freed)+1) // last: the ledger may be freed now
	list.release()
	return OK
}

// spill gives n descriptors to the depot.
func (l *bufferList) spill(class C.uint32_t, n uint32) {
	free := &l.free[class]
	first := free.first
	last := first
	for range n - 1 {
		last = last.next
	}
	free.first = last.next
	free.count -= n
	crossing()
	C.coroi_depot_give(first, class, C.uint32_t(n))
}

// A UsedBuffer is a buffer that is in use (BUF3), until Unuse.
type UsedBuffer struct {
	d  *descriptor
	id uint64
}

// UseBuffer begins a use: OK, Stale, Busy.
func UseBuffer(id uint64) (UsedBuffer, Status) {
	d, status := changeBuffer(id, ownedWord(id)^(C.COROI_BUFFER_OWNED|C.COROI_BUFFER_USED))
	return UsedBuffer{d, id}, status
}

// Unuse ends the use.
func (u UsedBuffer) Unuse() { storeReleaseAfterCAS(&u.d.word, ownedWord(u.id)) }

// ID is the handle.
func (u UsedBuffer) ID() uint64 { return u.id }

// Bytes is the memory, as long as the buffer is used.
func (u UsedBuffer) Bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(u.d.at)), int(u.d.length))
}

// Room is the bytes of the memory, and SetLen sets how many of them belong to the buffer.
func (u UsedBuffer) Room() int    { return int(u.d.room) }
func (u UsedBuffer) SetLen(n int) { u.d.length = C.uint64_t(n) }

// Grow sees to it that there is room for n bytes: OK, NoMemory. What Bytes has returned before is
// not valid any more.
func (u UsedBuffer) Grow(n int) Status {
	if n <= u.Room() {
		return OK
	}
	crossing()
	return Status(C.coroi_buffer_grow(u.d, C.size_t(n)))
}

// BufferSizes is the length and the room of a buffer that the caller owns.
func BufferSizes(id uint64) (length, room int) {
	d := findBuffer(id)
	if d == nil {
		return 0, 0
	}
	word := atomic.LoadUint64((*uint64)(unsafe.Pointer(&d.word)))
	if word != ownedWord(id) && word != ownedWord(id)^(C.COROI_BUFFER_OWNED|C.COROI_BUFFER_USED) {
		return 0, 0
	}
	return int(d.length), int(d.room)
}

// PassBuffers is BUF2 of the buffers at these offsets: all, or none. at is the copy that travels.
func PassBuffers(at unsafe.Pointer, offsets []uintptr) Status {
	for i, offset := range offsets {
		p := (*uint64)(unsafe.Add(at, offset))
		if *p == 0 {
			continue
		}
		next := nextWord(ownedWord(*p), C.COROI_BUFFER_OWNED)
		d, status := changeBuffer(*p, next)
		if status != OK {
			UnpassBuffers(at, offsets[:i])
			return status
		}
		*p = bufferID(d, next)
	}
	return OK
}

// UnpassBuffers takes PassBuffers back, and changes the copy back, too.
func UnpassBuffers(at unsafe.Pointer, offsets []uintptr) {
	for _, offset := range offsets {
		p := (*uint64)(unsafe.Add(at, offset))
		if *p == 0 {
			continue
		}
		gen := *p>>C.COROI_BUFFER_INDEX_BITS - 1
		if gen == 0 { // see nextWord
			gen = 1<<40 - 1
		}
		d := findBuffer(*p)
		word := gen<<C.COROI_BUFFER_STATE_BITS | C.COROI_BUFFER_OWNED
		storeReleaseAfterCAS(&d.word, word)
		*p = bufferID(d, word)
	}
}

// DropBuffers frees the buffers at these offsets that are not stale.
func DropBuffers(at unsafe.Pointer, offsets []uintptr) {
	for _, offset := range offsets {
		if id := *(*uint64)(unsafe.Add(at, offset)); id != 0 {
			FreeBuffer(id)
		}
	}
}

// DropBufferIDs frees those that are not stale.
func DropBufferIDs(ids []uint64) {
	for i := range ids {
		DropBuffers(unsafe.Pointer(&ids[i]), []uintptr{0})
	}
}

// BufferStats are how many buffers were made in a scheduler, and freed, and the bytes of the memory
// of the others.
type BufferStats struct {
	Made, Freed uint64
	Bytes       int
}

// BufferStats works after a close, too.
func (s *Scheduler) BufferStats() BufferStats {
	var t C.struct_coroi_tally
	crossing()
	C.coroi_buffers_sum(s.c, &t)
	return BufferStats{uint64(t.made), uint64(t.freed), int(t.bytes)}
}

// LeftBuffer is a buffer that is not free. Index is its own until it is freed.
type LeftBuffer struct {
	Index uint32
	Where uintptr
	Len   int
}

// LeftBuffers lists the buffers of the process that are not free.
func LeftBuffers() []LeftBuffer {
	for most := 64; ; most *= 8 {
		list := make([]C.struct_coroi_buffer_left, most)
		crossing()
		n := int(C.coroi_buffers_list(&list[0], C.size_t(most)))
		if n > most {
			continue
		}
		out := make([]LeftBuffer, n)
		for i := range out {
			out[i] = LeftBuffer{uint32(list[i].id) & (1<<C.COROI_BUFFER_INDEX_BITS - 1),
				uintptr(list[i].where), int(list[i].length)}
		}
		return out
	}
}

// IsLeftBuffer tells whether the buffer that was made with that handle and that mark is not freed,
// whoever owns it, and how many bytes it has.
func IsLeftBuffer(id uint64, where uintptr) (left bool, bytes int) {
	d := findBuffer(id)
	word := atomic.LoadUint64((*uint64)(unsafe.Pointer(&d.word)))
	if word&(1<<C.COROI_BUFFER_STATE_BITS-1) == C.COROI_BUFFER_FREE {
		return false, 0
	}
	return atomic.LoadUintptr((*uintptr)(unsafe.Pointer(&d.where))) == where, int(d.length)
}
