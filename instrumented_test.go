//go:build cgo && (race || asan || corohostile)

package coro_test

// instrumented: built with what costs time and memory.
const instrumented = true
