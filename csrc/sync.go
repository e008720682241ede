//go:build cgo && linux && (amd64 || arm64)

package csrc

// #include "sync/gowait.h"
import "C"

import (
	"sync/atomic"
	"unsafe"

	"github.com/organzine/coro/internal/asm"
)

// Yours: the caller is to do what is done once.
const Yours = Status(C.COROI_YOURS)

// LockOwner makes the number of a goroutine, which differs between any two that are alive, the by of an owner: gowait.h.
func LockOwner(goroutine uintptr) uint64 { return uint64(goroutine) | C.COROI_GOROUTINE }

// An Object is one of those of object.h, in memory of its own: all zeros at first, so ready for use.
type Object struct{ p unsafe.Pointer }

func newObject(bytes C.size_t) (Object, Status) {
	crossing()
	o := Object{C.coroi_alloc(bytes, 16)}
	if o.p == nil {
		return o, NoMemory
	}
	return o, OK
}

// Address is what C knows it by.
func (o Object) Address() uintptr { return uintptr(o.p) }

// IsDead tells whether C has destroyed it.
func (o Object) IsDead() bool {
	crossing()
	return bool(C.coroi_object_is_dead((*C.struct_coroi_object)(o.p)))
}

// Free frees it.
func (o Object) Free() {
	crossing()
	C.coroi_release(o.p)
}

// A Sem is a coro_sem.
type Sem struct{ Object }

// NewSem makes one, shared, as the others here are.
func NewSem(permits uint64) (Sem, Status) {
	o, status := newObject(C.sizeof_coro_sem)
	s := Sem{o}
	if status == OK {
		crossing()
		status = Status(C.coro_sem_init(s.c(), C.uint64_t(permits), 0))
	}
	return s, status
}

func (s Sem) c() *C.coro_sem { return (*C.coro_sem)(s.p) }

// TryAcquire is coro_sem_acquire that does not wait.
func (s Sem) TryAcquire() Status {
	if status := asm.Leaf(semAcquireLeaf, s.p, nil); status != byCall {
		return Status(status)
	}
	crossing()
	return Status(C.coro_sem_acquire(s.c(), 0))
}

// Acquire has a gowaiter take a permit.
func (s Sem) Acquire(g GoWaiter) Status {
	crossing()
	return Status(C.coroi_sem_acquire_gowaiter(s.c(), g.g))
}

// Release is coro_sem_release.
func (s Sem) Release(n uint64) Status {
	if n == 1 {
		if status := asm.Leaf(semReleaseLeaf, s.p, nil); status != byCall {
			return Status(status)
		}
	}
	crossing()
	return Status(C.coro_sem_release(s.c(), C.uint64_t(n)))
}

var (
	semAcquireLeaf = uintptr(unsafe.Pointer(C.coroi_sem_acquire_leaf))
	semReleaseLeaf = uintptr(unsafe.Pointer(C.coroi_sem_release_leaf))
)

// A Mutex is a coro_mutex.
type Mutex struct{ Object }

// NewMutex makes one.
func NewMutex() (Mutex, Status) {
	o, status := newObject(C.sizeof_coro_mutex)
	return Mutex{o}, status
}

func (m Mutex) c() *C.coro_mutex { return (*C.coro_mutex)(m.p) }

func (m Mutex) owner() *uint64 { return (*uint64)(unsafe.Add(m.p, C.COROI_MUTEX_OWNER)) }

// TryLock locks it for by, if nobody holds it: without a call. Deadlock: by does; TimedOut: somebody
// else, or it was destroyed.
func (m Mutex) TryLock(by uint64) Status {
	switch owner := atomic.LoadUint64(m.owner()); {
	case owner == 0 && atomic.CompareAndSwapUint64(m.owner(), 0, by):
		return OK
	case owner&^C.COROI_WAITED == by:
		return Deadlock
	}
	return TimedOut
}

// Lock has a gowaiter lock it for by.
func (m Mutex) Lock(g GoWaiter, by uint64) Status {
	crossing()
	return Status(C.coroi_mutex_lock_gowaiter(m.c(), C.uint64_t(by), g.g))
}

// Unlock unlocks it, if by holds it: where nobody waits, without a call.
func (m Mutex) Unlock(by uint64) Status {
	if atomic.CompareAndSwapUint64(m.owner(), by, 0) {
		return OK
	}
	crossing()
	return Status(C.coroi_mutex_unlock_as(m.c(), C.uint64_t(by)))
}

// An RWLock is a coro_rwlock.
type RWLock struct{ Object }

// NewRWLock makes one.
func NewRWLock() (RWLock, Status) {
	o, status := newObject(C.sizeof_coro_rwlock)
	return RWLock{o}, status
}

func (l RWLock) c() *C.coro_rwlock { return (*C.coro_rwlock)(l.p) }

// TryLock locks it for by, for writing or reading, if that can be done at once; else TimedOut.
func (l RWLock) TryLock(write bool, by uint64) Status {
	if status := l.leaf(readLeaf, writeLeaf, write, &by); status != byCall {
		return Status(status)
	}
	return l.Lock(GoWaiter{}, write, by)
}

// Lock has a gowaiter lock it.
func (l RWLock) Lock(g GoWaiter, write bool, by uint64) Status {
	crossing()
	return Status(C.coroi_rwlock_lock_gowaiter(l.c(), C.bool(write), C.uint64_t(by), g.g))
}

// Unlock gives back what by has locked it for.
func (l RWLock) Unlock(write bool, by uint64) Status {
	if status := l.leaf(unreadLeaf, unwriteLeaf, write, &by); status != byCall {
		return Status(status)
	}
	crossing()
	return Status(C.coroi_rwlock_unlock_as(l.c(), C.bool(write), C.uint64_t(by)))
}

var (
	readLeaf    = uintptr(unsafe.Pointer(C.coroi_rwlock_read_leaf))
	writeLeaf   = uintptr(unsafe.Pointer(C.coroi_rwlock_write_leaf))
	unreadLeaf  = uintptr(unsafe.Pointer(C.coroi_rwlock_unread_leaf))
	unwriteLeaf = uintptr(unsafe.Pointer(C.coroi_rwlock_unwrite_leaf))
)

// leaf calls one of two, which are for reading and for writing.
func (l RWLock) leaf(reading, writing uintptr, write bool, by *uint64) int32 {
	if write {
		reading = writing
	}
	return asm.Leaf(reading, l.p, unsafe.Pointer(by))
}

// A Cond is a coro_cond.
type Cond struct{ Object }

// NewCond makes one.
func NewCond() (Cond, Status) {
	o, status := newObject(C.sizeof_coro_cond)
	return Cond{o}, status
}

func (c Cond) c() *C.coro_cond { return (*C.coro_cond)(c.p) }

// Wait has a gowaiter wait, and unlocks m, which by holds. If it waits, m is to be locked again.
func (c Cond) Wait(g GoWaiter, m Mutex, by uint64) Status {
	crossing()
	return Status(C.coroi_cond_wait_gowaiter(c.c(), m.c(), C.uint64_t(by), g.g))
}

// Signal is coro_cond_signal.
func (c Cond) Signal() Status {
	crossing()
	return Status(C.coro_cond_signal(c.c()))
}

// Broadcast is coro_cond_broadcast.
func (c Cond) Broadcast() Status {
	crossing()
	return Status(C.coro_cond_broadcast(c.c()))
}

// A Latch is a coro_latch.
type Latch struct{ Object }

// NewLatch makes one.
func NewLatch(count uint64) (Latch, Status) {
	o, status := newObject(C.sizeof_coro_latch)
	l := Latch{o}
	if status == OK {
		crossing()
		status = Status(C.coro_latch_init(l.c(), C.uint64_t(count), 0))
	}
	return l, status
}

func (l Latch) c() *C.coro_latch { return (*C.coro_latch)(l.p) }

// Add is coro_latch_add.
func (l Latch) Add(n int64) Status {
	if status := asm.Leaf(latchAddLeaf, l.p, unsafe.Pointer(&n)); status != byCall {
		return Status(status)
	}
	crossing()
	return Status(C.coro_latch_add(l.c(), C.int64_t(n)))
}

// TryWait tells whether the count is zero: else TimedOut.
func (l Latch) TryWait() Status {
	if status := asm.Leaf(latchWaitLeaf, l.p, nil); status != byCall {
		return Status(status)
	}
	return l.Wait(GoWaiter{})
}

var (
	latchAddLeaf  = uintptr(unsafe.Pointer(C.coroi_latch_add_leaf))
	latchWaitLeaf = uintptr(unsafe.Pointer(C.coroi_latch_wait_leaf))
)

// Wait has a gowaiter wait until it is.
func (l Latch) Wait(g GoWaiter) Status {
	crossing()
	return Status(C.coroi_latch_wait_gowaiter(l.c(), g.g))
}

// A Once is a coro_once.
type Once struct{ Object }

// NewOnce makes one.
func NewOnce() (Once, Status) {
	o, status := newObject(C.sizeof_coro_once)
	return Once{o}, status
}

func (o Once) c() *C.coro_once { return (*C.coro_once)(o.p) }

// IsDone tells, without a call, whether it is.
func (o Once) IsDone() bool {
	return atomic.LoadUint32((*uint32)(unsafe.Add(o.p, C.COROI_ONCE_STATE))) == C.COROI_ONCE_DONE
}

// TryBegin is Begin that does not wait.
func (o Once) TryBegin(by uint64) Status { return o.Begin(GoWaiter{}, by) }

// Begin has a gowaiter wait until it is done: OK. Yours: by is to do it, and then to call End.
func (o Once) Begin(g GoWaiter, by uint64) Status {
	crossing()
	return Status(C.coroi_once_begin_gowaiter(o.c(), C.uint64_t(by), g.g))
}

// End says that it is done.
func (o Once) End() {
	crossing()
	C.coroi_once_end(o.c())
}
