//go:build cgo && (race || asan || corohostile)

package coro_test

// instrumented: built with instrumentation, which costs time and memory.
const instrumented = true
