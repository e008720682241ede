//go:build cgo && linux && (amd64 || arm64)

package csrc

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The go command knows nothing of the headers that C includes. Each room embeds its headers and
// imports the rooms below it, so that a header that changes rebuilds every room that includes it.
// This test changes each header in a copy of the module, and asks the go command what is stale.
func TestAChangedHeaderRebuildsWhatIncludesIt(t *testing.T) {
	if testing.Short() {
		t.Skip("asks the go command once for each header")
	}
	dir := copyModule(t)
	goCommand(t, dir, "build", "./csrc/...")
	require.Empty(t, stale(t, dir), "all is built")

	headers, err := filepath.Glob(filepath.Join(dir, "csrc", "*", "*.h"))
	require.NoError(t, err)
	users := usersOf(t, dir)
	checked := 0
	for _, header := range headers {
		name := strings.TrimPrefix(header, filepath.Join(dir, "csrc")+"/")
		name = strings.TrimPrefix(name, "include/") // it is included without its folder
		if len(users[name]) == 0 {
			continue // of the tests or the explorer
		}
		text, err := os.ReadFile(header)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(header, append(text, "/* changed */\n"...), 0o666))
		now := stale(t, dir)
		for room := range users[name] {
			assert.Contains(t, now, "github.com/organzine/coro/csrc/"+room, "after a change of %s", name)
		}
		assert.Contains(t, now, "github.com/organzine/coro/csrc", "after a change of %s", name)
		require.NoError(t, os.WriteFile(header, text, 0o666))
		checked++
	}
	assert.Greater(t, checked, 40)
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

// stale lists the packages of csrc that the go command would build anew.
func stale(t *testing.T, dir string) []string {
	return strings.Fields(goCommand(t, dir, "list", "-f", "{{if .Stale}}{{.ImportPath}}{{end}}", "./csrc/..."))
}

var includeLine = regexp.MustCompile(`(?m)^#include "([^"]+)"`)

// usersOf maps each header to the rooms whose files include it, themselves or by another header.
func usersOf(t *testing.T, dir string) map[string]map[string]bool {
	includes := map[string][]string{} // by file, as it is included
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
	var visit func(room, file string)
	visit = func(room, file string) {
		for _, header := range includes[file] {
			if users[header] == nil {
				users[header] = map[string]bool{}
			}
			if !users[header][room] {
				users[header][room] = true
				visit(room, header)
			}
		}
	}
	for _, room := range []string{"base", "kernel", "sync", "dispatch", "io"} {
		for file := range includes {
			if strings.HasPrefix(file, room+"/") {
				visit(room, file)
			}
		}
	}
	return users
}
