// Package hard has tests of package coro that are no unit tests: storms and stress, hostile
// programs, signals, crashes, faults, and builds from outside. They know the public API alone.
package hard
