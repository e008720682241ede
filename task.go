package coro

import (
	"context"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/organzine/coro/csrc"
	"github.com/organzine/coro/internal/leak"
)

// A Task is one coroutine whose end somebody waits for. Its methods may be called by several goroutines. A Task that
// nobody waits for costs its record until the garbage collector finds it.
type Task[R any] struct {
	s      *Scheduler
	join   csrc.Joinable
	handle Handle
	clean  runtime.Cleanup

	isBody bool // of a coroutine with a Go body, which completes it

	mu         sync.Mutex
	registered bool   // somebody will complete it
	joined     bool   // namely a body that has registered as its joiner
	counted    bool   // its end holds an ext token, until complete has told all
	settled    bool   // of a body: its record is given up
	slot       uint32 // if the poller completes it
	awaiters   []awaiter
	done       chan struct{} // made when somebody has to wait, closed when the result is there
	watch      *watch        // nil: nobody watches
	finished   atomic.Bool
	result     R
	err        error
}

// A watch is what is bound to a task besides those who wait.
type watch struct {
	ctx   context.Context // whose end is a reason to cancel it; nil: none
	stop  func() bool     // ends that it is canceled by that
	told  bool            // a run has canceled it
	after []func()        // to be called when the task has ended
}

// Start starts f on s with a copy of arg, like Spawn, and returns the Task that waits for its result. It costs about
// 200 ns, most of it for the Task itself.
func (f Func[A, R]) Start(s *Scheduler, arg A) (*Task[R], error) {
	t := &Task[R]{s: s}
	if err := f.launch(t, arg); err != nil {
		return nil, err
	}
	t.clean = runtime.AddCleanup(t, drop, ref{s, uint64(t.handle)})
	return t, nil
}

// launch starts the coroutine of t: with its slot, if t is registered.
func (f *Func[A, R]) launch(t *Task[R], arg A) error {
	if err := f.ready(t.s); err != nil {
		return err
	}
	p := t.s.port()
	if p == nil {
		return ErrClosed
	}
	t.s.edge.release()
	if leak.On() {
		leak.Meet(leakable{t.s})
	}
	var status csrc.Status
	if t.registered {
		t.join, status = p.StartFor(t.slot, t.counted, &f.spec, unsafe.Pointer(&arg))
	} else {
		t.join, status = p.Start(&f.spec, unsafe.Pointer(&arg))
	}
	p.Release()
	if status != csrc.OK {
		return statusError(status)
	}
	t.handle = Handle(t.join.Handle())
	t.made()
	return nil
}

// startFor is Start of a task that the poller has from the start: nobody else can join it, and its end is heard of. counted: before
// anything rests.
func (f Func[A, R]) startFor(ctx context.Context, s *Scheduler, arg A, counted bool) (*Task[R], error) {
	t := &Task[R]{s: s, registered: true, counted: counted, watch: &watch{ctx: ctx}}
	t.mu.Lock() // keeps complete waiting
	defer t.mu.Unlock()
	t.slot = s.poller.reserve(t)
	if err := f.launch(t, arg); err != nil {
		s.poller.release(t.slot)
		return nil, err
	}
	return t, nil
}

// StartContext is Start for a coroutine that is canceled, as by Cancel, when the context ends: at whatever it waits in
// then, or before it starts. It costs about 500 ns more; nothing is left bound to the context when the task has
// ended. C bodies cannot join the coroutine: its end is Go's from the start.
//
// If the coroutine ends by the cancel (it was never started, or called coro_exit_canceled), the Task's error is the
// context's cause. A body that returns nevertheless has its result stand, with no error. If the context has ended before,
// StartContext returns its cause, and nothing was started.
func (f Func[A, R]) StartContext(ctx context.Context, s *Scheduler, arg A) (*Task[R], error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if ctx.Done() == nil {
		return f.startFor(ctx, s, arg, false)
	}
	awaited := s.awaitDeadline(ctx)
	t, err := f.startFor(ctx, s, arg, false)
	if err != nil || !t.bind(awaited) {
		s.deadlineOver(awaited)
	}
	return t, err
}

// bind has the end of the context cancel the task. False: it has ended.
func (t *Task[R]) bind(awaited bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.watch == nil {
		return false
	}
	t.watch.stop = t.s.bind(t.watch.ctx, awaited, t.Cancel)
	return true
}

// ref keeps the scheduler's memory until the record is given up.
type ref struct {
	s      *Scheduler
	handle uint64
}

func drop(r ref) { csrc.Detach(r.handle) }

// Handle names the task's coroutine, for C bodies and for Wake.
func (t *Task[R]) Handle() Handle { return t.handle }

// Wake gives the coroutine a permit, see Handle.Wake.
func (t *Task[R]) Wake() error { return t.handle.Wake() }

// Cancel tells the coroutine to end, see Handle.Cancel; Wait then tells how it did. If it has ended already, nothing
// happens.
func (t *Task[R]) Cancel() { _ = t.handle.Cancel() }

// How long Wait looks for the end before it sleeps, and where that pays.
const (
	lookFor  = 2 * time.Microsecond
	lookLong = 50 * time.Microsecond
)

func (t *Task[R]) spin() {
	t.s.spinner.spin(lookFor, lookLong, spinTurns, func() bool { return t.finished.Load() || !t.isBody && t.join.Ended() })
}

// Wait waits for the end and returns the result, again and again the same. The error is ErrAborted if the body called
// coro_abort, ErrCanceled if it was canceled and did not start, or called coro_exit_canceled (after StartContext, if its
// context has ended, that one's cause), ErrNoMemory if it never got a stack, ErrStale if a C body has joined it; then the
// result is zero. It may also be ErrBusy, if a C body waits for it now, or the context's error: then the coroutine goes
// on, and Wait may be called again. It spins for 2 µs, or, where short tasks of the scheduler follow each other,
// up to 50 µs, then sleeps without holding a thread.
func (t *Task[R]) Wait(ctx context.Context) (R, error) {
	var zero R
	t.spin()
	done, err := t.await()
	if err != nil {
		return zero, err
	}
	if done != nil {
		select {
		case <-done:
		case <-ctx.Done():
			return zero, ctx.Err()
		}
	}
	t.s.edge.acquire()
	t.settle()
	return t.result, t.err
}

// closed is what Done returns where there is nothing to wait for.
var closed = func() <-chan struct{} { c := make(chan struct{}); close(c); return c }()

// Done returns a channel that is closed when Wait has its answer: when the coroutine has ended. Should a C body wait for it
// instead, the channel is closed at once, as Wait then returns ErrBusy.
func (t *Task[R]) Done() <-chan struct{} {
	done, _ := t.await()
	if done == nil {
		return closed
	}
	return done
}

// Err returns the error of Wait, and nil as long as the coroutine goes on.
func (t *Task[R]) Err() error {
	if !t.finished.Load() {
		if t.isBody || !t.join.Ended() {
			return nil
		}
		if _, err := t.await(); err != nil {
			return err
		}
	}
	if t.finished.Load() {
		return t.err
	}
	return nil
}

// await returns nil if the result is there, else a channel that is closed when it is. ErrBusy: a C body will have it.
func (t *Task[R]) await() (<-chan struct{}, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if done, err := t.awaitLocked(); done || err != nil {
		return nil, err
	}
	if t.done == nil {
		t.done = make(chan struct{})
	}
	return t.done, nil
}

// awaitLocked sees to it that complete is called. True: the result is there. ErrBusy: a C body will have it.
func (t *Task[R]) awaitLocked() (bool, error) {
	if t.finished.Load() {
		return true, nil
	}
	if t.register() {
		return false, nil
	}
	if !t.finish() {
		return false, ErrBusy
	}
	return true, nil
}

// register sees to it that somebody completes the task. False: it has ended, or a C body joins it.
func (t *Task[R]) register() bool {
	if !t.registered {
		t.slot, t.registered = t.s.poller.register(t.join, t)
	}
	return t.registered
}

// whenDone has f called once when Wait has its answer: now, or by whoever completes the task, which f must not keep waiting,
// with mu held.
func (t *Task[R]) whenDone(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if done, err := t.awaitLocked(); done || err != nil {
		f()
		return
	}
	if t.watch == nil {
		t.watch = &watch{}
	}
	t.watch.after = append(t.watch.after, f)
}

// isAwaited tells whether anybody relies on complete.
func (t *Task[R]) isAwaited() bool { return t.done != nil || len(t.awaiters) > 0 || t.watch != nil }

// complete is called by the poller, once, when a registered task has ended.
func (t *Task[R]) complete() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.finish()
	t.tell()
	if t.counted {
		t.s.core.EndPending()
	}
}

// completeBody is called by the executor, once, when a body has set the result.
func (t *Task[R]) completeBody() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.finished.Store(true)
	t.tell()
}

// tell wakes all who wait for a finished task.
func (t *Task[R]) tell() {
	if w := t.watch; w != nil {
		t.watch = nil
		if w.stop != nil {
			w.stop()
		}
		for _, f := range w.after {
			f()
		}
	}
	if t.done != nil {
		close(t.done)
		t.done = nil
	}
	for _, w := range t.awaiters {
		w.tell()
	}
	t.awaiters = nil
}

// forget takes an awaiter off the list. False: it has been told.
func (t *Task[R]) forget(w awaiter) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.awaiters, w)
	if i < 0 {
		return false
	}
	t.awaiters = slices.Delete(t.awaiters, i, i+1)
	w.forget()
	return true
}

// settle gives up the record of a body whose result somebody has had: like that of a C body, no C body can join it any more.
func (t *Task[R]) settle() {
	if !t.isBody {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.settled && csrc.Detach(uint64(t.handle)) != csrc.Busy { // else a C body has it: or gives it up, and then drop detaches it
		t.settled = true
		t.clean.Stop()
	}
}

// finish takes the result. False: it is not there yet, and somebody else has registered for it.
func (t *Task[R]) finish() bool { return t.take(t.join.Take) }

func (t *Task[R]) take(take func(unsafe.Pointer, uintptr) csrc.Status) bool {
	status := take(unsafe.Pointer(&t.result), reflect.TypeFor[R]().Size())
	if status == csrc.Busy {
		return false
	}
	t.clean.Stop()
	t.s.edge.acquire()
	t.err = statusError(status)
	if status == csrc.Canceled && t.watch != nil && t.watch.ctx != nil && t.watch.ctx.Err() != nil {
		t.err = context.Cause(t.watch.ctx)
	}
	t.finished.Store(true)
	return true
}
