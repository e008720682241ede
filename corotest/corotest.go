// Package corotest helps to test programs that use package coro: it finds what tests leave behind.
//
//	func TestService(t *testing.T) {
//		corotest.VerifyNone(t)
//		…
//	}
//
// For a whole package:
//
//	func TestMain(m *testing.M) { os.Exit(corotest.Main(m)) }
package corotest

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/organzine/coro/internal/leak"
)

// patience is how long things that end by themselves may take to do so.
var patience = 2 * time.Second

// VerifyNone fails the test, when it ends, for each thing of package coro that was made since this
// call and is left then, and says where the thing was made:
//   - schedulers that are not closed, with their worker threads, coroutines and stacks
//   - coroutines that have not ended, in schedulers that were made before, too
//   - generators that are not closed, with their stacks
//   - tasks that have ended, that nobody has waited for, and that are still referred to: they keep
//     their records
//   - systems of package actor that are not closed, and actors that have not ended
//   - buffers that are not freed, whoever owns them; of those that C has made, the address of the
//     code that did
//
// Nothing else is tracked: channels, semaphores, locks, groups and exported functions are not.
//
// VerifyNone waits up to two seconds for things that end by themselves, or that are collected
// because nothing refers to them.
//
// Call VerifyNone first: it looks after all cleanups that the test registers later. It does not
// know which test made a thing, so it is not for tests that run in parallel with others. Coroutines
// without handles (Spawn, SpawnN, Batch) are only counted: of a scheduler that had some before, as
// many are left as there are more than then. While VerifyNone is in force, making a thing costs a
// microsecond more; otherwise nothing.
func VerifyNone(t testing.TB) {
	t.Helper()
	v := leak.Begin()
	t.Cleanup(func() {
		t.Helper()
		defer v.End()
		for _, l := range await(v) {
			t.Errorf("coro: leaked: %s", l)
		}
	})
}

// Main runs the tests of a package and then does what VerifyNone does, with stderr for its report.
// It returns the code to exit with: the tests' own, or 1 if they have passed and something has
// leaked. m is a *testing.M.
func Main(m interface{ Run() int }) int { return run(m, os.Stderr) }

func run(m interface{ Run() int }, report io.Writer) int {
	v := leak.Begin()
	defer v.End()
	code := m.Run()
	if code != 0 {
		return code
	}
	for _, l := range await(v) {
		fmt.Fprintf(report, "coro: leaked: %s", l)
		code = 1
	}
	return code
}

// await returns what is left when patience has run out, or nothing as soon as nothing is left.
func await(v *leak.Verification) []leak.Leak {
	for start, pause := time.Now(), 100*time.Microsecond; ; pause = min(2*pause,
		50*time.Millisecond) {
		leaks := v.Leaks()
		if len(leaks) == 0 || time.Since(start) > patience {
			return leaks
		}
		runtime.GC() // a thing to which nothing refers is not left
		time.Sleep(pause)
	}
}
