package coro

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/zero"
)

// A Stream is a stream of bytes between Go and C, both ways, bounded in both. The Stream is Go's
// end: an io.Reader, io.Writer and io.Closer, with the deadlines of a net.Conn. C bodies get the
// other end by its Address, as a coro_stream *: coro_stream.h has their calls.
//
// One goroutine reads and one writes at a time: another call is ErrBusy. A read or a write that
// waits for nothing copies the bytes itself, without a cgo call; to wait, and to wake who waits at
// the other end, costs what it costs at a Chan.
//
// What either end closes the other is told. Reads get what was written before, and then io.EOF, or
// the error of CloseWithError. Between Go and C an error is a code: a syscall.Errno is
// CORO_OF_ERRNO of coro_io.h, ErrCanceled and the errors of contexts have theirs, a *StreamError
// has a code of the user's, and any other is CORO_EFAILED.
//
// The bytes of a direction are C memory, which its first write allocates, and which is freed when
// both ends have closed the direction; with the rest, if a call used it then. The rest, some
// hundred bytes, is freed when nothing refers to the Stream and C has given up its end
// (coro_stream_free), or the scheduler is closed and nothing refers to that.
// A Stream that nothing refers to is closed: C is told CORO_ECLOSED.
type Stream struct {
	kept          *keptStream
	core          core.Stream
	reads, writes streamDeadline
	ops           atomic.Uint32
}

// A keptStream is the memory of a stream, which C's end keeps, and the Stream.
type keptStream struct {
	object
	core    core.Stream
	dropped bool // nothing refers to the Stream; with the lock of exposures
}

// isOver tells whether neither end is in use any more.
func (k *keptStream) isOver() bool { return k.dropped && k.core.IsGivenUp() }

// NewStream makes a stream of s that holds `bytes` in each direction, rounded up to a power of two,
// up to 1 GiB. Calls with it that wait end with ErrClosed when s is closed. NewStream returns an
// *OptionError, also if s is nil, ErrNoMemory or ErrNoCgo.
func NewStream(s *Scheduler, bytes int) (*Stream, error) {
	if err := makable(s, "NewStream"); err != nil {
		return nil, err
	}
	if bytes < 1 || bytes > core.StreamMost {
		return nil, &OptionError{"NewStream", bytes,
			fmt.Sprintf("needs from 1 to %d bytes", core.StreamMost)}
	}
	inner, status := core.NewStream(bytes)
	k := &keptStream{core: inner}
	if _, err := adopt(k, &k.object, s, inner, status); err != nil {
		return nil, err
	}
	k.over = k.isOver
	st := &Stream{kept: k, core: inner}
	runtime.AddCleanup(st, dropStream, k)
	return st, nil
}

// dropStream is called when nothing refers to the Stream any more.
func dropStream(k *keptStream) {
	k.core.Close(false, core.Closed)
	l := &k.s.exposures
	l.mu.Lock()
	defer l.mu.Unlock()
	k.dropped = true
	l.forget(&k.object)
}

func (st *Stream) made() *keptStream {
	if st.kept == nil {
		zero.Value("NewStream")
	}
	return st.kept
}

// A StreamEnd is C's end of a Stream, as C bodies know it: a coro_stream *. It may be an argument
// of theirs, or part of one. 0 is none.
type StreamEnd uintptr

// Address is C's end, for C bodies of any scheduler. It is good until C calls coro_stream_free, or
// until Free; it is 0 after Free.
func (st *Stream) Address() StreamEnd {
	defer runtime.KeepAlive(st)
	return StreamEnd(st.made().Address())
}

// Free gives the stream back, when no C body will use it any more, though none has called
// coro_stream_free. From now on each call returns ErrDestroyed. It returns ErrBusy while calls with
// the stream go on, and ErrDestroyed if it was freed before.
func (st *Stream) Free() error {
	defer runtime.KeepAlive(st)
	return st.made().Free()
}

// Read reads up to len(p) bytes, as soon as there are any. The error is io.EOF; that of the other
// end's close; io.ErrClosedPipe after Close; os.ErrDeadlineExceeded; ErrBusy; or ErrClosed, if the
// scheduler is closed while Read waits. A Go body that calls Read blocks its executor: it calls
// ReadContext.
func (st *Stream) Read(p []byte) (int, error) { return st.ReadContext(context.Background(), p) }

// Write writes all of p, or returns an error: that of the other end's close, which is
// io.ErrClosedPipe if C has no other code; ErrNoMemory; and those of Read. A Go body calls
// WriteContext.
func (st *Stream) Write(p []byte) (int, error) { return st.WriteContext(context.Background(), p) }

// ReadContext is Read with a context, whose end ends the wait: the error is its cause. A Go body
// that calls it with its Context, or with one derived from that, is suspended.
func (st *Stream) ReadContext(ctx context.Context, p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	pipe, err := st.begin(ctx, false)
	if err != nil {
		return 0, err
	}
	defer st.end(pipe, false)
	for {
		n, state, status := pipe.TryRead(p)
		if n > 0 {
			st.kept.edge.Acquire()
			return n, nil
		}
		if err := st.wait(ctx, pipe, false, state, status); err != nil {
			return 0, err
		}
	}
}

// WriteContext is Write with a context, as ReadContext is Read.
func (st *Stream) WriteContext(ctx context.Context, p []byte) (n int, err error) {
	pipe, err := st.begin(ctx, true)
	if err != nil {
		return 0, err
	}
	defer st.end(pipe, true)
	st.kept.edge.Release()
	for n < len(p) {
		k, state, status := pipe.TryWrite(p[n:])
		n += k
		if k > 0 {
			continue
		}
		if err := st.wait(ctx, pipe, true, state, status); err != nil {
			return n, err
		}
	}
	return n, nil
}

func (st *Stream) deadline(writes bool) *streamDeadline {
	if writes {
		return &st.writes
	}
	return &st.reads
}

// begin begins a call at one side of a pipe.
func (st *Stream) begin(ctx context.Context, writes bool) (core.Pipe, error) {
	k := st.made()
	if k.isSampled(st.ops.Add(1)) {
		k.spend(ctx)
	}
	if st.deadline(writes).isOver() {
		return core.Pipe{}, os.ErrDeadlineExceeded
	}
	pipe := st.core.Pipe(writes)
	return pipe, statusError(pipe.Begin(writes), ofObject)
}

func (st *Stream) end(pipe core.Pipe, writes bool) {
	pipe.End(writes)
	runtime.KeepAlive(st)
}

// wait waits until a side may go on. It returns why the side does not: state is what its try has
// come to.
func (st *Stream) wait(
	ctx context.Context, pipe core.Pipe, writes bool, state core.PipeState, status core.Status,
) error {
	switch {
	case state == core.PipeFailed:
		return statusError(status, ofObject)
	case state != core.PipeWaits && st.kept.state.Load() == freed:
		return ErrDestroyed
	case state == core.PipeClosedHere:
		return io.ErrClosedPipe
	case state == core.PipeClosedThere:
		return errorOfCode(status, writes)
	}
	d := st.deadline(writes)
	if d.isOver() { // a wait that ends in its spin does not see it
		return os.ErrDeadlineExceeded
	}
	if body := bodyOf(ctx); body != nil {
		var cancel context.CancelFunc
		ctx, cancel = d.bound(ctx)
		defer cancel()
	}
	status, err := st.kept.wait(ctx, waitOp{
		try: func() core.Status {
			if pipe.MayGoOn(writes) {
				return core.OK
			}
			return core.TimedOut
		},
		begin: func(g core.GoWaiter) core.Status { return pipe.Wait(g, writes) },
		over:  d.channel,
	})
	if err != nil {
		return err
	}
	return statusError(status, ofObject)
}

// CloseWrite ends what Go writes: C reads what was written, and then the end. Go goes on reading.
// It returns ErrDestroyed after Free.
func (st *Stream) CloseWrite() error { return st.close(true, core.OK) }

// Close closes Go's end: C reads what was written, and then the end; writes of C fail with
// CORO_ECLOSED. Calls that go on return io.ErrClosedPipe. What is closed already is not changed.
// It returns ErrDestroyed after Free.
func (st *Stream) Close() error { return st.close(false, core.OK) }

// CloseWithError is Close that tells C an error: reads and writes of C return its code. nil is
// Close.
func (st *Stream) CloseWithError(err error) error { return st.close(false, codeOfError(err)) }

func (st *Stream) close(writesAlone bool, code core.Status) error {
	k := st.made()
	defer runtime.KeepAlive(st)
	k.edge.Release()
	if k.state.Load() == freed {
		return ErrDestroyed
	}
	return statusError(st.core.Close(writesAlone, code), ofObject)
}

// SetDeadline sets the deadlines of reads and of writes, as a net.Conn does: calls that go on, and
// later ones, return os.ErrDeadlineExceeded from then on. The zero time is none. A wait of a Go
// body keeps the deadline that it has begun with: another one neither ends nor lengthens it. It
// returns nil, and ErrBubble in a bubble of testing/synctest, whose timers end the process where
// others wait for them.
func (st *Stream) SetDeadline(t time.Time) error {
	if err := st.SetReadDeadline(t); err != nil {
		return err
	}
	return st.SetWriteDeadline(t)
}

// SetReadDeadline is SetDeadline for reads.
func (st *Stream) SetReadDeadline(t time.Time) error { return st.reads.set(t) }

// SetWriteDeadline is SetDeadline for writes.
func (st *Stream) SetWriteDeadline(t time.Time) error { return st.writes.set(t) }

// A StreamError is an error that one end of a Stream tells the other by a code of the user's.
type StreamError struct {
	Code int32 // below 0
}

func (e *StreamError) Error() string {
	return fmt.Sprintf("coro: the other end of the stream has failed: code %d", e.Code)
}

const errnoBase = -4096 // CORO_OF_ERRNO

// errorOfCode is the error of a side whose other side has closed the pipe with a code.
func errorOfCode(code core.Status, writes bool) error {
	switch {
	case code == core.OK && !writes:
		return io.EOF
	case code == core.OK || code == core.Closed:
		return io.ErrClosedPipe
	case code == core.Canceled:
		return ErrCanceled
	case code == core.TimedOut:
		return os.ErrDeadlineExceeded
	case code < errnoBase && code > errnoBase-4096:
		return syscall.Errno(errnoBase - int(code))
	}
	return &StreamError{int32(code)}
}

// codeOfError is the reverse.
func codeOfError(err error) core.Status {
	var own *StreamError
	var errno syscall.Errno
	switch {
	case err == nil:
		return core.OK
	case errors.As(err, &own) && own.Code < 0:
		return core.Status(own.Code)
	case errors.As(err, &errno) && errno > 0 && errno < 4096:
		return core.Status(errnoBase - int(errno))
	case errors.Is(err, ErrCanceled), errors.Is(err, context.Canceled):
		return core.Canceled
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return core.TimedOut
	case errors.Is(err, io.ErrClosedPipe), errors.Is(err, net.ErrClosed),
		errors.Is(err, ErrClosed):
		return core.Closed
	}
	return core.Failed
}

// A streamDeadline is a deadline that may be changed while others wait. It works as that of
// net.Pipe.
type streamDeadline struct {
	used  atomic.Bool // one was set
	mu    sync.Mutex
	at    time.Time
	timer *time.Timer
	over  chan struct{} // closed when the deadline has come
}

// channel is closed when the deadline comes that is set by then.
func (d *streamDeadline) channel() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over == nil {
		d.over = make(chan struct{})
	}
	return d.over
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (d *streamDeadline) isOver() bool { return d.used.Load() && isClosed(d.channel()) }

// bound is ctx with the deadline.
func (d *streamDeadline) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	d.mu.Lock()
	at := d.at
	d.mu.Unlock()
	if at.IsZero() {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, at, os.ErrDeadlineExceeded)
}

func (d *streamDeadline) set(at time.Time) error {
	if err := outside(); err != nil {
		return err
	}
	d.channel()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.used.Store(true)
	if d.timer != nil && !d.timer.Stop() {
		<-d.over // it is about to be closed
	}
	d.timer, d.at = nil, at
	left := time.Until(at)
	if closed := isClosed(d.over); closed && (at.IsZero() || left > 0) {
		d.over = make(chan struct{})
	} else if !closed && !at.IsZero() && left <= 0 {
		close(d.over)
	}
	if !at.IsZero() && left > 0 {
		over := d.over
		d.timer = time.AfterFunc(left, func() { close(over) })
	}
	return nil
}
