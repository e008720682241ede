package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro/csrc/include"
)

// coro runs the command.
func coro(args ...string) (status int, out, messages string) {
	var a, b bytes.Buffer
	status = run(args, &a, &b)
	return status, a.String(), b.String()
}

func TestHelpIsNoError(t *testing.T) {
	for _, args := range [][]string{{"help"}, {"-h"}, {"--help"}} {
		status, out, messages := coro(args...)
		assert.Zero(t, status, args)
		assert.Empty(t, messages)
		for _, c := range commands() {
			assert.Contains(t, out, "  coro "+c.name+" ")
		}
	}
	for _, c := range commands() {
		for _, args := range [][]string{{"help", c.name}, {c.name, "-h"}, {c.name, "--help"}} {
			status, out, messages := coro(args...)
			assert.Zero(t, status, args)
			assert.Empty(t, messages)
			assert.Regexp(t, "^usage: coro "+c.name+"\\b", out)
		}
	}
	_, out, _ := coro("help", "gdb")
	assert.Contains(t, out, "-o file", "the flags are explained")
}

func TestWrongArgumentsAreTold(t *testing.T) {
	t.Chdir(t.TempDir())
	for line, want := range map[string]string{
		"":                        "the command is missing: see coro help",
		"no":                      `there is no command "no": see coro help`,
		"header-io":               `there is no command "header-io": see coro help`,
		"help no":                 `there is no command "no": see coro help`,
		"help gen gdb":            "help: give the name of one command: see coro help help",
		"header x.h":              `header: there is no header "x.h", but coro.h, coro_io.h, coro_actor.h: see coro help header`,
		"header -o x":             "header: flag provided but not defined: -o: see coro help header",
		"gdb x":                   `gdb: unexpected argument "x": see coro help gdb`,
		"version x":               `version: unexpected argument "x": see coro help version`,
		"doctor x":                `doctor: unexpected argument "x": see coro help doctor`,
		"init x":                  `init: unexpected argument "x": see coro help init`,
		"gen -no":                 "gen: flag provided but not defined: -no: see coro help gen",
		"gen a.c -Isub":           "gen: -Isub is not a C or C++ file: compiler flags come after --: see coro help gen",
		"gen -include a\"b.h a.c": "",
	} {
		status, out, messages := coro(strings.Fields(line)...)
		assert.Empty(t, out, line)
		if want == "" {
			assert.Equal(t, 1, status, line)
			continue
		}
		assert.Equal(t, 2, status, line)
		assert.Equal(t, "coro: "+want+"\n", messages, line)
	}
	entries, err := os.ReadDir(".")
	assert.NoError(t, err)
	assert.Empty(t, entries, "nothing is written")
}

// The command compiles in a moment, without a C compiler: nothing of it needs cgo.
func TestTheCommandDoesWithoutTheCore(t *testing.T) {
	deps, err := goCommand("list", "-deps", ".")
	require.NoError(t, err)
	assert.Contains(t, deps, "github.com/organzine/coro/csrc/include\n")
	for _, core := range []string{"github.com/organzine/coro", "github.com/organzine/coro/internal/core", "runtime/cgo"} {
		assert.NotContains(t, "\n"+deps, "\n"+core+"\n")
	}
}

func TestVersionTellsModuleAndHeaders(t *testing.T) {
	for _, arg := range []string{"version", "--version"} {
		status, out, _ := coro(arg)
		assert.Zero(t, status)
		assert.Equal(t, "coro (devel), headers with CORO_VERSION "+include.Version()+"\n", out)
	}
}

func TestHeaderWritesWhatIsAskedForAndWhatIsThere(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("sub", 0o777))
	is := func(dir string, names ...string) {
		t.Helper()
		for _, name := range include.Names {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if slices.Contains(names, name) {
				require.NoError(t, err)
				assert.True(t, string(text) == include.Text(name), name)
			} else {
				require.ErrorIs(t, err, fs.ErrNotExist)
			}
		}
	}
	status, _, messages := coro("header", "-check")
	assert.Equal(t, 1, status)
	assert.Contains(t, messages, "coro.h")

	status, out, _ := coro("header")
	assert.Zero(t, status)
	assert.Equal(t, "wrote coro.h of coro (devel), CORO_VERSION "+include.Version()+"\n", out)
	is(".", "coro.h")
	status, out, _ = coro("header", "-dir", "sub", "coro_io.h")
	assert.Zero(t, status)
	assert.Equal(t, 2, strings.Count(out, "wrote sub/coro"))
	is("sub", "coro.h", "coro_io.h")

	require.NoError(t, os.WriteFile("sub/coro_io.h", []byte("old"), 0o666))
	status, out, messages = coro("header", "-check", "-dir", "sub")
	assert.Equal(t, 1, status)
	assert.Empty(t, out)
	assert.Equal(t, "coro: sub/coro_io.h is stale: coro is of another version: run coro header\n", messages)
	status, _, _ = coro("header", "-dir", "sub")
	assert.Zero(t, status)
	is("sub", "coro.h", "coro_io.h")
	status, _, _ = coro("header", "-check", "-dir", "sub")
	assert.Zero(t, status)
	status, _, messages = coro("header", "-dir", "missing")
	assert.Equal(t, 1, status)
	assert.Contains(t, messages, "missing")
}

// Modules of their own in this repository have copies, as users' modules do.
func TestCopiesOfTheHeadersAreThoseOfTheTree(t *testing.T) {
	copies := 0
	for _, top := range []string{"../../examples", "../../x"} {
		require.NoError(t, filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !slices.Contains(include.Names, d.Name()) {
				return err
			}
			copies++
			text, err := os.ReadFile(path)
			assert.True(t, string(text) == include.Text(d.Name()),
				"%s is old: make headers", path)
			return err
		}))
	}
	assert.Positive(t, copies)
}

func TestInitAsksForAModuleWithTheTool(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "")
	status, _, messages := coro("init")
	assert.Equal(t, 1, status)
	assert.Contains(t, messages, "this folder is in no module: run go mod init")

	const module = "module example.org/first\n\ngo 1.26\n"
	require.NoError(t, os.WriteFile("go.mod", []byte(module), 0o666))
	status, out, messages := coro("init")
	assert.Equal(t, 1, status)
	assert.Contains(t, messages, "has no tool line for coro: run go get -tool github.com/organzine/coro/cmd/coro\n")
	assert.Empty(t, out)

	require.NoError(t, os.WriteFile("go.mod", []byte(module+"\ntool "+tool+"\n"), 0o666))
	for _, name := range []string{"main.go", "body.c", "coro.h"} {
		require.NoError(t, os.WriteFile(name, []byte("mine"), 0o666))
		status, out, messages = coro("init")
		assert.Equal(t, 1, status)
		assert.Equal(t, "coro: init: "+name+" is here already: use an empty folder\n", messages)
		assert.Empty(t, out)
		text, err := os.ReadFile(name)
		assert.NoError(t, err)
		assert.Equal(t, "mine", string(text))
		require.NoError(t, os.Remove(name))
	}
}

// What is written stays, and the message says how to go on.
func TestInitWithoutACompiler(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "")
	t.Setenv("CC", "no-such-compiler")
	require.NoError(t, os.WriteFile("go.mod", []byte("module example.org/first\n\ngo 1.26\n\ntool "+tool+"\n"), 0o666))
	status, _, messages := coro("init")
	assert.Equal(t, 1, status)
	assert.Contains(t, messages, "bodies_gen.go, which main.go needs, is not written, but `go generate` will")
	assert.Contains(t, messages, `there is no C compiler "no-such-compiler": install gcc`)
	assert.FileExists(t, "main.go")
}
