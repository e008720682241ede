//go:build linux && (amd64 || arm64)

package bodygen

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

const coroh = "#include \"coro.h\"\n"

// One header, in b.c under a macro of its own.
func twoViews(header string) map[string]string {
	return map[string]string{"t.h": "#include <stdint.h>\n" + header,
		"a.c": coroh + "#include \"t.h\"\nCORO_BODY(fa, struct s, coro_none, 0)\n{\n}\n",
		"b.c": coroh + "#define OTHER\n#include \"t.h\"\nCORO_BODY(fb, struct s, coro_none, 0)\n{\n}\n"}
}

func TestTwoDefinitionsOfANameAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ header, want string }{
		"swapped": {"struct s {\n#ifdef OTHER\nint a, b;\n#else\nint b, a;\n#endif\n};\n",
			"b.c: struct s has two definitions: in a.c (t.h:2) with the member b (int32 at byte 0), " +
				"in b.c (t.h:2) with the member a (int32 at byte 0)"},
		"retyped": {"#ifdef OTHER\ntypedef float n;\n#else\ntypedef int n;\n#endif\nstruct s { n v; };\n",
			"in a.c (t.h:7) with the member v (int32 at byte 0), in b.c (t.h:7) with the member v (float32 at byte 0)"},
		"of another size": {"struct s { int v;\n#ifdef OTHER\nint w;\n#endif\n};\n", "with 4 bytes, in b.c (t.h:2) with 8 bytes"},
		"nested": {"struct in {\n#ifdef OTHER\nint a, b;\n#else\nint b, a;\n#endif\n};\nstruct s { struct in v; };\n",
			"struct in has two definitions"},
		"nested without a name": {"struct s { struct {\n#ifdef OTHER\nint a, b;\n#else\nint b, a;\n#endif\n} v[2]; };\n",
			"the member v of struct s has two definitions"},
		"arrays":   {"struct s {\n#ifdef OTHER\nchar v[2][4];\n#else\nchar v[4][2];\n#endif\n};\n", "([4][2]byte at byte 0)"},
		"pointers": {"struct s {\n#ifdef OTHER\nchar *v;\n#else\nint *v;\n#endif\n};\n", "(int * at byte 0), in b.c"},
		"enums": {"enum e {\n#ifdef OTHER\nA, B\n#else\nB, A\n#endif\n};\nstruct s { enum e v; };\n",
			"enum e has two definitions: in a.c (t.h:2) with B = 0, in b.c (t.h:2) with A = 0"},
		"enums without a name": {"struct s { enum {\n#ifdef OTHER\nA, B\n#else\nB, A\n#endif\n} v; };\n",
			"with the member v (uint32 of B = 0, A = 1 at byte 0)"},
	} {
		t.Run(name, func(t *testing.T) {
			folder(t, twoViews(c.header))
			assert.ErrorContains(t, gen("-pkg", "p"), c.want)
			assert.NoFileExists(t, "bodies_gen.go")
		})
	}
	t.Run("in two headers", func(t *testing.T) {
		folder(t, map[string]string{"a.h": "struct s { int v; };\n", "b.h": "\nstruct s { float v; };\n",
			"a.c": coroh + "#include \"a.h\"\nCORO_BODY(fa, struct s, coro_none, 0)\n{\n}\n",
			"b.c": coroh + "#include \"b.h\"\nCORO_BODY(fb, struct s, coro_none, 0)\n{\n}\n"})
		assert.ErrorContains(t, gen("-pkg", "p"), "in a.c (a.h:1) with the member v (int32 at byte 0), in b.c (b.h:2)")
	})
}

// What two C files write in two ways may still be one type.
func TestOneDefinitionIsAccepted(t *testing.T) {
	each(t, func(t *testing.T) {
		text := written(t, twoViews("struct in { enum { IN } k; struct { int n; } deep[2]; struct s *p; };\n"+
			"enum e { FLAT };\nstruct s { struct in i; enum e e;\n#ifdef OTHER\nsigned\n#else\nint\n#endif\nn; };\n"))
		assert.Equal(t, 1, strings.Count(text, "#include \"t.h\"\n"))
		assert.Equal(t, 1, strings.Count(text, "type InDeep struct"))
		assert.Equal(t, 1, strings.Count(text, "type E uint32"))
		assert.Equal(t, 2, strings.Count(text, "coro.MustFunc[S, coro.None]"))
	})
}
