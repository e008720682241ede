package coro

import (
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"syscall"

	"github.com/organzine/coro/internal/core"
)

// An FD names a descriptor that C coroutines of one scheduler use: a coro_fd of coro_io.h. It goes
// to C bodies in their arguments. It is good for one adoption: after Close, Conn, File and the
// like, in Go or in C, the name is stale, whatever the number of the descriptor is used for by
// then. The zero FD is none.
//
// All methods may be called by any goroutine. They cost some system calls each, and do not block.
type FD uint64

// Adopt hands c to the C coroutines of s: a *net.TCPConn, *net.UnixConn, *net.UDPConn, a listener
// of these, an *os.File, or any syscall.Conn. With success c is closed, if it is an io.Closer, as
// its descriptor is the scheduler's now; what c has read ahead, as a bufio.Reader around it may
// have, is the caller's to pass on. With an error c stays as it was, and open. A *tls.Conn is no
// syscall.Conn: Go must go on to read and write it.
//
// Deadlines that were set for c mean nothing to C. A read or a write of c that goes on in another
// goroutine returns, as after any Close. Close of s closes what is left.
//
// The error is ErrClosed, ErrNoMemory, that of c's methods, or a syscall.Errno: EMFILE, for
// example.
func (s *Scheduler) Adopt(c syscall.Conn) (FD, error) {
	if c == nil {
		return 0, &OptionError{"Adopt", c, "want a connection, a listener or a file"}
	}
	if s.closed.Load() {
		return 0, ErrClosed
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, fmt.Errorf("coro: Adopt: %w", err)
	}
	var fd int
	var errno uintptr
	err = raw.Control(func(own uintptr) { fd, errno = core.Duplicate(own) })
	if err == nil && errno != 0 {
		err = syscall.Errno(errno)
	}
	if err != nil {
		return 0, fmt.Errorf("coro: Adopt: %w", err)
	}
	f, status := s.core.Adopt(fd)
	runtime.KeepAlive(s)
	if status != core.OK {
		core.CloseDuplicate(fd)
		return 0, fdError("Adopt", status)
	}
	if l, ok := c.(*net.UnixListener); ok {
		l.SetUnlinkOnClose(false) // its path stays
	}
	if closer, ok := c.(io.Closer); ok {
		_ = closer.Close() // the descriptor is a duplicate, so nothing is lost
	}
	return FD(f), nil
}

// Close closes the descriptor. Calls of C coroutines that wait for it return CORO_ECLOSED. If it
// was blocking when it was adopted, others that share it (a parent, a shell's next command) find it
// blocking again, as they do after Conn, File and their like, and after Close of the scheduler. The
// error is net.ErrClosed, if it is closed already.
func (f FD) Close() error { return fdError("Close", core.CloseFD(uint64(f))) }

// File returns the descriptor to Go. ErrBusy: a call of a C coroutine uses it; net.ErrClosed.
func (f FD) File() (*os.File, error) { return f.release("File") }

// Conn returns the descriptor to Go, as a connection. The errors are those of File; or a
// *BackError, if it is no connection, or Go has no descriptor left.
func (f FD) Conn() (net.Conn, error) { return back(f, "Conn", net.FileConn) }

// Listener is Conn for a socket that listens.
func (f FD) Listener() (net.Listener, error) { return back(f, "Listener", net.FileListener) }

// PacketConn is Conn for a socket of packets.
func (f FD) PacketConn() (net.PacketConn, error) {
	return back(f, "PacketConn", net.FilePacketConn)
}

// A BackError says why a descriptor that has come back to Go is not what was asked for. It is open,
// in File.
type BackError struct {
	File *os.File
	Err  error
}

func (e *BackError) Error() string { return fmt.Sprintf("coro: FD: %v", e.Err) }
func (e *BackError) Unwrap() error { return e.Err }

func (f FD) release(call string) (*os.File, error) {
	fd, status := core.ReleaseFD(uint64(f))
	if status != core.OK {
		return nil, fdError(call, status)
	}
	return os.NewFile(uintptr(fd), "coro"), nil
}

// back is release and the function of package net, which duplicates the descriptor.
func back[C io.Closer](f FD, call string, of func(*os.File) (C, error)) (c C, err error) {
	file, err := f.release(call)
	if err != nil {
		return c, err
	}
	c, err = of(file)
	if err != nil {
		return c, &BackError{file, err}
	}
	return c, file.Close()
}

func fdError(call string, s core.Status) error {
	switch {
	case s == core.Stale || s == core.Closed && call != "Adopt":
		return fmt.Errorf("coro: FD.%s: %w", call, net.ErrClosed)
	case s.Errno() != 0:
		return fmt.Errorf("coro: %s: %w", call, syscall.Errno(s.Errno()))
	}
	return statusError(s, ofScheduler)
}
