//go:build cgo && linux && (amd64 || arm64)

package csrc

// The rooms of the core: packages of C alone, which are linked because they are imported.
import (
	_ "github.com/organzine/coro/csrc/base"
	_ "github.com/organzine/coro/csrc/dispatch"
	_ "github.com/organzine/coro/csrc/io"
	_ "github.com/organzine/coro/csrc/kernel"
	_ "github.com/organzine/coro/csrc/sync"
)
