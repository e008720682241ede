//go:build cgo && linux && (amd64 || arm64)

// Package core compiles the C core of coro, which lies in csrc, and binds it: it has all that Go
// calls of the core.
//
// Integers go to C and come back. C keeps no Go pointer. [Submitter], the hot way in, makes no cgo
// call: it fills batches and records in, and pushes them to a worker's inbox with Go's own atomics.
package core

/*
#cgo CFLAGS: -std=gnu11 -D_GNU_SOURCE -O2 -fvisibility=hidden -fno-omit-frame-pointer -Wall -pthread -I${SRCDIR}/../../csrc -I${SRCDIR}/../../csrc/include
#cgo LDFLAGS: -pthread
#include "gowakes.h"
#include "border/state.h"
#include "kernel/dense.h"
#include "kernel/idle.h"
#include "kernel/inbox.h"
#include "kernel/host.h"
#include "kernel/life.h"
#include "base/fault.h"
#include "base/manual.h"
#include "kernel/wait.h"
#include "sync/gowait.h"

static int coroi_go_new(coro_scheduler **out, coro_options o, const char *name,
			const uint16_t *cpus)
{
	o.size = sizeof o;
	o.name = name;
	o.cpus = cpus;
	return coro_scheduler_init(out, &o);
}

static int coroi_go_resume(coro_t *co, int64_t send, int64_t *received)
{
	intptr_t value = 0;
	int status = coro_resume(co, send, &value);
	*received = value;
	return status;
}
*/
import "C"

import (
	"unsafe"

	"github.com/organzine/coro/internal/asm"
)

// core.go - schedulers, figures, status codes.

func init() {
	// Go's own handlers are installed by now. The core hands every signal on to them: faults in
	// C after their report, and those in Go's code at once.
	text, etext, leaf := asm.Code()
	C.coroi_fault_code(code(text, etext), code(leaf, leaf+asm.LeafBytes))
	C.coroi_fault_install()
}

func code(from, to uintptr) C.struct_coroi_code {
	return C.struct_coroi_code{C.uintptr_t(from), C.uintptr_t(to)}
}

// NameFunction is coroi_fault_name: reports of faults call the C function by the name.
func NameFunction(fn uintptr, name string) Status {
	crossing()
	return Status(C.coroi_fault_name(C.uintptr_t(fn),
		(*C.char)(unsafe.Pointer(unsafe.StringData(name))), C.size_t(len(name))))
}

// FunctionName is coroi_fault_named: the name that NameFunction, or the core, has given. "": none.
func FunctionName(fn uintptr) string {
	var text [C.COROI_FAULT_NAME + 1]C.char
	crossing()
	n := C.coroi_fault_named(C.uintptr_t(fn), &text[0], C.size_t(len(text)))
	return C.GoStringN(&text[0], C.int(n))
}

// Available tells whether the core is compiled in.
const Available = true

// Status is a result of the core, as in coro.h.
type Status int

const (
	OK       = Status(C.CORO_OK)
	Invalid  = Status(C.CORO_EINVAL)
	Perm     = Status(C.CORO_EPERM)
	NoMemory = Status(C.CORO_ENOMEM)
	Stale    = Status(C.CORO_ESTALE)
	Canceled = Status(C.CORO_ECANCELED)
	Deadlock = Status(C.CORO_EDEADLK)
	Closed   = Status(C.CORO_ECLOSED)
	Busy     = Status(C.CORO_EBUSY)
	Again    = Status(C.CORO_EAGAIN)
	Ended    = Status(C.CORO_ENDED)
	Aborted  = Status(C.CORO_EABORTED)
	Overflow = Status(C.CORO_EOVERFLOW)

	OwnerDead      = Status(C.CORO_EOWNERDEAD)
	NotRecoverable = Status(C.CORO_ENOTRECOVERABLE)

	MayResume = Status(C.CORO_MAY_RESUME)
	Finished  = Status(C.CORO_FINISHED)
	Abort     = Status(C.CORO_ABORT)
	FailedEnd = Status(C.CORO_FAILED) // of a coroutine that is resumed by hand
)

// Text is coro_strerror.
func (s Status) Text() string { return C.GoString(C.coro_strerror(C.int(s))) }

const (
	InlineBytes  = C.CORO_INLINE_BYTES
	StackMin     = int(C.CORO_STACK_MIN)
	StackMax     = int(C.CORO_STACK_MAX)
	StackDefault = int(C.CORO_STACK_DEFAULT)
	WorkersMax   = C.CORO_WORKERS_MAX
	StealMax     = C.COROI_STEAL_MAX

	SharedStacksMax = C.COROI_SHARED_STACKS_MOST
	ClassDense      = uint8(C.COROI_DENSE) // of a Spec
)

// Options are coro_options.
type Options struct {
	Workers, Dedicated, StealBatch, HandoverBudget, StackCache, BlockingThreads int
	Stack, StackLimit, RecordLimit                                              int
	SharedStacks, DenseStack, BufferLimit                                       int
	Paused, NoMembarrier, NoStandby, NoLending, MainWorker                      bool
	Name                                                                        string
	CPUs                                                                        []uint16
}

// Scheduler is a coro_scheduler. Its memory stays until Destroy.
type Scheduler struct {
	c         *C.coro_scheduler
	gowaiters *uint64 // in C: the head of the list of goroutines whose wait has ended
}

// New is coro_scheduler_init. It may be called from any goroutine.
func New(o Options) (*Scheduler, Status) {
	var flags C.uint32_t
	if o.Paused {
		flags |= C.CORO_PAUSED
	}
	if o.NoMembarrier {
		flags |= C.CORO_NO_MEMBARRIER
	}
	if o.NoStandby {
		flags |= C.CORO_NO_STANDBY
	}
	if o.NoLending {
		flags |= C.CORO_NO_LENDING
	}
	if o.MainWorker {
		flags |= C.CORO_MAIN_WORKER
	}
	name := append([]byte(o.Name), 0)
	var cpus *C.uint16_t
	if len(o.CPUs) > 0 {
		cpus = (*C.uint16_t)(unsafe.Pointer(&o.CPUs[0]))
	}
	s := &Scheduler{}
	crossing()
	status := Status(C.coroi_go_new(&s.c, C.coro_options{
		flags:              flags,
		workers:            C.uint32_t(o.Workers),
		dedicated:          C.uint32_t(o.Dedicated),
		steal_batch:        C.uint32_t(o.StealBatch),
		handover_budget:    C.int32_t(o.HandoverBudget),
		stack_cache:        C.uint32_t(o.StackCache),
		blocking_threads:   C.uint32_t(o.BlockingThreads),
		stack_bytes:        C.size_t(o.Stack),
		stack_limit:        C.size_t(o.StackLimit),
		record_limit:       C.size_t(o.RecordLimit),
		shared_stacks:      C.uint32_t(o.SharedStacks),
		shared_stack_bytes: C.size_t(o.DenseStack),
		buffer_limit:       C.size_t(o.BufferLimit),
		cpu_count:          C.uint32_t(len(o.CPUs)),
	}, (*C.char)(unsafe.Pointer(&name[0])), cpus))
	if status == OK {
		s.gowaiters = (*uint64)(C.coroi_gowaiters(s.c))
	}
	return s, status
}

// Workers is the number of worker threads.
func (s *Scheduler) Workers() int { return int(s.c.workers) }

// general is the number of workers that share their work. They come before the dedicated ones.
func (s *Scheduler) general() uint32 { return uint32(s.c.workers - s.c.dedicated) }

// Run is coro_scheduler_run. It blocks the thread.
func (s *Scheduler) Run() Status {
	crossing()
	return Status(C.coro_scheduler_run(s.c))
}

// Host is coro_scheduler_host. It blocks the thread.
func (s *Scheduler) Host() Status {
	crossing()
	return Status(C.coro_scheduler_host(s.c))
}

// HostLeave is coro_scheduler_host_leave.
func (s *Scheduler) HostLeave() {
	crossing()
	C.coro_scheduler_host_leave(s.c)
}

// HostClose is coroi_host_close.
func (s *Scheduler) HostClose() {
	crossing()
	C.coroi_host_close(s.c)
}

// Close is coro_scheduler_close. It blocks the thread.
func (s *Scheduler) Close(cancel bool) Status {
	var with C.int
	if cancel {
		with = 1
	}
	crossing()
	return Status(C.coro_scheduler_close(s.c, with))
}

// Destroy frees everything. The scheduler is closed, and no submitter, Joinable or handle of it is
// used any more.
func (s *Scheduler) Destroy() {
	crossing()
	C.coro_scheduler_destroy(s.c)
}

// Finished tells whether everything rests and no coroutine is left but daemons, for which something
// may be pending.
func (s *Scheduler) Finished() bool {
	crossing()
	return bool(C.coroi_finished(s.c))
}

// AtRest tells whether nothing can happen any more.
func (s *Scheduler) AtRest() bool {
	crossing()
	return bool(C.coroi_at_rest(s.c))
}

// Others counts the coroutines that have entered and not ended, and are no daemons.
func (s *Scheduler) Others() int {
	crossing()
	return max(int(C.coroi_others(s.c)), 0)
}

// Daemons counts the daemons that have not ended.
func (s *Scheduler) Daemons() int {
	crossing()
	return int(C.coroi_daemons(s.c))
}

// Present is coroi_present. It stops each worker for a moment. No goroutine is in GoWorker.Take.
func (s *Scheduler) Present() int {
	crossing()
	return int(C.coroi_present(s.c))
}

// Trim is coro_scheduler_trim.
func (s *Scheduler) Trim() int {
	crossing()
	return int(C.coro_scheduler_trim(s.c))
}

// WaitName is coro_wait_name: the word for a kind of wait in Blocked.
func WaitName(kind byte) string { return C.GoString(C.coro_wait_name(C.uint32_t(kind))) }

// Blocked is coro_blocked.
type Blocked struct {
	Handle uint64
	Fn     uintptr
	Worker int
	Waits  byte
	Daemon bool
}

// Blocked returns at most limit of the coroutines that wait, daemons last, and the number of all.
func (s *Scheduler) Blocked(limit int) ([]Blocked, int) {
	list := make([]C.coro_blocked, limit+1)
	crossing()
	n := int(C.coro_scheduler_blocked(s.c, &list[0], C.size_t(limit)))
	out := make([]Blocked, min(n, limit))
	for i := range out {
		b := &list[i]
		fn := uintptr(unsafe.Pointer(b.fn))
		out[i] = Blocked{uint64(b.handle), fn, int(b.worker), byte(b.waits), b.daemon != 0}
	}
	return out, n
}

// FunctionCount is coro_function_count.
type FunctionCount struct {
	Fn              uintptr
	Live, Unstarted int
}

// Functions returns the functions of the coroutines that live, without those with a Go body.
func (s *Scheduler) Functions() []FunctionCount {
	for limit := 64; ; limit *= 8 {
		list := make([]C.coro_function_count, limit)
		crossing()
		n := int(C.coro_scheduler_functions(s.c, &list[0], C.size_t(limit)))
		if n > limit {
			continue
		}
		out := make([]FunctionCount, n)
		for i := range out {
			f := &list[i]
			out[i] = FunctionCount{uintptr(unsafe.Pointer(f.fn)), int(f.live), int(f.unstarted)}
		}
		return out
	}
}

// Running returns the functions of the coroutines that run now, at most one for each worker, and
// what is called by other threads for coroutines: Functions tells the names of the library's own.
func (s *Scheduler) Running() []uintptr {
	const others = 128 // most of those that wait in shield sections, or are called by other threads
	list := make([]C.coro_fn, s.Workers()+others)
	crossing()
	n := int(C.coroi_running(s.c, &list[0], C.size_t(len(list))))
	out := make([]uintptr, n)
	for i := range out {
		out[i] = uintptr(unsafe.Pointer(list[i]))
	}
	return out
}

// DenseStats are the dense_ figures of coro_stats.
type DenseStats struct {
	Bytes, Blocks                    int
	P50, P99                         int
	CopiedOut, CopiedIn, CopiedBytes uint64
	Private                          uint64
}

// Stats is coro_stats.
type Stats struct {
	Workers, Awake, Outside           int
	Spawned, Ended                    uint64
	Failed                            uint64
	NoStack, CanceledBefore           uint64
	ClosedBefore                      uint64
	GoSpawned                         uint64
	GoLive                            int
	Live, Daemons, AwaitingStack      int
	BlockingThreads, BlockingIdle     int
	BlockingQueued                    int
	InlineCalls                       uint64
	Lends, LentNS, LentMostNS         uint64
	AcceptPauses                      uint64
	Rests                             uint32
	Stacks, StacksIdle                int
	StackBytes                        int
	Records, RecordsIdle, RecordBytes int
	RecordsRetired                    int
	Dense                             DenseStats
	Membarrier, LightGuards           bool
	PerWorker                         []WorkerStats
}

// WorkerStats is coro_worker_stats.
type WorkerStats struct {
	Spawned, Ended, Switches       uint64
	Steals, Stolen, Served, Forced uint64
	Missed                         uint64
	Parks, RemoteWakes, Queued     uint64
	ThreadID, CPU                  int
}

// Stats is coro_scheduler_stats.
func (s *Scheduler) Stats() Stats {
	var t C.coro_stats
	list := make([]C.coro_worker_stats, s.Workers())
	crossing()
	C.coro_scheduler_stats(s.c, &t, &list[0], C.uint32_t(len(list)))
	out := Stats{
		Workers: int(t.workers), Awake: int(t.awake), Outside: int(t.outside),
		Spawned: uint64(t.spawned), Ended: uint64(t.ended),
		Failed:         uint64(t.failed),
		NoStack:        uint64(t.unstarted_no_stack),
		CanceledBefore: uint64(t.unstarted_canceled),
		ClosedBefore:   uint64(t.unstarted_closed),
		GoSpawned:      uint64(t.go_spawned), GoLive: max(int(t.go_live), 0),
		BlockingThreads: int(t.blocking_threads), BlockingIdle: int(t.blocking_idle),
		BlockingQueued: int(t.blocking_queued), InlineCalls: uint64(t.inline_calls),
		Lends: uint64(t.lends), LentNS: uint64(t.lent_ns),
		LentMostNS:   uint64(t.lent_most_ns),
		AcceptPauses: uint64(t.accept_pauses),
		Live:         max(int(t.live), 0), Daemons: max(int(t.daemons), 0),
		AwaitingStack: int(t.awaiting_stack),
		Rests:         uint32(t.idle_ends), Stacks: int(t.stacks), StacksIdle: int(t.stacks_idle),
		StackBytes: int(t.stack_bytes), Records: int(t.records),
		RecordsIdle: int(t.records_idle),
		RecordBytes: int(t.record_bytes), RecordsRetired: int(t.records_retired),
		Dense: DenseStats{
			int(t.dense_bytes), int(t.dense_saved), int(t.dense_p50), int(t.dense_p99),
			uint64(t.dense_copied_out), uint64(t.dense_copied_in),
			uint64(t.dense_bytes_copied), uint64(t.dense_private),
		},
		Membarrier: t.membarrier != 0, LightGuards: t.guard != 0,
		PerWorker: make([]WorkerStats, len(list)),
	}
	for i := range list {
		w := &list[i]
		out.PerWorker[i] = WorkerStats{
			uint64(w.spawned), uint64(w.ended), uint64(w.switches),
			uint64(w.steals), uint64(w.stolen), uint64(w.served), uint64(w.forced),
			uint64(w.missed),
			uint64(w.parks), uint64(w.remote_wakes), uint64(w.queued),
			int(w.tid), int(w.cpu),
		}
	}
	return out
}

// Wake is coro_wake, from a goroutine.
func Wake(handle uint64) Status {
	crossing()
	return Status(C.go_coro_wake(C.coro_handle(handle)))
}

// Cancel is coro_cancel, from a goroutine.
func Cancel(handle uint64) Status {
	crossing()
	return Status(C.coro_cancel(C.coro_handle(handle)))
}

// Detach is coro_detach.
func Detach(handle uint64) Status {
	crossing()
	return Status(C.coro_detach(C.coro_handle(handle)))
}

// OpenBell returns the descriptor that becomes readable when completions or a rest are to be looked
// at. The caller closes the descriptor, after the scheduler is closed.
func (s *Scheduler) OpenBell() (int, Status) {
	crossing()
	fd := C.coroi_bell_open(s.c)
	if fd < 0 {
		return -1, Status(fd)
	}
	return int(fd), OK
}

// DropBell forgets the descriptor: no thread writes to it any more. The scheduler is closed.
func (s *Scheduler) DropBell() {
	crossing()
	C.coroi_bell_drop(s.c)
}

// Coroutine is a coro_t: a coroutine that is resumed by hand.
type Coroutine struct {
	c *C.coro_t
}

// NewCoroutine is coro_new.
func NewCoroutine(body unsafe.Pointer, arg uintptr, stack int) (Coroutine, Status) {
	var co Coroutine
	crossing()
	status := C.coro_new(&co.c, C.coro_body(body),
		*(*unsafe.Pointer)(unsafe.Pointer(&arg)), C.size_t(stack))
	return co, Status(status)
}

// Resume is coro_resume. The calling thread runs the coroutine's C code.
func (co Coroutine) Resume(send int64) (int64, Status) {
	var received C.int64_t
	crossing()
	status := C.coroi_go_resume(co.c, C.int64_t(send), &received)
	return int64(received), Status(status)
}

// Failure is coro_resume_error, after FailedEnd.
func (co Coroutine) Failure() *Failure {
	var code C.int
	text := make([]byte, C.CORO_FAILURE_BYTES)
	crossing()
	n := C.coro_resume_error(co.c, &code, (*C.char)(unsafe.Pointer(&text[0])),
		C.size_t(len(text)))
	return &Failure{uintptr(unsafe.Pointer(co.c.body)), int(code), string(text[:n])}
}

// Reset is coro_reset.
func (co Coroutine) Reset(body unsafe.Pointer, arg uintptr) Status {
	crossing()
	return Status(C.coro_reset(co.c, C.coro_body(body), *(*unsafe.Pointer)(
		unsafe.Pointer(&arg))))
}

// Free is coro_free.
func (co Coroutine) Free() Status {
	crossing()
	return Status(C.coro_free(co.c))
}
