//go:build !corohostile && cgo && linux && (amd64 || arm64)

package core

// crossing is called at each crossing of Go and C.
func crossing() {}
