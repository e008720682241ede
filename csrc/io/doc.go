//go:build cgo && linux && (amd64 || arm64)

// Package io has the waits for the system: calls that block, which threads of a pool make.
package io

/*
#cgo CFLAGS: -std=gnu11 -D_GNU_SOURCE -O2 -fvisibility=hidden -fno-omit-frame-pointer -Wall -pthread -I${SRCDIR}/.. -I${SRCDIR}/../include
#cgo LDFLAGS: -pthread
*/
import "C"

import (
	"embed"

	_ "github.com/organzine/coro/csrc/base"
	_ "github.com/organzine/coro/csrc/include"
	_ "github.com/organzine/coro/csrc/kernel"
)

// Headers are this room's headers. They are embedded so that the go command rebuilds the packages
// that import this one when a header changes: it does not know which headers C files include.
//
//go:embed *.h
var Headers embed.FS
