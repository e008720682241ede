//go:build !(cgo && linux && (amd64 || arm64))

// Package csrc stands in for the C core of coro where it cannot be built: without cgo, or on another system. Every
// constructor of package coro then returns an error that names the remedy.
package csrc

import (
	_ "embed"
	"unsafe"
)

// Header is the text of coro.h.
//
//go:embed coro.h
var Header string

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
	LaneStart = 1 + iota
	LaneWake
	LaneEvent
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
	SelectMost   = 64

	DenseSlotsMax = 1024
	ClassDense    = uint8(15)
)

// The types have the shape of the real ones; none of them is ever made.
type (
	Options struct {
		Workers, Dedicated, StealBatch, HandoverBudget, StackCache, BlockingThreads int
		Stack, StackLimit, RecordLimit                                              int
		DenseSlots, DenseStack                                                      int
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
		Parks, Mails, Queued           uint64
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
		Live, Starved                     int
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
	Lane     struct{}
	LaneItem struct {
		Kind, N, Body, Canceled uint32
		Handle                  uint64
	}
	Port      struct{}
	Outgoing  struct{}
	Joinable  struct{}
	Coroutine struct{}

	Chan   struct{}
	Object struct{}
	Sem    struct{ Object }
	Mutex  struct{ Object }
	RWLock struct{ Object }
	Cond   struct{ Object }
	Latch  struct{ Object }
	Once   struct{ Object }
	Guest  struct{}

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

var Inline func(Calls)

func (s Status) Text() string { return "the C core is not built in" }

func New(Options) (*Scheduler, Status) { return nil, Again }

func (*Scheduler) Workers() int                  { return 0 }
func (*Scheduler) Run() Status                   { return Again }
func (*Scheduler) Close(bool) Status             { return Again }
func (*Scheduler) Destroy()                      {}
func (*Scheduler) Finished() bool                { return true }
func (*Scheduler) AtRest() bool                  { return true }
func (*Scheduler) Live() int                     { return 0 }
func (*Scheduler) Present() int                  { return 0 }
func (*Scheduler) Gather()                       {}
func (*Scheduler) Trim() int                     { return 0 }
func (*Scheduler) Blocked(int) ([]Blocked, int)  { return nil, 0 }
func (*Scheduler) Running() []uintptr            { return nil }
func (*Scheduler) Stats() Stats                  { return Stats{} }
func (*Scheduler) OpenBell() (int, Status)       { return -1, Again }
func (*Scheduler) DropBell()                     {}
func (*Scheduler) Arm()                          {}
func (*Scheduler) WaitRest(int32)                {}
func (*Scheduler) Done(slots []uint32) []uint32  { return slots }
func (*Scheduler) Rests() uint32                 { return 0 }
func (*Scheduler) NewPorts(int) ([]Port, Status) { return nil, Again }
func (*Scheduler) Open(*Outgoing, *Spec) Status  { return Again }
func (*Scheduler) Drop(*Outgoing)                {}

func NewChan(uintptr, int) (Chan, Status)  { return Chan{}, Again }
func (Chan) Address() uintptr              { return 0 }
func (Chan) TrySend(unsafe.Pointer) Status { return Again }
func (Chan) TryRecv(unsafe.Pointer) Status { return Again }
func (Chan) MaySend(int) bool              { return true }
func (Chan) MayRecv() bool                 { return true }
func (Chan) Send(Guest) Status             { return Again }
func (Chan) Recv(Guest) Status             { return Again }
func (Chan) Close() Status                 { return Again }
func (Chan) Len() int                      { return 0 }
func (Chan) LenHint() uint32               { return 0 }
func (Chan) Free()                         {}

func Mark(uintptr) uint64 { return 0 }

func (Object) Address() uintptr { return 0 }
func (Object) IsDead() bool     { return false }
func (Object) Free()            {}

func NewSem(uint64) (Sem, Status) { return Sem{}, Again }
func (Sem) TryAcquire() Status    { return Again }
func (Sem) Acquire(Guest) Status  { return Again }
func (Sem) Release(uint64) Status { return Again }

func NewMutex() (Mutex, Status)                { return Mutex{}, Again }
func (Mutex) TryLock(uint64) Status            { return Again }
func (Mutex) Lock(Guest, uint64) Status        { return Again }
func (Mutex) Unlock(uint64) Status             { return Again }
func NewRWLock() (RWLock, Status)              { return RWLock{}, Again }
func (RWLock) TryLock(bool, uint64) Status     { return Again }
func (RWLock) Lock(Guest, bool, uint64) Status { return Again }
func (RWLock) Unlock(bool, uint64) Status      { return Again }

func NewCond() (Cond, Status)                 { return Cond{}, Again }
func (Cond) Wait(Guest, Mutex, uint64) Status { return Again }
func (Cond) Signal() Status                   { return Again }
func (Cond) Broadcast() Status                { return Again }

func NewLatch(uint64) (Latch, Status) { return Latch{}, Again }
func (Latch) Add(int64) Status        { return Again }
func (Latch) TryWait() Status         { return Again }
func (Latch) Wait(Guest) Status       { return Again }

func NewOnce() (Once, Status)           { return Once{}, Again }
func (Once) IsDone() bool               { return false }
func (Once) TryBegin(uint64) Status     { return Again }
func (Once) Begin(Guest, uint64) Status { return Again }
func (Once) End()                       {}

func (*Scheduler) NewGuest(uint32, uintptr) (Guest, Status) { return Guest{}, Again }
func (*Scheduler) Guests(slots []uint32) []uint32           { return slots }
func (Joinable) NewGuest(uintptr) (Guest, Status)           { return Guest{}, Again }
func SelectBytes(int) uintptr                               { return 0 }
func (Guest) SetCase(int, Chan, bool, unsafe.Pointer)       {}
func (Guest) Select(int) Status                             { return Again }
func (Guest) Selected() (int, Status)                       { return -1, Again }
func (Guest) Value() unsafe.Pointer                         { return nil }
func (Guest) Fired() bool                                   { return false }
func (Guest) Status() Status                                { return Again }
func (Guest) Withdraw() bool                                { return false }
func (Guest) Free()                                         {}

func (*Scheduler) SetSlot(uint32)                        {}
func (*Scheduler) Inside() bool                          { return false }
func (*Scheduler) InlineCalls([]InlineCall) []InlineCall { return nil }

func ExportName(string, uint32) Status { return Again }

func (Calls) Slot() uint32     { return 0 }
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

func Wake(uint64) Status   { return Again }
func Cancel(uint64) Status { return Again }
func Detach(uint64) Status { return Again }
func Class(int) uint8      { return 0 }

func (*Port) Acquire() Status                                { return Closed }
func (*Port) Release()                                       {}
func (*Port) Unload()                                        {}
func (*Port) Shut()                                          {}
func (*Port) Spawn(*Spec, unsafe.Pointer) Status             { return Again }
func (*Port) Start(*Spec, unsafe.Pointer) (Joinable, Status) { return Joinable{}, Again }
func (*Port) StartFor(uint32, bool, *Spec, unsafe.Pointer) (Joinable, Status) {
	return Joinable{}, Again
}
func (*Port) SpawnMany(*Spec, unsafe.Pointer, int) int { return 0 }
func (*Port) Send(*Outgoing)                           {}

func (*Outgoing) IsOpen() bool       { return false }
func (*Outgoing) Add(unsafe.Pointer) {}
func (*Outgoing) Full() bool         { return false }
func (*Outgoing) Len() int           { return 0 }

func (*Scheduler) Lane() Lane         { return Lane{} }
func (Lane) SetFull(Joinable, bool)   {}
func (*Scheduler) BeginExt(uint32)    {}
func (*Scheduler) EndExt()            {}
func (*Scheduler) SendEvent(Joinable) {}

func (Lane) HasItems() bool                               { return false }
func (Lane) Take([]LaneItem) []LaneItem                   { return nil }
func (Lane) Park() bool                                   { return true }
func (Lane) IsClaimed() bool                              { return false }
func (Lane) Claimed() bool                                { return false }
func (Lane) CountEnd()                                    {}
func (Lane) End(Joinable, uint8, unsafe.Pointer, uintptr) {}

func (*Port) PrepareBody(uint8) (Joinable, Status) { return Joinable{}, Again }
func (*Port) StartBody(Joinable)                   {}

func (*LaneItem) Joinable() Joinable         { return Joinable{} }
func (*LaneItem) Arg() unsafe.Pointer        { return nil }
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
