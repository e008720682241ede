//go:build cgo

package main

import (
	"context"
	"errors"
	"io"
	"net"

	"github.com/organzine/coro"
)

// halfCloser is what join needs: *tls.Conn, *net.TCPConn and *net.UnixConn have it.
type halfCloser interface {
	net.Conn
	CloseWrite() error
}

// streamBytes is how much a direction holds between conn and the engine.
const streamBytes = 32 << 10

// join has a coroutine of s with the body engine take part in a protocol that only Go speaks, as
// TLS. It copies between conn, which is join's from then on, and a Stream, whose other end is the
// engine's argument. The engine gives that up.
//
// The end of what one side sends is passed on, and the other side goes on sending. A code that one
// side fails with ends both directions: an engine that reads or writes gets the error of conn as a
// code. What crypto/tls takes for an end is one: that of TCP too, between two records.
//
// It returns when the engine has ended and conn is closed, with all on its way that the engine has
// written, unless its Task has an error: the engine's result, and the errors of conn and of the
// engine. The close of a *tls.Conn takes up to 5 s if the peer reads nothing.
//
// A *tls.Conn is to have shaken hands: before that, its CloseWrite returns an error.
//
// A join costs two goroutines, a buffer of 16 and one of 32 KiB, and C memory for the directions
// that are used.
func join[R any](
	conn halfCloser, s *coro.Scheduler, engine coro.Func[coro.StreamEnd, R],
) (result R, err error) {
	defer conn.Close()
	st, err := coro.NewStream(s, streamBytes)
	if err != nil {
		return result, err
	}
	defer st.Free() // an engine that has not begun does not give its end up
	task, err := engine.Start(s, st.Address())
	if err != nil {
		return result, err
	}
	in, out := make(chan error, 1), make(chan error, 1)
	go func() { in <- toEngine(st, conn) }()
	go func() { out <- fromEngine(conn, st) }()
	result, err = task.Wait(context.Background())
	if err != nil {
		_ = st.CloseWithError(err) // the engine may not have begun
	}
	err = errors.Join(err, <-out)
	conn.Close() // the engine reads no more
	return result, errors.Join(err, <-in)
}

// toEngine copies until the peer of conn has ended, or the engine reads no more.
func toEngine(st *coro.Stream, conn net.Conn) error {
	buffer := make([]byte, 16<<10)
	for {
		n, err := conn.Read(buffer)
		if _, refused := st.Write(buffer[:n]); refused != nil {
			return nil // fromEngine, and the end of the coroutine, tell why
		}
		if err == io.EOF {
			return st.CloseWrite()
		}
		if err != nil {
			return unlessClosed(errors.Join(err, st.CloseWithError(err)))
		}
	}
}

// fromEngine copies until the engine has ended what it writes.
func fromEngine(conn halfCloser, st *coro.Stream) error {
	_, err := io.Copy(conn, st)
	if err == nil {
		err = conn.CloseWrite()
	}
	if err != nil {
		conn.Close()
		err = errors.Join(err, st.CloseWithError(err))
	}
	return unlessClosed(err)
}

// unlessClosed drops what follows from the end of the other direction.
func unlessClosed(err error) error {
	if errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return err
}
