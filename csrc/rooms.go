//go:build cgo && linux && (amd64 || arm64)

package csrc

//go:generate go run genstub.go

// The rooms of the core. They are imported so that csrc is compiled again when a file of theirs
// changes: kernel.c and its like include the files, which the go command does not know.
import (
	_ "github.com/organzine/coro/csrc/actor"
	_ "github.com/organzine/coro/csrc/base"
	_ "github.com/organzine/coro/csrc/dispatch"
	_ "github.com/organzine/coro/csrc/io"
	_ "github.com/organzine/coro/csrc/kernel"
	_ "github.com/organzine/coro/csrc/sync"
)
