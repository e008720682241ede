package coro

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/plain"
)

// carry.go - buffers that pass to coroutines, and back.

// bufferWords is where a type has Buffers, which is allowed in its first `most` bytes.
func bufferWords(what string, t reflect.Type, most uintptr) ([]uintptr, error) {
	offsets, more := plain.Buffers(t, most)
	if more {
		return nil, &OptionError{what, t, fmt.Sprintf("has a coro.Buffer beyond its first %d "+
			"bytes: put what is large into a Buffer, too", most)}
	}
	return offsets, nil
}

// mask has a bit for each of the words at the offsets.
func mask(offsets []uintptr) (bits uint64) {
	for _, offset := range offsets {
		bits |= 1 << (offset / 8)
	}
	return bits
}

// tooManyCarry says that the core's table of such functions is full.
const tooManyCarry = "too many functions have buffers in their arguments or results: " +
	"a process has at most 1024 of them"

// declareBuffers tells the core of a function whose coroutines have buffers.
func declareBuffers(spec *core.Spec) error {
	l := spec.Loan
	if spec.Flags&core.Carries == 0 {
		return nil
	}
	switch core.DeclareBuffers(spec.Fn, uint8(mask(l.Buffers())), uint8(mask(l.ResultBuffers()))) {
	case core.OK:
		return nil
	case core.NoMemory:
		return &memoryError{"coro: " + tooManyCarry}
	}
	return &OptionError{"NewFunc", "Buffer", "is where another Func of the same C function has " +
		"none, or the other way round: use the same types"}
}

// passBuffers makes those of the argument the coroutine's, which is about to start: all, or none. It
// returns where they are.
func (f *Func[A, R]) passBuffers(arg *A) ([]uintptr, error) {
	offsets := f.spec.Loan.Buffers()
	if len(offsets) == 0 {
		return nil, nil
	}
	return offsets, bufferStatus(core.PassBuffers(unsafe.Pointer(arg), offsets))
}

// carrying is the Go function f as C bodies call it: the buffers of the argument pass to f, and those
// of the result to the caller. results is where they are.
func carrying[A, R any](what string, f func(context.Context, A) (R, error)) (
	_ func(context.Context, A) (R, error), results []uintptr, _ error,
) {
	const most = 4096
	args, err := bufferWords(what, reflect.TypeFor[A](), most)
	if err != nil {
		return nil, nil, err
	}
	if results, err = bufferWords(what, reflect.TypeFor[R](), most); err != nil {
		return nil, nil, err
	}
	if len(args)+len(results) == 0 {
		return f, nil, nil
	}
	return func(ctx context.Context, a A) (R, error) {
		if err := bufferStatus(core.PassBuffers(unsafe.Pointer(&a), args)); err != nil {
			return *new(R), err
		}
		r, err := f(ctx, a)
		if err == nil {
			err = passResult(unsafe.Pointer(&r), results)
		}
		return r, err
	}, results, nil
}

// passResult passes the buffers of a result, or frees those that are not stale: nobody else has
// them.
func passResult(result unsafe.Pointer, offsets []uintptr) error {
	status := core.PassBuffers(result, offsets)
	if status != core.OK {
		core.DropBuffers(result, offsets)
	}
	return bufferStatus(status)
}

// spawnCarrying has spawn start a coroutine without a task, if it has nothing of its caller's but
// buffers.
func (f *Func[A, R]) spawnCarrying(what string, arg *A, spawn func() error) error {
	if f.spec.Flags&core.Carries == 0 || f.spec.Loan.Borrows() {
		return cannotLend(what, f.spec.Loan)
	}
	buffers, err := f.passBuffers(arg)
	if err != nil {
		return err
	}
	started := false
	defer func() { // the context of SpawnWait may panic
		if !started {
			core.UnpassBuffers(unsafe.Pointer(arg), buffers)
		}
	}()
	err = spawn()
	started = err == nil
	return err
}

// took says that the buffers of the result are the caller's.
func (t *Task[R]) took() {
	if t.keeper != nil {
		t.keeper.taken.Store(true)
	}
}

// A keeper has the buffers of a Task's result, until a Wait has returned it.
type keeper struct {
	taken atomic.Bool
	ids   []uint64
}

// keepBuffers sees to it that the buffers of the result, which is there, are freed if the task is
// dropped before a Wait has returned the result.
func (t *Task[R]) keepBuffers(offsets []uintptr) {
	if len(offsets) == 0 {
		return
	}
	k := &keeper{}
	for _, offset := range offsets {
		k.ids = append(k.ids, *(*uint64)(unsafe.Add(unsafe.Pointer(&t.result), offset)))
	}
	t.keeper = k
	runtime.AddCleanup(t, func(k *keeper) {
		if !k.taken.Load() {
			core.DropBufferIDs(k.ids)
		}
	}, k)
}

// A passedBuffer is a Buffer that a Select has passed: its owner's handle, and that in the values
// which are sent.
type passedBuffer struct{ was, now uint64 }

// passing has do select from copies of the cases, whose buffers have passed. What is not sent is
// taken back, also if do panics, perhaps after it has sent. See sync/sendcase.c.
func passing(cases []Case, do func(*selection) (int, error)) (int, error) {
	var passed []passedBuffer
	cases, copies := slices.Clone(cases), slices.Clone(cases)
	sel := &selection{cases: copies, index: -1}
	defer func() {
		sent := sel.index >= 0 && sel.status == core.OK
		for _, b := range passed {
			if !sent || !cases[sel.index].sends(b.now) {
				core.UnpassBuffers(unsafe.Pointer(&b.now), []uintptr{0})
			}
		}
	}()
	for i := range cases {
		var err error
		if passed, err = cases[i].pass(passed); err != nil {
			return -1, err
		}
		if copies[i].value = cases[i].value; copies[i].send {
			copies[i].buffers = nil
		}
	}
	if err := sel.check(); err != nil {
		return -1, err
	}
	return do(sel)
}

// pass passes the buffers of k's value, which becomes a copy, but for those that have passed.
func (k *Case) pass(passed []passedBuffer) ([]passedBuffer, error) {
	if len(k.buffers) == 0 {
		return passed, nil
	}
	value := unsafe.Pointer(unsafe.SliceData(make([]uint64, (k.bytes+7)/8)))
	copyValue(value, k.value, k.bytes)
	others := passed
	k.value = value
	for _, offset := range k.buffers {
		at := (*uint64)(unsafe.Add(value, offset))
		was := *at
		i := slices.IndexFunc(others, func(b passedBuffer) bool { return b.was == was })
		switch {
		case was == 0:
		case i < 0:
			status := core.PassBuffers(unsafe.Pointer(at), []uintptr{0})
			if status != core.OK {
				return passed, bufferStatus(status)
			}
			passed = append(passed, passedBuffer{was, *at})
		case k.sends(others[i].now): // twice in one value
			return passed, errStaleBuffer
		default:
			*at = others[i].now
		}
	}
	return passed, nil
}

// sends tells whether one of the buffers that k sends is id.
func (k *Case) sends(id uint64) bool {
	return slices.ContainsFunc(k.buffers, func(offset uintptr) bool {
		return *(*uint64)(unsafe.Add(k.value, offset)) == id
	})
}
