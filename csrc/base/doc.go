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
// thread (current.h), what Go was given for a C body (body.h), and the report of a fault (fault.h).
package base

import "embed"

// Sources are this room's files. They are embedded so that the go command compiles package core
// again, which imports this one, when a file changes: internal/core/base.c includes them.
//
//go:embed *.c *.h *.S
var Sources embed.FS
