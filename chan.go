package coro

import (
	"context"
	"fmt"
	"iter"
	"reflect"
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/plain"
	"github.com/organzine/coro/internal/policy"
	"github.com/organzine/coro/internal/spin"
	"github.com/organzine/coro/internal/zero"
)

const (
	elementMax = 64 << 10 // most bytes of a value of a Chan
	// most bytes of a value with Buffers
	bufferedBytes = 512
	capacityMax   = 1 << 31 // most values that a Chan may have room for
)

// A Chan is a channel between coroutines, C or Go, and goroutines. C bodies get its Address, as a
// coro_chan *. It behaves as a Go channel: first in first out, unbuffered if its capacity is 0,
// closed once.
//
// Any caller may call its methods. Called by a Go body with its Context, or with one derived from
// it, a method that waits suspends the coroutine; else the goroutine waits as it does for anything
// in Go. Passing a value through a buffer costs some 20 ns, without a cgo call, where nobody is to
// be woken; between two cores 20 to 60 ns with room for some dozens of values, as each side has to
// fetch what the other writes, and up to 130 ns without. Unbuffered, a value costs some 150 ns
// between two cores, without a cgo call, while each side comes within some microseconds. Waiting
// for longer costs a cgo call and more, and so does waking. Where both sides are goroutines a Go
// channel is better.
//
// Its values hold no pointers, and have at most 64 KiB each. Its memory is C's, and is freed
// when nothing refers to the Chan; after Address, with its scheduler, unless Free gives the Chan
// back. After Free each method that returns an error returns ErrDestroyed. Values that were left in
// the Chan are lost.
//
// A value of at most 512 bytes may have a [Buffer], or several. Send and TrySend pass them to the
// receiver, without a copy; they return ErrStale or ErrBusy, and have sent nothing, where one of
// them cannot be passed. Those that are left in the Chan are freed with it.
type Chan[T any] struct {
	object
	core     core.Chan
	capacity int
	gatherer spin.Gatherer
	byCall   atomic.Int32 // see goesByCall
	buffers  []uintptr    // offsets of the Buffers in a value
}

// NewChan makes a channel of s, with room for capacity values, up to 2³¹. Blocking calls on it end
// with ErrClosed when s is closed, also those of Go bodies of other schedulers. NewChan returns an
// *OptionError, also if s is nil, ErrNoMemory (wrapped: see [errors.Is]) or ErrNoCgo.
func NewChan[T any](s *Scheduler, capacity int) (*Chan[T], error) {
	if err := makable(s, "NewChan"); err != nil {
		return nil, err
	}
	t := reflect.TypeFor[T]()
	if t.Size() > elementMax {
		return nil, &OptionError{"NewChan", t, fmt.Sprintf(
			"has %d bytes, and at most %d are passed: "+
				"pass the address of C memory instead",
			t.Size(), elementMax)}
	}
	if why := plain.Refusal(t); why != "" {
		return nil, &OptionError{"NewChan", t, why}
	}
	if capacity < 0 || uint64(capacity) > capacityMax {
		return nil, &OptionError{"NewChan", capacity,
			fmt.Sprintf("needs a capacity from 0 to %d", uint64(capacityMax))}
	}
	buffers, err := bufferWords("NewChan", t, bufferedBytes)
	if err != nil {
		return nil, err
	}
	if len(buffers) > 0 && t.Size() > bufferedBytes {
		return nil, &OptionError{"NewChan", t, fmt.Sprintf("has a coro.Buffer, and %d bytes: at "+
			"most %d are passed with it: put what is large into a Buffer, too", t.Size(),
			bufferedBytes)}
	}
	inner, status := core.NewChan(t.Size(), capacity, mask(buffers))
	if status == core.NoMemory {
		return nil, &memoryError{fmt.Sprintf("coro: no memory for a channel with room for %d "+
			"values of %d bytes: make it with a smaller capacity", capacity, t.Size())}
	}
	c := &Chan[T]{core: inner, capacity: capacity, buffers: buffers}
	c.room = t.Size() * uintptr(capacity)
	return adopt(c, &c.object, s, inner, status)
}

// Send sends v, as soon as there is room for it, or a receiver takes it. Without having sent v it
// returns ErrChanClosed; the cause, if the context ends first or the Go body is canceled; or
// ErrClosed, if the scheduler is closed meanwhile.
func (c *Chan[T]) Send(ctx context.Context, v T) error {
	c.edge.Release()
	var status core.Status
	var err error
	if c.meets() {
		status, err = c.pass(ctx, true, unsafe.Pointer(&v))
	} else {
		status = c.core.SendLeaf(unsafe.Pointer(&v))
		if status > core.OK {
			status = c.afterLeaf(ctx, true, unsafe.Pointer(&v), status)
		}
	}
	if status == core.TimedOut {
		status, err = c.send(ctx, v)
	}
	runtime.KeepAlive(c)
	if err != nil {
		return err
	}
	return statusError(status, ofChan)
}

// afterLeaf is what a wait at v comes to whose leaf has come to Sampled or ByCall. That is a wait
// to be looked at: a value that needs the call goes by a waiter, and no such value is sampled.
func (c *Chan[T]) afterLeaf(
	ctx context.Context, send bool, v unsafe.Pointer, status core.Status,
) core.Status {
	spendAt(ctx, c.core)
	switch {
	case status == core.Sampled:
		return core.OK
	case send && len(c.buffers) > 0: // no leaf sends any
		return core.TimedOut
	}
	return c.core.TryByCall(send, v)
}

// meets tells whether values go by meet. Not those of a zero value.
func (c *Chan[T]) meets() bool {
	var v T
	return policy.HasMeet && c.capacity == 0 && unsafe.Sizeof(v) <= core.MeetMost && c.self != nil
}

// pass passes the value at v through c, which has no room: by cgo where the other end sleeps, else
// by meet. TimedOut: the caller is to wait.
func (c *Chan[T]) pass(ctx context.Context, send bool, v unsafe.Pointer) (core.Status, error) {
	status, err := core.TimedOut, error(nil)
	if send && len(c.buffers) > 0 {
		return status, nil
	}
	bytes := unsafe.Sizeof(*new(T))
	if left := c.goesByCall(); left > 0 {
		if uint32(left)&c.core.Sample() == 0 {
			spendAt(ctx, c.core)
		}
		status = c.core.PassByCall(send, v, bytes)
	}
	if status == core.TimedOut {
		status, err = c.meet(ctx, c.core, send, v, bytes)
	}
	if status == core.ByCall {
		c.byCall.Store(callsInARow)
		status = c.core.PassByCall(send, v, bytes)
	}
	return status, err
}

// goesByCall is how many values, from the next on, are to be tried by cgo at first. It is racy, a
// hint.
func (c *Chan[T]) goesByCall() int32 {
	left := c.byCall.Load()
	if left > 0 {
		c.byCall.Store(left - 1)
	}
	return left
}

// send is the rest of Send, whose value is the caller's copy.
func (c *Chan[T]) send(ctx context.Context, v T) (core.Status, error) {
	if len(c.buffers) == 0 {
		return c.sendPassed(ctx, v, nil)
	}
	status := core.PassBuffers(unsafe.Pointer(&v), c.buffers)
	if status != core.OK {
		return status, bufferStatus(status)
	}
	sent := false
	defer func() { // ctx may panic
		if !sent {
			core.UnpassBuffers(unsafe.Pointer(&v), c.buffers)
		}
	}()
	status, err := c.core.TryByCall(true, unsafe.Pointer(&v)), error(nil)
	if status == core.TimedOut {
		return c.sendPassed(ctx, v, func() { sent = true })
	}
	sent = status == core.OK && err == nil
	return status, err
}

// sendPassed calls sent, if that is not nil, when v is sent: ctx may panic after that.
func (c *Chan[T]) sendPassed(ctx context.Context, v T, sent func()) (core.Status, error) {
	op := waitOp{
		bytes:  unsafe.Sizeof(v),
		try:    func() core.Status { return c.core.TrySend(unsafe.Pointer(&v)) },
		may:    func() bool { return c.core.MaySend(c.capacity) },
		values: c.capacity / 2,
		begin: func(g core.GoWaiter) core.Status {
			*(*T)(g.Value()) = v
			return c.core.Send(g)
		},
	}
	if sent != nil {
		try := op.try
		op.try = func() core.Status { return tellSent(try(), sent) }
		op.used = func(g core.GoWaiter) { tellSent(g.Status(), sent) }
	}
	return c.wait(ctx, op)
}

func tellSent(status core.Status, sent func()) core.Status {
	if status == core.OK {
		sent()
	}
	return status
}

// TrySend is Send that does not wait: it tells whether v was sent. It returns ErrChanClosed, or
// nil.
func (c *Chan[T]) TrySend(v T) (bool, error) {
	c.edge.Release()
	if len(c.buffers) > 0 {
		if status := core.PassBuffers(unsafe.Pointer(&v), c.buffers); status != core.OK {
			return false, bufferStatus(status)
		}
	}
	status := c.core.TrySend(unsafe.Pointer(&v))
	runtime.KeepAlive(c)
	if status != core.OK && len(c.buffers) > 0 {
		core.UnpassBuffers(unsafe.Pointer(&v), c.buffers)
	}
	if status == core.TimedOut {
		return false, nil
	}
	return status == core.OK, statusError(status, ofChan)
}

// Recv receives a value, as soon as there is one. Without a value it returns ErrChanClosed, when
// the channel is closed and empty; the cause, if the context ends first or the Go body is canceled;
// or ErrClosed, if the scheduler is closed meanwhile.
func (c *Chan[T]) Recv(ctx context.Context) (T, error) {
	var v T
	var status core.Status
	var err error
	if c.meets() {
		status, err = c.pass(ctx, false, unsafe.Pointer(&v))
	} else {
		status = c.core.RecvLeaf(unsafe.Pointer(&v))
		if status > core.OK {
			status = c.afterLeaf(ctx, false, unsafe.Pointer(&v), status)
		}
	}
	if status == core.TimedOut {
		v, status, err = c.recv(ctx)
	}
	c.edge.Acquire()
	runtime.KeepAlive(c)
	if err != nil {
		return v, err
	}
	return v, statusError(status, ofChan)
}

func (c *Chan[T]) recv(ctx context.Context) (v T, status core.Status, err error) {
	status, err = c.wait(ctx, waitOp{
		bytes: unsafe.Sizeof(v),
		try:   func() core.Status { return c.core.TryRecv(unsafe.Pointer(&v)) },
		may:   c.mayRecv,
		begin: c.core.Recv,
		used: func(g core.GoWaiter) {
			if g.Status() == core.OK {
				v = *(*T)(g.Value())
			}
		},
	})
	return v, status, err
}

// mayRecv tells a goroutine that looks for a value whether there is one.
func (c *Chan[T]) mayRecv() bool {
	if !c.core.MayRecv() {
		return false
	}
	if c.capacity > 0 {
		c.gatherer.Gather(c.capacity/2, c.core.LenHint)
	}
	return true
}

// TryRecv is Recv that does not wait: it tells whether there was a value. It returns ErrChanClosed,
// or nil.
func (c *Chan[T]) TryRecv() (v T, ok bool, err error) {
	status := c.core.TryRecv(unsafe.Pointer(&v))
	c.edge.Acquire()
	runtime.KeepAlive(c)
	if status == core.TimedOut {
		return v, false, nil
	}
	return v, status == core.OK, statusError(status, ofChan)
}

// All yields received values, each with a nil error, until the channel is closed and empty. If
// receiving fails for another reason, one last pair is the zero value and that error of Recv.
//
//	for v, err := range c.All(ctx) {
//		if err != nil { … }
//	}
func (c *Chan[T]) All(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			v, err := c.Recv(ctx)
			if err == ErrChanClosed || !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// Close closes the channel: nothing is sent any more. Waiting senders get ErrChanClosed; receivers
// get it when they have received the values that are left. Close returns ErrChanClosed if the
// channel was closed before.
func (c *Chan[T]) Close() error {
	c.edge.Release()
	defer runtime.KeepAlive(c)
	return statusError(c.core.Close(), ofChan)
}

// Len is the number of values in the channel now.
func (c *Chan[T]) Len() int {
	defer runtime.KeepAlive(c)
	return c.core.Len()
}

// Cap is the number of values that the channel has room for.
func (c *Chan[T]) Cap() int {
	if c.self == nil {
		zero.Value("NewChan")
	}
	return c.capacity
}
