//go:build cgo && linux && (amd64 || arm64)

// Package buffer has memory with one owner at a time, which passes between coroutines and Go.
package buffer

import "embed"

// Sources are this room's files. They are embedded so that the go command compiles package core
// again, which imports this one, when a file changes: internal/core/buffer.c includes them.
//
//go:embed *.c *.h
var Sources embed.FS
