//go:build cgo && linux && (amd64 || arm64)

// Package dispatch has the dispatcher for one thread: coroutines that share one stack, whose frames
// are copied out when they block, and that run in the order that a policy of the user's decides. And
// pools of threads with a dispatcher each, and two policies for them.
package dispatch

/*
#cgo CFLAGS: -std=gnu11 -D_GNU_SOURCE -O2 -fno-omit-frame-pointer -Wall -pthread -I${SRCDIR}/.. -I${SRCDIR}/../include
#cgo LDFLAGS: -pthread
*/
import "C"

import (
	"embed"

	_ "github.com/organzine/coro/csrc/base"
	_ "github.com/organzine/coro/csrc/include"
)

// Headers are this room's. The go command rebuilds a package when a file that is embedded in one of
// its imports changes, and knows nothing of the headers that C includes.
//
//go:embed *.h
var Headers embed.FS
