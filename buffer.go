package coro

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"sync/atomic"

	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/leak"
)

// A Buffer is C memory with one owner at a time: a handle of 8 bytes, in C a coro_buffer. The zero
// Buffer is none.
//
// Who has made a Buffer owns it, and either frees it or sends it on, as a member of an argument or
// a result, or of a value of a Chan, without a copy. What is sent is the receiver's: each later use
// of the sender's handle, and of one that was freed, is ErrStale. A send that fails changes
// nothing: the sender owns the Buffer as before. What nobody receives the library frees, such as
// the argument of a coroutine that never starts, and the values in a Chan that is freed.
//
// A Buffer may outlive its scheduler, and is never collected: what is neither freed nor sent is
// lost. [Stats] counts, and package corotest says where such a Buffer was made.
//
// The methods may be called by any goroutine; of two at once one has ErrBusy. A method costs some
// 10 ns and what it copies, and makes no cgo call unless the Buffer has to grow.
type Buffer struct{ id uint64 }

// NewBuffer makes a Buffer of n bytes, which are zero, and which counts in s. Up to 64 KiB it costs
// less than a cgo call, and the clearing. It returns ErrNoMemory, also at the cap of
// WithBufferLimit; ErrClosed after Close; an *OptionError or ErrNoCgo.
func NewBuffer(s *Scheduler, n int) (Buffer, error) {
	b, u, err := newBuffer(s, n, "NewBuffer")
	if err == nil {
		clear(u.Bytes())
		u.Unuse()
	}
	return b, err
}

// BufferOf makes a Buffer with a copy of p. It is as NewBuffer.
func BufferOf(s *Scheduler, p []byte) (Buffer, error) {
	b, u, err := newBuffer(s, len(p), "BufferOf")
	if err == nil {
		copy(u.Bytes(), p)
		u.Unuse()
	}
	return b, err
}

// newBuffer makes a Buffer, which is in use.
func newBuffer(s *Scheduler, n int, maker string) (Buffer, core.UsedBuffer, error) {
	if err := makable(s, maker); err != nil {
		return Buffer{}, core.UsedBuffer{}, err
	}
	if err := inRange(maker, n, 0, mostBytes); err != nil {
		return Buffer{}, core.UsedBuffer{}, err
	}
	if s.closed.Load() {
		return Buffer{}, core.UsedBuffer{}, ErrClosed
	}
	var where uintptr
	if leak.On() {
		where = markOfGo | uintptr(bufferMarks.Add(1))
	}
	u, ok := s.ledger.Make(uintptr(n), where)
	runtime.KeepAlive(s)
	if !ok {
		return Buffer{}, core.UsedBuffer{}, noBuffer(n)
	}
	if where != 0 {
		leak.Made(leakBuffer{u.ID(), where})
	}
	return Buffer{u.ID()}, u, nil
}

func noBuffer(n int) error {
	return &memoryError{fmt.Sprintf("coro: no memory for a buffer of %d bytes: raise "+
		"WithBufferLimit, or wait until others are freed", n)}
}

// The errors of a Buffer's methods.
var (
	errStaleBuffer error = &bufferError{"coro: stale buffer: it was sent or freed, or never made: " +
		"use the handle that the receiver has, or make a new one", ErrStale}
	errBusyBuffer error = &bufferError{"coro: buffer in use: a Use, or another method, goes on: " +
		"try when that has returned", ErrBusy}
)

type bufferError struct {
	text string
	is   error
}

func (e *bufferError) Error() string { return e.text }
func (e *bufferError) Unwrap() error { return e.is }

func bufferStatus(status core.Status) error {
	switch status {
	case core.OK:
		return nil
	case core.Stale:
		return errStaleBuffer
	case core.Busy:
		return errBusyBuffer
	}
	return statusError(status, ofScheduler)
}

// use begins a use of the Buffer.
func (b Buffer) use() (core.UsedBuffer, error) {
	u, status := core.UseBuffer(b.id)
	return u, bufferStatus(status)
}

// Len is the number of bytes; 0 of a Buffer that is stale.
func (b Buffer) Len() int { n, _ := core.BufferSizes(b.id); return n }

// Cap is how many bytes the Buffer can have before it has to grow; 0 of one that is stale.
func (b Buffer) Cap() int { _, n := core.BufferSizes(b.id); return n }

// Use calls f with the memory of the Buffer. Within f all that would free, send or resize the
// Buffer is ErrBusy, and so is another Use. Use returns what f returns, or ErrStale or ErrBusy.
//
// The slice is C memory, and not f's to keep: after Use the memory is another's at any moment, and
// who writes there changes what others own. Nothing in Go finds that. Tests find it with go test
// -asan, or with CORO_BUFFERS=unmap in the environment: see [docs/memory.md].
//
// [docs/memory.md]: https://github.com/organzine/coro/blob/main/docs/memory.md
func (b Buffer) Use(f func([]byte) error) error {
	u, err := b.use()
	if err != nil {
		return err
	}
	defer u.Unuse()
	return f(u.Bytes())
}

// ReadAt copies from the Buffer, from the byte at off on, as [io.ReaderAt] says. It returns io.EOF,
// ErrStale, ErrBusy, or an *OptionError if off is negative.
func (b Buffer) ReadAt(p []byte, off int64) (int, error) {
	u, err := b.use()
	if err != nil {
		return 0, err
	}
	defer u.Unuse()
	have := u.Bytes()
	if off < 0 {
		return 0, badOffset("Buffer.ReadAt", off)
	}
	n := 0
	if off < int64(len(have)) {
		n = copy(p, have[off:])
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func badOffset(what string, off int64) error {
	return &OptionError{what, off, fmt.Sprintf("the offset must be from 0 to %d", mostBytes)}
}

// WriteAt copies into the Buffer, from the byte at off on. As with a file, it becomes longer where
// needed, and what lies between its end and off is zero. It returns ErrStale, ErrBusy, ErrNoMemory
// or an *OptionError, and has written nothing then.
func (b Buffer) WriteAt(p []byte, off int64) (int, error) {
	u, err := b.use()
	if err != nil {
		return 0, err
	}
	defer u.Unuse()
	if off < 0 || off > mostBytes-int64(len(p)) {
		return 0, badOffset("Buffer.WriteAt", off)
	}
	if err := lengthen(u, int(off)+len(p), int(off)); err != nil {
		return 0, err
	}
	return copy(u.Bytes()[off:], p), nil
}

// lengthen gives a buffer n bytes, unless it has more, and clears what is new up to `to`.
func lengthen(u core.UsedBuffer, n, to int) error {
	had := len(u.Bytes())
	if n <= had {
		return nil
	}
	if n > u.Room() {
		if u.Grow(min(max(n, had+had/4), mostBytes)) != core.OK && u.Grow(n) != core.OK {
			return noBuffer(n)
		}
	}
	u.SetLen(n)
	if to > had {
		clear(u.Bytes()[had:to])
	}
	return nil
}

// Append copies p to the end. It returns ErrStale, ErrBusy, ErrNoMemory or an *OptionError, and has
// written nothing then.
func (b Buffer) Append(p []byte) error {
	u, err := b.use()
	if err != nil {
		return err
	}
	defer u.Unuse()
	had := len(u.Bytes())
	if len(p) > mostBytes-had {
		return &OptionError{"Buffer.Append", len(p), fmt.Sprintf(
			"would make a buffer of %d bytes longer than %d", had, mostBytes)}
	}
	if err := lengthen(u, had+len(p), 0); err != nil {
		return err
	}
	copy(u.Bytes()[had:], p)
	return nil
}

// CopyTo copies the first bytes to p, as many as both have, and returns how many. It returns
// ErrStale or ErrBusy.
func (b Buffer) CopyTo(p []byte) (n int, err error) {
	err = b.Use(func(have []byte) error { n = copy(p, have); return nil })
	return n, err
}

// Bytes is a copy of all bytes. It returns ErrStale or ErrBusy.
func (b Buffer) Bytes() (p []byte, err error) {
	err = b.Use(func(have []byte) error { p = append([]byte{}, have...); return nil })
	return p, err
}

// Resize makes the Buffer n bytes long. What is new is zero. A Buffer that becomes smaller keeps
// its memory. It returns ErrStale, ErrBusy, ErrNoMemory or an *OptionError, and has changed nothing
// then.
func (b Buffer) Resize(n int) error {
	if err := inRange("Buffer.Resize", n, 0, mostBytes); err != nil {
		return err
	}
	u, err := b.use()
	if err != nil {
		return err
	}
	defer u.Unuse()
	if n < len(u.Bytes()) {
		u.SetLen(n)
		return nil
	}
	return lengthen(u, n, n)
}

// Cut keeps the bytes from `from` up to `to`, and moves them to the front. It returns ErrStale,
// ErrBusy or an *OptionError.
func (b Buffer) Cut(from, to int) error {
	u, err := b.use()
	if err != nil {
		return err
	}
	defer u.Unuse()
	have := u.Bytes()
	if from < 0 || from > to || to > len(have) {
		return &OptionError{"Buffer.Cut", fmt.Sprintf("%d, %d", from, to),
			fmt.Sprintf("the bytes must be from 0 to %d, the first before the last", len(have))}
	}
	copy(have, have[from:to])
	u.SetLen(to - from)
	return nil
}

// Free is the end of the Buffer. It returns ErrStale or ErrBusy. The zero Buffer is stale.
func (b Buffer) Free() error { return bufferStatus(core.FreeBuffer(b.id)) }

// Reader reads the Buffer from the start, without a change to it. Each Read is a ReadAt.
func (b Buffer) Reader() io.Reader { return io.NewSectionReader(b, 0, math.MaxInt64) }

// Writer appends to the Buffer. Each Write is an Append.
func (b Buffer) Writer() io.Writer { return bufferWriter(b) }

type bufferWriter Buffer

func (w bufferWriter) Write(p []byte) (int, error) {
	if err := Buffer(w).Append(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// String names the Buffer, and its length if it is not stale.
func (b Buffer) String() string { return fmt.Sprintf("buffer %#x, %d bytes", b.id, b.Len()) }

// mostBytes is what a buffer, and an int, can have.
const mostBytes = min(core.BufferMax, math.MaxInt)

// ------------------------------------------------------------------------------ in verifications

// A buffer's mark is a number of Go's, or the address of the C code that has made it.
const markOfGo = ^(^uintptr(0) >> 1)

var bufferMarks atomic.Uint64

// A leakBuffer is a Buffer that Go has made.
type leakBuffer struct {
	id   uint64
	mark uintptr
}

func (l leakBuffer) Left() string {
	left, n := core.IsLeftBuffer(l.id, l.mark)
	if !left {
		return ""
	}
	return fmt.Sprintf("buffer of %d bytes that is not freed", n)
}

// Of buffers that C makes, package leak hears by comparison: of what is left, and what was there
// when the verification began.
func init() {
	if !core.Available {
		return
	}
	leak.Watch(func() any { return madeByC() }, func(before any) (leaks []leak.Leak) {
		for index, b := range madeByC() {
			if old, was := before.(map[uint32]core.LeftBuffer)[index]; was && old.Where == b.Where {
				continue
			}
			leaks = append(leaks, leak.Leak{
				What:  fmt.Sprintf("buffer of %d bytes that is not freed", b.Len),
				Where: fmt.Sprintf("\tC code at %#x\n", b.Where)})
		}
		return leaks
	})
}

func madeByC() map[uint32]core.LeftBuffer {
	list := map[uint32]core.LeftBuffer{}
	for _, b := range core.LeftBuffers() {
		if b.Where != 0 && b.Where&markOfGo == 0 {
			list[b.Index] = b
		}
	}
	return list
}
