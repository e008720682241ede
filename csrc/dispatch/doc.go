//go:build cgo && linux && (amd64 || arm64)

// Package dispatch has the dispatcher: coroutines of one thread that share one stack. When a
// coroutine blocks, and another needs the stack, its frames are copied out. A policy, which the
// user may write, says which coroutine runs next.
//
// The package also has pools of threads with a dispatcher each, and two policies for them.
package dispatch

/*
#cgo CFLAGS: -std=gnu11 -D_GNU_SOURCE -O2 -fvisibility=hidden -fno-omit-frame-pointer -Wall -pthread -I${SRCDIR}/.. -I${SRCDIR}/../include
#cgo LDFLAGS: -pthread
*/
import "C"

import (
	"embed"

	_ "github.com/organzine/coro/csrc/base"
	_ "github.com/organzine/coro/csrc/include"
)

// Headers are this room's headers. They are embedded so that the go command rebuilds the packages
// that import this one when a header changes: it does not know which headers C files include.
//
//go:embed *.h
var Headers embed.FS
