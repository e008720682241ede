//go:build cgo && linux && (amd64 || arm64)

package core

// #cgo noescape go_pass
// #cgo nocallback go_pass
// #cgo noescape go_coroi_chan_send_passed
// #cgo nocallback go_coroi_chan_send_passed
// #cgo noescape go_coro_chan_recv
// #cgo nocallback go_coro_chan_recv
// #cgo noescape coroi_gowaiter_new
// #cgo nocallback coroi_gowaiter_new
// #include "gowakes.h"
// #include "sync/cond.h"
// #include "sync/gochan.h"
// #include "sync/latch.h"
// #include "sync/mutex.h"
// #include "sync/once.h"
// #include "sync/rwlock.h"
// #include "sync/select.h"
// #include "sync/sem.h"
import "C"

import (
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/organzine/coro/internal/asm"
	"github.com/organzine/coro/internal/race"
	"github.com/organzine/coro/internal/zero"
)

// sync.go - semaphores, locks and the others; channels.

// Yours: the caller is to do the work of a once.
const Yours = Status(C.COROI_YOURS)

// GoroutineOwner is the owner of a lock that a goroutine is, as object.h defines it. id is never
// another goroutine's.
func GoroutineOwner(id uint64) uint64 {
	return bits.RotateLeft64(id<<C.COROI_OWNER_BITS, C.COROI_NAME_SHIFT) | C.COROI_GOROUTINE
}

// Owner is the owner of a lock that the coroutine is: its name (slab.h). A body has escaped.
func (j Joinable) Owner() uint64 {
	return uint64(uintptr(unsafe.Pointer(j.r)))<<C.COROI_NAME_SHIFT | j.gen>>genShift
}

// An Object is one of those of object.h, in memory of its own: all zeros at first, so shared and
// ready for use.
type Object struct{ p unsafe.Pointer }

// c is the object as an argument of C: a crossing. Each kind of object has it with a type of its
// own.
func (o Object) c() unsafe.Pointer {
	crossing()
	return o.p
}

// newObject makes an object of kind T.
func newObject[T ~struct{ Object }](bytes C.size_t) (T, Status) {
	crossing()
	o := Object{C.coroi_alloc(bytes, 16)}
	if o.p == nil {
		return T{o}, NoMemory
	}
	return T{o}, OK
}

// made is c of an object that maker, a function of package coro, makes. It panics for a zero value.
func (o Object) made(maker string) unsafe.Pointer {
	if o.p == nil {
		zero.Value(maker)
	}
	return o.c()
}

// leaf calls a leaf of gowait.h. byCall: the leaf has done nothing, and the call is to be made by
// cgo. So it is for a zero value.
func (o Object) leaf(fn uintptr, arg unsafe.Pointer) Status {
	return Status(asm.Leaf(fn, o.p, arg))
}

var (
	semAcquireLeaf = uintptr(unsafe.Pointer(C.coroi_sem_acquire_leaf))
	semReleaseLeaf = uintptr(unsafe.Pointer(C.coroi_sem_release_leaf))
	readLeaf       = uintptr(unsafe.Pointer(C.coroi_rwlock_read_leaf))
	writeLeaf      = uintptr(unsafe.Pointer(C.coroi_rwlock_write_leaf))
	unreadLeaf     = uintptr(unsafe.Pointer(C.coroi_rwlock_unread_leaf))
	unwriteLeaf    = uintptr(unsafe.Pointer(C.coroi_rwlock_unwrite_leaf))
	latchAddLeaf   = uintptr(unsafe.Pointer(C.coroi_latch_add_leaf))
	latchWaitLeaf  = uintptr(unsafe.Pointer(C.coroi_latch_wait_leaf))
)

// Address is the address by which C knows the object.
func (o Object) Address() uintptr { return uintptr(o.p) }

// count counts a call, about, in the word of Go's that a semaphore and a latch have. That is in the
// cache line that the call writes anyway.
func (o Object) count() uint32 {
	if o.p == nil {
		return 0
	}
	word := (*uint32)(unsafe.Add(o.p, C.COROI_GO_WORD))
	n := atomic.LoadUint32(word) + 1
	race.StoreUint32(word, n)
	return n
}

// IsDead tells whether C has destroyed the object.
func (o Object) IsDead() bool {
	return bool(C.coroi_object_is_dead((*C.struct_coroi_object)(o.c())))
}

// Free frees the object's memory, whether it was destroyed or not.
func (o Object) Free() { C.coroi_release(o.c()) }

// A Sem is a coro_sem.
type Sem struct{ Object }

func (s Sem) c() *C.coro_sem { return (*C.coro_sem)(s.made("NewSemaphore")) }

// NewSem makes a semaphore.
func NewSem(permits uint64) (Sem, Status) {
	s, status := newObject[Sem](C.sizeof_coro_sem)
	if status == OK {
		status = Status(C.coro_sem_init(s.c(), C.uint64_t(permits), 0))
	}
	return s, status
}

// Destroy is coro_sem_destroy.
func (s Sem) Destroy() Status { return Status(C.coro_sem_destroy(s.c())) }

// TryAcquire is coro_sem_acquire that does not wait.
func (s Sem) TryAcquire() Status {
	if status := s.leaf(semAcquireLeaf, nil); status != byCall {
		return status
	}
	return Status(C.coro_sem_acquire(s.c(), 0))
}

// Count is about how often it was called. A zero value may be asked.
func (s Sem) Count() uint32 { return s.count() }

// Acquire has a gowaiter take a permit.
func (s Sem) Acquire(g GoWaiter) Status { return Status(C.coroi_sem_acquire_gowaiter(s.c(), g.g)) }

// Release is coro_sem_release.
func (s Sem) Release(n uint64) Status {
	if n == 1 {
		if status := s.leaf(semReleaseLeaf, nil); status != byCall {
			return status
		}
	}
	return Status(C.go_coro_sem_release(s.c(), C.uint64_t(n)))
}

// A Mutex is a coro_mutex.
type Mutex struct{ Object }

func (m Mutex) c() *C.coro_mutex { return (*C.coro_mutex)(m.made("NewMutex")) }

// NewMutex makes a mutex.
func NewMutex() (Mutex, Status) { return newObject[Mutex](C.sizeof_coro_mutex) }

// Destroy is coro_mutex_destroy.
func (m Mutex) Destroy() Status { return Status(C.coro_mutex_destroy(m.c())) }

func (m Mutex) owner() *uint64 { return (*uint64)(unsafe.Add(m.p, C.COROI_MUTEX_OWNER)) }

// TryLock locks the mutex for the owner by, if it is free: without a call. Deadlock: by owns it
// already. TimedOut: that takes a call of Lock to tell.
func (m Mutex) TryLock(by uint64) Status {
	switch owner := atomic.LoadUint64(m.owner()); {
	case owner == 0 && atomic.CompareAndSwapUint64(m.owner(), 0, by):
		return OK
	case owner&^C.COROI_WAITED == by:
		return Deadlock
	}
	return TimedOut
}

// Lock has a gowaiter lock the mutex for by. Without a gowaiter it does not wait.
func (m Mutex) Lock(g GoWaiter, by uint64) Status {
	return Status(C.coroi_mutex_lock_gowaiter(m.c(), C.uint64_t(by), g.g))
}

// Unlock unlocks the mutex, if by owns it: without a call, if there is no waiter.
func (m Mutex) Unlock(by uint64) Status {
	if atomic.CompareAndSwapUint64(m.owner(), by, 0) {
		return OK
	}
	return Status(C.go_coroi_mutex_unlock_as(m.c(), C.uint64_t(by)))
}

// Consistent is coro_mutex_consistent by an owner.
func (m Mutex) Consistent(by uint64) Status {
	return Status(C.coroi_mutex_consistent_as(m.c(), C.uint64_t(by)))
}

// Look gives the mutex to the first waiter, if the owner has ended.
func (m Mutex) Look() { C.coroi_mutex_look(m.c()) }

// An RWLock is a coro_rwlock.
type RWLock struct{ Object }

func (l RWLock) c() *C.coro_rwlock { return (*C.coro_rwlock)(l.made("NewRWMutex")) }

// NewRWLock makes a reader-writer lock.
func NewRWLock() (RWLock, Status) { return newObject[RWLock](C.sizeof_coro_rwlock) }

// Destroy is coro_rwlock_destroy.
func (l RWLock) Destroy() Status { return Status(C.coro_rwlock_destroy(l.c())) }

// ofTwo calls one of two leaves, for reading and for writing.
func (l RWLock) ofTwo(reading, writing uintptr, write bool, by *uint64) Status {
	if write {
		reading = writing
	}
	return l.leaf(reading, unsafe.Pointer(by))
}

// TryLock locks the lock for by, for writing or reading, if that can be done at once; else
// TimedOut.
func (l RWLock) TryLock(write bool, by uint64) Status {
	if status := l.ofTwo(readLeaf, writeLeaf, write, &by); status != byCall {
		return status
	}
	return l.Lock(GoWaiter{}, write, by)
}

// Lock has a gowaiter lock the lock for by.
func (l RWLock) Lock(g GoWaiter, write bool, by uint64) Status {
	return Status(C.coroi_rwlock_lock_gowaiter(l.c(), C.bool(write), C.uint64_t(by), g.g))
}

// Unlock unlocks the lock, which by has locked for writing, or reading.
func (l RWLock) Unlock(write bool, by uint64) Status {
	if status := l.ofTwo(unreadLeaf, unwriteLeaf, write, &by); status != byCall {
		return status
	}
	return Status(C.go_coroi_rwlock_unlock_as(l.c(), C.bool(write), C.uint64_t(by)))
}

// Consistent is coro_rwlock_consistent by an owner.
func (l RWLock) Consistent(by uint64) Status {
	return Status(C.coroi_rwlock_consistent_as(l.c(), C.uint64_t(by)))
}

// Look gives the lock to those that wait, if a writer has ended that held it.
func (l RWLock) Look() { C.coroi_rwlock_look(l.c()) }

// A Cond is a coro_cond.
type Cond struct{ Object }

func (c Cond) c() *C.coro_cond { return (*C.coro_cond)(c.made("NewCond")) }

// NewCond makes a condition.
func NewCond() (Cond, Status) { return newObject[Cond](C.sizeof_coro_cond) }

// Destroy is coro_cond_destroy.
func (c Cond) Destroy() Status { return Status(C.coro_cond_destroy(c.c())) }

// Wait makes a gowaiter wait, and unlocks m, which by owns. If the gowaiter waits, m is to be
// locked again.
func (c Cond) Wait(g GoWaiter, m Mutex, by uint64) Status {
	return Status(C.go_coroi_cond_wait_gowaiter(c.c(), m.c(), C.uint64_t(by), g.g))
}

// Signal is coro_cond_signal.
func (c Cond) Signal() Status { return Status(C.go_coro_cond_signal(c.c())) }

// Broadcast is coro_cond_broadcast.
func (c Cond) Broadcast() Status { return Status(C.go_coro_cond_broadcast(c.c())) }

// A Latch is a coro_latch.
type Latch struct{ Object }

func (l Latch) c() *C.coro_latch { return (*C.coro_latch)(l.made("NewWaitGroup")) }

// NewLatch makes a latch.
func NewLatch(count uint64) (Latch, Status) {
	l, status := newObject[Latch](C.sizeof_coro_latch)
	if status == OK {
		status = Status(C.coro_latch_init(l.c(), C.uint64_t(count), 0))
	}
	return l, status
}

// Destroy is coro_latch_destroy.
func (l Latch) Destroy() Status { return Status(C.coro_latch_destroy(l.c())) }

// Add is coro_latch_add.
func (l Latch) Add(n int64) Status {
	if status := l.leaf(latchAddLeaf, unsafe.Pointer(&n)); status != byCall {
		return status
	}
	return Status(C.go_coro_latch_add(l.c(), C.int64_t(n)))
}

// TryWait is OK if the count is zero, else TimedOut.
func (l Latch) TryWait() Status {
	if status := l.leaf(latchWaitLeaf, nil); status != byCall {
		return status
	}
	return l.Wait(GoWaiter{})
}

// Count is about how often it was called. A zero value may be asked.
func (l Latch) Count() uint32 { return l.count() }

// Wait makes a gowaiter wait until the count is zero.
func (l Latch) Wait(g GoWaiter) Status { return Status(C.coroi_latch_wait_gowaiter(l.c(), g.g)) }

// A Once is a coro_once.
type Once struct{ Object }

func (o Once) c() *C.coro_once { return (*C.coro_once)(o.made("NewOnce")) }

// NewOnce makes a once.
func NewOnce() (Once, Status) { return newObject[Once](C.sizeof_coro_once) }

// Destroy is coro_once_destroy.
func (o Once) Destroy() Status { return Status(C.coro_once_destroy(o.c())) }

// IsDone tells, without a call, whether it is done.
func (o Once) IsDone() bool {
	if o.p == nil {
		zero.Value("NewOnce")
	}
	return atomic.LoadUint32((*uint32)(unsafe.Add(o.p,
		C.COROI_ONCE_STATE))) == C.COROI_ONCE_DONE
}

// TryBegin is Begin that does not wait.
func (o Once) TryBegin(by uint64) Status { return o.Begin(GoWaiter{}, by) }

// Begin makes a gowaiter wait until it is done: OK. Yours: by is to do it, and then to call End.
func (o Once) Begin(g GoWaiter, by uint64) Status {
	return Status(C.coroi_once_begin_gowaiter(o.c(), C.uint64_t(by), g.g))
}

// End says that it is done.
func (o Once) End() { C.go_coroi_once_end(o.c()) }

// TimedOut is also what a call returns that does not wait, and would have to.
const TimedOut = Status(C.CORO_ETIMEDOUT)

// Waits: the gowaiter waits from now on.
const Waits = Status(C.COROI_WAITS)

// byCall: a leaf of gowait.h has done nothing.
const byCall = C.COROI_BY_CALL

var _ [asm.NotCalled - byCall]struct{} // they are the same: a leaf without an object is not called
var _ [byCall - asm.NotCalled]struct{}

// A Chan is a coro_chan.
type Chan struct{ p *C.coro_chan }

// NewChan is coro_chan_new_buffers, shared. Who sends a value passes its buffers before.
func NewChan(bytes uintptr, capacity int, buffers uint64) (Chan, Status) {
	var c Chan
	crossing()
	status := C.coro_chan_new_buffers(&c.p, C.size_t(bytes), C.size_t(capacity), 0, C.uint64_t(buffers))
	if status == C.CORO_OK {
		C.coroi_chan_keep(c.c()) // C frees no channel of Go's
	}
	return c, Status(status)
}

// c is the channel as an argument of C: a crossing. It panics for a zero value.
func (c Chan) c() *C.coro_chan {
	if c.p == nil {
		zero.Value("NewChan")
	}
	crossing()
	return c.p
}

// Address is the address by which C knows the channel.
func (c Chan) Address() uintptr { return uintptr(unsafe.Pointer(c.p)) }

// TrySend is coro_chan_send that does not wait.
func (c Chan) TrySend(value unsafe.Pointer) Status {
	return c.leafOrCall(true, value, c.SendLeaf(value))
}

// SendLeaf is TrySend without cgo. ByCall: nothing was done, and TryByCall is to be called.
// Sampled: the value was sent, and this is one of the waits that are to be looked at.
func (c Chan) SendLeaf(value unsafe.Pointer) Status {
	return Status(asm.Leaf(sendLeaf, unsafe.Pointer(c.p), value))
}

// TryRecv is coro_chan_recv that does not wait.
func (c Chan) TryRecv(value unsafe.Pointer) Status {
	return c.leafOrCall(false, value, c.RecvLeaf(value))
}

// RecvLeaf is TryRecv, as SendLeaf is TrySend.
func (c Chan) RecvLeaf(value unsafe.Pointer) Status {
	return Status(asm.Leaf(recvLeaf, unsafe.Pointer(c.p), value))
}

// leafOrCall is what a call comes to whose leaf has come to status.
func (c Chan) leafOrCall(send bool, value unsafe.Pointer, status Status) Status {
	switch status {
	case ByCall:
		return c.TryByCall(send, value)
	case Sampled:
		return OK
	default:
		return status
	}
}

// Sample tells which of the waits at the channel are to be looked at: those where the number of
// values that have passed has no bit of it. SetSample changes that, to 8 bits. A zero value may be
// asked.
func (c Chan) Sample() uint32 {
	if c.p == nil {
		return 0
	}
	return c.half(C.COROI_CHAN_CLOSED) >> 16 & 0xff
}

func (c Chan) SetSample(mask uint32) {
	if c.p != nil {
		C.coroi_chan_set_sample(c.p, C.uint8_t(mask))
	}
}

var (
	sendLeaf     = uintptr(unsafe.Pointer(C.coroi_chan_send_leaf))
	recvLeaf     = uintptr(unsafe.Pointer(C.coroi_chan_recv_leaf))
	sendSpinLeaf = uintptr(unsafe.Pointer(C.coroi_chan_send_spin_leaf))
	recvSpinLeaf = uintptr(unsafe.Pointer(C.coroi_chan_recv_spin_leaf))
)

func (c Chan) word(at uintptr) uint64 {
	return atomic.LoadUint64((*uint64)(unsafe.Add(unsafe.Pointer(c.p), at)))
}

func (c Chan) half(at uintptr) uint32 {
	return atomic.LoadUint32((*uint32)(unsafe.Add(unsafe.Pointer(c.p), at)))
}

// LenHint is Len without a lock: about how many values there are.
func (c Chan) LenHint() uint32 {
	out := c.half(C.COROI_CHAN_OUT) // first, since out never passes in
	return c.half(C.COROI_CHAN_IN) - out
}

func (c Chan) isClosed() bool { return c.half(C.COROI_CHAN_CLOSED)&0xff != 0 }

// MaySend is a hint: a value could be sent, and some more after it.
func (c Chan) MaySend(capacity int) bool {
	return capacity > 0 && c.LenHint() <= uint32(capacity/2) ||
		c.word(C.COROI_CHAN_RECEIVERS) != 0 || c.isClosed()
}

// MayRecv is a hint: a value could be received.
func (c Chan) MayRecv() bool {
	return c.LenHint() != 0 || c.word(C.COROI_CHAN_SENDERS) != 0 || c.isClosed()
}

// MeetMost is the most bytes of a value for Meet.
const MeetMost = C.COROI_LEAF_BYTES

// Meet sends the value of g, or receives it there, by a channel of s without room. Waits: g waits
// from now on, and the goroutine is to ask g.Met for a moment, and then g.TakeBack. ByCall: nothing
// was done, and the call is to be made by cgo.
func (c Chan) Meet(s *Scheduler, g GoWaiter, send bool) Status {
	g.g.sched = s.c
	leaf := recvSpinLeaf
	if send {
		leaf = sendSpinLeaf
	}
	return Status(asm.Leaf(leaf, unsafe.Pointer(c.p), unsafe.Pointer(g.g)))
}

// TryByCall is TrySend, or TryRecv, by cgo: where one is known to wait whom a leaf does not serve.
func (c Chan) TryByCall(send bool, value unsafe.Pointer) Status {
	if send {
		return Status(C.go_coroi_chan_send_passed(c.c(), (*C.uchar)(value), 0))
	}
	return Status(C.go_coro_chan_recv(c.c(), (*C.uchar)(value), 0))
}

// PassByCall is TryByCall of a value of MeetMost bytes at most.
func (c Chan) PassByCall(send bool, value unsafe.Pointer, bytes uintptr) Status {
	var p C.struct_coroi_pass
	p._chan = C.uint64_t(c.Address())
	p.sends = C.bool(send)
	if send {
		copyValue(unsafe.Pointer(&p.value), value, bytes)
	}
	crossing()
	C.go_pass(&p)
	crossing()
	if !send && p.status == C.CORO_OK {
		copyValue(value, unsafe.Pointer(&p.value), bytes)
	}
	return Status(p.status)
}

// copyValue copies a value as bytes: C's memory may have old addresses, which a write barrier would
// look at.
func copyValue(to, from unsafe.Pointer, bytes uintptr) {
	if bytes == 8 {
		*(*uint64)(to) = *(*uint64)(from)
		return
	}
	copy(unsafe.Slice((*byte)(to), bytes), unsafe.Slice((*byte)(from), bytes))
}

// ByCall: nothing was done.
const ByCall = Status(byCall)

// Sampled is OK, and the wait is one of those that are to be looked at.
const Sampled = Status(C.COROI_SAMPLED)

// SampleFirst says that of a new channel one wait in SampleFirst is Sampled.
const SampleFirst = C.COROI_SAMPLES + 1

// Send has a gowaiter send its value.
func (c Chan) Send(g GoWaiter) Status { return Status(C.go_coroi_chan_send_gowaiter(c.c(), g.g)) }

// Recv has a gowaiter receive a value.
func (c Chan) Recv(g GoWaiter) Status { return Status(C.go_coroi_chan_recv_gowaiter(c.c(), g.g)) }

// Close is coro_chan_close.
func (c Chan) Close() Status { return Status(C.go_coro_chan_close(c.c())) }

// Len is coro_chan_length.
func (c Chan) Len() int { return int(C.coro_chan_length(c.c())) }

// Destroy is coro_chan_free but for the memory.
func (c Chan) Destroy() Status { return Status(C.coroi_chan_destroy(c.c())) }

// Free frees the channel's memory, whether it was destroyed or not.
func (c Chan) Free() { C.coroi_chan_release(c.c()) }

// SelectMax is how many operations there may be in a select.
const SelectMax = C.CORO_CASES_MAX

// SelectBytes is how much of a gowaiter's memory a select from n operations needs, before the
// values.
func SelectBytes(n int) uintptr { return uintptr(C.coroi_select_bytes(C.uint32_t(n))) }

// SetCase sets the i-th operation of a gowaiter: to send the value that lies in the gowaiter's
// memory, or to receive it there.
func (g GoWaiter) SetCase(i int, c Chan, send bool, value unsafe.Pointer) {
	k := g.selectCase(i)
	*(*uintptr)(unsafe.Pointer(k)) = c.Address() // chan, in a union, is the first field
	if send {
		*(*uintptr)(unsafe.Pointer(&k.send)) = uintptr(value)
	} else {
		*(*uintptr)(unsafe.Pointer(&k.recv)) = uintptr(value)
	}
}

func (g GoWaiter) selectCase(i int) *C.coro_case {
	cases := unsafe.Pointer(C.coroi_select_cases(g.c()))
	return (*C.coro_case)(unsafe.Add(cases, i*C.sizeof_coro_case))
}

// Select has the gowaiter do one of its n operations.
func (g GoWaiter) Select(n int) Status {
	return Status(C.go_coroi_select_gowaiter(g.c(), C.uint32_t(n)))
}

// Selected is called when a select is done: which operation was done, and its status.
func (g GoWaiter) Selected() (int, Status) {
	i := int(C.coroi_select_done(g.c()))
	return i, Status(g.selectCase(i).status)
}

// A GoWaiter is a goroutine or a Go body that waits: gowait.h.
type GoWaiter struct{ g *C.struct_coroi_gowaiter }

// c is the gowaiter as an argument of C: a crossing.
func (g GoWaiter) c() *C.struct_coroi_gowaiter {
	crossing()
	return g.g
}

// NewGoWaiter makes a gowaiter for a goroutine that s.GoWaiters names by its id.
func (s *Scheduler) NewGoWaiter(id uint32, bytes uintptr) (GoWaiter, Status) {
	crossing()
	return newGoWaiter(C.coroi_gowaiter_new(s.c, C.uint32_t(id), nil, 0, C.size_t(bytes)))
}

// NewGoWaiter makes a gowaiter for the body j, which is sent an event.
func (j Joinable) NewGoWaiter(bytes uintptr) (GoWaiter, Status) {
	crossing()
	gen := C.uint32_t(j.gen >> genShift)
	return newGoWaiter(C.coroi_gowaiter_new(nil, 0, j.r, gen, C.size_t(bytes)))
}

func newGoWaiter(g *C.struct_coroi_gowaiter) (GoWaiter, Status) {
	if g == nil {
		return GoWaiter{}, NoMemory
	}
	return GoWaiter{g}, OK
}

// Value is the memory for the gowaiter's value.
func (g GoWaiter) Value() unsafe.Pointer {
	return unsafe.Add(unsafe.Pointer(g.g), C.sizeof_struct_coroi_gowaiter)
}

// NewMeeting makes a gowaiter for Meet.
func NewMeeting() (GoWaiter, Status) {
	crossing()
	return newGoWaiter(C.coroi_gowaiter_new(nil, 0, nil, 0, MeetMost))
}

// MetValue is the memory for a value of Meet.
func (g GoWaiter) MetValue(bytes uintptr) unsafe.Pointer {
	if bytes <= C.COROI_OWN_BYTES {
		return unsafe.Add(unsafe.Pointer(g.g), C.COROI_GOWAITER_OWN)
	}
	return g.Value()
}

// Met tells whether what Meet began is done: then Status says how.
func (g GoWaiter) Met() bool {
	return atomic.LoadUint32((*uint32)(&g.g.x.event)) == C.COROI_EVENT_FIRED
}

// TakeBack has g be told as any other gowaiter, by the id. False: what Meet began is done.
func (g GoWaiter) TakeBack(id uint32) bool {
	g.g.id = C.uint32_t(id)
	return atomic.CompareAndSwapUint32((*uint32)(&g.g.x.event), C.COROI_EVENT_SPINS,
		C.COROI_EVENT_NONE)
}

// Fired tells whether what the gowaiter waits for has happened: then Status says how. A goroutine's
// gowaiter is on its way through GoWaiters, too.
func (g GoWaiter) Fired() bool { return atomic.LoadUint32((*uint32)(&g.g.fired)) != 0 }

// Status is what the wait of a gowaiter that is fired returns.
func (g GoWaiter) Status() Status { return Status(g.g.x.status) }

// Withdraw ends the wait. False: the gowaiter is fired, or about to be.
func (g GoWaiter) Withdraw() bool { return bool(C.coroi_gowaiter_withdraw(g.c())) }

// Free frees the gowaiter. It is fired and was in GoWaiters, or was withdrawn, or never waited.
func (g GoWaiter) Free() { C.coroi_gowaiter_free(g.c()) }

// GoWaiters takes the list of goroutines that have waited, and appends their ids to ids. Their
// gowaiters may be freed then.
func (s *Scheduler) GoWaiters(ids []uint32) []uint32 {
	node := atomic.SwapUint64(s.gowaiters, 0)
	for node != 0 {
		g := *(**C.struct_coroi_gowaiter)(unsafe.Pointer(&node))
		node = uint64(g.next)
		ids = append(ids, uint32(g.id))
	}
	return ids
}
