//go:build cgo && linux && (amd64 || arm64)

// Package sync has the objects that coroutines, threads and Go wait at: semaphores, locks,
// conditions, latches, once, channels and scopes. All but scopes stand on wait queues (waitq.h).
package sync

import "embed"

// Sources are this room's files. They are embedded so that the go command compiles package core
// again, which imports this one, when a file changes: internal/core/sync.c includes them.
//
//go:embed *.c *.h
var Sources embed.FS
