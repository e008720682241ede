//go:build linux && (amd64 || arm64)

package bodygen

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const oneBody = coroh + "CORO_BODY(x, coro_none, coro_none, 0)\n{\n}\n"

// A body that cgo would not link is refused where it is, and not by the linker.
func TestABodyThatIsNotLinkedIsRefused(t *testing.T) {
	other := map[string]string{"amd64": "arm64", "arm64": "amd64"}[runtime.GOARCH]
	for name, c := range map[string]struct{ text, want string }{
		"sub/x.c":            {oneBody, "it does not lie in the folder of the Go file: move it there"},
		"x_windows.c":        {oneBody, "its name keeps it out of a build for linux/" + runtime.GOARCH + ": rename it"},
		"x_" + other + ".c":  {oneBody, "its name keeps it out"},
		"_x.c":               {oneBody, "its name keeps it out"},
		"ignored.c":          {"/* c */\n//go:build ignore\n\n" + oneBody, `"//go:build ignore" keeps it out of a build`},
		"ignored_formerly.c": {"// +build ignore\n\n" + oneBody, `"// +build ignore" keeps it out of a build`},
	} {
		t.Run(name, func(t *testing.T) {
			folder(t, map[string]string{name: c.text})
			err := gen("-pkg", "p", name)
			require.ErrorContains(t, err, name+": cgo does not compile this file")
			assert.ErrorContains(t, err, c.want)
			assert.NoFileExists(t, "bodies_gen.go")
		})
	}
	t.Run("the Go file lies elsewhere", func(t *testing.T) {
		folder(t, map[string]string{"sub/x.c": "//go:build linux && cgo\n\n" + oneBody})
		assert.NoError(t, gen("-pkg", "p", "-o", "sub/go.go", "sub/x.c"))
		assert.NoError(t, gen("-pkg", "p", "-linked", "sub/x.c"))
		assert.NoError(t, gen("-pkg", "p", "-skip", "x", "-type", "struct coro_none", "sub/x.c"), "there is no body to link")
	})
}

// A body that two files define is refused, too.
func TestABodyThatIsLinkedTwiceIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"in a header": {map[string]string{"a.h": oneBody, "b.c": "#include \"a.h\"\n"},
			"b.c: the body x is defined in a.h:2: each file that includes that header"},
		"in a header for one file": {map[string]string{"b.c": "#define OF_B\n#include \"a.h\"\n",
			"a.h": "#ifdef OF_B\n" + oneBody + "#endif\n"}, ""},
		"in a C file that is included": {map[string]string{"a.c": oneBody, "b.c": "#include \"a.c\"\n"},
			"b.c: the body x is defined in a.c:2, which cgo compiles by itself too"},
		"in a C file that is but included": {map[string]string{"sub/a.c": oneBody, "b.c": "#include \"sub/a.c\"\n"}, ""},
		"in two C files":                   {map[string]string{"a.c": oneBody, "b.c": oneBody}, "there are two x, at a.c:2 and at b.c:2"},
	} {
		t.Run(name, func(t *testing.T) {
			folder(t, c.files)
			args := []string{"-pkg", "p", "b.c"}
			if c.files["a.c"] == c.files["b.c"] {
				args = append(args[:2], "a.c", "b.c")
			}
			if c.want == "" {
				assert.NoError(t, gen(args...))
				return
			}
			assert.ErrorContains(t, gen(args...), c.want)
		})
	}
}
