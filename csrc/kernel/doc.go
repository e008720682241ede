//go:build cgo && linux && (amd64 || arm64)

// Package kernel runs coroutines on workers.
//
// A coroutine has a record (record.h) and, from its start to its end, a stack. A worker (worker.h) is a
// thread with a queue (deque.h) behind an asymmetric lock (door.h). What others hand to a worker comes
// through its inbox (inbox.h). The run ring (run, wait, join, timer, dense, idle, steal, gocall: files
// that call each other) chooses what runs, suspends and resumes it, and puts workers to sleep.
package kernel

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
