//go:build cgo && (race || asan || corohostile)

package trial

// Instrumented: built with instrumentation, which costs time and memory.
const Instrumented = true
