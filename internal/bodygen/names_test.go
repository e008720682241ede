//go:build linux && (amd64 || arm64)

package bodygen

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCamel(t *testing.T) {
	for name, want := range map[string]string{
		"add": "Add", "add_two": "AddTwo", "addTwo": "AddTwo", "_lead__x_": "LeadX", "MAX_FD": "MaxFD", "user_id": "UserID",
		"_": "X", "_1a": "X1a", "naïve_ÜBER": "NaïveÜber", "école": "École", "名_前": "X名前", "ß": "Xß", "été_": "Été",
	} {
		assert.Equal(t, want, camel(name), name)
	}
}

func TestNamesWithOtherLetters(t *testing.T) {
	each(t, func(t *testing.T) {
		text := written(t, map[string]string{"t.h": "struct ünï { int größe; int 値; };\nenum 色 { 赤 };\n",
			"a.c": coroh + "#include \"t.h\"\nCORO_BODY(naïve, struct ünï, enum 色, 0)\n{\n}\n" +
				"CORO_BODY(select, coro_none, coro_none, 0)\n{\n}\n"})
		assert.Contains(t, text, "var Naïve = coro.MustFunc[Ünï, X色](unsafe.Pointer(&C.naïve_body))")
		assert.Contains(t, text, "type Ünï struct {\n\tGröße int32\n\tX値    int32\n}")
		assert.Contains(t, text, "X色X赤 X色 = 0")
		assert.Contains(t, text, "var Select = ")
	})
	for _, c := range []struct{ types, body, want string }{
		{"struct s { int a$b; };", "x, struct s", "the member a$b of struct s would be A$b in Go, which is no name there"},
		{"struct a$b { int n; };", "x, struct a$b", "struct a$b would be A$b in Go, which is no name there: give it another name, " +
			"as with -name 'struct a$b=Other'"},
		{"", "a$b, int", "the body a$b has no name in Go, as in C.a$b_body"},
	} {
		folder(t, map[string]string{"a.c": coroh + "#include \"t.h\"\nCORO_BODY(" + c.body + ", coro_none, 0)\n{\n}\n",
			"t.h": c.types + "\n"})
		assert.ErrorContains(t, gen("-pkg", "p"), c.want)
	}
}

func TestNamesThatGoNeedsAreRefused(t *testing.T) {
	folder(t, map[string]string{"a.c": oneBody})
	for _, name := range []string{"_", "init", "uintptr", "coro", "unsafe", "C", "main"} {
		assert.ErrorContains(t, gen("-pkg", "main", "-name", "x="+name), "x would be "+name+" in Go, which is taken")
	}
	assert.NoError(t, gen("-pkg", "p", "-name", "x=main"))
	assert.ErrorContains(t, gen("-pkg", "a-b"), `"a-b" is no name of a package`)
	assert.ErrorContains(t, gen("-pkg", "p", "-include", "a*/b.h"), `cannot include the header "a*/b.h"`)
}
