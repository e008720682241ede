//go:build cgo && linux && (amd64 || arm64)

// Package io has the waits for the system: calls that block, which threads of a pool make.
package io

import "embed"

// Sources are this room's files. They are embedded so that the go command compiles package core
// again, which imports this one, when a file changes: internal/core/io.c includes them.
//
//go:embed *.c *.h
var Sources embed.FS
