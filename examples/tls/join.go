//go:build cgo

package main

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
)

// halfCloser is what join needs: *tls.Conn, *net.TCPConn and *net.UnixConn have it.
type halfCloser interface {
	net.Conn
	CloseWrite() error
}

// join makes a socket pair. What is written to engine goes to conn, and what comes from conn can be
// read from engine. So C bodies take part in a protocol that only Go speaks, as TLS, when engine is
// given to Scheduler.Adopt. conn is join's from then on.
//
// The end of what one side sends is passed on, and the other side goes on sending. A close of
// engine closes conn, when all that was written before is on its way. An error of conn closes both:
// reads of engine return what has come, and then the end; writes fail with EPIPE. So a C body
// cannot tell an error from an end by reads alone. What crypto/tls takes for an end is one: that of
// TCP too, between two records.
//
// wait returns when both are closed: the error of conn, or nil. Nothing is left then. Both are
// closed without that call, too. The close of a *tls.Conn takes up to 5 s if the peer reads
// nothing.
//
// A join costs two goroutines, a buffer of 32 KiB for each direction, and two descriptors. With an
// error conn stays the caller's.
func join(conn halfCloser) (engine *net.UnixConn, wait func() error, err error) {
	engine, own, err := socketPair()
	if err != nil {
		return nil, nil, err
	}
	in, out := make(chan error, 1), make(chan error, 1)
	end := func() {
		conn.Close()
		own.Close()
	}
	go func() {
		err := toEngine(pairEnd{own}, conn)
		if err != nil {
			end()
		}
		in <- err
	}()
	go func() {
		err := fromEngine(conn, pairEnd{own})
		end()
		out <- err
	}()
	return engine, sync.OnceValue(func() error { return errors.Join(<-in, <-out) }), nil
}

// toEngine copies until the peer of conn has ended, or nobody reads.
func toEngine(own pairEnd, conn halfCloser) error {
	_, err := io.Copy(own, conn)
	if err == nil {
		err = own.pair.CloseWrite()
	}
	return unlessClosed(err)
}

// fromEngine copies until the engine has ended, and returns when it can read no more either.
func fromEngine(conn halfCloser, own pairEnd) error {
	_, err := io.Copy(conn, own)
	if err == nil {
		err = conn.CloseWrite()
	}
	if err == nil {
		err = own.waitForClose()
	}
	return unlessClosed(err)
}

// unlessClosed drops what follows from the end of the other direction.
func unlessClosed(err error) error {
	if errors.Is(err, net.ErrClosed) || errors.Is(err, errNoReader) {
		return nil
	}
	return err
}

// A pairEnd is join's own end of the socket pair. That the engine closes the other end is no error.
type pairEnd struct{ pair *net.UnixConn }

var errNoReader = errors.New("the engine has closed its end")

func (e pairEnd) Write(b []byte) (int, error) {
	n, err := e.pair.Write(b)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		err = errNoReader
	}
	return n, err
}

// Read finds ECONNRESET where the engine has not read all that had come.
func (e pairEnd) Read(b []byte) (int, error) {
	n, err := e.pair.Read(b)
	if errors.Is(err, syscall.ECONNRESET) {
		err = io.EOF
	}
	return n, err
}

// waitForClose waits until nothing can be written any more: the engine has closed the other end, or
// this one was shut down. Each of these is an event, and an empty message asks which it was.
func (e pairEnd) waitForClose() error {
	raw, err := e.pair.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Read(func(fd uintptr) bool {
		return syscall.Sendto(int(fd), nil, syscall.MSG_NOSIGNAL, nil) == syscall.EPIPE
	})
}

func socketPair() (a, b *net.UnixConn, err error) {
	const kind = syscall.SOCK_STREAM | syscall.SOCK_CLOEXEC | syscall.SOCK_NONBLOCK
	fds, err := syscall.Socketpair(syscall.AF_UNIX, kind, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	a, errA := unixConn(fds[0])
	b, errB := unixConn(fds[1])
	if err = errors.Join(errA, errB); err != nil {
		for _, c := range []*net.UnixConn{a, b} {
			if c != nil {
				c.Close()
			}
		}
		return nil, nil, err
	}
	return a, b, nil
}

// unixConn makes a connection of a descriptor, which it closes: package net has duplicated it.
func unixConn(fd int) (*net.UnixConn, error) {
	file := os.NewFile(uintptr(fd), "socketpair")
	defer file.Close()
	c, err := net.FileConn(file)
	if err != nil {
		return nil, err
	}
	return c.(*net.UnixConn), nil
}
