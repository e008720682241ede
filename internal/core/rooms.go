//go:build cgo && linux && (amd64 || arm64)

package core

//go:generate go run genstub.go

// The rooms of the core, and the public headers. They are imported so that this package is compiled
// again when a file of theirs changes, and so that go mod vendor copies them: kernel.c and its like
// include the files, which the go command does not know.
import (
	_ "github.com/organzine/coro/csrc/actor"
	_ "github.com/organzine/coro/csrc/base"
	_ "github.com/organzine/coro/csrc/border"
	_ "github.com/organzine/coro/csrc/buffer"
	_ "github.com/organzine/coro/csrc/dispatch"
	_ "github.com/organzine/coro/csrc/include"
	_ "github.com/organzine/coro/csrc/io"
	_ "github.com/organzine/coro/csrc/kernel"
	_ "github.com/organzine/coro/csrc/sync"
)
