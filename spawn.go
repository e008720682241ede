package coro

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/organzine/coro/internal/asm"
	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/ctxerr"
	"github.com/organzine/coro/internal/leak"
)

// spawn.go - coroutines are spawned: one, many, from a sequence, in batches.

// OnWorker is f whose coroutines are pinned to worker i, as with coro_attr.worker: each starts
// there, and is never stolen. Use it for coroutines that share objects bound to that worker
// (CORO_HOME), or data that lies in its core's cache; see WithAffinity for the CPU that this is.
// Pinned coroutines of one worker wait for each other while other workers are free. In C,
// coro_unpin ends the pinning.
//
// OnWorker costs nothing. A pinned coroutine costs some 50 ns more to spawn, one by one; a Batch or
// SpawnN gains nothing. If the scheduler does not have the worker, the call that spawns returns an
// *OptionError. Go bodies run on goroutines, and are not pinned.
func (f Func[A, R]) OnWorker(i int) Func[A, R] {
	f.spec.Worker = i
	f.spec.Flags |= core.Pinned
	return f
}

// Daemon is f whose coroutines are daemons: they are meant to wait for ever, as one that serves
// requests. They are no stall (WithStallHook, Stats.Stalled, DeadlockError), and the end of the
// others does not wait for them: neither Scheduler.Wait nor Run does. Close cancels daemons when
// the others have ended, and waits for their ends. What a daemon spawns is no daemon, unless it
// asks for that (CORO_DAEMON).
//
// In all else a daemon is a coroutine like any other: it may be started, woken, waited for and
// canceled, and Wait of its Group waits for it.
//
// Daemon costs nothing. A daemon costs some 50 ns more to spawn, one by one; a Batch or SpawnN
// gains nothing. A Go body is a daemon by [AsDaemon].
func (f Func[A, R]) Daemon() Func[A, R] {
	f.spec.Flags |= core.Daemon
	return f
}

// noWorker says that the worker of OnWorker is not there.
func noWorker(spec *core.Spec, s *Scheduler) error {
	return &OptionError{"OnWorker", spec.Worker, fmt.Sprintf(
		"the scheduler has workers 0 to %d: see WithWorkers", s.Workers()-1)}
}

// ready completes a caller's copy of a Func's spec, or tells why the Func cannot be spawned. It
// works in place: the caller has just stored the spec field by field, and copying it by wider loads
// would wait for those stores, some 15 ns.
func (s *Scheduler) ready(spec *core.Spec) error {
	if spec.Fn == 0 || spec.Flags&core.Pinned != 0 { // seldom: else there is no call
		if err := fits(spec, s); err != nil {
			return err
		}
	}
	if spec.Class == classDefault {
		spec.Class = s.class
	}
	return nil
}

// fits tells why a spec that is pinned, or zero, cannot be spawned.
func fits(spec *core.Spec, s *Scheduler) error {
	if spec.Fn == 0 {
		return &OptionError{"Func", "zero value", "make it with NewFunc"}
	}
	if spec.Worker < 0 || spec.Worker >= s.Workers() {
		return noWorker(spec, s)
	}
	return nil
}

// Spawn starts f on s with a copy of arg, and does not wait for it; the result is dropped. It makes
// no cgo call and costs 20 to 50 ns. It never blocks. It returns ErrClosed after Close and
// ErrNoMemory at the record limit; nothing was started then.
func (f Func[A, R]) Spawn(s *Scheduler, arg A) error {
	if f.spec.Loan != nil {
		return f.spawnCarrying("Spawn", &arg, func() error { return f.spawn(s, &arg) })
	}
	return f.spawn(s, &arg)
}

func (f *Func[A, R]) spawn(s *Scheduler, arg *A) error {
	if err := s.ready(&f.spec); err != nil {
		return err
	}
	p := s.submitter()
	if p == nil {
		return ErrClosed
	}
	s.edge.Release()
	if leak.On() {
		leak.Spawns(leakable{s}, 1)
	}
	status := p.Spawn(&f.spec, unsafe.Pointer(arg))
	p.Release()
	return statusError(status, ofScheduler)
}

// SpawnWait is Spawn that waits for coroutines to end when the record limit is reached. Callers are
// served in the order of their calls, one for each coroutine that ends; a coroutine that is to be
// joined counts until it is joined. Spawn and coroutines that spawn do not wait, and may come
// first. The wait stops no worker. From its beginning until a quarter of the records is free, each
// spawn costs some 50 to 100 ns more.
//
// The context bounds the wait alone: when the context ends, SpawnWait returns its cause, and
// nothing was started. An ended context is refused at once. SpawnWait returns ErrClosed when Close
// is called, and ErrNoMemory if the system refuses memory while no coroutine is left that could
// end.
func (f Func[A, R]) SpawnWait(ctx context.Context, s *Scheduler, arg A) error {
	if f.spec.Loan != nil {
		return f.spawnCarrying("SpawnWait", &arg, func() error {
			plain := f
			plain.spec.Loan = nil
			return plain.SpawnWait(ctx, s, arg)
		})
	}
	if ctx.Err() != nil {
		return ctxerr.Of(ctx)
	}
	if s.credit.isEmpty() {
		if err := f.Spawn(s, arg); err != ErrNoMemory {
			return err
		}
	}
	if err := s.ready(&f.spec); err != nil {
		return err
	}
	err := s.credit.await(ctx, s)
	if err == nil {
		err = f.spawnWith(s, arg)
	}
	runtime.KeepAlive(s)
	return err
}

// spawnWith is Spawn of a caller that has a credit. It is gone afterwards.
func (f *Func[A, R]) spawnWith(s *Scheduler, arg A) error {
	p := s.submitter()
	if p == nil {
		s.core.Refund(1)
		return ErrClosed
	}
	s.edge.Release()
	if leak.On() {
		leak.Spawns(leakable{s}, 1)
	}
	p.Endow(1)
	status := p.Spawn(&f.spec, unsafe.Pointer(&arg))
	if status != core.OK {
		p.Unload()
	}
	p.Release()
	return statusError(status, ofScheduler)
}

// SpawnN starts n coroutines with the same argument, in batches spread over the workers. It costs
// next to nothing here, and 5 to 10 ns each on the worker. It returns how many it has started,
// which is n unless there is an error: ErrClosed after Close, ErrNoMemory at the record limit, or
// an *OptionError, also if arg has a Buffer, which one coroutine owns: use SpawnSeq.
func (f Func[A, R]) SpawnN(s *Scheduler, n int, arg A) (int, error) {
	if f.spec.Loan != nil {
		return 0, cannotLend("SpawnN", f.spec.Loan)
	}
	if err := s.ready(&f.spec); err != nil {
		return 0, err
	}
	for done := 0; done < n; {
		p := s.submitter()
		if p == nil {
			return done, ErrClosed
		}
		s.edge.Release()
		now := min(n-done, spawnChunk)
		if leak.On() {
			leak.Spawns(leakable{s}, now)
		}
		got := p.SpawnMany(&f.spec, unsafe.Pointer(&arg), now)
		p.Release()
		done += got
		if got < now {
			return done, ErrNoMemory
		}
	}
	if n <= 0 && s.closed.Load() {
		return 0, ErrClosed
	}
	return max(n, 0), nil
}

// SpawnSeq starts a coroutine for each argument of seq, in batches. It returns how many it has
// started, and the first error of [Batch.Add] or [Batch.Flush], at which it stops. A panic in seq,
// or a [runtime.Goexit], goes on to the caller when the coroutines of all arguments before it were
// started.
func (f Func[A, R]) SpawnSeq(s *Scheduler, seq iter.Seq[A]) (started int, err error) {
	b := f.Batch(s)
	defer func() { started, err = b.end(err) }()
	for arg := range seq {
		if err = b.Add(arg); err != nil {
			break
		}
	}
	return 0, err
}

// end flushes the batch, and returns how many coroutines were started, and the first error.
func (b *Batch[A, R]) end(err error) (int, error) {
	if e := b.Flush(); err == nil {
		err = e
	}
	return b.sent, err
}

// A Batch collects coroutines of one Func and hands them over many at once. It is for one goroutine
// at a time: a second one gets ErrBusy. Nothing is started before the Batch is full (128 coroutines
// at most, or some 2 KiB with their arguments) or Flush is called. A Batch that is dropped loses
// the coroutines in it, and they count at the record limit until Close.
type Batch[A, R any] struct {
	s    *Scheduler
	f    Func[A, R]
	out  core.BatchWriter
	sent int
	busy uint32 // 1: a goroutine is in a method
}

// Batch makes an empty batch for s.
func (f Func[A, R]) Batch(s *Scheduler) *Batch[A, R] { return &Batch[A, R]{s: s, f: f} }

// hold makes the caller the only user. False: there is another. It is an exchange, which is cheaper
// than a compare-and-swap, and writes what is there already if another holds the batch.
func (b *Batch[A, R]) hold() bool { return atomic.SwapUint32(&b.busy, 1) == 0 }

// release ends hold. It does not wait for the stores before it, as an exchange would.
func (b *Batch[A, R]) release(err error) error {
	asm.StoreRelease(&b.busy, 0)
	return err
}

// Add puts one coroutine into the batch, 2 to 5 ns and an atomic exchange. On ErrNoMemory and
// ErrBusy the coroutine was not added; on ErrClosed the whole batch is dropped.
func (b *Batch[A, R]) Add(arg A) error {
	if !b.hold() {
		return ErrBusy
	}
	if b.f.spec.Flags != 0 {
		return b.release(b.add(arg))
	}
	if err := b.open(); err != nil {
		return b.release(err)
	}
	b.out.Add(unsafe.Pointer(&arg))
	if b.out.Full() {
		return b.release(b.flush())
	}
	return b.release(nil)
}

// add spawns a pinned coroutine, or a daemon, at once.
func (b *Batch[A, R]) add(arg A) error {
	err := b.f.Spawn(b.s, arg) // also of one that carries: one by one
	if err == nil {
		b.sent++
	}
	return err
}

// open gets records for a batch that has none.
func (b *Batch[A, R]) open() error {
	if b.out.IsOpen() {
		return nil
	}
	if b.f.spec.Loan != nil {
		return cannotLend("Batch", b.f.spec.Loan)
	}
	if err := b.s.ready(&b.f.spec); err != nil {
		return err
	}
	if b.s.closed.Load() {
		return ErrClosed
	}
	return statusError(b.s.core.Open(&b.out, &b.f.spec), ofScheduler)
}

// Flush starts the coroutines in the batch. It returns ErrBusy, or ErrClosed after Close of the
// scheduler: then the batch is empty, and what was in it is lost.
func (b *Batch[A, R]) Flush() error {
	if !b.hold() {
		return ErrBusy
	}
	return b.release(b.flush())
}

func (b *Batch[A, R]) flush() error {
	if !b.out.IsOpen() {
		if b.s.closed.Load() {
			return ErrClosed
		}
		return nil
	}
	p := b.s.submitter()
	if p == nil {
		b.s.core.Drop(&b.out)
		return ErrClosed
	}
	b.s.edge.Release()
	b.sent += b.out.Len()
	if leak.On() {
		leak.Spawns(leakable{b.s}, b.out.Len())
	}
	p.Send(&b.out)
	p.Release()
	return nil
}
