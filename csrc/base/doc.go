//go:build cgo && linux && (amd64 || arm64)

// Package base is the machine and the memory of the C core. It knows no scheduler.
//
// The machine: atomic operations (atomics.h), two locks (lock.h), backing off (backoff.h), system
// calls (sys.h), the switch between stacks (switch.h), and what sanitizers are told of it
// (sanitize.h).
//
// Memory: guarded stacks in pools (stack.h), the frames of stacks that are shared (frames.h), small
// blocks (heap.h), lists (list.h), and what a coroutine owns besides its stack (extras.h).
//
// Coroutines: manual ones, which are resumed by hand (manual.h), the innermost coroutine of a
// thread (current.h), and the report of a fault (fault.h).
package base

/*
#cgo CFLAGS: -std=gnu11 -D_GNU_SOURCE -O2 -fvisibility=hidden -fno-omit-frame-pointer -Wall -pthread -I${SRCDIR}/.. -I${SRCDIR}/../include
#cgo LDFLAGS: -pthread
*/
import "C"

import (
	"embed"

	_ "github.com/organzine/coro/csrc/include"
)

// Headers are this room's headers. They are embedded so that the go command rebuilds the packages
// that import this one when a header changes: it does not know which headers C files include.
//
//go:embed *.h
var Headers embed.FS
