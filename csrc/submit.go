//go:build cgo && linux && (amd64 || arm64)

package csrc

// #cgo noescape coroi_spawn_many
// #cgo nocallback coroi_spawn_many
// #cgo noescape coroi_batch_open
// #cgo nocallback coroi_batch_open
// #cgo noescape coroi_slab_grant
// #cgo nocallback coroi_slab_grant
// #include "kernel/idle.h"
// #include "kernel/inbox.h"
// #include "kernel/spawn.h"
// #include "kernel/wait.h"
import "C"

import (
	"sync/atomic"
	"unsafe"

	"github.com/organzine/coro/internal/asm"
)

type (
	record    = C.struct_coroi_rec
	coldLine  = C.struct_coroi_cold
	magazine  = C.struct_coroi_mag
	worker    = C.struct_coroi_worker
	batch     = C.struct_coroi_batch
	magazines = [C.COROI_MAG_RECORDS]*record
)

const (
	chunkBytes = C.COROI_CHUNK_BYTES
	genShift   = C.COROI_GEN_SHIFT
	escaped    = uint64(C.COROI_ESCAPED)
	detached   = uint32(C.COROI_BATCH_DETACHED)
	shut       = uint32(C.COROI_BATCH_CLOSED)
	permitsMax = C.COROI_PERMITS_MAX
)

// Spec says how a coroutine is spawned, checked beforehand.
type Spec struct {
	Fn                    uintptr
	Class                 uint8
	ArgBytes, ResultBytes uint8
	Worker                int // i + 1: pinned to worker i; 0: to none
}

// Class is the number of the stack class that has at least bytes, which are in range.
func Class(bytes int) uint8 { return uint8(C.coroi_stack_class(C.size_t(bytes))) }

// Submitter is one way into a scheduler for goroutines. It has credit, an open batch for what is spawned one by one, and a
// magazine of free records for what is joined. One goroutine at a time holds it; Close of the scheduler takes all of
// them for good.
type Submitter struct {
	state  uint32 // submitterFree, submitterHeld, submitterClosed
	target uint32 // the worker that gets what is spawned one by one
	sched  *Scheduler
	open   *batch // nil: none yet
	used   uint32 // words in it
	credit uint32
	mag    *magazine      // nil: none yet
	turn   uint32         // of batches
	_      [128 - 44]byte // apart from the next one
}

const (
	submitterFree = iota
	submitterHeld
	submitterClosed
)

// NewSubmitters makes n submitters; their first spawns go to different workers.
func (s *Scheduler) NewSubmitters(n int) ([]Submitter, Status) {
	submitters := make([]Submitter, n)
	for i := range submitters {
		crossing()
		if st := Status(C.coroi_slab_join(&s.c.slab)); st != OK {
			return nil, st
		}
		submitters[i].sched = s
		submitters[i].target = uint32(i) % s.general()
	}
	return submitters, OK
}

// Acquire tries to hold the submitter. Busy: somebody else does; Closed: nobody will any more.
func (p *Submitter) Acquire() Status {
	if atomic.CompareAndSwapUint32(&p.state, submitterFree, submitterHeld) {
		return OK
	}
	if atomic.LoadUint32(&p.state) == submitterClosed {
		return Closed
	}
	return Busy
}

// Release ends Acquire. It does not wait for what was stored before, as an exchange would: the line of a batch is often the worker's.
func (p *Submitter) Release() { asm.StoreRelease(&p.state, submitterFree) }

// Unload gives the free records and the credit back that a submitter, which is held, keeps in hand.
func (p *Submitter) Unload() {
	if p.mag != nil {
		crossing()
		C.coroi_slab_give(&p.sched.c.slab, p.mag)
		p.mag = nil
	}
	p.repay(p.credit)
	p.credit = 0
}

func (p *Submitter) repay(credit uint32) {
	if credit > 0 {
		crossing()
		C.coroi_slab_refund(&p.sched.c.slab, C.uint32_t(credit))
	}
}

// Shut closes a submitter that is held, for good; what it has in hand goes back.
func (p *Submitter) Shut() {
	p.closeBatch()
	p.Unload()
	atomic.StoreUint32(&p.state, submitterClosed)
}

func (s *Scheduler) worker(i uint32) *worker {
	return (*worker)(unsafe.Add(unsafe.Pointer(s.c.worker), uintptr(i)*C.sizeof_struct_coroi_worker))
}

// load gets a magazine with free records. A new one is full but when the slab has few.
func (p *Submitter) load() bool {
	crossing()
	p.mag = C.coroi_slab_trade_full(&p.sched.c.slab, p.mag)
	return p.mag != nil
}

func (p *Submitter) take() *record {
	if p.mag == nil || p.mag.count == 0 {
		old := p.mag
		if !p.load() {
			p.mag = old
			return nil
		}
	}
	n := p.mag.count - 1
	p.mag.count = n
	return magazineRecords(p.mag)[n]
}

func magazineRecords(m *magazine) *magazines { return (*magazines)(unsafe.Pointer(&m.rec)) }

func cold(r *record) *coldLine {
	return (*coldLine)(unsafe.Add(unsafe.Pointer(r), chunkBytes/2))
}

// push adds a batch to an inbox.
func push(w *worker, x *batch) {
	pushNode(w, uint64(uintptr(unsafe.Pointer(x)))|C.COROI_NODE_BATCH, (*uint64)(unsafe.Pointer(&x.next)))
}

// spend takes a credit.
func (p *Submitter) spend() bool {
	if p.credit == 0 {
		crossing()
		p.credit = uint32(C.coroi_slab_grant(&p.sched.c.slab, C.COROI_CREDIT))
	}
	if p.credit == 0 {
		return false
	}
	p.credit--
	return true
}

// earn is for credit that was not spent.
func (p *Submitter) earn(credit uint32) {
	p.credit += credit
	if p.credit > 2*C.COROI_CREDIT {
		p.repay(p.credit - C.COROI_CREDIT)
		p.credit = C.COROI_CREDIT
	}
}

// openBatch sees to it that there is one with room for any spawn.
func (p *Submitter) openBatch() bool {
	if p.open != nil {
		return true
	}
	var x *batch
	crossing()
	if C.coroi_batch_open(&p.sched.c.slab, &x, 1) == 0 {
		return false
	}
	p.open, p.used = x, 0
	return true
}

func words(x *batch) *[C.COROI_BATCH_WORDS]uint64 {
	return (*[C.COROI_BATCH_WORDS]uint64)(unsafe.Pointer(&x.words))
}

// publish is A2 to A4 of batch.h for n words, and N1 and N2 of idle.c.
func (p *Submitter) publish(n uint32) {
	x := p.open
	p.used += n
	if p.used > C.COROI_BATCH_WORDS-C.COROI_BATCH_ROOM {
		n |= shut
		p.open = nil
	}
	w := p.sched.worker(p.target)
	state := (*uint32)(unsafe.Pointer(&x.state))
	if atomic.AddUint32(state, n)&detached != 0 {
		atomic.AddUint32(state, ^detached+1) // minus
		push(w, x)
	}
	p.sched.pushed(w, p.target)
}

// closeBatch is A4 of batch.h: what is spawned from now on comes after what is pushed from now on.
func (p *Submitter) closeBatch() {
	if x := p.open; x != nil {
		p.open = nil
		if atomic.AddUint32((*uint32)(unsafe.Pointer(&x.state)), shut)&detached != 0 {
			crossing()
			C.coroi_batch_drop(&p.sched.c.slab, x)
		}
	}
}

// Spawn starts one coroutine. arg points to spec.ArgBytes bytes, which are copied. The submitter is held.
func (p *Submitter) Spawn(spec *Spec, arg unsafe.Pointer) Status {
	if spec.Worker > 0 {
		return p.spawnPinned(spec, arg)
	}
	if !p.openBatch() || !p.spend() {
		return NoMemory
	}
	p.publish(put(words(p.open), p.used, spec, arg))
	return OK
}

// record gets a record, and spends a credit for it.
func (p *Submitter) record() *record {
	if !p.spend() {
		return nil
	}
	r := p.take()
	if r == nil {
		p.credit++
	}
	return r
}

func (p *Submitter) spawnPinned(spec *Spec, arg unsafe.Pointer) Status {
	r := p.record()
	if r == nil {
		return NoMemory
	}
	home := uint32(spec.Worker - 1)
	fill(r, spec, home, arg)
	r.flags = C.COROI_F_PINNED
	p.sched.send(r, home)
	return OK
}

// put writes a spawn at a place of a batch, and returns its words.
func put(to *[C.COROI_BATCH_WORDS]uint64, at uint32, spec *Spec, arg unsafe.Pointer) uint32 {
	n := (uint32(spec.ArgBytes) + 7) / 8
	to[at] = uint64(spec.Fn) | uint64(spec.Class)<<C.COROI_CLASS_SHIFT | uint64(n)<<C.COROI_WORDS_SHIFT | C.COROI_NEW
	if spec.ResultBytes > 0 {
		to[at] |= C.COROI_RESULT
	}
	switch {
	case spec.ArgBytes == 8:
		to[at+1] = *(*uint64)(arg)
	case n > 0:
		to[at+n] = 0
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&to[at+1])), spec.ArgBytes), unsafe.Slice((*byte)(arg), spec.ArgBytes))
	}
	return n + 1
}

// Start starts one joinable coroutine.
func (p *Submitter) Start(spec *Spec, arg unsafe.Pointer) (Joinable, Status) {
	return p.start(spec, arg, 0)
}

// StartFor is Start and, before it can end, Register, and Count too.
func (p *Submitter) StartFor(id uint32, counted bool, spec *Spec, arg unsafe.Pointer) (Joinable, Status) {
	joiner := joinGo | uint64(id)
	if counted {
		joiner |= C.COROI_JOIN_COUNTED
	}
	return p.start(spec, arg, joiner)
}

func (p *Submitter) start(spec *Spec, arg unsafe.Pointer, joiner uint64) (Joinable, Status) {
	pinned := spec.Worker > 0
	if !pinned && !p.openBatch() {
		return Joinable{}, NoMemory
	}
	r := p.record()
	if r == nil {
		return Joinable{}, NoMemory
	}
	home := p.target
	if pinned {
		home = uint32(spec.Worker - 1)
	}
	fill(r, spec, home, arg)
	if pinned {
		r.flags = C.COROI_F_PINNED
	}
	gen := reveal(r, joiner)
	if pinned {
		p.sched.send(r, home)
		return Joinable{r, gen}, OK
	}
	words(p.open)[p.used] = uint64(uintptr(unsafe.Pointer(r))) | C.COROI_RECORD<<C.COROI_WORDS_SHIFT | C.COROI_NEW
	p.publish(1)
	return Joinable{r, gen}, OK
}

// BatchWriter is a batch that is being filled in: a batch that is closed when it is sent.
type BatchWriter struct {
	p      *batch
	spec   Spec
	used   uint32 // words
	count  uint32
	credit uint32
}

// IsOpen tells whether the batch can be added to, or has something.
func (b *BatchWriter) IsOpen() bool { return b.p != nil }

// Open gets a batch a batch, and credit. NoMemory: there is none.
func (s *Scheduler) Open(b *BatchWriter, spec *Spec) Status {
	crossing()
	credit := uint32(C.coroi_slab_grant(&s.c.slab, C.COROI_CREDIT))
	var p *batch
	crossing()
	if credit == 0 || C.coroi_batch_open(&s.c.slab, &p, 1) == 0 {
		crossing()
		C.coroi_slab_refund(&s.c.slab, C.uint32_t(credit))
		return NoMemory
	}
	*b = BatchWriter{p: p, spec: *spec, credit: credit}
	return OK
}

// SpawnMany starts n coroutines with one argument, in one cgo call if they are not pinned, and returns how many: less than n is
// NoMemory. The submitter is held.
func (p *Submitter) SpawnMany(spec *Spec, arg unsafe.Pointer, n int) int {
	if spec.Worker > 0 {
		done := 0
		for done < n && p.spawnPinned(spec, arg) == OK {
			done++
		}
		return done
	}
	q := C.struct_coroi_fill{
		class: C.uint8_t(spec.Class), arg_bytes: C.uint8_t(spec.ArgBytes), result_bytes: C.uint8_t(spec.ResultBytes),
	}
	*(*uintptr)(unsafe.Pointer(&q.fn)) = spec.Fn
	p.closeBatch()
	first := p.turn
	p.turn++
	crossing()
	return int(C.coroi_spawn_many(p.sched.c, &q, arg, C.uint64_t(n), C.uint32_t(first)))
}

// Add puts one coroutine in. The batch is open and not full.
func (b *BatchWriter) Add(arg unsafe.Pointer) {
	b.used += put(words(b.p), b.used, &b.spec, arg)
	b.count++
}

// Full tells that there is no more room, or credit.
func (b *BatchWriter) Full() bool {
	return b.used > C.COROI_BATCH_WORDS-C.COROI_BATCH_ROOM || b.count == b.credit
}

// Len is how many are in it.
func (b *BatchWriter) Len() int { return int(b.count) }

// Send pushes the batch with one compare-and-swap; the next one goes to the next worker. The submitter is held. The batch
// is not open afterwards.
func (p *Submitter) Send(b *BatchWriter) {
	p.closeBatch()
	p.earn(b.credit - b.count)
	i := p.turn % p.sched.general()
	p.turn++
	w := p.sched.worker(i)
	atomic.StoreUint32((*uint32)(unsafe.Pointer(&b.p.state)), b.used|shut)
	push(w, b.p)
	*b = BatchWriter{}
	p.sched.pushed(w, i)
}

// Drop gives a batch up that is not to be sent.
func (s *Scheduler) Drop(b *BatchWriter) {
	if b.p != nil {
		crossing()
		C.coroi_batch_drop(&s.c.slab, b.p)
		crossing()
		C.coroi_slab_refund(&s.c.slab, C.uint32_t(b.credit))
		*b = BatchWriter{}
	}
}
