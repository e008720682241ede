//go:build cgo && (race || asan)

package coro_test

// instrumented: built with a detector that costs time and memory.
const instrumented = true
