//go:build cgo && !race && !asan && !corohostile

package coro_test

const instrumented = false
