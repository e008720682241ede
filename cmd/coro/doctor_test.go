//go:build cgo && linux && (amd64 || arm64)

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	core "github.com/organzine/coro"
)

// Where this test was built coro works. The doctor sees what the core sees.
func TestTheDoctorAgreesWithTheCore(t *testing.T) {
	status, out, messages := coro("doctor")
	assert.Zero(t, status, "%s%s", out, messages)
	assert.Empty(t, messages)
	assert.NotContains(t, out, string(failed))
	for line := range strings.Lines(out) {
		assert.Regexp(t, `^(ok  |slow)  [a-z]+ +\S.*\n$`, line)
		assert.True(t, strings.HasPrefix(line, "ok") || strings.Contains(line, ": "), "a remedy: %s", line)
	}
	s, err := core.New()
	require.NoError(t, err)
	defer func() { assert.NoError(t, s.Close(context.Background())) }()
	stats := s.Stats()
	assert.Equal(t, stats.Membarrier, doors().grade == good)
	assert.Equal(t, stats.LightGuards, guards().grade == good)
}

func TestTheDoctorFindsWhatIsMissing(t *testing.T) {
	script := func(text string) string {
		name := filepath.Join(t.TempDir(), "cc")
		require.NoError(t, os.WriteFile(name, []byte("#!/bin/sh\n"+text), 0o777))
		return name
	}
	here := environment{GOVERSION: "go1.26.0", GOOS: "linux", GOARCH: runtime.GOARCH, CGO_ENABLED: "1", CC: "gcc"}
	other := map[string]string{"amd64": "arm64", "arm64": "amd64"}[runtime.GOARCH]
	for what, c := range map[string]struct {
		change func(env *environment)
		look   func(env *environment) finding
		want   string
	}{
		"another system":  {func(e *environment) { e.GOOS = "darwin" }, (*environment).system, "use a container"},
		"another machine": {func(e *environment) { e.GOARCH = "riscv64" }, (*environment).system, "use a container"},
		"an old Go":       {func(e *environment) { e.GOVERSION = "go1.25.4" }, (*environment).version, "install Go 1.26"},
		"no cgo":          {func(e *environment) { e.CGO_ENABLED = "0" }, (*environment).cgo, "set CGO_ENABLED=1"},
		"no compiler":     {func(e *environment) { e.CC = "no-such-compiler" }, (*environment).compiler, "install one"},
		"an open quote":   {func(e *environment) { e.CC = "'gcc" }, (*environment).compiler, "CC is no command"},
		"the compiler of another machine": {func(e *environment) { e.GOARCH = other }, (*environment).compiler,
			"set CC to a compiler for " + other},
		"no headers": {func(e *environment) {
			e.CC = script("case $* in *-x*) echo 'x.c:1:10: fatal error: pthread.h: No such file' >&2; exit 1;; esac\n")
		}, (*environment).compiler, "install one"},
	} {
		env := here
		assert.Equal(t, good, c.look(&env).grade, "without: %s: %v", what, c.look(&env))
		c.change(&env)
		f := c.look(&env)
		assert.Equal(t, failed, f.grade, what)
		assert.Contains(t, f.remedy, c.want, what)
	}
	env := here
	env.GOVERSION = "devel go1.99-abc"
	assert.Equal(t, good, env.version().grade)
}

// leastGo is that of go.mod.
func TestTheDoctorAsksForTheGoOfTheModule(t *testing.T) {
	text, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
	assert.Contains(t, string(text), "\ngo 1."+strconv.Itoa(leastGo))
}

func TestTheDoctorFailsWhereCoroDoesNotWork(t *testing.T) {
	t.Setenv("CGO_ENABLED", "0")
	var out, messages bytes.Buffer
	assert.Equal(t, 1, run([]string{"doctor"}, &out, &messages))
	assert.Contains(t, out.String(), "FAIL  cgo")
	assert.Equal(t, "coro: doctor: coro does not work here: see what says FAIL\n", messages.String())
}
