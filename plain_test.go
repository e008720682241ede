//go:build cgo && !race && !asan

package coro_test

const instrumented = false
