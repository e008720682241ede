package coro

import (
	"context"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/organzine/coro/csrc"
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
	registered bool // somebody will complete it
	settled    bool // of a body: its record is given up
	awaiters   []awaiter
	done       chan struct{} // made when somebody has to wait, closed when the result is there
	finished   atomic.Bool
	result     R
	err        error
}

// Start starts f on s with a copy of arg, like Spawn, and returns the Task that waits for its result. It costs about
// 200 ns, most of it for the Task itself.
func (f Func[A, R]) Start(s *Scheduler, arg A) (*Task[R], error) {
	spec, err := f.ready(s)
	if err != nil {
		return nil, err
	}
	p := s.port()
	if p == nil {
		return nil, ErrClosed
	}
	s.edge.release()
	join, status := p.Start(&spec, unsafe.Pointer(&arg))
	p.Release()
	if status != csrc.OK {
		return nil, statusError(status)
	}
	t := &Task[R]{s: s, join: join, handle: Handle(join.Handle())}
	t.clean = runtime.AddCleanup(t, drop, ref{s, join.Handle()})
	return t, nil
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

// Before Wait sleeps it looks for the end this often, this many turns of a loop apart: about 2 µs in all.
const (
	spins     = 64
	spinTurns = 64
)

func (t *Task[R]) spin() {
	for range spins {
		if t.finished.Load() || !t.isBody && t.join.Ended() {
			return
		}
		for range spinTurns {
		}
	}
}

// Wait waits for the end and returns the result, again and again the same. The error is ErrAborted if the body called
// coro_abort, ErrCanceled if it was never started because of Close, ErrNoMemory if it never got a stack, ErrStale if
// a C body has joined it; then the result is zero. It may also be ErrBusy, if a C body waits for it now, or the
// context's error: then the coroutine goes on, and Wait may be called again. It spins for a moment, then sleeps without
// holding a thread.
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

// await returns nil if the result is there, else a channel that is closed when it is. ErrBusy: a C body will have it.
func (t *Task[R]) await() (<-chan struct{}, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.finished.Load() {
		return nil, nil
	}
	if !t.registered {
		t.registered = t.s.poller.register(t.join, t)
	}
	if !t.registered {
		if !t.finish() {
			return nil, ErrBusy
		}
		return nil, nil
	}
	if t.done == nil {
		t.done = make(chan struct{})
	}
	return t.done, nil
}

// complete is called by the poller, once, when a registered task has ended.
func (t *Task[R]) complete() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.finish()
	t.tell()
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
	if !t.settled {
		t.settled = true
		t.clean.Stop()
		csrc.Detach(uint64(t.handle))
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
	t.err = statusError(status)
	t.finished.Store(true)
	return true
}
