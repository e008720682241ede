//go:build linux && (amd64 || arm64)

package bodygen

import (
	"bytes"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Whatever a comment in C has, it is a comment in Go.
func TestCommentsAreNothingButText(t *testing.T) {
	text := written(t, map[string]string{
		"t.h": "// +build ignore\nstruct s {\n\tint a; // +build !linux\n\t/* */ int b; /* \x00\xff\a\r\ufeff ünï 名 */\n};\n",
		"a.c": coroh + "#include \"t.h\"\n//go:build ignore\n// +build ignore\n//\t+build ignore\n//go:embed x\n//export x\n" +
			"// #cgo LDFLAGS: -lnone\n// import \"C\" */ /*\n//line x.go:1\nCORO_BODY(x, struct s, coro_none, 0)\n{\n}\n" +
			"/* +build ignore */\nCORO_BODY(y, coro_none, coro_none, 0)\n{\n}\n",
	})
	assert.True(t, utf8.ValidString(text))
	for _, want := range []string{"// \"+build ignore\"\n", "// \"+build !linux\"\n", "ünï 名", "// export x\n",
		"// #cgo LDFLAGS: -lnone\n", "// import \"C\" */ /*\n", "// line x.go:1\n"} {
		assert.Contains(t, text, want)
	}
	f, err := parser.ParseFile(token.NewFileSet(), "bodies_gen.go", text, parser.ParseComments)
	require.NoError(t, err)
	for _, group := range f.Comments {
		for _, c := range group.List {
			isText := strings.HasPrefix(c.Text, "/*\n#cgo CFLAGS: -f") || strings.HasPrefix(c.Text, "// ") || c.Text == "//" ||
				strings.HasPrefix(c.Text, "//\t")
			assert.True(t, isText && !constraint.IsGoBuild(c.Text) && !constraint.IsPlusBuild(c.Text), "%q", c.Text)
		}
	}
}

func TestADocCommentBeginsWithASentence(t *testing.T) {
	for comment, want := range map[string]string{
		"/* x_y - adds two numbers. */":            "XY adds two numbers.\n//\n// The C body is x_y of a.c.",
		"/** x_y() -- Adds two numbers. */":        "XY adds two numbers.\n//\n// The C body is x_y of a.c.",
		"//! x_y: adds.":                           "XY adds.\n//\n// The C body is x_y of a.c.",
		"/// x_y – can add":                        "XY can add\n//\n// The C body is x_y of a.c.",
		"// x_y adds.":                             "XY adds.\n//\n// The C body is x_y of a.c.",
		"/*\n * x_y -\n * adds.\n * More.\n */":    "XY adds.\n// More.\n//\n// The C body is x_y of a.c.",
		"/* x_y - a connection, until it ends. */": "XY is the body x_y of a.c: a connection, until it ends.",
		"/* x_y - add two numbers. */":             "XY is the body x_y of a.c: add two numbers.",
		"/* x_y - numbers of a row. */":            "XY is the body x_y of a.c: numbers of a row.",
		"/* x_y - this. */":                        "XY is the body x_y of a.c: this.",
		"/*! \\brief Adds. */":                     "XY is the body x_y of a.c.\n//\n// Adds.",
		"/* Adds. */":                              "XY is the body x_y of a.c.\n//\n// Adds.",
		"/* x_y */":                                "XY is the body x_y of a.c.\n//\n// x_y",
		"/* x_y - */":                              "XY is the body x_y of a.c.\n//\n// x_y -",
		"/* other - adds. */":                      "XY is the body x_y of a.c.\n//\n// other - adds.",
		"":                                         "XY is the body x_y of a.c.",
	} {
		doc := tidy(strings.Split(comment, "\n"))
		b := goBody{goName: "XY", cName: "x_y", source: "a.c", doc: doc}
		var text bytes.Buffer
		writeDoc(&text, b.comment(), 0)
		assert.Equal(t, "// "+want+"\n", text.String(), comment)
	}
}

// Lines that are too long are broken at spaces, and the rest goes before the next line.
func TestLongLinesOfADocCommentAreWrapped(t *testing.T) {
	word := strings.Repeat("a", 9) + " "
	long, huge := strings.Repeat(word, 11), strings.Repeat("b", 120)
	code := "\t" + long + long
	for in, want := range map[string]string{
		"":                    "",
		long[:97]:             long[:97],
		long[:98]:             long[:89] + "\n" + long[90:98],
		long + "c\nd e":       long[:89] + "\n" + long[90:] + "c d e",
		long + "c\n\nd e":     long[:89] + "\n" + long[90:] + "c\n\nd e",
		long + "c\n" + code:   long[:89] + "\n" + long[90:] + "c\n" + code,
		code:                  code,
		huge:                  huge,
		huge + " c":           huge + "\nc",
		"c " + huge + " c\nd": "c\n" + huge + "\nc d",
		"é " + long[:96]:      "é " + long[:89] + "\n" + long[90:96],
	} {
		assert.Equal(t, want, strings.Join(wrapped(strings.Split(in, "\n"), 97), "\n"), in)
	}
}

// A comment of a type explains the sentence before it. One that a line shares is of the outer type.
func TestDocCommentsOfTypes(t *testing.T) {
	text := written(t, map[string]string{
		"t.h": "/* struct s - a place. */\nstruct s { int a; struct { int b; } c; };\n" +
			"/* e: What it is. */\nenum e { FLAT };\n/* places */\ntypedef struct { struct s s; enum e e; /* kind */ } two;\n",
		"a.c": coroh + "#include \"t.h\"\nCORO_BODY(x, two, coro_none, 0)\n{\n}\n"})
	for _, want := range []string{
		"\n\n// S has the layout of struct s: a place.\ntype S struct {\n\tA int32\n\tC SC\n}\n",
		"\n\n// SC has the layout of the member c of struct s.\ntype SC struct {\n\tB int32\n}\n",
		"\n\n// E is enum e of C: What it is.\ntype E uint32\n",
		"\n\n// Two has the layout of two.\n//\n// places\ntype Two struct {\n\tS S\n\tE E\n}\n",
	} {
		assert.Contains(t, text, want)
	}
}
