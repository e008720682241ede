//go:build cgo && !race

package coro_test

const raceDetector = false
