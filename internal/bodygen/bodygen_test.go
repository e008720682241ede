//go:build linux && (amd64 || arm64)

package bodygen

import (
	"bytes"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// each runs a test with each C compiler that there is.
func each(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	for _, cc := range []string{"gcc", "clang"} {
		t.Run(cc, func(t *testing.T) {
			if _, err := exec.LookPath(cc); err != nil {
				t.Skip(err)
			}
			t.Setenv("CC", cc)
			test(t)
		})
	}
}

var headers, _ = filepath.Abs("../../csrc/include") // before any test goes elsewhere

// folder makes a folder with files, and goes there. The compiler is told of coro.h.
func folder(t *testing.T, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o777))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o666))
	}
	t.Chdir(dir)
	t.Setenv("GOPACKAGE", "")
	t.Setenv("CGO_CFLAGS", "")
	t.Setenv("CGO_CPPFLAGS", "'-I"+headers+"'")
}

func gen(args ...string) error { return Main(args, io.Discard) }

// written is the Go file that is written for C files.
func written(t *testing.T, files map[string]string, args ...string) string {
	t.Helper()
	folder(t, files)
	require.NoError(t, gen(append([]string{"-pkg", "p"}, args...)...))
	text, err := os.ReadFile("bodies_gen.go")
	require.NoError(t, err)
	return string(text)
}

// The lines //go:generate in the module that run coro gen.
func TestGeneratedFilesAreUpToDate(t *testing.T) {
	found := 0
	for _, name := range []string{"examples/pipeline/main.go", "internal/genbody/genbody.go"} {
		each(t, func(t *testing.T) {
			t.Chdir(filepath.Join("../..", filepath.Dir(name)))
			text, err := os.ReadFile(filepath.Base(name))
			require.NoError(t, err)
			_, line, ok := bytes.Cut(text, []byte("\n//go:generate go run github.com/organzine/coro/cmd/coro gen "))
			require.True(t, ok, name)
			line, _, _ = bytes.Cut(line, []byte("\n"))
			words, err := Split(string(line))
			require.NoError(t, err)
			require.NoError(t, gen(append([]string{"-check"}, words...)...), name)
			found++
		})
	}
	assert.Positive(t, found)
}

func TestAStaleFileIsTold(t *testing.T) {
	one := "#include \"coro.h\"\nCORO_BODY(one, int32_t, coro_none, 0)\n{\n}\n"
	folder(t, map[string]string{"one.c": one, "p.go": "package named\n"})
	require.ErrorIs(t, gen("-check"), os.ErrNotExist)
	require.NoError(t, gen())
	require.NoError(t, gen("-check"))
	text, err := os.ReadFile("bodies_gen.go")
	require.NoError(t, err)
	assert.Contains(t, string(text), "\npackage named\n")
	require.NoError(t, os.WriteFile("one.c", []byte(strings.Replace(one, "int32_t", "int64_t", 1)), 0o666))
	assert.ErrorContains(t, gen("-check"), "bodies_gen.go is stale")
	again, err := os.ReadFile("bodies_gen.go")
	require.NoError(t, err)
	assert.Equal(t, string(text), string(again), "-check writes nothing")
}

func TestCommentsComeFromC(t *testing.T) {
	each(t, func(t *testing.T) {
		text := written(t, map[string]string{"a.c": `#include "coro.h"
int before; /* of another thing */
CORO_BODY(none, coro_none, coro_none, 0)
{
}

/* too far away */

CORO_BODY(far, coro_none, coro_none, 0)
{
}
//go:build ignore
CORO_BODY(line, coro_none, coro_none, 0)
{
}
/** two_words - does two things. */
CORO_BODY(two_words, coro_none, coro_none, 0)
{
}
`})
		for _, want := range []string{
			"\n\n// None is the body none of a.c.\nvar None = ",
			"\n\n// Far is the body far of a.c.\nvar Far = ",
			"\n\n// Line is the body line of a.c.\n//\n// go:build ignore\nvar Line = ",
			"\n\n// TwoWords does two things.\n//\n// The C body is two_words of a.c.\nvar TwoWords = ",
		} {
			assert.Contains(t, text, want)
		}
		assert.NotContains(t, text, "another thing")
		assert.NotContains(t, text, "too far")
	})
}

// What Go does not lay out by itself gets padding, and each compiler's file is the same.
func TestLayoutsThatGoHasOnlyWithPadding(t *testing.T) {
	var texts []string
	each(t, func(t *testing.T) {
		text := written(t, map[string]string{
			"lib/deep.h": "struct inner { char c; } __attribute__((aligned(4)));\n",
			"a.h": "#include \"lib/deep.h\"\nstruct outer { char c; _Alignas(4) char d; struct inner in; " +
				"float _Complex z; _Alignas(8) long l; };\n",
			"a.c": "#include \"coro.h\"\n#include \"a.h\"\n" +
				"CORO_BODY(first, struct outer, struct outer, 0)\n{\n}\n",
			"b.c": "#include \"coro.h\"\n#include \"a.h\"\n" +
				"CORO_BODY(second, struct outer, coro_handle, 0)\n{\n}\n",
		})
		assert.Contains(t, text, "#include \"a.h\"\n#include \"lib/deep.h\"\n")
		assert.Contains(t, text, "type Outer struct {\n\tC  byte\n\t_  [3]byte\n\tD  byte\n\t_  [3]byte\n"+
			"\tIn Inner\n\tZ  complex64\n\tL  int64\n}\n")
		assert.Contains(t, text, "type Inner struct {\n\tC byte\n\t_ [3]byte\n}\n")
		assert.Equal(t, 1, strings.Count(text, "type Outer struct"))
		assert.Contains(t, text, "var Second = coro.MustFunc[Outer, coro.Handle](")
		texts = append(texts, text)
	})
	for _, text := range texts[1:] {
		assert.Equal(t, texts[0], text)
	}
}

func TestWhatCannotGoIsRefusedWithARemedy(t *testing.T) {
	const head = "#include \"coro.h\"\n#include \"t.h\"\n"
	each(t, func(t *testing.T) {
		for _, c := range []struct{ types, body, want string }{
			{"struct s { int a : 3; };", "struct s", "the member a of struct s is a bit-field"},
			{"struct s { union { int a; float b; } u; };", "struct s", "the member u of struct s is a union"},
			{"typedef union { int a; float b; } u;", "u", "the argument of the body x is a union"},
			{"struct s { int n; char rest[]; };", "struct s", "the member rest of struct s is an array of no fixed length"},
			{"struct s { char c; int n; } __attribute__((packed));", "struct s", "the member n of struct s lies at byte 1"},
			{"struct s { int n; char c; } __attribute__((packed));", "struct s", "struct s has 5 bytes in C"},
			{"struct s { char c; int n; } __attribute__((packed));", "struct s", "but Go aligns int32 to 4: leave the attribute packed out"},
			{"typedef long l4 __attribute__((aligned(4)));\nstruct s { int a; l4 n; int b; };", "struct s", "the member n of struct s " +
				"lies at byte 4, but Go aligns int64 to 8: leave the attribute aligned of its type, l4, out"},
			{"struct e { };\nstruct s { int a; struct e e; };", "struct s", "the member e of struct s is a struct without members: leave it out"},
			{"struct s { };", "struct s", "the argument of the body x is a struct without members: use coro_none"},
			{"struct s { long double d; };", "struct s", "long double of 16 bytes, which Go has not: use a float or a double"},
			{"struct s { struct { int n; }; };", "struct s", "struct s has a member without a name"},
			{"struct s { _Alignas(16) int n; };", "struct s", "is aligned to 16 in C and to 4 in Go"},
			{"struct s { int a_b, aB; };", "struct s", "the same Go name, AB"},
			{"", "long double", "is a long double of 16 bytes"},
			{"", "__int128", "of 16 bytes, which Go has not"},
			{"typedef float v __attribute__((vector_size(16)));", "v", "the argument of the body x is a vector"},
			{"struct x { int n; };", "struct x", "struct x and x would both be X in Go"},
			{"struct c { int n; };", "struct c", "struct c would be C in Go"},
			{"enum e { E_A_B, E_A__B };", "enum e", "E_A_B and E_A__B would both be EAB"},
			{"struct coro_slice_of_x { long at; long n; };", "struct coro_slice_of_x", "none of CORO_SLICE"},
			{"CORO_SLICE(many, coro_bytes);", "many", "lend each by a member of its own"},
			{"CORO_SLICE(unions, union { int a; float b; });", "unions", "an element of the argument of the body x is a union"},
		} {
			folder(t, map[string]string{"t.h": c.types + "\n",
				"x.c": head + "CORO_BODY(x, " + c.body + ", coro_none, 0)\n{\n}\n"})
			assert.ErrorContains(t, gen("-pkg", "p"), c.want, c.types)
			assert.NoFileExists(t, "bodies_gen.go")
		}
		for name, c := range map[string]struct{ text, want string }{
			"own.c":  {"struct s { int n; };\nCORO_BODY(x, struct s, coro_none, 0)\n{\n}\n", "struct s is defined in own.c: move it into a header"},
			"none.c": {"void x(void *arg, void *result)\n{\n}\n", "no CORO_BODY defines a body in none.c"},
			"bad.c":  {"CORO_BODY(x, struct missing, coro_none, 0)\n{\n}\n", "bad.c does not compile"},
			"lent.c": {"CORO_BODY(x, coro_none, coro_bytes, 0)\n{\n}\n", "the result of the body x has a coro_bytes, or the like, in it"},
			"hand.c": {"struct coro_body_desc x_body = {0};\n", "x_body was not defined by CORO_BODY"},
		} {
			folder(t, map[string]string{name: "#include \"coro.h\"\n" + c.text})
			assert.ErrorContains(t, gen("-pkg", "p", name), c.want)
		}
	})
}

// What a pointer leads to may be anything: Go has its address.
func TestPointersAreAddresses(t *testing.T) {
	each(t, func(t *testing.T) {
		text := written(t, map[string]string{
			"t.h": "struct hidden;\nunion both { int n; float f; };\nstruct s {\n" +
				"\tconst struct hidden *const *a;\n\tunion both *b;\n\tvoid (*c)(int);\n" +
				"\tvolatile void *d;\n};\n",
			"x.c": "#include \"coro.h\"\n#include \"t.h\"\nCORO_BODY(x, struct s, struct hidden *, 0)\n{\n}\n"})
		assert.Contains(t, text, "type S struct {\n\tA uintptr // const struct hidden *const *\n"+
			"\tB uintptr // union both *\n\tC uintptr // pointer to a function\n"+
			"\tD uintptr // volatile void *\n}\n")
		assert.Contains(t, text, "coro.MustFunc[S, uintptr](")
	})
}

// What passes, or is C's end of something, has its type of package coro, by each name that C has for
// it; a struct or a pointer of the user's has not.
func TestBuffersAndStreamsAreOfPackageCoro(t *testing.T) {
	each(t, func(t *testing.T) {
		text := written(t, map[string]string{"t.h": coroh + "typedef coro_buffer image;\ntypedef coro_stream *wire;\n" +
			"struct coro_bufferish { uint64_t id; };\n" +
			"struct s { image a; struct coro_buffer b[2]; wire w; coro_stream *const v; coro_stream **x; };\n",
			"a.c": "#include \"t.h\"\nCORO_BODY(x, coro_stream *, coro_buffer, 0)\n{\n}\n" +
				"CORO_BODY(y, struct s, struct coro_bufferish, 0)\n{\n}\n"})
		assert.Contains(t, text, "type S struct {\n\tA coro.Buffer\n\tB [2]coro.Buffer\n\tW coro.StreamEnd\n"+
			"\tV coro.StreamEnd\n\tX uintptr // coro_stream **\n}\n")
		assert.Contains(t, text, "var X = coro.MustFunc[coro.StreamEnd, coro.Buffer](")
		assert.Contains(t, text, "type CoroBufferish struct {\n\tID uint64\n}\n")
	})
}

// What C borrows is a Slice of Go's: the Go file makes the types of the elements, too.
func TestWhatIsLentIsASlice(t *testing.T) {
	each(t, func(t *testing.T) {
		text := written(t, map[string]string{
			"t.h": "#include \"coro.h\"\nstruct point { float x, y; };\nCORO_SLICE(doubles, double);\n" +
				"CORO_SLICE(points, struct point);\nCORO_SLICE(addresses, char *);\n" +
				"struct s {\n\tcoro_bytes b;\n\tdoubles d;\n\tpoints p;\n};\n",
			"x.c": "#include \"coro.h\"\n#include \"t.h\"\nCORO_BODY(x, struct s, coro_none, 0)\n{\n}\n" +
				"CORO_BODY(y, coro_bytes, coro_none, 0)\n{\n}\n" +
				"CORO_BODY(z, addresses, coro_none, 0)\n{\n}\n"})
		assert.Contains(t, text, "type S struct {\n\tB coro.Bytes\n\tD coro.Slice[float64]\n\tP coro.Slice[Point]\n}\n")
		assert.Contains(t, text, "type Point struct {\n\tX float32\n\tY float32\n}\n")
		assert.Contains(t, text, "var Y = coro.MustFunc[coro.Bytes, coro.None](")
		assert.Contains(t, text, "var Z = coro.MustFunc[coro.Slice[uintptr], coro.None](")
		assert.Contains(t, text, "CORO_SAME(sizeof(((struct s *)0)->p) == 16);\n")
	})
}

// A name of another makes the errors of names go away.
func TestNamesAreGivenOnTheCommandLine(t *testing.T) {
	text := written(t, map[string]string{"t.h": "struct x { int n; };\n",
		"x.c": "#include \"coro.h\"\n#include \"t.h\"\nCORO_BODY(x, struct x, coro_none, 0)\n{\n}\n"},
		"-name", "struct x=argument", "-name", "x=run", "-include", "coro.h", "x.c")
	assert.Contains(t, text, "var run = coro.MustFunc[argument, coro.None](unsafe.Pointer(&C.x_body))")
	assert.ErrorContains(t, gen("-pkg", "p", "-name", "struct x=Arg", "-name", "y=Z", "x.c"), "there is no body and no type y")
	assert.ErrorContains(t, gen("-pkg", "p", "-name", "x=1", "x.c"), "identifier")
}

func TestTheCommandLineIsChecked(t *testing.T) {
	folder(t, map[string]string{"sub/x.c": "#include \"coro.h\"\nCORO_BODY(x, coro_none, coro_none, 0)\n{\n}\n"})
	assert.ErrorContains(t, gen(), "there is no C or C++ file here")
	assert.ErrorContains(t, gen("sub/x.c"), "use -pkg")
	assert.ErrorContains(t, gen("-pkg", "p", "-unknown"), "unknown")
	assert.ErrorContains(t, gen("-pkg", "p", "sub/x.c", "-Isub"), "-Isub is not a C or C++ file")
	assert.ErrorIs(t, gen("-pkg", "p", "y.c"), os.ErrNotExist)
	t.Setenv("CC", "no-such-compiler -m64")
	assert.ErrorContains(t, gen("-pkg", "p", "sub/x.c"), `there is no C compiler "no-such-compiler"`)
	t.Setenv("CC", "'gcc")
	assert.ErrorContains(t, gen("-pkg", "p", "sub/x.c"), "a quote is not closed")
}

func TestWordsAreSplitAsTheGoCommandDoes(t *testing.T) {
	for text, want := range map[string][]string{
		"":                        nil,
		"  ":                      nil,
		"gcc":                     {"gcc"},
		" ccache  gcc\t-O2 ":      {"ccache", "gcc", "-O2"},
		`'-I/a b' "-Dx='y'" "" z`: {"-I/a b", "-Dx='y'", "", "z"},
	} {
		words, err := Split(text)
		assert.NoError(t, err)
		assert.Equal(t, want, words, text)
	}
}

const agreed = "struct pair { int32_t first; int64_t second; };\n"

// The C side of the file does not compile when the header says something else.
func TestTheFileHoldsCToItsLayout(t *testing.T) {
	each(t, func(t *testing.T) {
		text := written(t, map[string]string{"t.h": "#include <stdint.h>\n" + agreed,
			"x.c": "#include \"coro.h\"\n#include \"t.h\"\n" +
				"CORO_BODY(x, struct pair, coro_none, 0)\n{\n}\n"})
		_, preamble, found := strings.Cut(text, "/*\n#cgo CFLAGS: -fstack-clash-protection\n")
		require.True(t, found)
		preamble, _, _ = strings.Cut(preamble, "*/\n")
		compiles := func(layout string) error {
			require.NoError(t, os.WriteFile("t.h", []byte(layout), 0o666))
			cmd := exec.Command(os.Getenv("CC"), "-I"+headers, "-I.", "-fsyntax-only", "-x", "c", "-")
			cmd.Stdin = strings.NewReader(preamble)
			out, err := cmd.CombinedOutput()
			if err != nil {
				assert.Contains(t, string(out), "the C types have changed: run go generate")
			}
			return err
		}
		assert.NoError(t, compiles(agreed))
		for _, other := range []string{
			"struct pair { int64_t second; int32_t first; };\n",
			"struct pair { int16_t first; int64_t second; };\n",
			"struct pair { int32_t first; int64_t second, third; };\n",
		} {
			assert.Error(t, compiles(other), other)
		}
	})
}

// The Go side does not compile when somebody changes the Go types.
func TestTheFileHoldsGoToItsLayout(t *testing.T) {
	text := written(t, map[string]string{"t.h": "#include <stdint.h>\n" + agreed,
		"x.c": "#include \"coro.h\"\n#include \"t.h\"\nCORO_BODY(x, struct pair, coro_none, 0)\n{\n}\n"})
	wrong := func(text string) (all []string) {
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, "bodies_gen.go", text, 0)
		require.NoError(t, err)
		c := types.Config{FakeImportC: true, Sizes: types.SizesFor("gc", "amd64"),
			Importer: importer.Default(), Error: func(err error) {
				if strings.Contains(err.Error(), "unsafe.") ||
					strings.Contains(err.Error(), "out of bounds") {
					all = append(all, err.Error())
				}
			}}
		_, _ = c.Check("p", files, []*ast.File{f}, nil) // there is no package coro to import here
		return all
	}
	assert.Empty(t, wrong(text))
	for before, after := range map[string]string{
		"First  int32":                 "First  int64",
		"First  int32\n\tSecond int64": "Second int64\n\tFirst  int32",
		"Second int64":                 "Second int64\n\tThird bool",
	} {
		require.Contains(t, text, before)
		assert.NotEmpty(t, wrong(strings.Replace(text, before, after, 1)), after)
	}
}
