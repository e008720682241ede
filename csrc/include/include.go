// Package include is the public C header of coro, for C bodies and for the core itself: coro.h,
// which includes its parts.
package include

import "embed"

// Headers are the files of the header.
//
//go:embed *.h
var Headers embed.FS
