//go:build cgo && linux && (amd64 || arm64)

// Package border has what lies between coroutines and Go.
//
// Coroutines call Go (gocall.h), and Go starts bodies of its own at a worker without a thread
// (goworker.h). A bell tells Go that there is something to look at (gobell.h). A thread inside a
// call by Go lends itself to a worker that sleeps (lend.h), runs functions that are brief
// (brief.h), and leads many calls at once (many.h). What a coroutine knows of the context that it
// was started with is in context.h.
//
// A lender is a worker for a while, so this room includes every header of the kernel. What the
// kernel asks of this room, at a few cold points, is in kernel/hooks.h.
package border

import "embed"

// Sources are this room's files. They are embedded so that the go command compiles package core
// again, which imports this one, when a file changes: internal/core/border.c includes them.
//
//go:embed *.c *.h
var Sources embed.FS
