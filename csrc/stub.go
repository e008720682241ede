//go:build !(cgo && linux && (amd64 || arm64))

// Package csrc stands in for the C core of coro where it cannot be built: without cgo, or on another system. Every
// constructor of package coro then returns an error that names the remedy.
package csrc

import (
	"unsafe"
)

// Available tells whether the core is compiled in.
const Available = false

// Status is a result of the core, as in coro.h.
type Status int

const (
	OK Status = -iota
	Invalid
	Perm
	NoMemory
	Stale
	Canceled
	Deadlock
	Closed
	Busy
	Again
	Ended
	Aborted
	Overflow

	MayResume Status = 1
	Finished  Status = 2
	Abort     Status = 3
)

const (
	GoWorkerStart = 1 + iota
	GoWorkerWake
	GoWorkerEvent
)

const GoBody = uint32(1) << 31

const EndAborted, EndCanceled = uint8(2), uint8(8)

const (
	InlineBytes  = 48
	StackMin     = 4 << 10
	StackMax     = 8 << 20
	StackDefault = 16 << 10
	WorkersMax   = 256
	StealMax     = 64
	SelectMax    = 64

	SharedStacksMax = 1024
	ClassDense      = uint8(15)
)

// The types have the shape of the real ones; none of them is ever made.
type (
	Options struct {
		Workers, Dedicated, StealBatch, HandoverBudget, StackCache, BlockingThreads int
		Stack, StackLimit, RecordLimit                                              int
		SharedStacks, DenseStack                                                    int
		Paused, NoMembarrier, NoStandby                                             bool
		Name                                                                        string
		CPUs                                                                        []uint16
	}
	Scheduler struct{}
	Blocked   struct {
		Handle uint64
		Fn     uintptr
		Worker int
		Waits  byte
	}
	WorkerStats struct {
		Spawned, Ended, Switches       uint64
		Steals, Stolen, Served, Forced uint64
		Parks, RemoteWakes, Queued     uint64
		ThreadID, CPU                  int
	}
	DenseStats struct {
		Bytes, Blocks                    int
		P50, P99                         int
		CopiedOut, CopiedIn, CopiedBytes uint64
		Private                          uint64
	}
	Stats struct {
		Workers, Awake, Outside           int
		Live, AwaitingStack               int
		Rests                             uint32
		Stacks, StacksIdle                int
		StackBytes                        int
		Records, RecordsIdle, RecordBytes int
		RecordsRetired                    int
		Dense                             DenseStats
		Membarrier, LightGuards           bool
		PerWorker                         []WorkerStats
	}
	Spec struct {
		Fn                    uintptr
		Class                 uint8
		ArgBytes, ResultBytes uint8
		Worker                int
	}
	GoWorker     struct{}
	GoWorkerItem struct {
		Kind, N, Body, Canceled uint32
		Handle                  uint64
	}
	Submitter   struct{}
	BatchWriter struct{}
	Joinable    struct{}
	Coroutine   struct{}

	Chan     struct{}
	Object   struct{}
	Sem      struct{ Object }
	Mutex    struct{ Object }
	RWLock   struct{ Object }
	Cond     struct{ Object }
	Latch    struct{ Object }
	Once     struct{ Object }
	GoWaiter struct{}

	Call       struct{}
	Calls      struct{}
	InlineCall struct {
		ID    uint32
		Count uint64
	}
)

const (
	Failed = Overflow - 1 - iota
	TooBig
	TimedOut

	Waits Status = 1
	Yours Status = 2
)

func RegisterInline(func(Calls)) {}

func (s Status) Text() string { return "the C core is not built in" }

func New(Options) (*Scheduler, Status) { return nil, Again }

func (*Scheduler) Workers() int                            { return 0 }
func (*Scheduler) Run() Status                             { return Again }
func (*Scheduler) Close(bool) Status                       { return Again }
func (*Scheduler) Destroy()                                {}
func (*Scheduler) Finished() bool                          { return true }
func (*Scheduler) AtRest() bool                            { return true }
func (*Scheduler) Live() int                               { return 0 }
func (*Scheduler) Present() int                            { return 0 }
func (*Scheduler) Gather()                                 {}
func (*Scheduler) Trim() int                               { return 0 }
func (*Scheduler) Blocked(int) ([]Blocked, int)            { return nil, 0 }
func (*Scheduler) Running() []uintptr                      { return nil }
func (*Scheduler) Stats() Stats                            { return Stats{} }
func (*Scheduler) OpenBell() (int, Status)                 { return -1, Again }
func (*Scheduler) DropBell()                               {}
func (*Scheduler) Arm()                                    {}
func (*Scheduler) WaitRest(int32)                          {}
func (*Scheduler) Done(ids []uint32) []uint32              { return ids }
func (*Scheduler) Rests() uint32                           { return 0 }
func (*Scheduler) NewSubmitters(int) ([]Submitter, Status) { return nil, Again }
func (*Scheduler) Open(*BatchWriter, *Spec) Status         { return Again }
func (*Scheduler) Drop(*BatchWriter)                       {}

func NewChan(uintptr, int) (Chan, Status)  { return Chan{}, Again }
func (Chan) Address() uintptr              { return 0 }
func (Chan) TrySend(unsafe.Pointer) Status { return Again }
func (Chan) TryRecv(unsafe.Pointer) Status { return Again }
func (Chan) MaySend(int) bool              { return true }
func (Chan) MayRecv() bool                 { return true }
func (Chan) Send(GoWaiter) Status          { return Again }
func (Chan) Recv(GoWaiter) Status          { return Again }
func (Chan) Close() Status                 { return Again }
func (Chan) Len() int                      { return 0 }
func (Chan) LenHint() uint32               { return 0 }
func (Chan) Free()                         {}

func LockOwner(uintptr) uint64 { return 0 }

func (Object) Address() uintptr { return 0 }
func (Object) IsDead() bool     { return false }
func (Object) Free()            {}

func NewSem(uint64) (Sem, Status)   { return Sem{}, Again }
func (Sem) TryAcquire() Status      { return Again }
func (Sem) Acquire(GoWaiter) Status { return Again }
func (Sem) Release(uint64) Status   { return Again }

func NewMutex() (Mutex, Status)                   { return Mutex{}, Again }
func (Mutex) TryLock(uint64) Status               { return Again }
func (Mutex) Lock(GoWaiter, uint64) Status        { return Again }
func (Mutex) Unlock(uint64) Status                { return Again }
func NewRWLock() (RWLock, Status)                 { return RWLock{}, Again }
func (RWLock) TryLock(bool, uint64) Status        { return Again }
func (RWLock) Lock(GoWaiter, bool, uint64) Status { return Again }
func (RWLock) Unlock(bool, uint64) Status         { return Again }

func NewCond() (Cond, Status)                    { return Cond{}, Again }
func (Cond) Wait(GoWaiter, Mutex, uint64) Status { return Again }
func (Cond) Signal() Status                      { return Again }
func (Cond) Broadcast() Status                   { return Again }

func NewLatch(uint64) (Latch, Status) { return Latch{}, Again }
func (Latch) Add(int64) Status        { return Again }
func (Latch) TryWait() Status         { return Again }
func (Latch) Wait(GoWaiter) Status    { return Again }

func NewOnce() (Once, Status)              { return Once{}, Again }
func (Once) IsDone() bool                  { return false }
func (Once) TryBegin(uint64) Status        { return Again }
func (Once) Begin(GoWaiter, uint64) Status { return Again }
func (Once) End()                          {}

func (*Scheduler) NewGoWaiter(uint32, uintptr) (GoWaiter, Status) { return GoWaiter{}, Again }
func (*Scheduler) GoWaiters(ids []uint32) []uint32                { return ids }
func (Joinable) NewGoWaiter(uintptr) (GoWaiter, Status)           { return GoWaiter{}, Again }
func SelectBytes(int) uintptr                                     { return 0 }
func (GoWaiter) SetCase(int, Chan, bool, unsafe.Pointer)          {}
func (GoWaiter) Select(int) Status                                { return Again }
func (GoWaiter) Selected() (int, Status)                          { return -1, Again }
func (GoWaiter) Value() unsafe.Pointer                            { return nil }
func (GoWaiter) Fired() bool                                      { return false }
func (GoWaiter) Status() Status                                   { return Again }
func (GoWaiter) Withdraw() bool                                   { return false }
func (GoWaiter) Free()                                            {}

func (*Scheduler) SetID(uint32)                          {}
func (*Scheduler) Inside() bool                          { return false }
func (*Scheduler) InlineCalls([]InlineCall) []InlineCall { return nil }

func ExportName(string, uint32) Status { return Again }

func (Calls) ID() uint32       { return 0 }
func (Calls) Len() int         { return 0 }
func (Calls) At(int) *Call     { return nil }
func (Calls) Begin(int, *Call) {}
func (Calls) Begun() int       { return 0 }
func (*Calls) Next() bool      { return false }

func (*Call) ID() uint32               { return 0 }
func (*Call) IsCanceled() bool         { return false }
func (*Scheduler) CallsCanceled() bool { return false }
func (*Scheduler) HasCalls() bool      { return false }
func (*Scheduler) TakeCalls() *Call    { return nil }
func (*Scheduler) Watch(bool)          {}
func (*Scheduler) Complete(*Call)      {}

func (*Call) After() *Call           { return nil }
func (*Call) Arg() unsafe.Pointer    { return nil }
func (*Call) ArgBytes() uintptr      { return 0 }
func (*Call) Result() unsafe.Pointer { return nil }
func (*Call) Room() uintptr          { return 0 }
func (*Call) End(Status, uintptr)    {}
func (*Call) Fail(string)            {}

func WaitName(byte) string { return "" }

func Wake(uint64) Status   { return Again }
func Cancel(uint64) Status { return Again }
func Detach(uint64) Status { return Again }
func Class(int) uint8      { return 0 }

func (*Submitter) Acquire() Status                                { return Closed }
func (*Submitter) Release()                                       {}
func (*Submitter) Unload()                                        {}
func (*Submitter) Shut()                                          {}
func (*Submitter) Spawn(*Spec, unsafe.Pointer) Status             { return Again }
func (*Submitter) Start(*Spec, unsafe.Pointer) (Joinable, Status) { return Joinable{}, Again }
func (*Submitter) StartFor(uint32, bool, *Spec, unsafe.Pointer) (Joinable, Status) {
	return Joinable{}, Again
}
func (*Submitter) SpawnMany(*Spec, unsafe.Pointer, int) int { return 0 }
func (*Submitter) Send(*BatchWriter)                        {}

func (*BatchWriter) IsOpen() bool       { return false }
func (*BatchWriter) Add(unsafe.Pointer) {}
func (*BatchWriter) Full() bool         { return false }
func (*BatchWriter) Len() int           { return 0 }

func (*Scheduler) GoWorker() GoWorker   { return GoWorker{} }
func (GoWorker) SetFull(Joinable, bool) {}
func (*Scheduler) BeginPending(uint32)  {}
func (*Scheduler) EndPending()          {}
func (*Scheduler) SendEvent(Joinable)   {}

func (GoWorker) HasItems() bool                               { return false }
func (GoWorker) Take([]GoWorkerItem) []GoWorkerItem           { return nil }
func (GoWorker) Park() bool                                   { return true }
func (GoWorker) IsClaimed() bool                              { return false }
func (GoWorker) Claimed() bool                                { return false }
func (GoWorker) CountEnd()                                    {}
func (GoWorker) End(Joinable, uint8, unsafe.Pointer, uintptr) {}

func (*Submitter) PrepareBody(uint8) (Joinable, Status) { return Joinable{}, Again }
func (*Submitter) StartBody(Joinable)                   {}

func (*GoWorkerItem) Joinable() Joinable     { return Joinable{} }
func (*GoWorkerItem) Arg() unsafe.Pointer    { return nil }
func ExportBody(uint32, uint8, uint8) Status { return Again }

func (Joinable) JoinBy(Joinable) bool                      { return false }
func (Joinable) Unjoin(Joinable) bool                      { return false }
func (Joinable) Rejoin(Joinable, uint32) bool              { return false }
func (Joinable) JoinedEnd() bool                           { return false }
func (Joinable) TakeJoined(unsafe.Pointer, uintptr) Status { return Again }

func (Joinable) Handle() uint64                      { return 0 }
func (Joinable) Ended() bool                         { return false }
func (Joinable) Fate() (alive, held bool)            { return false, false }
func (Joinable) Register(uint32) bool                { return false }
func (Joinable) Count(uint32) bool                   { return false }
func (Joinable) Take(unsafe.Pointer, uintptr) Status { return Again }

func NewCoroutine(unsafe.Pointer, uintptr, int) (Coroutine, Status) { return Coroutine{}, Again }

func (Coroutine) Resume(int64) (int64, Status)         { return 0, Again }
func (Coroutine) Reset(unsafe.Pointer, uintptr) Status { return Again }
func (Coroutine) Free() Status                         { return Again }
