//go:build cgo && linux && (amd64 || arm64)

package core

// #include "coro_io.h"
import "C"

import "syscall"

// fd.go - descriptors.

// Functions are those of coro_io.h that threads call for coroutines, with their names.
func Functions() map[uintptr]string {
	return map[uintptr]string{
		uintptr(C.coro_getaddrinfo): "coro_getaddrinfo",
		uintptr(C.coro_fsync):       "coro_fsync",
		uintptr(C.coro_pread):       "coro_pread",
		uintptr(C.coro_pwrite):      "coro_pwrite",
		uintptr(C.coro_read):        "coro_read",
		uintptr(C.coro_write):       "coro_write",
	}
}

// Duplicate makes another number for the descriptor fd, which is closed in programs that the
// process starts, or tells the errno. Neither becomes blocking, as by os.File.Fd.
func Duplicate(fd uintptr) (duplicate int, errno uintptr) {
	n, _, e := syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_DUPFD_CLOEXEC, 0)
	return int(n), uintptr(e)
}

// CloseDuplicate closes the number, which nobody else knows.
func CloseDuplicate(fd int) { _ = syscall.Close(fd) }

// Adopt makes the descriptor fd the scheduler's, under the name f. With a status other than OK it
// stays the caller's: Invalid, Busy, Closed, NoMemory, or one that has an Errno.
func (s *Scheduler) Adopt(fd int) (f uint64, status Status) {
	crossing()
	var out C.coro_fd
	status = Status(C.coro_scheduler_adopt(s.c, &out, C.int(fd), 0))
	return uint64(out), status
}

// ReleaseFD makes the descriptor of f the caller's again. Status: OK, Stale, Busy, Closed.
func ReleaseFD(f uint64) (fd int, status Status) {
	crossing()
	var out C.int
	status = Status(C.coro_fd_release(C.coro_fd(f), &out))
	return int(out), status
}

// CloseFD closes the descriptor of f. Status: OK, Stale, Closed.
func CloseFD(f uint64) Status {
	crossing()
	return Status(C.coro_fd_close(C.coro_fd(f)))
}

// Errno is what a system call has failed with, that a status of the calls above tells of; or 0.
func (s Status) Errno() uintptr {
	if s > -4096 {
		return 0
	}
	return uintptr(-4096 - s)
}
