//go:build cgo && linux && (amd64 || arm64)

package coro

// RequiresCgo is true, and is there only where the C core is. A program that names it does not
// compile without the core, where New would return ErrNoCgo at run time:
//
//	const _ = coro.RequiresCgo
//
// The go command turns cgo off without a word where GOOS or GOARCH is another system's, and where
// there is no C compiler. CGO_ENABLED=1, and CC for a cross build (CC=aarch64-linux-gnu-gcc), turn
// cgo on.
const RequiresCgo = true
