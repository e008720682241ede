// Package loop has the bare epoll loop in C that examples/httpd is compared with.
package loop

/*
#cgo CFLAGS: -std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -I${SRCDIR}/../../../csrc/include
#cgo CFLAGS: -I${SRCDIR}/../../../examples/httpd/server -pthread
#cgo LDFLAGS: -pthread
#cgo pkg-config: libllhttp
#include "loop.h"
*/
import "C"

import (
	"fmt"
	"net"
	"syscall"

	_ "github.com/organzine/coro/examples/httpd/server" // the parser
)

// Serve serves with this number of threads, until the process ends.
func Serve(l *net.TCPListener, threads int) error {
	file, err := l.File() // a duplicate
	if err != nil {
		return err
	}
	fd := file.Fd()
	if err := syscall.SetNonblock(int(fd), true); err != nil {
		return err
	}
	if failed := C.loop_serve(C.int(fd), C.int(threads)); failed != 0 {
		return fmt.Errorf("epoll loop: %w", syscall.Errno(failed))
	}
	return nil
}
