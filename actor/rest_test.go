package actor

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// With this variable TestAtRestForTenSeconds is the process that is measured.
const isAtRest = "CORO_ACTOR_AT_REST"

// 10 000 actors that have handled messages, and have nothing to do for 10 s, wake no thread and use
// no CPU. They have a process of their own, so that other tests are not measured.
func TestAtRestForTenSeconds(t *testing.T) {
	if os.Getenv(isAtRest) != "" {
		atRest(t)
		return
	}
	if testing.Short() {
		t.Skip("10 s")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), isAtRest+"=1", "GORACE=atexit_sleep_ms=0")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	figures := strings.Index(string(out), "at rest: ")
	require.GreaterOrEqual(t, figures, 0, "%s", out)
	var wakes, cpu int64
	_, err = fmt.Sscanf(string(out[figures:]), "at rest: %d wakes, %d us", &wakes, &cpu)
	require.NoError(t, err)
	t.Logf("%d wakes, %d us of CPU", wakes, cpu)
	// The test's own timer and the runtime have 3 to 10, and up to 50 while other processes
	// want the processors. A look each 50 ms would have 200.
	require.Less(t, wakes, int64(100))
	require.Less(t, cpu, int64(20_000))
}

func atRest(t *testing.T) {
	y := open(t)
	for range 10_000 {
		r := spawn(t, y, nothing[int])
		for i := range 3 {
			require.NoError(t, r.Tell(i))
		}
	}
	rest(t, y)
	runtime.GC()
	debug.SetGCPercent(-1)
	debug.FreeOSMemory()    // else the runtime gives it back meanwhile, step by step
	time.Sleep(time.Second) // for the runtime's sweeper, scavenger and monitor to come to rest
	before := usage(t)
	time.Sleep(10 * time.Second)
	after := usage(t)
	require.EqualValues(t, 30_000, y.Stats().Handled)
	cpu := after.Utime.Nano() - before.Utime.Nano() + after.Stime.Nano() - before.Stime.Nano()
	fmt.Printf("at rest: %d wakes, %d us\n", after.Nvcsw-before.Nvcsw, cpu/1000)
}

func usage(t *testing.T) (u syscall.Rusage) {
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return u
}
