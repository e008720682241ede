//go:build cgo

package coro_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The bodies of internal/testbody, as users see them.
var (
	empty      = coro.MustFunc[coro.None, coro.None](testbody.Empty)
	add        = coro.MustFunc[int64, coro.None](testbody.Add)
	square     = coro.MustFunc[int64, int64](testbody.Square)
	park       = coro.MustFunc[coro.None, int32](testbody.Park, coro.FuncName("park"))
	laps       = coro.MustFunc[coro.None, coro.None](testbody.Laps)
	spin       = coro.MustFunc[coro.None, coro.None](testbody.Spin, coro.FuncName("spin"))
	abort      = coro.MustFunc[coro.None, coro.None](testbody.Abort)
	yield      = coro.MustFunc[int64, coro.None](testbody.Yield)
	tree       = coro.MustFunc[int64, coro.None](testbody.Tree)
	wake       = coro.MustFunc[coro.Handle, int32](testbody.Wake)
	join       = coro.MustFunc[coro.Handle, int32](testbody.Join, coro.FuncName("join"))
	self       = coro.MustFunc[coro.None, coro.Handle](testbody.Self)
	family     = coro.MustFunc[int64, int64](testbody.Family)
	pingPong   = coro.MustFunc[int64, coro.None](testbody.PingPong)
	canceled   = coro.MustFunc[int64, int64](testbody.Canceled, coro.FuncName("canceled"))
	cancel     = coro.MustFunc[coro.Handle, int32](testbody.Cancel)
	late       = coro.MustFunc[uint64, coro.None](testbody.Late)
	busyParent = coro.MustFunc[uint64, coro.None](testbody.BusyParent)
)

var (
	background = context.Background()
	expired    = expiredContext()
)

func expiredContext() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// patience is how long a test waits for an event that must come. No passing test waits that long.
const patience = 3 * time.Minute

// soon is a context that ends only in a failing test.
func soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// eventually waits for cond.
func eventually(t testing.TB, cond func() bool, what string, args ...any) {
	t.Helper()
	for start := time.Now(); !cond(); time.Sleep(100 * time.Microsecond) {
		if time.Since(start) > patience {
			require.Fail(t, "did not happen: "+fmt.Sprintf(what, args...))
		}
	}
}

// newScheduler makes a scheduler that is closed, at the latest, when the test ends.
func newScheduler(t testing.TB, opts ...coro.Option) *coro.Scheduler {
	t.Helper()
	testbody.Reset()
	s, err := coro.New(opts...)
	require.NoError(t, err)
	t.Cleanup(func() {
		testbody.Stop()
		_ = s.Close(expired)
		assert.NoError(t, s.Close(soon(t)), "the scheduler must come to its end")
	})
	return s
}

// finish waits for the end of all coroutines, and checks that nothing is left.
func finish(t testing.TB, s *coro.Scheduler) {
	t.Helper()
	require.NoError(t, s.Wait(soon(t)))
	assert.Zero(t, s.Stats().Live)
}

// closedEarly checks the result of Close with an ended context: nil, or that context's error. On a
// slow machine it is inside a RunningError.
func closedEarly(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		require.ErrorIs(t, err, context.Canceled)
	}
}

// tries makes a call that does not wait, which returns no error, and tells whether it has
// succeeded.
func tries(t testing.TB, try func() (bool, error)) bool {
	t.Helper()
	ok, err := try()
	assert.NoError(t, err)
	return ok
}

// gone waits until the last thread with the prefix in its name, which was joined, has vanished from
// /proc, too.
func gone(t testing.TB, prefix string) {
	t.Helper()
	eventually(t, func() bool { return threads(t, prefix) == 0 }, "no thread %s", prefix)
}

// parked waits until n coroutines wait.
func parked(t testing.TB, s *coro.Scheduler, n int) {
	t.Helper()
	eventually(t, func() bool {
		_, count := s.Blocked(0)
		return count == n
	}, "%d coroutines parked", n)
}

// asleep waits until all workers sleep.
func asleep(t testing.TB, s *coro.Scheduler) {
	t.Helper()
	eventually(t, func() bool { return s.Stats().Awake == 0 }, "all workers sleep")
}

// scaled makes long tests shorter where time is short.
func scaled(n int) int {
	if instrumented {
		n /= 4
	}
	if testing.Short() {
		n /= 4
	}
	return max(n, 1)
}

// counted is the number of rounds of a test that counts: n times CORO_TEST_SCALE.
func counted(n int64) int64 {
	scale, err := strconv.ParseFloat(os.Getenv("CORO_TEST_SCALE"), 64)
	if err != nil {
		scale = 1
	}
	if instrumented {
		scale /= 8
	}
	return max(int64(float64(n)*scale), 1)
}

// Some tests must see a process die: the test binary runs itself again with the name of a child.
const childVariable = "CORO_TEST_CHILD"

// emulator is the command that runs this binary, if the machine does not: words, the first of them
// a program.
var emulator = strings.Fields(os.Getenv("CORO_TEST_EMULATOR"))

var children = map[string]func(){}

func TestMain(m *testing.M) {
	if name := os.Getenv(childVariable); name != "" {
		children[name]()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child runs this binary again, which calls the function that children has under the name.
func child(t *testing.T, name string) (output string, err error) {
	t.Helper()
	require.Contains(t, children, name)
	command := append(slices.Clone(emulator), os.Args[0])
	cmd := exec.CommandContext(soon(t), command[0], command[1:]...)
	cmd.Env = append(os.Environ(), childVariable+"="+name, "GOTRACEBACK=all")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// optionError checks that err refuses what, for a reason that contains the words.
func optionError(t testing.TB, err error, what string, words ...string) {
	t.Helper()
	var e *coro.OptionError
	require.ErrorAs(t, err, &e)
	assert.Equal(t, what, e.What)
	for _, w := range words {
		assert.Contains(t, e.Reason, w)
	}
	assert.True(t, strings.HasPrefix(err.Error(), "coro: "+what+"("), err.Error())
}
