// Package include is the public C header of coro: coro.h, for C bodies and for the core itself.
package include

import "embed"

// Headers are the files of the header.
//
//go:embed *.h
var Headers embed.FS
