package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/organzine/coro/internal/bodygen"
	"github.com/organzine/coro/internal/usage"
)

const doctorHelp = "coro doctor\n\n" +
	"Look whether coro works here: system, Go, cgo, C compiler, kernel and limits, a line each.\n" +
	"\"FAIL\" keeps coro from working; \"slow\" is what it does without. Each has its remedy.\n"

// A grade says how a finding is for coro.
type grade string

const (
	good   grade = "ok"
	slower grade = "slow" // coro works, with less of something
	failed grade = "FAIL"
)

// A finding is one line of the doctor's.
type finding struct {
	grade      grade
	what, text string
	remedy     string // "": none is needed
}

// environment is what `go env -json` tells.
type environment struct {
	GOVERSION, GOOS, GOARCH, GOHOSTARCH, CGO_ENABLED, CC string
}

func doctor(args []string, out io.Writer) error {
	if err := usage.ParseFlags(usage.Flags("doctor"), args, doctorHelp, out); err != nil {
		return err
	}
	fails := 0
	for _, f := range append(toolchain(), machine()...) {
		line := fmt.Sprintf("%-4s  %-12s %s", f.grade, f.what, f.text)
		if f.remedy != "" {
			line += ": " + f.remedy
		}
		if f.grade == failed {
			fails++
		}
		fmt.Fprintln(out, line)
	}
	if fails > 0 {
		return errors.New("doctor: coro does not work here: see what says FAIL")
	}
	return nil
}

// toolchain looks at the go command, and at what it compiles with.
func toolchain() []finding {
	var env environment
	text, err := goCommand("env", "-json", "GOVERSION", "GOOS", "GOARCH", "GOHOSTARCH",
		"CGO_ENABLED", "CC")
	if err == nil {
		err = json.Unmarshal([]byte(text), &env)
	}
	if err != nil {
		return []finding{{failed, "go", oneLine(err.Error()), "install Go 1.26 or newer"}}
	}
	return []finding{env.system(), env.version(), env.cgo(), env.compiler()}
}

func (env *environment) system() finding {
	f := finding{good, "target", env.GOOS + "/" + env.GOARCH, ""}
	if env.GOOS != "linux" || env.GOARCH != "amd64" && env.GOARCH != "arm64" {
		f.grade, f.remedy = failed, "the C core is for linux on amd64 and arm64; use a "+
			"container, or GOOS and GOARCH"
	}
	return f
}

// leastGo is the version of go.mod's go line.
const leastGo = 26

func (env *environment) version() finding {
	f := finding{good, "go", env.GOVERSION, ""}
	minor := 0
	if _, err := fmt.Sscanf(env.GOVERSION, "go1.%d", &minor); err == nil && minor < leastGo {
		f.grade, f.remedy = failed, fmt.Sprintf("install Go 1.%d or newer", leastGo)
	}
	return f
}

func (env *environment) cgo() finding {
	f := finding{good, "cgo", "CGO_ENABLED=" + env.CGO_ENABLED, ""}
	if env.CGO_ENABLED != "1" {
		f.grade, f.remedy = failed, "set CGO_ENABLED=1; go turns cgo off by itself in a "+
			"cross build, and where it finds no C compiler"
	}
	return f
}

// arches are how compilers name what they compile for.
var arches = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}

// needed is compiled and linked: a compiler alone, without the C library's headers and those of the
// kernel, is not enough.
const needed = `#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>

_Static_assert(sizeof(void *) == 8, "64 bits");

static void *one(void *arg) { return arg; }

int main(void)
{
	pthread_t thread;
	return pthread_create(&thread, 0, one, 0) || pthread_join(thread, 0);
}
`

const installCompiler = "install one: apt-get install gcc libc6-dev, or apk add gcc musl-dev " +
	"linux-headers; or name another in CC"

func (env *environment) compiler() finding {
	f := finding{failed, "compiler", env.CC, installCompiler}
	words, err := bodygen.Split(env.CC)
	if err != nil || len(words) == 0 {
		f.text, f.remedy = fmt.Sprintf("CC=%q", env.CC), "CC is no command"
		return f
	}
	version, err := exec.Command(words[0], append(words[1:], "--version")...).Output()
	if err != nil {
		f.text = fmt.Sprintf("%s does not run: %s", env.CC, oneLine(err.Error()))
		return f
	}
	f.text = fmt.Sprintf("%s: %s", env.CC, oneLine(string(version)))
	target, _ := exec.Command(words[0], append(words[1:], "-dumpmachine")...).Output()
	if want := arches[env.GOARCH]; want != "" && len(target) > 0 &&
		!strings.HasPrefix(string(target), want) {
		f.text += ", compiles for " + strings.TrimSpace(string(target))
		f.remedy = fmt.Sprintf("set CC to a compiler for %s, such as CC=%s-linux-gnu-gcc",
			env.GOARCH, want)
		return f
	}
	if text, err := compiles(words); err != nil {
		f.text += ", but does not compile a small program (" + text + ")"
		return f
	}
	f.grade, f.remedy = good, ""
	return f
}

// compiles returns what a compiler says first of a program that it does not compile.
func compiles(compiler []string) (string, error) {
	dir, err := os.MkdirTemp("", "coro-doctor-")
	if err != nil {
		return err.Error(), err
	}
	defer os.RemoveAll(dir)
	args := append(compiler[1:len(compiler):len(compiler)], "-std=gnu11", "-pthread",
		"-o", filepath.Join(dir, "program"), "-x", "c", "-")
	cmd := exec.Command(compiler[0], args...)
	cmd.Stdin = strings.NewReader(needed)
	out, err := cmd.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "error") || strings.Contains(line, "cannot") {
			return strings.TrimSpace(line), err
		}
	}
	return oneLine(string(out)), err
}

// oneLine is the first line of a text.
func oneLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// workers is how many threads a scheduler has.
func workers() finding {
	return finding{good, "workers", fmt.Sprintf("%d (GOMAXPROCS)", runtime.GOMAXPROCS(0)), ""}
}
