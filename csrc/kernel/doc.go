//go:build cgo && linux && (amd64 || arm64)

// Package kernel runs coroutines on workers.
//
// A coroutine has a record (record.h) and, from its start to its end, a stack. A dense coroutine
// owns no stack while it waits (dense.h). A worker (worker.h) is a thread with a queue (deque.h)
// behind an asymmetric lock, its door (door.h). What other threads hand to a worker comes through
// its inbox (inbox.h).
//
// The files run, wait, join, fork, timer, dense, idle and steal call each other. They are one thing,
// the run ring: they choose what runs, suspend it, resume it, and put workers to sleep.
//
// The rooms above include kernel.h, which lists the names that they may use. The border alone
// includes all headers; and what the kernel asks of it is in hooks.h.
package kernel

import "embed"

// Sources are this room's files. They are embedded so that the go command compiles package core
// again, which imports this one, when a file changes: internal/core/kernel.c includes them.
//
//go:embed *.c *.h
var Sources embed.FS
