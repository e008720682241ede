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

// crashed runs the child, which crashes, and returns its output and how it ended.
func crashed(t *testing.T, how string) (said, report string, status syscall.WaitStatus) {
	t.Helper()
	said, report, err := run(t, how)
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	return said, report, exit.Sys().(syscall.WaitStatus)
}

// killedBy checks that a signal ended the child.
func killedBy(t *testing.T, status syscall.WaitStatus, sig syscall.Signal) {
	t.Helper()
	assert.True(t, status.Signaled() && status.Signal() == sig, "%#x", status)
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

func TestACrashIsReportedWithTheFunctionsAndLinesOfC(t *testing.T) {
	said, report, status := crashed(t, "here")
	killedBy(t, status, syscall.SIGSEGV)
	assert.Empty(t, said)
	assert.Regexp(t,
		`(?m)^coro: SIGSEGV at address 0x0, in a coroutine of function crash_here, `+
			`handle 0x[0-9a-f]+, on worker [01]$`, report)
	list := frames(report)
	require.GreaterOrEqual(t, len(list), 5, report)
	assert.Equal(t, []string{"crash_inner", "crash_outer", "crash_here"}, list[:3], report)
	assert.Equal(t, "coroi_entry", list[len(list)-1],
		"it ends at the base of the coroutine's stack: %s", report)
	assert.Regexp(t, `crash_inner\n\t\t\S*/bodies\.c:\d+ pc=0x`, report)
}

func TestACrashOfAStolenCoroutineIsReportedToo(t *testing.T) {
	said, report, status := crashed(t, "stolen")
	killedBy(t, status, syscall.SIGSEGV)
	assert.Contains(t, said, "stolen\n")
	assert.Regexp(t,
		`(?m)^coro: SIGSEGV at address 0x0, in a coroutine of function crash_stolen, `+
			`handle 0x[0-9a-f]+, on worker [01]$`, report)
	list := frames(report)
	require.GreaterOrEqual(t, len(list), 5, report)
	assert.Equal(t, []string{"crash_inner", "crash_outer", "crash_stolen"}, list[:3], report)
	assert.Equal(t, "coroi_entry", list[len(list)-1], report)
	assert.Equal(t, 1, strings.Count(report, "coro: SIGSEGV"),
		"the first fault is reported, and no other")
}

func TestACrashOnAWorkerThatCallsGoIsReportedByUsAndByGo(t *testing.T) {
	_, report, status := crashed(t, "after a call")
	assert.Equal(t, 2, status.ExitStatus(), "Go ends the process: %s", report)
	assert.Regexp(t,
		`(?m)^coro: SIGSEGV at address 0x0, in a coroutine of function crash_after_call, `+
			`handle 0x`, report)
	assert.Equal(t, []string{"crash_inner", "crash_outer", "crash_after_call"},
		frames(report)[:3], report)
	_, ofGo, found := strings.Cut(report, "SIGSEGV: segmentation violation")
	require.True(t, found, report)
	assert.Contains(t, ofGo, "crash_inner", "its own traceback has the C frames: %s", report)
	assert.Contains(t, ofGo, "coroGoServe", report)
}

func TestAnOverflowShowsWhatCalledItself(t *testing.T) {
	_, report, status := crashed(t, "deep")
	killedBy(t, status, syscall.SIGSEGV)
	assert.Contains(t, report, "coro: stack overflow: ")
	assert.Regexp(t,
		`(?m)^coro: SIGSEGV at address 0x[0-9a-f]+, `+
			`in a coroutine of function crash_deep, `, report)
	list := frames(report)
	require.Greater(t, len(list), 20, report)
	for _, name := range list[:20] {
		assert.Equal(t, "crash_level", name)
	}
}

func TestAnOverflowOnAWorkerThatCallsGoIsNamedToo(t *testing.T) {
	_, report, status := crashed(t, "deep after a call")
	assert.Equal(t, 2, status.ExitStatus(), "Go ends the process: %s", report)
	assert.Contains(t, report, "coro: stack overflow: ")
	list := frames(report)
	require.Greater(t, len(list), 20, report)
	assert.Equal(t, "crash_level", list[0])
	assert.Contains(t, report, "SIGSEGV: segmentation violation", "Go's own report")
}

func TestACallOfNothingIsReportedWithItsCaller(t *testing.T) {
	_, report, status := crashed(t, "nowhere")
	killedBy(t, status, syscall.SIGSEGV)
	list := frames(report)
	require.GreaterOrEqual(t, len(list), 2, report)
	assert.Equal(t, []string{"?", "crash_caller"}, list[:2], report)
}

func TestAnAbortIsReported(t *testing.T) {
	_, report, status := crashed(t, "abort")
	killedBy(t, status, syscall.SIGABRT)
	assert.Regexp(t, `(?m)^coro: SIGABRT, in a coroutine of function crash_abort, `, report)
	assert.Contains(t, frames(report), "crash_aborter", report)
	assert.Contains(t, frames(report), "crash_abort", report)
}

func TestACrashInAGeneratorIsReportedByUsAndByGo(t *testing.T) {
	_, report, status := crashed(t, "by hand")
	assert.Equal(t, 2, status.ExitStatus(), "Go ends the process: %s", report)
	assert.Regexp(t, `(?m)^coro: SIGSEGV at address 0x0, in a coroutine of function crash_by_hand$`,
		report)
	assert.Equal(t, []string{"crash_inner", "crash_outer", "crash_by_hand"}, frames(report)[:3],
		report)
	_, ofGo, found := strings.Cut(report, "SIGSEGV: segmentation violation")
	require.True(t, found, report)
	assert.Contains(t, ofGo, "(*Generator).Resume", report)
	assert.Contains(t, ofGo, "crash_inner", "its own traceback has the C frames: %s", report)
}

func TestGoStillRecoversFromItsOwnFaults(t *testing.T) {
	said, report, err := run(t, "recover")
	require.NoError(t, err, report)
	assert.Contains(t, said,
		"recovered: runtime error: invalid memory address or nil pointer dereference")
	assert.Empty(t, report)
}

func TestCoroItselfDoesNotNeedTheSymbolizer(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "github.com/organzine/coro").Output()
	require.NoError(t, err)
	assert.Contains(t, string(out), "github.com/organzine/coro/csrc\n")
	assert.NotContains(t, string(out), "symboliz")
}
