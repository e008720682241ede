//go:build cgo && asan

package core

// buffersByC: Go has no lists of its own. What lies in those of C is poisoned.
const buffersByC = true
