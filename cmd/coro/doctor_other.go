//go:build !linux || !(amd64 || arm64)

package main

// machine has nothing to say where the C core does not run.
func machine() []finding { return nil }
