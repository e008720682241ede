//go:build cgo && linux && (amd64 || arm64) && !race

package csrc

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

// The go command knows nothing of the headers that C includes from another folder. Each room embeds
// its headers, so that the room's package changes with them, and imports the rooms below it: a
// header that changes rebuilds every room that includes it. This test puts a mark into one header
// of each room that others include, and looks for the mark in what the go command builds then.
func TestAChangedHeaderRebuildsWhatIncludesIt(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the core five times")
	}
	dir := copyModule(t)
	build(t, dir)
	users := usersOf(t, dir)
	for _, name := range []string{"coro_dispatch.h", "base/list.h", "kernel/kernel.h",
		"sync/gowait.h"} {
		header := filepath.Join(dir, "csrc", name)
		if !strings.Contains(name, "/") {
			header = filepath.Join(dir, "csrc", "include", name)
		}
		text, err := os.ReadFile(header)
		require.NoError(t, err)
		mark := "mark of " + name + " in "
		changed := strings.TrimSuffix(string(text), "#endif\n") +
			`static const char mark[] __attribute__((used)) = "` + mark +
			`" __BASE_FILE__;` + "\n#endif\n"
		require.NoError(t, os.WriteFile(header, []byte(changed), 0o666))
		binary := build(t, dir)
		require.NotEmpty(t, users[name])
		for file := range users[name] {
			assert.True(t, bytes.Contains(binary, []byte(mark+filepath.Base(file))),
				"%s was built with the old %s", file, name)
		}
		require.NoError(t, os.WriteFile(header, text, 0o666))
	}
}

// copyModule copies what the build of csrc needs into a folder of its own.
func copyModule(t *testing.T) string {
	dir := t.TempDir()
	for _, name := range []string{"go.mod", "go.sum", "csrc", "internal"} {
		out, err := exec.Command("cp", "-r", filepath.Join("..", name), dir).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
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

// build links the tests of csrc, with all rooms, and returns the program.
func build(t *testing.T, dir string) []byte {
	goCommand(t, dir, "test", "-c", "-o", "program", "./csrc")
	program, err := os.ReadFile(filepath.Join(dir, "program"))
	require.NoError(t, err)
	return program
}

var includeLine = regexp.MustCompile(`(?m)^#include "([^"]+)"`)

// usersOf maps each header to the C files that include it, themselves or by another header.
func usersOf(t *testing.T, dir string) map[string]map[string]bool {
	includes := map[string][]string{} // by file, named as it is included
	for _, pattern := range []string{"*.h", "*.c"} {
		files, err := filepath.Glob(filepath.Join(dir, "csrc", "*", pattern))
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			name := strings.TrimPrefix(strings.TrimPrefix(file, filepath.Join(dir, "csrc")+"/"), "include/")
			for _, m := range includeLine.FindAllSubmatch(text, -1) {
				includes[name] = append(includes[name], string(m[1]))
			}
		}
	}
	users := map[string]map[string]bool{}
	var visit func(source, file string)
	visit = func(source, file string) {
		for _, header := range includes[file] {
			if users[header] == nil {
				users[header] = map[string]bool{}
			}
			if !users[header][source] {
				users[header][source] = true
				visit(source, header)
			}
		}
	}
	for file := range includes {
		if room := filepath.Dir(file); filepath.Ext(file) == ".c" && room != "explore" && room != "test" {
			visit(file, file)
		}
	}
	return users
}
