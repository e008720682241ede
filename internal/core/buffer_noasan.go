//go:build cgo && !asan

package core

// buffersByC: Go has no lists of its own.
const buffersByC = false
