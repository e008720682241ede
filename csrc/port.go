//go:build cgo && linux && (amd64 || arm64)

package csrc

// #cgo noescape coroi_spawn_many
// #cgo nocallback coroi_spawn_many
// #cgo noescape coroi_parcel_open
// #cgo nocallback coroi_parcel_open
// #include "idle.h"
// #include "inbox.h"
// #include "spawn.h"
// #include "wait.h"
import "C"

import (
	"sync/atomic"
	"unsafe"
)

type (
	record    = C.struct_coroi_rec
	coldLine  = C.struct_coroi_cold
	magazine  = C.struct_coroi_mag
	worker    = C.struct_coroi_worker
	parcel    = C.struct_coroi_parcel
	magazines = [C.COROI_MAG_RECORDS]*record
)

// BatchRecords is how many coroutines travel together.
const BatchRecords = C.COROI_MAG_RECORDS

const (
	chunkBytes = C.COROI_CHUNK_BYTES
	genShift   = C.COROI_GEN_SHIFT
	escaped    = uint64(C.COROI_ESCAPED)
)

// Spec says how a coroutine is spawned, checked beforehand.
type Spec struct {
	Fn                    uintptr
	Class                 uint8
	ArgBytes, ResultBytes uint8
}

// Class is the number of the stack class that has at least bytes, which are in range.
func Class(bytes int) uint8 { return uint8(C.coroi_stack_class(C.size_t(bytes))) }

// Port is one way into a scheduler for goroutines. It keeps a magazine of free records. One goroutine at a time
// holds it; Close of the scheduler takes all of them for good.
type Port struct {
	state  atomic.Uint32 // portFree, portHeld, portClosed
	sched  *Scheduler
	mag    *magazine // nil: none yet
	target uint32    // the worker that gets what is spawned one by one
	turn   uint32
	_      [128 - 32]byte // apart from the next one
}

const (
	portFree = iota
	portHeld
	portClosed
)

// NewPorts makes n ports; their first spawns go to different workers.
func (s *Scheduler) NewPorts(n int) ([]Port, Status) {
	ports := make([]Port, n)
	for i := range ports {
		if st := Status(C.coroi_slab_join(&s.c.slab)); st != OK {
			return nil, st
		}
		ports[i].sched = s
		ports[i].target = uint32(i) % uint32(s.c.workers)
	}
	return ports, OK
}

// Acquire tries to hold the port. Busy: somebody else does; Closed: nobody will any more.
func (p *Port) Acquire() Status {
	if p.state.CompareAndSwap(portFree, portHeld) {
		return OK
	}
	if p.state.Load() == portClosed {
		return Closed
	}
	return Busy
}

// Release ends Acquire.
func (p *Port) Release() { p.state.Store(portFree) }

// Unload gives the free records back that a port, which is held, keeps in hand.
func (p *Port) Unload() {
	if p.mag != nil {
		C.coroi_slab_give(&p.sched.c.slab, p.mag)
		p.mag = nil
	}
}

// Shut closes a port that is held, for good; its records go back.
func (p *Port) Shut() {
	p.Unload()
	p.state.Store(portClosed)
}

func (p *Port) worker(i uint32) *worker {
	return (*worker)(unsafe.Add(unsafe.Pointer(p.sched.c.worker), uintptr(i)*C.sizeof_struct_coroi_worker))
}

// load gets a magazine with free records. A new one is full but when the slab has few.
func (p *Port) load() bool {
	p.mag = C.coroi_slab_trade_full(&p.sched.c.slab, p.mag)
	return p.mag != nil
}

func (p *Port) take() *record {
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

// fill makes r a fresh coroutine of home. Pointers are stored as integers: they are C's, and the garbage
// collector has no business with them.
func fill(r *record, spec *Spec, home uint32, arg unsafe.Pointer) {
	*(*uintptr)(unsafe.Pointer(&r.sp)) = 0
	*(*uintptr)(unsafe.Pointer(&r.fn)) = spec.Fn
	*(*uintptr)(unsafe.Pointer(&r.stack)) = 0
	*(*uint64)(unsafe.Pointer(&r.permits)) = uint64(home)<<32 | uint64(C.COROI_FRESH)<<48
	*(*uint64)(unsafe.Pointer(&r.class)) = uint64(spec.Class) | uint64(spec.ArgBytes)<<8 | uint64(spec.ResultBytes)<<16
	if n := spec.ArgBytes; n > 0 {
		payload := unsafe.Pointer(&cold(r).payload)
		if n == 8 {
			*(*uint64)(payload) = *(*uint64)(arg)
		} else {
			copy(unsafe.Slice((*byte)(payload), n), unsafe.Slice((*byte)(arg), n))
		}
	}
}

// push adds a node, or a chain of them, to an inbox: N1 of idle.c. oldest is the link of the last.
func push(w *worker, newest uintptr, oldest *uint64) {
	inbox := (*uint64)(unsafe.Pointer(&w.inbox))
	for {
		head := atomic.LoadUint64(inbox)
		*oldest = head
		if atomic.CompareAndSwapUint64(inbox, head, uint64(newest)) {
			return
		}
	}
}

// pushed sees to it that somebody will look: N2 of idle.c, with the call into C only where a thread sleeps.
func (p *Port) pushed(w *worker, i uint32) {
	s := p.sched.c
	sleepers := (*uint64)(unsafe.Pointer(&s.sleepers[i>>6]))
	if atomic.LoadUint64(sleepers)&(1<<(i&63)) == 0 &&
		atomic.LoadUint32((*uint32)(unsafe.Pointer(&s.hungry)))&C.COROI_HUNGRY_ALONE == 0 {
		return
	}
	// Whoever ends a pause wakes all, after that: they find what was pushed before we saw it.
	if atomic.LoadUint32((*uint32)(unsafe.Pointer(&s.mode))) != C.COROI_PAUSED {
		C.coroi_idle_pushed(w)
	}
}

// Spawn starts one coroutine. arg points to spec.ArgBytes bytes, which are copied. The port is held.
func (p *Port) Spawn(spec *Spec, arg unsafe.Pointer) Status {
	r := p.take()
	if r == nil {
		return NoMemory
	}
	w := p.worker(p.target)
	fill(r, spec, p.target, arg)
	push(w, uintptr(unsafe.Pointer(r)), (*uint64)(unsafe.Pointer(&r.next)))
	p.pushed(w, p.target)
	return OK
}

// Start starts one joinable coroutine.
func (p *Port) Start(spec *Spec, arg unsafe.Pointer) (Joinable, Status) {
	r := p.take()
	if r == nil {
		return Joinable{}, NoMemory
	}
	w := p.worker(p.target)
	fill(r, spec, p.target, arg)
	r.flags = C.COROI_F_JOINABLE
	gen := uint64(r.wake) >> genShift << genShift
	atomic.StoreUint64(joinWord(r), gen)
	atomic.StoreUint64((*uint64)(unsafe.Pointer(&r.wake)), gen|escaped)
	push(w, uintptr(unsafe.Pointer(r)), (*uint64)(unsafe.Pointer(&r.next)))
	p.pushed(w, p.target)
	return Joinable{r, gen}, OK
}

// Outgoing is a batch that is being filled in: a parcel. It holds records, but does not touch them.
type Outgoing struct {
	p *parcel
}

// IsOpen tells whether the batch has records.
func (b *Outgoing) IsOpen() bool { return b.p != nil }

// Open gets a batch records. NoMemory: there are none.
func (s *Scheduler) Open(b *Outgoing, spec *Spec) Status {
	var p *parcel
	if C.coroi_parcel_open(&s.c.slab, &p, 1) == 0 {
		return NoMemory
	}
	*(*uintptr)(unsafe.Pointer(&p.fn)) = spec.Fn
	p.class = C.uint8_t(spec.Class)
	p.arg_bytes = C.uint8_t(spec.ArgBytes)
	p.result_bytes = C.uint8_t(spec.ResultBytes)
	p.same = 0
	if n := C.uint32_t(spec.ArgBytes); n > 0 {
		p.most = min(p.most, C.COROI_PARCEL_ARGS/n)
	}
	b.p = p
	return OK
}

// SpawnMany starts n coroutines with one argument, in one cgo call, and returns how many: less than n is NoMemory. The
// port is held.
func (p *Port) SpawnMany(spec *Spec, arg unsafe.Pointer, n int) int {
	q := C.struct_coroi_fill{
		class: C.uint8_t(spec.Class), arg_bytes: C.uint8_t(spec.ArgBytes), result_bytes: C.uint8_t(spec.ResultBytes),
	}
	*(*uintptr)(unsafe.Pointer(&q.fn)) = spec.Fn
	first := p.turn
	p.turn++
	return int(C.coroi_spawn_many(p.sched.c, &q, arg, C.uint64_t(n), C.uint32_t(first)))
}

// Add puts one coroutine in. The batch is open and not full.
func (b *Outgoing) Add(arg unsafe.Pointer) {
	p := b.p
	n := uintptr(p.arg_bytes)
	to := unsafe.Add(unsafe.Pointer(&p.args), uintptr(p.count)*n)
	switch n {
	case 0:
	case 8:
		*(*uint64)(to) = *(*uint64)(arg)
	default:
		copy(unsafe.Slice((*byte)(to), n), unsafe.Slice((*byte)(arg), n))
	}
	p.count++
}

// Full tells that there is no more room.
func (b *Outgoing) Full() bool { return b.p.count == b.p.most }

// Len is how many are in it.
func (b *Outgoing) Len() int { return int(b.p.count) }

// Send pushes the batch with one compare-and-swap; the next one goes to the next worker. The port is held. The batch
// is not open afterwards.
func (p *Port) Send(b *Outgoing) {
	i := p.turn % uint32(p.sched.c.workers)
	p.turn++
	w := p.worker(i)
	node := uintptr(unsafe.Pointer(b.p)) | C.COROI_NODE_BATCH
	push(w, node, (*uint64)(unsafe.Pointer(&b.p.next)))
	b.p = nil
	p.pushed(w, i)
}

// Drop gives the records of a batch back that is not to be sent.
func (s *Scheduler) Drop(b *Outgoing) {
	if b.p != nil {
		C.coroi_parcel_drop(&s.c.slab, b.p)
		b.p = nil
	}
}
