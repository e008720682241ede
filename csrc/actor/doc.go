//go:build cgo && linux && (amd64 || arm64)

// Package actor has the actors in C: mailboxes in a word, and turns that are tasks of the kernel.
package actor

import "embed"

// Sources are this room's files. They are embedded so that the go command compiles package core
// again, which imports this one, when a file changes: internal/core/actor.c includes them.
//
//go:embed *.c *.h
var Sources embed.FS
