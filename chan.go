package coro

import (
	"context"
	"fmt"
	"iter"
	"reflect"
	"runtime"
	"unsafe"

	"github.com/organzine/coro/csrc"
)

const (
	ElementMax  = 64 << 10 // the most bytes that a value of a Chan may have
	CapacityMax = 1 << 31  // the most values that a Chan may have room for
)

// A Chan is a channel between coroutines, C or Go, and goroutines: the same for C bodies, which get its Address, as a coro_chan.
// It behaves as a Go channel: first in first out, unbuffered if its capacity is 0, closed once.
//
// Its methods may be called by anybody. Called by a Go body with its Context, or one derived from it, they suspend the
// coroutine; else the goroutine waits as it does for anything in Go. Passing a value through a buffer costs some 20 ns, without a cgo
// call, where nobody is to be woken; between two cores 20 to 60 ns with room for some dozens, as what one side writes the other has to
// fetch, and up to 130 ns without. Waiting and waking are a cgo call each, and more. Where both sides are goroutines a Go channel is better.
//
// Its values hold no pointers, and have at most ElementMax bytes. Its memory is C's, and is freed when nothing refers to the
// Chan; after Address, with its scheduler.
type Chan[T any] struct {
	object
	core     csrc.Chan
	capacity int
	gatherer gatherer
}

// NewChan makes a channel of s, with room for so many values. Blocking calls on it end with ErrClosed when s is closed. It returns
// an *OptionError, ErrNoMemory or ErrNoCgo.
func NewChan[T any](s *Scheduler, capacity int) (*Chan[T], error) {
	if !csrc.Available {
		return nil, ErrNoCgo
	}
	t := reflect.TypeFor[T]()
	if t.Size() > ElementMax {
		return nil, &OptionError{"NewChan", t, fmt.Sprintf("has %d bytes, and at most %d are passed: pass the address of C memory instead", t.Size(), ElementMax)}
	}
	if bad := pointerIn(t); bad != nil {
		return nil, &OptionError{"NewChan", t, fmt.Sprintf(
			"contains %v, which points into Go: pass numbers, arrays and structs of them, a runtime/cgo.Handle, or C memory as a uintptr", bad)}
	}
	if capacity < 0 || uint64(capacity) > CapacityMax {
		return nil, &OptionError{"NewChan", capacity, fmt.Sprintf("needs a capacity from 0 to %d", uint64(CapacityMax))}
	}
	core, status := csrc.NewChan(t.Size(), capacity)
	c := &Chan[T]{core: core, capacity: capacity}
	return adopt(c, &c.object, s, core, status)
}

func chanError(status csrc.Status) error {
	if status == csrc.Closed {
		return ErrChanClosed
	}
	return statusError(status)
}

// Send sends v, as soon as there is room for it, or somebody receives it. It returns ErrChanClosed; the cause, if the context
// ends first, or the Go body is canceled; or ErrClosed, if the scheduler is closed meanwhile: then v was not sent.
func (c *Chan[T]) Send(ctx context.Context, v T) error {
	c.edge.release()
	status := c.core.TrySend(unsafe.Pointer(&v))
	var err error
	if status == csrc.TimedOut {
		status, err = c.send(ctx, v)
	}
	runtime.KeepAlive(c)
	if err != nil {
		return err
	}
	return chanError(status)
}

func (c *Chan[T]) send(ctx context.Context, v T) (csrc.Status, error) {
	return c.wait(ctx, waitOp{
		bytes:  unsafe.Sizeof(v),
		try:    func() csrc.Status { return c.core.TrySend(unsafe.Pointer(&v)) },
		may:    func() bool { return c.core.MaySend(c.capacity) },
		values: c.capacity / 2,
		begin: func(g csrc.GoWaiter) csrc.Status {
			*(*T)(g.Value()) = v
			return c.core.Send(g)
		},
	})
}

// TrySend is Send that does not wait: it tells whether v was sent.
func (c *Chan[T]) TrySend(v T) (bool, error) {
	c.edge.release()
	status := c.core.TrySend(unsafe.Pointer(&v))
	runtime.KeepAlive(c)
	if status == csrc.TimedOut {
		return false, nil
	}
	return status == csrc.OK, chanError(status)
}

// Recv receives a value, as soon as there is one. It returns ErrChanClosed when the channel is closed and empty; or, as Send, why
// it has received nothing.
func (c *Chan[T]) Recv(ctx context.Context) (T, error) {
	var v T
	status := c.core.TryRecv(unsafe.Pointer(&v))
	var err error
	if status == csrc.TimedOut {
		v, status, err = c.recv(ctx)
	}
	c.edge.acquire()
	runtime.KeepAlive(c)
	if err != nil {
		return v, err
	}
	return v, chanError(status)
}

func (c *Chan[T]) recv(ctx context.Context) (v T, status csrc.Status, err error) {
	status, err = c.wait(ctx, waitOp{
		bytes: unsafe.Sizeof(v),
		try:   func() csrc.Status { return c.core.TryRecv(unsafe.Pointer(&v)) },
		may:   c.mayRecv,
		begin: c.core.Recv,
		used: func(g csrc.GoWaiter) {
			if g.Status() == csrc.OK {
				v = *(*T)(g.Value())
			}
		},
	})
	return v, status, err
}

// mayRecv tells one who looks for it that something can be received.
func (c *Chan[T]) mayRecv() bool {
	if !c.core.MayRecv() {
		return false
	}
	if c.capacity > 0 {
		c.gatherer.gather(c.capacity/2, c.core.LenHint)
	}
	return true
}

// TryRecv is Recv that does not wait: it tells whether there was a value.
func (c *Chan[T]) TryRecv() (v T, ok bool, err error) {
	status := c.core.TryRecv(unsafe.Pointer(&v))
	c.edge.acquire()
	runtime.KeepAlive(c)
	if status == csrc.TimedOut {
		return v, false, nil
	}
	return v, status == csrc.OK, chanError(status)
}

// All yields what is received until the channel is closed and empty, or nothing more can be received: the context has ended.
func (c *Chan[T]) All(ctx context.Context) iter.Seq[T] {
	return func(yield func(T) bool) {
		for {
			v, err := c.Recv(ctx)
			if err != nil || !yield(v) {
				return
			}
		}
	}
}

// Close closes the channel: nothing is sent any more, and who waits gets ErrChanClosed, those who receive when they have
// received what is in it. It returns ErrChanClosed if it was closed before.
func (c *Chan[T]) Close() error {
	c.edge.release()
	defer runtime.KeepAlive(c)
	return chanError(c.core.Close())
}

// Len is how many values are in the channel now.
func (c *Chan[T]) Len() int {
	defer runtime.KeepAlive(c)
	return c.core.Len()
}

// Cap is how many values there is room for.
func (c *Chan[T]) Cap() int { return c.capacity }
