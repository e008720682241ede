//go:build asan

package main_test

// The program is built as the test is.
var buildFlags = []string{"build", "-buildvcs=false", "-asan"}
