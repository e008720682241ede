//go:build cgo && linux && (amd64 || arm64)

package core

// #cgo noescape coroi_spawn_many
// #cgo nocallback coroi_spawn_many
// #cgo noescape coroi_batch_open
// #cgo nocallback coroi_batch_open
// #cgo noescape coroi_slab_grant
// #cgo nocallback coroi_slab_grant
// #cgo noescape coroi_slab_refund
// #cgo nocallback coroi_slab_refund
// #cgo noescape coroi_slab_is_exhausted
// #cgo nocallback coroi_slab_is_exhausted
// #cgo noescape coroi_slab_is_roomy
// #cgo nocallback coroi_slab_is_roomy
// #include "kernel/idle.h"
// #include "kernel/inbox.h"
// #include "kernel/life.h"
// #include "kernel/slab.h"
// #include "kernel/spawn.h"
// #include "kernel/wait.h"
import "C"

import (
	"sync/atomic"
	"unsafe"

	"github.com/organzine/coro/internal/asm"
)

// submit.go - the way in for goroutines, without cgo: batches, credit, waiting for credit.

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

// Spec says how a coroutine is spawned. The caller has checked it.
type Spec struct {
	Fn                    uintptr
	Class                 uint8
	ArgBytes, ResultBytes uint8
	Flags                 SpecFlags
	Brief                 bool  // declared by CORO_BRIEF or coro.FuncBrief
	Worker                int   // of a pinned coroutine
	Loan                  *Loan // nil: the coroutine has nothing of its caller's
}

// SpecFlags are Pinned, Daemon and Carries. A coroutine that has one needs a record of its own, and is not
// spawned in a batch.
type SpecFlags uint8

const (
	Pinned SpecFlags = 1 << iota // to Worker
	Daemon
	Carries // its argument, or its result, has buffers: kernel/carry.h
)

// alone tells that the coroutine is not spawned in a batch.
func (s *Spec) alone() bool { return s.Flags != 0 }

// home is the worker to which the coroutine is sent: that of its spec, or anyone.
func (s *Spec) home(anyone uint32) uint32 {
	if s.Flags&Pinned != 0 {
		return uint32(s.Worker)
	}
	return anyone
}

// mark sets the flags of r, which is filled in, as the spec asks. A daemon has a handle from the
// start: see COROI_M_DAEMON.
func (s *Scheduler) mark(r *record, spec *Spec) {
	if spec.Flags&Pinned != 0 {
		r.flags |= C.COROI_F_PINNED
		kept := (*uint32)(unsafe.Pointer(&s.worker(uint32(spec.Worker)).kept))
		if atomic.LoadUint32(kept) == 0 {
			atomic.StoreUint32(kept, 1)
		}
	}
	if spec.Flags&Carries != 0 {
		s.carry(r, spec)
	}
	if spec.Flags&Daemon != 0 {
		r.more |= C.COROI_M_DAEMON
		has := (*uint32)(unsafe.Pointer(&s.c.has_daemons))
		if atomic.LoadUint32(has) == 0 {
			atomic.StoreUint32(has, 1)
		}
		word := (*uint64)(unsafe.Pointer(&r.wake))
		atomic.StoreUint64(word, atomic.LoadUint64(word)|escaped)
	}
}

// carry is what the kernel's spawn.c does with a coroutine that carries. One whose result nobody can
// join is detached from the start, so that its end frees what the result has.
func (s *Scheduler) carry(r *record, spec *Spec) {
	r.arg_bytes |= C.COROI_CARRIES
	if carries := (*uint32)(unsafe.Pointer(&s.c.carries)); atomic.LoadUint32(carries) == 0 {
		atomic.StoreUint32(carries, 1)
	}
	r.flags |= C.COROI_F_JOINABLE
	word := (*uint64)(unsafe.Pointer(&r.wake))
	gen := atomic.LoadUint64(word) >> genShift << genShift
	atomic.StoreUint64(joinWord(r), gen|joinDetached)
	atomic.StoreUint64(word, atomic.LoadUint64(word)|escaped)
}

// DeclareBuffers is coroi_carry_declare. Its masks have a bit for each of the 8 bytes that are a
// buffer.
func DeclareBuffers(fn uintptr, arg, result uint8) Status {
	crossing()
	return Status(C.coroi_carry_declare(C.coro_fn(*(*unsafe.Pointer)(unsafe.Pointer(&fn))),
		C.uint8_t(arg), C.uint8_t(result)))
}

// Class is the number of the smallest stack class that has at least bytes. bytes are in range.
func Class(bytes int) uint8 { return uint8(C.coroi_stack_class(C.size_t(bytes))) }

// Submitter is one way into a scheduler for goroutines. It has credit, an open batch for what is
// spawned one by one, and a magazine of free records for what is joined. One goroutine at a time
// holds it. The scheduler's Close takes all submitters for good.
type Submitter struct {
	state  uint32 // submitterFree, submitterHeld, submitterClosed
	target uint32 // the worker of the open batch
	sched  *Scheduler
	open   *batch // nil: none yet
	used   uint32 // words in the open batch
	credit uint32
	mag    *magazine      // nil: none yet
	turn   uint32         // of workers, for batches that are sent closed
	_      [128 - 44]byte // no cache line is shared with the next submitter
}

const (
	submitterFree = iota
	submitterHeld
	submitterClosed
)

// NewSubmitters makes n submitters. Their open batches go to different workers in turn.
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

// Acquire tries to hold the submitter. Busy: another goroutine holds it. Closed: it is shut.
func (p *Submitter) Acquire() Status {
	if atomic.CompareAndSwapUint32(&p.state, submitterFree, submitterHeld) {
		return OK
	}
	if atomic.LoadUint32(&p.state) == submitterClosed {
		return Closed
	}
	return Busy
}

// Release ends Acquire. A release store does not wait for the stores before it, as an exchange
// would: the cache line of a batch is often at the worker's CPU.
func (p *Submitter) Release() { asm.StoreRelease(&p.state, submitterFree) }

// Unload gives back the free records and the credit that the submitter keeps in hand. The submitter
// is held.
func (p *Submitter) Unload() {
	if p.mag != nil {
		crossing()
		C.coroi_slab_give(&p.sched.c.slab, p.mag)
		p.mag = nil
	}
	p.repay(p.credit)
}

// Shut closes the submitter for good. What it has in hand goes back. The submitter is held.
func (p *Submitter) Shut() {
	p.closeBatch()
	p.Unload()
	atomic.StoreUint32(&p.state, submitterClosed)
}

func (s *Scheduler) worker(i uint32) *worker {
	return (*worker)(unsafe.Add(unsafe.Pointer(s.c.worker),
		uintptr(i)*C.sizeof_struct_coroi_worker))
}

// load gets a magazine with free records: a full one, unless the slab has few.
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

// push adds a batch to the inbox of w.
func push(w *worker, x *batch) {
	node := uint64(uintptr(unsafe.Pointer(x))) | C.COROI_NODE_BATCH
	pushNode(w, node, (*uint64)(unsafe.Pointer(&x.next)))
}

// openBatch sees to it that the submitter has an open batch, with room for any spawn. It returns
// false if there is no memory.
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

// publish makes n more words of the open batch known: BTS2 to BTS4 of batch.h, WKW1 and WKW2 of
// idle.c.
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

// closeBatch closes the open batch: BTS4 of batch.h. Later spawns come after whatever is pushed
// next.
func (p *Submitter) closeBatch() {
	if x := p.open; x != nil {
		p.open = nil
		if atomic.AddUint32((*uint32)(unsafe.Pointer(&x.state)), shut)&detached != 0 {
			crossing()
			C.coroi_batch_drop(&p.sched.c.slab, x)
		}
	}
}

// Spawn starts one coroutine. arg points to spec.ArgBytes bytes, which are copied. The submitter is
// held.
func (p *Submitter) Spawn(spec *Spec, arg unsafe.Pointer) Status {
	if spec.alone() {
		return p.spawnAlone(spec, arg)
	}
	if !p.openBatch() || !p.spend() {
		return NoMemory
	}
	p.publish(put(words(p.open), p.used, spec, arg))
	return OK
}

// record gets a free record, and spends a credit. nil: there is no credit, or no record.
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

func (p *Submitter) spawnAlone(spec *Spec, arg unsafe.Pointer) Status {
	r := p.record()
	if r == nil {
		return NoMemory
	}
	home := spec.home(p.target)
	fill(r, spec, home, arg)
	p.sched.mark(r, spec)
	p.sched.send(r, home)
	return OK
}

// put writes a spawn into a batch, from word `at` on, and returns the number of words.
func put(to *[C.COROI_BATCH_WORDS]uint64, at uint32, spec *Spec, arg unsafe.Pointer) uint32 {
	n := (uint32(spec.ArgBytes) + 7) / 8
	to[at] = uint64(spec.Fn) | uint64(spec.Class)<<C.COROI_CLASS_SHIFT |
		uint64(n)<<C.COROI_WORDS_SHIFT | C.COROI_NEW
	if spec.ResultBytes > 0 {
		to[at] |= C.COROI_RESULT
	}
	switch {
	case spec.ArgBytes == 8:
		to[at+1] = *(*uint64)(arg)
	case n > 0:
		to[at+n] = 0
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&to[at+1])), spec.ArgBytes),
			unsafe.Slice((*byte)(arg), spec.ArgBytes))
	}
	return n + 1
}

// Start starts one joinable coroutine.
func (p *Submitter) Start(spec *Spec, arg unsafe.Pointer) (Joinable, Status) {
	return p.start(spec, arg, 0)
}

// StartFor is Start with Register, and if counted with Count, before the coroutine can end.
func (p *Submitter) StartFor(id uint32, counted bool, spec *Spec, arg unsafe.Pointer) (
	Joinable, Status,
) {
	joiner := joinGo | uint64(id)
	if counted {
		joiner |= C.COROI_JOIN_COUNTED
	}
	return p.start(spec, arg, joiner)
}

func (p *Submitter) start(spec *Spec, arg unsafe.Pointer, joiner uint64) (Joinable, Status) {
	alone := spec.alone()
	if !alone && !p.openBatch() {
		return Joinable{}, NoMemory
	}
	r := p.record()
	if r == nil {
		return Joinable{}, NoMemory
	}
	home := p.target
	if alone {
		home = spec.home(home)
	}
	fill(r, spec, home, arg)
	if alone {
		p.sched.mark(r, spec)
	}
	gen := reveal(r, joiner)
	if alone {
		p.sched.send(r, home)
		return Joinable{r, gen}, OK
	}
	words(p.open)[p.used] = uint64(uintptr(unsafe.Pointer(r))) |
		C.COROI_RECORD<<C.COROI_WORDS_SHIFT | C.COROI_NEW
	p.publish(1)
	return Joinable{r, gen}, OK
}

// BatchWriter fills a batch in, which is closed when it is sent. No worker sees the batch before.
type BatchWriter struct {
	p      *batch
	spec   Spec
	used   uint32 // words of the batch
	count  uint32
	credit uint32
}

// IsOpen tells whether there is a batch, perhaps a full one.
func (b *BatchWriter) IsOpen() bool { return b.p != nil }

// Open gets a batch, and credit for the coroutines in it. NoMemory: there is no batch, or no
// credit.
func (s *Scheduler) Open(b *BatchWriter, spec *Spec) Status {
	credit := s.Grant(s.atOnce())
	var p *batch
	crossing()
	if credit == 0 || C.coroi_batch_open(&s.c.slab, &p, 1) == 0 {
		s.Refund(credit)
		return NoMemory
	}
	*b = BatchWriter{p: p, spec: *spec, credit: credit}
	return OK
}

// SpawnMany starts n coroutines with one argument, and returns how many it has started: fewer than
// n at the limit of memory. Unless they are pinned or daemons, this is one cgo call. The submitter
// is held.
func (p *Submitter) SpawnMany(spec *Spec, arg unsafe.Pointer, n int) int {
	if spec.alone() {
		done := 0
		for done < n && p.spawnAlone(spec, arg) == OK {
			done++
		}
		return done
	}
	q := C.struct_coroi_fill{
		class:        C.uint8_t(spec.Class),
		arg_bytes:    C.uint8_t(spec.ArgBytes),
		result_bytes: C.uint8_t(spec.ResultBytes),
	}
	*(*uintptr)(unsafe.Pointer(&q.fn)) = spec.Fn
	p.closeBatch()
	first := p.turn
	p.turn++
	crossing()
	return int(C.coroi_spawn_many(p.sched.c, &q, arg, C.uint64_t(n), C.uint32_t(first)))
}

// Add puts one coroutine into the batch. The batch is open and not full.
func (b *BatchWriter) Add(arg unsafe.Pointer) {
	b.used += put(words(b.p), b.used, &b.spec, arg)
	b.count++
}

// Full tells whether the batch has no more room, or no more credit.
func (b *BatchWriter) Full() bool {
	return b.used > C.COROI_BATCH_WORDS-C.COROI_BATCH_ROOM || b.count == b.credit
}

// Len is the number of coroutines in the batch.
func (b *BatchWriter) Len() int { return int(b.count) }

// Send pushes the batch to a worker with one compare-and-swap. The next batch goes to the next
// worker. The submitter is held. The batch is not open afterwards.
func (p *Submitter) Send(b *BatchWriter) {
	p.closeBatch()
	if left := b.credit - b.count; left > 0 {
		p.earn(left)
	}
	i := p.turn % p.sched.general()
	p.turn++
	w := p.sched.worker(i)
	atomic.StoreUint32((*uint32)(unsafe.Pointer(&b.p.state)), b.used|shut)
	push(w, b.p)
	*b = BatchWriter{}
	p.sched.pushed(w, i)
}

// Drop gives back a batch that is not sent, and its credit.
func (s *Scheduler) Drop(b *BatchWriter) {
	if b.p != nil {
		crossing()
		C.coroi_batch_drop(&s.c.slab, b.p)
		s.Refund(b.credit)
		*b = BatchWriter{}
	}
}

// A Demand says whether goroutines wait for credit: the `wanted` of slab.h, where CRD1 to CRD4 are
// told.
type Demand uint32

const (
	Unwanted     = Demand(C.COROI_UNWANTED)
	WantedLately = Demand(C.COROI_WANTED_LATELY) // nobody waits, but somebody did until lately
	Wanted       = Demand(C.COROI_WANTED)
)

func (s *Scheduler) wanted() *uint32 { return (*uint32)(unsafe.Pointer(&s.c.slab.wanted)) }

// SetDemand is the first half of CRD1, and the end of CRD4. One caller at a time.
func (s *Scheduler) SetDemand(d Demand) { atomic.SwapUint32(s.wanted(), uint32(d)) }

// Grant returns credit for up to n coroutines, less than n at the limit of memory.
func (s *Scheduler) Grant(n uint32) uint32 {
	crossing()
	return uint32(C.coroi_slab_grant(&s.c.slab, C.uint32_t(n)))
}

// IsExhausted tells whether no credit is granted, and the system has no memory for any: nobody's
// end can give credit back. After false, and while Granted is 0, Grant is worth another try.
func (s *Scheduler) IsExhausted() bool {
	crossing()
	return bool(C.coroi_slab_is_exhausted(&s.c.slab))
}

// Refund gives back the credit for n coroutines.
func (s *Scheduler) Refund(n uint32) {
	crossing()
	C.coroi_slab_refund(&s.c.slab, C.uint32_t(n))
}

// Collect takes the credit that the workers keep in hand: the second half of CRD1. The submitters
// are the caller's business, by Unload.
func (s *Scheduler) Collect() {
	crossing()
	C.coroi_collect(s.c)
}

// IsRoomy tells whether a quarter of the records is free.
func (s *Scheduler) IsRoomy() bool {
	crossing()
	return bool(C.coroi_slab_is_roomy(&s.c.slab))
}

// Granted is the credit that is granted now: for coroutines, and in hand.
func (s *Scheduler) Granted() int {
	return int(atomic.LoadInt64((*int64)(unsafe.Pointer(&s.c.slab.granted))))
}

// atOnce is how much credit a submitter gets at a time: CRD2.
func (s *Scheduler) atOnce() uint32 {
	if atomic.LoadUint32(s.wanted()) != uint32(Unwanted) {
		return 1
	}
	return C.COROI_CREDIT
}

// Endow gives credit for n coroutines to a submitter that is held.
func (p *Submitter) Endow(n uint32) { p.credit += n }

// spend takes a credit.
func (p *Submitter) spend() bool {
	if p.credit == 0 {
		p.credit = p.sched.Grant(p.sched.atOnce())
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
	switch {
	case p.sched.atOnce() == 1:
		p.repay(p.credit)
	case p.credit > 2*C.COROI_CREDIT:
		p.repay(p.credit - C.COROI_CREDIT)
	}
}

// repay gives credit back that the submitter has in hand.
func (p *Submitter) repay(credit uint32) {
	if credit > 0 {
		p.credit -= credit
		p.sched.Refund(credit)
	}
}
