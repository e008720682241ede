//go:build !corohostile && cgo && linux && (amd64 || arm64)

package csrc

// crossing stands at each border of Go and C.
func crossing() {}
