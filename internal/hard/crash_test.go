//go:build cgo

package hard_test

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/organzine/coro/internal/crash"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func init() {
	for _, k := range crash.Kinds {
		children["crash: "+k.Name] = k.Run
	}
}

// Each fault in C is reported by one line, and the process ends as it does without the line. What
// Go recovers from is not reported. Package symbolize runs the same programs.
func TestCrashes(t *testing.T) {
	for _, k := range crash.Kinds {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			out, err := child(t, "crash: "+k.Name)
			if k.Line == "" {
				assert.NotContains(t, out, "coro: ")
			} else {
				assert.Regexp(t, k.Pattern(false), out)
				assert.Equal(t, 1, strings.Count(out, "coro: "), "one line: %s", out)
			}
			if k.Ending == crash.Fine {
				require.NoError(t, err, out)
				assert.Contains(t, out, "recovered: ")
				return
			}
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit, out)
			if strings.Contains(out, "AddressSanitizer") {
				return // it reports in Go's place
			}
			status := exit.Sys().(syscall.WaitStatus)
			if k.Ending == crash.ByGo {
				assert.Equal(t, 2, status.ExitStatus(), "Go ends the process: %s", out)
				return
			}
			assert.True(t, status.Signaled() && status.Signal() == k.Signal,
				"Go gives no report of threads that are not its own: %#x: %s", status, out)
			assert.NotContains(t, out, "goroutine ", "Go is silent")
		})
	}
}
