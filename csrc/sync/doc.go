//go:build cgo && linux && (amd64 || arm64)

// Package sync is what coroutines, threads and Go wait at: semaphores, locks, conditions, latches, once,
// channels and scopes. All of it stands on wait queues (waitq.h).
package sync

/*
#cgo CFLAGS: -std=gnu11 -D_GNU_SOURCE -O2 -fno-omit-frame-pointer -Wall -pthread -I${SRCDIR}/.. -I${SRCDIR}/../include
#cgo LDFLAGS: -pthread
*/
import "C"

import (
	"embed"

	_ "github.com/organzine/coro/csrc/base"
	_ "github.com/organzine/coro/csrc/include"
	_ "github.com/organzine/coro/csrc/kernel"
)

// Headers are this room's. The go command rebuilds a package when a file that is embedded in one of
// its imports changes, and knows nothing of the headers that C includes.
//
//go:embed *.h
var Headers embed.FS
