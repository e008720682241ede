package csrc

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro/csrc/include"
)

func TestTheHeaderHasAllItsPartsInOneFile(t *testing.T) {
	text := Header()
	assert.NotContains(t, text, "#include \"")
	files, err := include.Headers.ReadDir(".")
	require.NoError(t, err)
	for _, f := range files {
		if f.Name() != "coro.h" && f.Name() != "coro_io.h" && f.Name() != "coro_actor.h" {
			assert.Equal(t, 1, strings.Count(text, part(f.Name())), f.Name())
		}
	}
}

func TestTheHeaderCompilesAloneAsCAndAsCPlusPlus(t *testing.T) {
	name := filepath.Join(t.TempDir(), "coro.h")
	require.NoError(t, os.WriteFile(name, []byte(Header()), 0o666))
	withIO := strings.TrimSuffix(name, ".h") + "_io.h"
	require.NoError(t, os.WriteFile(withIO, []byte(HeaderIO()), 0o666))
	withActors := strings.TrimSuffix(name, ".h") + "_actor.h"
	require.NoError(t, os.WriteFile(withActors, []byte(HeaderActor()), 0o666))
	for _, compiler := range [][]string{
		{"gcc", "-x", "c", "-std=c11"},
		{"clang", "-x", "c", "-std=c11"},
		{"g++", "-x", "c++", "-std=c++11"},
		{"clang++", "-x", "c++", "-std=c++11"},
	} {
		t.Run(compiler[0], func(t *testing.T) {
			path, err := exec.LookPath(compiler[0])
			if err != nil {
				t.Skip(err)
			}
			main := name + ".main" // includes it twice
			require.NoError(t, os.WriteFile(main, []byte(""+
				"#include \"coro.h\"\n#include \"coro.h\"\n"+
				"#include \"coro_io.h\"\n#include \"coro_io.h\"\n"+
				"#include \"coro_actor.h\"\n#include \"coro_actor.h\"\n"+
				"int (*spawn)(coro_fn, const void *, size_t) = coro_spawn;\n"),
				0o666))
			args := append(compiler[1:],
				"-Wall", "-Wextra", "-Wpedantic", "-Werror", "-S", "-o", "-", main)
			out, err := exec.Command(path, args...).CombinedOutput()
			require.NoError(t, err, "%s", out)
			assert.Regexp(t, `\bcoro_spawn\b`, string(out), "its name is C's")
		})
	}
}
