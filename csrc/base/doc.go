//go:build cgo && linux && (amd64 || arm64)

// Package base is the machine and the memory of the C core. It knows no scheduler.
//
// It has all atomic operations (atomics.h), two locks (lock.h) and lists (list.h), all system calls
// (sys.h), the switch between stacks (switch.h), guarded stacks (stack.h), small blocks of memory
// (heap.h), coroutines that are resumed by hand (manual.h), and the report of a stack overflow
// (overflow.h).
package base

/*
#cgo CFLAGS: -std=gnu11 -D_GNU_SOURCE -O2 -fno-omit-frame-pointer -Wall -pthread -I${SRCDIR}/.. -I${SRCDIR}/../include
#cgo LDFLAGS: -pthread
*/
import "C"

import (
	"embed"

	_ "github.com/organzine/coro/csrc/include"
)

// Headers are this room's. The go command rebuilds a package when a file that is embedded in one of
// its imports changes, and knows nothing of the headers that C includes.
//
//go:embed *.h
var Headers embed.FS
