//go:build cgo && linux && (amd64 || arm64)

package csrc

//go:generate go run genstub.go

// The rooms of the core: packages of C alone. They are linked because they are imported.
import (
	_ "github.com/organzine/coro/csrc/base"
	_ "github.com/organzine/coro/csrc/dispatch"
	_ "github.com/organzine/coro/csrc/io"
	_ "github.com/organzine/coro/csrc/kernel"
	_ "github.com/organzine/coro/csrc/sync"
)
