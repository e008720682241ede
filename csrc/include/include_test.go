package include

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheHeaderHasAllItsPartsInOneFile(t *testing.T) {
	text := Text("coro.h")
	assert.NotContains(t, text, "#include \"")
	files, err := Headers.ReadDir(".")
	require.NoError(t, err)
	for _, f := range files {
		if !slices.Contains(Names, f.Name()) {
			assert.Equal(t, 1, strings.Count(text, part(f.Name())), f.Name())
		}
	}
}

func TestTheHeaderCompilesAloneAsCAndAsCPlusPlus(t *testing.T) {
	dir := t.TempDir()
	for _, name := range Names {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(Text(name)), 0o666))
	}
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
			main, text := filepath.Join(dir, "main"), ""
			for _, name := range Names {
				text += strings.Repeat("#include \""+name+"\"\n", 2)
			}
			text += "int (*spawn)(coro_fn, const void *, size_t) = coro_spawn;\n"
			require.NoError(t, os.WriteFile(main, []byte(text), 0o666))
			args := append(compiler[1:],
				"-Wall", "-Wextra", "-Wpedantic", "-Werror", "-S", "-o", "-", main)
			out, err := exec.Command(path, args...).CombinedOutput()
			require.NoError(t, err, "%s", out)
			assert.Regexp(t, `\bcoro_spawn\b`, string(out), "its name is C's")
		})
	}
}
