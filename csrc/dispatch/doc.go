//go:build cgo && linux && (amd64 || arm64)

// Package dispatch has the dispatcher: coroutines of one thread that share one stack. When a
// coroutine blocks, and another needs the stack, its frames are copied out. A policy, which the
// user may write, says which coroutine runs next.
//
// The package also has pools of threads with a dispatcher each, and three policies for them.
package dispatch

import "embed"

// Sources are this room's files. They are embedded so that the go command compiles package core
// again, which imports this one, when a file changes: internal/core/dispatch.c includes them.
//
//go:embed *.c *.h
var Sources embed.FS
