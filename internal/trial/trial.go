//go:build cgo

// Package trial has what the tests of package coro, of internal/hard and of actorc share.
package trial

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
)

// trial.go - schedulers, waits and child processes of tests.

// Expired is a context that has ended.
var Expired = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// Patience is how long a test waits for an event that must come. No passing test waits that long.
const Patience = 3 * time.Minute

// Soon is a context that ends only in a failing test.
func Soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	t.Cleanup(cancel)
	return ctx
}

// Eventually waits for cond.
func Eventually(t testing.TB, cond func() bool, what string, args ...any) {
	t.Helper()
	for start := time.Now(); !cond(); time.Sleep(100 * time.Microsecond) {
		if time.Since(start) > Patience {
			require.Fail(t, "did not happen: "+fmt.Sprintf(what, args...))
		}
	}
}

// NewScheduler makes a scheduler that is closed, at the latest, when the test ends.
func NewScheduler(t testing.TB, opts ...coro.Option) *coro.Scheduler {
	t.Helper()
	testbody.Reset()
	s, err := coro.New(opts...)
	require.NoError(t, err)
	t.Cleanup(func() {
		testbody.Stop()
		_ = s.Close(Expired)
		assert.NoError(t, s.Close(Soon(t)), "the scheduler must come to its end")
	})
	return s
}

// Finish waits for the end of all coroutines, and checks that nothing is left.
func Finish(t testing.TB, s *coro.Scheduler) {
	t.Helper()
	require.NoError(t, s.Wait(Soon(t)))
	assert.Zero(t, s.Stats().Live)
}

// ClosedEarly checks the result of Close with an ended context: nil, or that context's error. On a
// slow machine it is inside a RunningError.
func ClosedEarly(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		require.ErrorIs(t, err, context.Canceled)
	}
}

// Tries makes a call that does not wait, which returns no error, and tells whether it has
// succeeded.
func Tries(t testing.TB, try func() (bool, error)) bool {
	t.Helper()
	ok, err := try()
	assert.NoError(t, err)
	return ok
}

// Gone waits until the last thread with the prefix in its name, which was joined, has vanished from
// /proc, too.
func Gone(t testing.TB, prefix string) {
	t.Helper()
	Eventually(t, func() bool { return Threads(t, prefix) == 0 }, "no thread %s", prefix)
}

// Parked waits until n coroutines wait.
func Parked(t testing.TB, s *coro.Scheduler, n int) {
	t.Helper()
	Eventually(t, func() bool {
		_, count := s.Blocked(0)
		return count == n
	}, "%d coroutines parked", n)
}

// Asleep waits until all workers sleep.
func Asleep(t testing.TB, s *coro.Scheduler) {
	t.Helper()
	Eventually(t, func() bool { return s.Stats().Awake == 0 }, "all workers sleep")
}

// Scaled makes long tests shorter where time is short.
func Scaled(n int) int {
	if Instrumented {
		n /= 4
	}
	if testing.Short() {
		n /= 4
	}
	return max(n, 1)
}

// Counted is the number of rounds of a test that counts: n times CORO_TEST_SCALE.
func Counted(n int64) int64 {
	scale, err := strconv.ParseFloat(os.Getenv("CORO_TEST_SCALE"), 64)
	if err != nil {
		scale = 1
	}
	if Instrumented {
		scale /= 8
	}
	return max(int64(float64(n)*scale), 1)
}

// Some tests must see a process die: the test binary runs itself again with the name of a child.
const childVariable = "CORO_TEST_CHILD"

// Emulator is the command that runs this binary, if the machine does not: words, the first of them
// a program.
var Emulator = strings.Fields(os.Getenv("CORO_TEST_EMULATOR"))

// Children are what such a child runs, by name.
var Children = map[string]func(){}

// Main runs the tests, or the child. It is what TestMain calls.
func Main(m *testing.M) {
	if name := os.Getenv(childVariable); name != "" {
		Children[name]()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Child runs this binary again, which calls the function that Children has under the name.
func Child(t *testing.T, name string) (output string, err error) {
	t.Helper()
	require.Contains(t, Children, name)
	command := append(slices.Clone(Emulator), os.Args[0])
	cmd := exec.CommandContext(Soon(t), command[0], command[1:]...)
	cmd.Env = append(os.Environ(), childVariable+"="+name, "GOTRACEBACK=all")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// OptionError checks that err refuses what, for a reason that contains the words.
func OptionError(t testing.TB, err error, what string, words ...string) {
	t.Helper()
	var e *coro.OptionError
	require.ErrorAs(t, err, &e)
	assert.Equal(t, what, e.What)
	for _, w := range words {
		assert.Contains(t, e.Reason, w)
	}
	assert.True(t, strings.HasPrefix(err.Error(), "coro: "+what+"("), err.Error())
}

// Threads counts the threads of this process with the prefix in their names.
func Threads(t testing.TB, prefix string) (n int) {
	names, err := filepath.Glob("/proc/self/task/*/comm")
	require.NoError(t, err)
	for _, name := range names {
		if text, err := os.ReadFile(name); err == nil &&
			strings.HasPrefix(string(text), prefix) {
			n++
		}
	}
	return n
}

// Limit sets a soft limit and returns the function that lifts it.
func Limit(resource int, n uint64) (lift func()) {
	var before syscall.Rlimit
	must(syscall.Getrlimit(resource, &before))
	now := before
	now.Cur = n
	must(syscall.Setrlimit(resource, &now))
	return func() { must(syscall.Setrlimit(resource, &before)) }
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// Goes starts a Go body without a result.
func Goes(
	t testing.TB, s *coro.Scheduler, f func(c *coro.Coroutine) error,
) *coro.Task[coro.None] {
	t.Helper()
	task, err := coro.Go(s, func(c *coro.Coroutine) (coro.None, error) {
		return coro.None{}, f(c)
	})
	require.NoError(t, err)
	return task
}

// Wait waits for the end of a task.
func Wait[R any](t testing.TB, task *coro.Task[R]) (R, error) {
	t.Helper()
	return task.Wait(Soon(t))
}

// Made returns an object that must have been made.
func Made[T any](t testing.TB) func(*T, error) *T {
	return func(o *T, err error) *T {
		t.Helper()
		require.NoError(t, err)
		return o
	}
}

// NewChan makes a channel.
func NewChan[T any](t testing.TB, s *coro.Scheduler, capacity int) *coro.Chan[T] {
	t.Helper()
	return Made[coro.Chan[T]](t)(coro.NewChan[T](s, capacity))
}
