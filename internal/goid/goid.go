//go:build amd64 || arm64

// Package goid tells goroutines apart.
package goid

// Current is a number that differs between any two goroutines that are alive. It costs about 1 ns.
func Current() uintptr
