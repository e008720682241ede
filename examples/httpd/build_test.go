//go:build !asan

package main_test

var buildFlags = []string{"build", "-buildvcs=false"}
