// Package zero has the panic of a value that its constructor has not made.
package zero

import "strings"

// Value panics: a method was called of a zero value, which maker, a function of package coro, has
// to make. It is a function of its own so that callers stay small.
//
//go:noinline
func Value(maker string) {
	panic("coro: " + strings.TrimPrefix(maker, "New") + "(zero value): make it with " + maker)
}
