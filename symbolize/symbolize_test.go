//go:build cgo && linux && (amd64 || arm64)

package symbolize_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/organzine/coro/internal/crash"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// emulator is the command that runs this binary, if the machine does not: words, the first of them
// a program.
var emulator = strings.Fields(os.Getenv("CORO_TEST_EMULATOR"))

// program is the child, testdata/crash. It is built by itself: go test leaves the debug information
// out.
var program string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "symbolize")
	if err != nil {
		panic(err)
	}
	program = filepath.Join(dir, "crash")
	out, err := exec.Command("go", "build", "-o", program, "./testdata/crash").CombinedOutput()
	if err != nil {
		panic(fmt.Sprintf("go build: %v\n%s", err, out))
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// run runs the child.
func run(t *testing.T, how string) (said, report string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	command := append(slices.Clone(emulator), program, how)
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "GOTRACEBACK=all")
	var out, errors strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errors
	err = cmd.Run()
	return out.String(), errors.String(), err
}

// frames are the functions of the coroutine's part of a report, from the place of the crash to the
// base.
func frames(report string) []string {
	var list []string
	for _, m := range regexp.MustCompile(`(?m)^\t([^\t\n]+)\n\t\t`).FindAllStringSubmatch(
		report, -1) {
		list = append(list, m[1])
		if m[1] == "coroi_entry" {
			break
		}
	}
	return list
}

// The programs of which package coro tests that one line reports them. Here the line names
// functions, and C frames follow.
func TestCrashesAreReportedWithNamesAndFrames(t *testing.T) {
	for _, k := range crash.Kinds {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			said, report, err := run(t, k.Name)
			if k.Line == "" {
				assert.NotContains(t, report, "coro: ")
			} else {
				assert.Regexp(t, k.Pattern(true), report)
				assert.Equal(t, 1, strings.Count(report, "coro: "), "one line: %s", report)
				assert.NotEmpty(t, frames(report), report)
			}
			if k.Inner != "" {
				assert.Equal(t, k.Inner, frames(report)[0], report)
				assert.Regexp(t, k.Inner+`\n\t\t\S*/bodies\.c:\d+ pc=0x`, report)
			}
			if k.Ending == crash.Fine {
				require.NoError(t, err, report)
				assert.Contains(t, said, "recovered: ")
				assert.Empty(t, report)
				return
			}
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit, report)
			status := exit.Sys().(syscall.WaitStatus)
			if k.Ending == crash.ByGo {
				assert.Equal(t, 2, status.ExitStatus(), "Go ends the process: %s", report)
			} else {
				assert.True(t, status.Signaled() && status.Signal() == k.Signal, "%#x", status)
			}
		})
	}
}

func TestTheFramesEndAtTheBaseOfTheStack(t *testing.T) {
	_, report, _ := run(t, "here")
	list := frames(report)
	require.GreaterOrEqual(t, len(list), 5, report)
	assert.Equal(t, []string{"crash_inner", "crash_outer", "crash_here"}, list[:3], report)
	assert.Equal(t, "coroi_entry", list[len(list)-1], report)
}

func TestTheFramesOfAStolenCoroutineEndThereToo(t *testing.T) {
	said, report, _ := run(t, "stolen")
	assert.Contains(t, said, "stolen\n")
	list := frames(report)
	require.GreaterOrEqual(t, len(list), 5, report)
	assert.Equal(t, []string{"crash_inner", "crash_outer", "crash_stolen"}, list[:3], report)
	assert.Equal(t, "coroi_entry", list[len(list)-1], report)
}

func TestGoShowsTheFramesOfCToo(t *testing.T) {
	for name, caller := range map[string]string{
		"after a call": "coroGoServe", "by hand": "(*Generator).Resume",
	} {
		_, report, _ := run(t, name)
		_, ofGo, found := strings.Cut(report, "SIGSEGV: segmentation violation")
		require.True(t, found, report)
		assert.Contains(t, ofGo, "crash_inner", "its own traceback has the C frames: %s", report)
		assert.Contains(t, ofGo, caller)
	}
}

func TestAnOverflowShowsWhatCalledItself(t *testing.T) {
	_, report, _ := run(t, "deep")
	list := frames(report)
	require.Greater(t, len(list), 20, report)
	for _, name := range list[:20] {
		assert.Equal(t, "crash_level", name)
	}
}

func TestACallOfNothingIsReportedWithItsCaller(t *testing.T) {
	_, report, _ := run(t, "nowhere")
	list := frames(report)
	require.GreaterOrEqual(t, len(list), 2, report)
	assert.Equal(t, []string{"?", "crash_caller"}, list[:2], report)
}

func TestAnAbortIsReportedWithItsCaller(t *testing.T) {
	_, report, _ := run(t, "abort")
	assert.Contains(t, frames(report), "crash_aborter", report)
	assert.Contains(t, frames(report), "crash_abort", report)
}

func TestCoroItselfDoesNotNeedTheSymbolizer(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "github.com/organzine/coro").Output()
	require.NoError(t, err)
	assert.Contains(t, string(out), "github.com/organzine/coro/internal/core\n")
	assert.NotContains(t, string(out), "symboliz")
}
