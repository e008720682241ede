//go:build cgo && linux && (amd64 || arm64) && !race

package core

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The folder of the C core, from here.
const csrc = "../../csrc"

// Each room is compiled as one unit, which includes all C files of the room.
func TestAUnitIncludesEveryFileOfItsRoom(t *testing.T) {
	for _, room := range []string{"base", "kernel", "border", "buffer", "sync", "dispatch", "io", "actor"} {
		files, err := filepath.Glob(filepath.Join(csrc, room, "*.c"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		units, err := filepath.Glob(room + "_*.c")
		require.NoError(t, err)
		var included []string
		for _, unit := range append(units, room+".c") {
			text, err := os.ReadFile(unit)
			require.NoError(t, err)
			for _, m := range includeLine.FindAllSubmatch(text, -1) {
				if name := string(m[1]); name != "base/unit.h" {
					included = append(included, filepath.Join(csrc, name))
				}
			}
		}
		assert.ElementsMatch(t, files, included, room)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.True(t, bytes.HasPrefix(text, []byte("//go:build ignore\n")),
				"%s: the go command compiles the unit alone", file)
		}
	}
}

// The go command knows nothing of the files that C includes from another folder. Each room embeds
// its files, so that the room's package changes with them, and core imports the rooms: a file that
// changes rebuilds the units. This test puts a mark into one header of each room that others
// include, and into a C file, and looks for the mark in what the go command builds then.
func TestAChangedFileRebuildsWhatIncludesIt(t *testing.T) {
	if os.Getenv("CORO_TEST_BUILDS") == "" {
		t.Skip("builds the core six times: make test-builds")
	}
	dir := copyModule(t)
	build(t, dir)
	users := usersOf(t, dir)
	for _, name := range []string{"coro_dispatch.h", "base/list.h", "kernel/kernel.h",
		"sync/gowait.h", "kernel/door.c"} {
		file := filepath.Join(dir, "csrc", name)
		if !strings.Contains(name, "/") {
			file = filepath.Join(dir, "csrc", "include", name)
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		mark := "mark of " + name + " in "
		changed := strings.TrimSuffix(string(text), "#endif\n") +
			`static const char mark[] __attribute__((used)) = "` + mark +
			`" __BASE_FILE__;` + "\n"
		if strings.HasSuffix(name, ".h") {
			changed += "#endif\n"
		}
		require.NoError(t, os.WriteFile(file, []byte(changed), 0o666))
		binary := build(t, dir)
		require.NotEmpty(t, users[name])
		for unit := range users[name] {
			assert.True(t, bytes.Contains(binary, []byte(mark+unit)),
				"%s was built with the old %s", unit, name)
		}
		require.NoError(t, os.WriteFile(file, text, 0o666))
	}
}

// copyModule copies what the build of core needs into a folder of its own. The copy is compiled
// without optimization, which is faster.
func copyModule(t *testing.T) string {
	dir := t.TempDir()
	for _, name := range []string{"go.mod", "go.sum", "csrc", "internal"} {
		out, err := exec.Command("cp", "-r", filepath.Join("../..", name), dir).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	binding := filepath.Join(dir, "internal", "core", "core.go")
	text, err := os.ReadFile(binding)
	require.NoError(t, err)
	require.Contains(t, string(text), " -O2 ")
	text = bytes.Replace(text, []byte(" -O2 "), []byte(" -O0 "), 1)
	require.NoError(t, os.WriteFile(binding, text, 0o666))
	program := filepath.Join(dir, "internal", "core", "program")
	require.NoError(t, os.Mkdir(program, 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(program, "main.go"), []byte(`package main

import _ "github.com/organzine/coro/internal/core"

func main() {}
`), 0o666))
	return dir
}

func goCommand(t *testing.T, dir string, args ...string) string {
	command := exec.Command("go", args...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	out, err := command.CombinedOutput()
	require.NoError(t, err, "go %v: %s", args, out)
	return string(out)
}

// build links a program with the core, all rooms, and returns the program.
func build(t *testing.T, dir string) []byte {
	goCommand(t, dir, "build", "-o", "program", "./internal/core/program")
	program, err := os.ReadFile(filepath.Join(dir, "program"))
	require.NoError(t, err)
	return program
}

var includeLine = regexp.MustCompile(`(?m)^#include "([^"]+)"`)

// usersOf maps each file to the units that include it, themselves or by another file.
func usersOf(t *testing.T, dir string) map[string]map[string]bool {
	includes := map[string][]string{} // by file, named as it is included
	for _, pattern := range []string{"internal/core/*.c", "csrc/*/*.[ch]"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			name := strings.TrimPrefix(file, dir+"/")
			for _, folder := range []string{"internal/core/", "csrc/", "include/"} {
				name = strings.TrimPrefix(name, folder)
			}
			for _, m := range includeLine.FindAllSubmatch(text, -1) {
				includes[name] = append(includes[name], string(m[1]))
			}
		}
	}
	users := map[string]map[string]bool{}
	var visit func(unit, file string)
	visit = func(unit, file string) {
		for _, included := range includes[file] {
			if users[included] == nil {
				users[included] = map[string]bool{}
			}
			if !users[included][unit] {
				users[included][unit] = true
				visit(unit, included)
			}
		}
	}
	for file := range includes {
		if filepath.Ext(file) == ".c" && !strings.Contains(file, "/") {
			visit(file, file)
		}
	}
	return users
}
