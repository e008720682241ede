//go:build linux && (amd64 || arm64)

package bodygen

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

const manyTypes = "#include \"coro_actor.h\"\n#include \"coro_io.h\"\n" +
	"struct wide { _Alignas(16) int n; };\nunion u { int n; };\ntypedef long money;\nstruct user { struct hidden *h; };\n" +
	"struct ids { coro_fd fd[2]; coro_actor actor; coro_go_id go; struct { coro_handle h; } in; };\n" +
	"enum kind { KIND_A, KIND_B };\ntypedef struct { char c; } only;\ntypedef struct ids others;\n"

// A type that no body has is written as if one had it.
func TestTypesOfTheCommandLine(t *testing.T) {
	each(t, func(t *testing.T) {
		text := written(t, map[string]string{"t.h": manyTypes, "a.c": "#include \"t.h\"\n"},
			"-type", "struct ids", "-type", "enum kind", "-type", "only", "-type", "others", "-type", "coro_ended",
			"-name", "only=Just")
		for _, want := range []string{
			"type Ids struct {\n\tFD    [2]coro.FD\n\tActor actorc.Actor\n\tGo    coro.FuncID\n\tIn    IdsIn\n}\n",
			"type IdsIn struct {\n\tH coro.Handle\n}\n", "KindB Kind = 1\n", "type Just struct {\n\tC byte\n}\n",
			"type CoroEnded struct", "#include \"coro_actor.h\"\n#include \"t.h\"\n", "CORO_SAME(KIND_B == 1);",
			"CORO_SAME(offsetof(struct ids, actor) == 16);", "[unsafe.Offsetof(Ids{}.Actor)-16]",
		} {
			assert.Contains(t, text, want)
		}
		assert.NotContains(t, text, "MustFunc")
	})
	folder(t, map[string]string{"t.h": manyTypes, "a.c": "#include \"t.h\"\n"})
	for name, want := range map[string]string{
		"kind":          "-type: no C file defines kind: write the name as C does, as in -type 'struct figures'",
		"struct hidden": "no C file defines struct hidden",
		"money":         "money is no struct and no enum: use its Go type",
		"union u":       "union u is a union, which Go has not",
		"struct wide":   "struct wide is aligned to 16 in C and to 4 in Go",
	} {
		assert.ErrorContains(t, gen("-pkg", "p", "-type", name), want)
	}
	text := written(t, map[string]string{"t.h": "struct s { int n; };\n", "a.c": "#include \"t.h\"\n"}, "-type", "struct s")
	assert.Contains(t, text, "\n\t_ \"github.com/organzine/coro\"\n", "the program links what coro.h needs")
}

func TestABodyIsLeftOut(t *testing.T) {
	text := written(t, map[string]string{"a.c": oneBody + "CORO_BODY(y, long double, coro_none, 0)\n{\n}\n"}, "-skip", "y")
	assert.Contains(t, text, "var X = ")
	assert.NotContains(t, text, "y_body")
	assert.ErrorContains(t, gen("-pkg", "p", "-skip", "y", "-skip", "z"), "-skip: there is no body z")
	assert.ErrorContains(t, gen("-pkg", "p", "-skip", "y", "-name", "y=Z"), "-name: there is no body and no type y")
	assert.ErrorContains(t, gen("-pkg", "p", "-skip", "y", "-skip", "x"), "no CORO_BODY defines a body")
}

func TestAMissingHeaderOfCoroIsNamed(t *testing.T) {
	each(t, func(t *testing.T) {
		for text, want := range map[string]string{
			"CORO_BODY(x, coro_fd, coro_none, 0)\n{\n}\n":                    "coro_fd is declared in coro_io.h, which coro.h does not include",
			"int x = CORO_MESSAGE_BYTES;\n":                                  "CORO_MESSAGE_BYTES is declared in coro_actor.h",
			"CORO_BODY(x, coro_nothing, coro_none, 0)\n{\n}\n":               "compiler flags come after --",
			"#include \"coro_io.h\"\nCORO_BODY(x, coro_fd, none, 0)\n{\n}\n": "compiler flags come after --",
			"#include \"coro_none.h\"\n":                                     "run go tool coro header coro_none.h",
		} {
			folder(t, map[string]string{"a.c": coroh + text})
			assert.ErrorContains(t, gen("-pkg", "p"), want)
		}
	})
}
