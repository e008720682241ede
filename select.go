package coro

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"unsafe"

	"github.com/organzine/coro/internal/core"
)

// select.go - the first of several channel operations that can be done.

// A Case is one of the operations that a Select chooses from. OnRecv and OnSend make it. It may be
// used again and again, by one Select at a time.
type Case struct {
	o     *object // nil: the case can never be done
	core  core.Chan
	send  bool
	bytes uintptr
	// of bytes bytes, without pointers: the value to send, or room for the one received
	value   unsafe.Pointer
	buffers []uintptr // offsets of those that it sends, or that are freed when it receives them
}

// OnRecv is the Case that receives from c, into *v; if v is nil the value is dropped, and a
// [Buffer] in it freed. As in Go, a nil channel never has a value.
func OnRecv[T any](c *Chan[T], v *T) Case {
	if c == nil {
		return Case{}
	}
	var dropped []uintptr
	if v == nil {
		v, dropped = new(T), c.buffers
	}
	return Case{&c.object, c.core, false, unsafe.Sizeof(*v), unsafe.Pointer(v), dropped}
}

// OnSend is the Case that sends v to c. As in Go, a nil channel never takes a value. A [Buffer] in
// v is the receiver's if this case is done, and else the caller's as before. During the Select it
// is nobody's: other uses of it are ErrStale. Several cases may send the same Buffer.
func OnSend[T any](c *Chan[T], v T) Case {
	if c == nil {
		return Case{}
	}
	return Case{&c.object, c.core, true, unsafe.Sizeof(v), unsafe.Pointer(&v), c.buffers}
}

func (k *Case) try() core.Status {
	if k.send {
		return k.core.TrySend(k.value)
	}
	return k.core.TryRecv(k.value)
}

// Select does one of the cases as soon as one can be done, and returns its index. Among several
// that can be done it chooses at random. A case of a closed channel can be done: then the error is
// ErrChanClosed, with the index.
//
// Select waits as Chan.Send does, on channels of one scheduler, since the close of that scheduler
// ends the wait. C bodies may use the channels at the same time; coro_select in C takes channels of
// any scheduler. Without having done a case Select returns -1 and the cause, if the context ends
// first or the Go body is canceled; ErrClosed, if the scheduler is closed meanwhile; ErrStale or
// ErrBusy, if a Buffer cannot be sent; an *OptionError, if there is no channel, more than 64 cases,
// or a channel of another scheduler. It costs what the Sends and Recvs cost until one can be done,
// and 1 µs more if it waits.
func Select(ctx context.Context, cases ...Case) (int, error) {
	sel := selection{cases: cases, index: -1}
	if err := sel.check(); err != nil {
		return -1, err
	}
	if sel.carries {
		return passing(cases, func(sel *selection) (int, error) { return sel.wait(ctx) })
	}
	return sel.wait(ctx)
}

// wait is Select of cases that were checked.
func (sel *selection) wait(ctx context.Context) (int, error) {
	first, random := sel.first(), rand.Uint32()
	if random&first.core.Sample() == 0 {
		spendAt(ctx, first.core)
	}
	if status := sel.tryFrom(random); status == core.TimedOut {
		status, err := first.o.wait(ctx, waitOp{bytes: sel.room(), try: sel.try,
			begin: sel.begin, used: sel.used})
		if err != nil {
			return -1, err
		}
		if sel.index < 0 {
			return -1, statusError(status, ofChan)
		}
	}
	return sel.end()
}

// TrySelect is Select that does not wait: if none of the cases can be done it returns -1, and nil.
func TrySelect(cases ...Case) (int, error) {
	sel := selection{cases: cases, index: -1}
	if err := sel.check(); err != nil {
		return -1, err
	}
	if sel.carries {
		return passing(cases, (*selection).tryOnce)
	}
	return sel.tryOnce()
}

// tryOnce is TrySelect of cases that were checked.
func (sel *selection) tryOnce() (int, error) {
	if sel.tryFrom(rand.Uint32()) == core.TimedOut {
		return -1, nil
	}
	return sel.end()
}

// A selection is one call of Select.
type selection struct {
	cases   []Case
	live    []int       // the indices of the cases with a channel, in a gowaiter's order
	index   int         // of the case that was done; -1: none
	status  core.Status // of that
	carries bool        // some case sends Buffers
}

// first is the case whose channel waits, and counts the wait: each would do.
func (sel *selection) first() *Case {
	for i := range sel.cases {
		if k := &sel.cases[i]; k.o != nil {
			return k
		}
	}
	return nil
}

func (sel *selection) check() error {
	if len(sel.cases) > core.SelectMax {
		return &OptionError{"Select", len(sel.cases),
			fmt.Sprintf("chooses from at most %d cases", core.SelectMax)}
	}
	first := sel.first()
	if first == nil {
		return &OptionError{"Select", len(sel.cases),
			"needs a case with a channel: it could only wait for ever"}
	}
	for i := range sel.cases {
		k := &sel.cases[i]
		if k.o == nil {
			continue
		}
		if k.o.s != first.o.s {
			return &OptionError{"Select", i,
				"the case of this index has a channel of another scheduler: " +
					"a Select needs channels of one scheduler"}
		}
		if k.send {
			k.o.edge.Release()
			sel.carries = sel.carries || len(k.buffers) > 0
		}
	}
	return nil
}

func (sel *selection) try() core.Status { return sel.tryFrom(rand.Uint32()) }

// tryFrom does the first case that can be done at once, from a random one on.
func (sel *selection) tryFrom(random uint32) core.Status {
	i := int(uint64(random) * uint64(len(sel.cases)) >> 32)
	for range sel.cases {
		if k := &sel.cases[i]; k.o != nil {
			if status := k.try(); status != core.TimedOut {
				sel.index, sel.status = i, status
				return status
			}
		}
		if i++; i == len(sel.cases) {
			i = 0
		}
	}
	return core.TimedOut
}

// room is the number of bytes that a gowaiter needs.
func (sel *selection) room() uintptr {
	bytes := uintptr(0)
	sel.live = make([]int, 0, len(sel.cases))
	for i, k := range sel.cases {
		if k.o != nil {
			sel.live = append(sel.live, i)
			bytes += aligned(k.bytes)
		}
	}
	return core.SelectBytes(len(sel.live)) + bytes
}

// aligned is the room for a value.
func aligned(bytes uintptr) uintptr { return (bytes + 15) &^ 15 }

// values yields the addresses of the values in a gowaiter's memory.
func (sel *selection) values(g core.GoWaiter, yield func(n int, k *Case, at unsafe.Pointer)) {
	at := unsafe.Add(g.Value(), core.SelectBytes(len(sel.live)))
	for n, i := range sel.live {
		k := &sel.cases[i]
		yield(n, k, at)
		at = unsafe.Add(at, aligned(k.bytes))
	}
}

func copyValue(to, from unsafe.Pointer, bytes uintptr) {
	copy(unsafe.Slice((*byte)(to), bytes), unsafe.Slice((*byte)(from), bytes))
}

func (sel *selection) begin(g core.GoWaiter) core.Status {
	sel.values(g, func(n int, k *Case, at unsafe.Pointer) {
		if k.send {
			copyValue(at, k.value, k.bytes)
		}
		g.SetCase(n, k.core, k.send, at)
	})
	return g.Select(len(sel.live))
}

func (sel *selection) used(g core.GoWaiter) {
	done, status := g.Selected()
	sel.index, sel.status = sel.live[done], status
	sel.values(g, func(n int, k *Case, at unsafe.Pointer) {
		if n == done && !k.send && status == core.OK {
			copyValue(k.value, at, k.bytes)
		}
	})
}

func (sel *selection) end() (int, error) {
	if k := &sel.cases[sel.index]; !k.send {
		k.o.edge.Acquire()
		if len(k.buffers) > 0 && sel.status == core.OK {
			core.DropBuffers(k.value, k.buffers)
		}
	}
	runtime.KeepAlive(sel.cases)
	return sel.index, statusError(sel.status, ofChan)
}
