package coro

import (
	"context"
	"fmt"
	"math"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/ctxerr"
)

// A ServeOption configures Serve.
type ServeOption func(*serveConfig) error

type serveConfig struct {
	limit         uint32
	grace, linger time.Duration
}

// ServeLimit sets how many connections there are at once, from 1. The others wait in the kernel's
// queue. Without it there is no limit but that of descriptors and of coroutines.
func ServeLimit(n int) ServeOption {
	return func(c *serveConfig) error {
		if err := inRange("ServeLimit", n, 1, math.MaxInt32); err != nil {
			return err
		}
		c.limit = uint32(n)
		return nil
	}
}

// ServeGrace sets how long connections may go on after the end of the context: 0 or more. Without
// it they have 10 s.
func ServeGrace(d time.Duration) ServeOption {
	return notNegative("ServeGrace", d, func(c *serveConfig) { c.grace = d })
}

// ServeLinger sets how long a connection whose coroutine has ended may stay until its peer has what
// was written: 0 or more. Without it that is 2 s. 0: the connection is half-closed, and closed.
func ServeLinger(d time.Duration) ServeOption {
	return notNegative("ServeLinger", d, func(c *serveConfig) { c.linger = d })
}

func notNegative(name string, d time.Duration, set func(*serveConfig)) ServeOption {
	return func(c *serveConfig) error {
		if d < 0 {
			return &OptionError{name, d, "must not be negative"}
		}
		set(c)
		return nil
	}
}

// Serve accepts the connections of l, a *net.TCPListener or *net.UnixListener, on s, and runs f in
// a coroutine for each, with the connection for its argument, a coro_fd. No goroutine and no cgo
// call has a part in that. coro_serve in coro_io.h does it for C.
//
// Connections of TCP have TCP_NODELAY and keep-alive, as those that package net accepts: a silent
// peer is asked after 15 s, and 9 times, 15 s apart. The body may set other options by
// setsockopt(2).
//
// When the body has returned, the connection is half-closed, and closed when its peer has what was
// written, or after 2 s, or the time of ServeLinger, as coro_serve_finish does it. Then its
// coroutine ends. When the body calls coro_abort or coro_fail, or is canceled, the connection is
// closed at once.
//
// When the context ends, Serve closes the listener and lets the connections finish: one that waits
// in coro_serve_read ends, or in coro_select with CORO_REQUEST, and one that answers a request sees
// in coro_serve_ends that it is to be the last. After a time of grace, 10 s or that of ServeGrace,
// Serve closes the connections whose bodies have not returned, and cancels their coroutines. It
// waits for the end of all, and returns the cause of the context. So a client that never reads or
// never closes holds Serve for these two times at most. Where no worker has begun to serve by then,
// as in a scheduler made WithPaused before Run, Serve returns at once.
//
// While the process or the system has no descriptor or memory left for a connection, Serve tries
// again after 5 ms, and then after twice the time, up to 1 s, or when a connection has ended.
// Stats.AcceptPauses counts that.
//
// Serve always returns an error: besides the cause of the context, ErrClosed or ErrCanceled if s is
// closed, an *OptionError, what Adopt returns, or what accept(2) has failed with for good, after
// the connections have ended. Serve closes l in each case. The path of a Unix socket stays. Close
// of s waits for Serve, as for any coroutine: end the context first.
//
// A *tls.Listener cannot be served: TLS is Go's ([docs/io.md]).
//
// [docs/io.md]: https://github.com/organzine/coro/blob/main/docs/io.md
func (s *Scheduler) Serve(ctx context.Context, l net.Listener, f Func[FD, None],
	opts ...ServeOption,
) error {
	defer func() { // also where an option or the context panics
		if l != nil {
			_ = l.Close() // a second time where it was adopted
		}
	}()
	return s.serve(ctx, l, f, opts)
}

func (s *Scheduler) serve(ctx context.Context, l net.Listener, f Func[FD, None],
	opts []ServeOption,
) error {
	c := serveConfig{grace: serveGrace, linger: serveLinger}
	for _, o := range opts {
		if o == nil {
			return nilOption("Serve")
		}
		if err := o(&c); err != nil {
			return err
		}
	}
	own, ok := l.(syscall.Conn)
	if !ok {
		return &OptionError{"Serve", fmt.Sprintf("%T", l),
			"want a *net.TCPListener or a *net.UnixListener"}
	}
	if err := s.ready(&f.spec); err != nil {
		return err
	}
	if err := outside(); err != nil {
		return err
	}
	server, err := serverFunc()
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctxerr.Of(ctx)
	}
	fd, err := s.Adopt(own)
	if err != nil {
		return err
	}
	task, err := server.Start(s, core.NewServe(uint64(fd), &f.spec, c.limit,
		uint64(c.grace), uint64(c.linger)))
	if err != nil {
		_ = fd.Close()
		return err
	}
	return served(ctx, fd, task)
}

// served waits for the end of a server, and closes its listener when ctx ends, or panics.
func served(ctx context.Context, listener FD, server *Task[int32]) error {
	defer func() {
		_ = listener.Close()
		if !server.join.IsFresh() { // else it finds no listener when it begins
			<-server.Done() // the server's own hold on the descriptor keeps the port open
		}
	}()
	select {
	case <-server.Done():
	case <-ctx.Done():
		_ = listener.Close()
		if server.join.IsFresh() {
			return ctxerr.Of(ctx)
		}
	}
	status, err := server.Wait(context.WithoutCancel(ctx))
	switch s := core.Status(status); {
	case err != nil:
		return err
	case s != core.Closed && s != core.Stale: // stale: the context ended at once
		return fdError("Serve", s)
	case ctx.Err() != nil:
		return ctxerr.Of(ctx)
	}
	return ErrClosed
}

// serverFunc is the coroutine that accepts.
var serverFunc = sync.OnceValues(func() (Func[core.Serve, int32], error) {
	return NewFunc[core.Serve, int32](core.ServeBody(), FuncName("coro.Serve"))
})
