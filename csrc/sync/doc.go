//go:build cgo && linux && (amd64 || arm64)

// Package sync has the objects that coroutines, threads and Go wait at: semaphores, locks,
// conditions, latches, once, channels and scopes. All but scopes stand on wait queues (waitq.h).
package sync

/*
#cgo CFLAGS: -std=gnu11 -D_GNU_SOURCE -O2 -fvisibility=hidden -fno-omit-frame-pointer -Wall -pthread -I${SRCDIR}/.. -I${SRCDIR}/../include
#cgo LDFLAGS: -pthread
*/
import "C"

import (
	"embed"

	_ "github.com/organzine/coro/csrc/base"
	_ "github.com/organzine/coro/csrc/include"
	_ "github.com/organzine/coro/csrc/kernel"
)

// Headers are this room's headers. They are embedded so that the go command rebuilds the packages
// that import this one when a header changes: it does not know which headers C files include.
//
//go:embed *.h
var Headers embed.FS
