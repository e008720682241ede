//go:build linux && (amd64 || arm64)

package bodygen

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// eachCxx runs a test with each C++ compiler that there is.
func eachCxx(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	for _, cxx := range []string{"g++", "clang++"} {
		t.Run(cxx, func(t *testing.T) {
			if _, err := exec.LookPath(cxx); err != nil {
				t.Skip(err)
			}
			t.Setenv("CXX", cxx)
			t.Setenv("CC", "no-such-compiler")
			t.Setenv("CGO_CXXFLAGS", "")
			test(t)
		})
	}
}

const shared = coroh + "struct pair { int32_t a; int64_t b; struct inside { float f; } in; };\n" +
	"typedef struct { char c; } only;\nenum kind { KIND_A, KIND_B };\n"

// What a header has for C and C++ is the same in Go, whatever the language of the body.
func TestBodiesInCxx(t *testing.T) {
	eachCxx(t, func(t *testing.T) {
		for _, ext := range extensions[1:] {
			text := written(t, map[string]string{"t.h": shared, "a" + ext: "#include \"t.h\"\n" +
				"/* add - adds two. */\nCORO_BODY(add, pair, int64_t, CORO_BRIEF)\n{\n\t*result = arg->b;\n}\n" +
				"CORO_BODY(flip, bool, kind, 0)\n{\n}\nCORO_BODY_STACK(last, only, double, 65536, 0)\n{\n}\n"})
			for _, want := range []string{
				"// Add adds two.\n//\n// The C body is add of a" + ext + ".\n",
				"coro.MustFunc[Pair, int64](unsafe.Pointer(&C.add_body))",
				"coro.MustFunc[bool, Kind](", "coro.MustFunc[Only, float64](",
				"type Pair struct {\n\tA  int32\n\tB  int64\n\tIn Inside\n}\n", "type Inside struct {\n\tF float32\n}\n",
				"KindB Kind = 1\n", "CORO_SAME(sizeof(struct pair) == 24);",
			} {
				assert.Contains(t, text, want)
			}
		}
	})
}

func TestWhatCxxAloneHasIsRefused(t *testing.T) {
	eachCxx(t, func(t *testing.T) {
		for _, c := range []struct{ types, body, want string }{
			{"namespace n { struct s { int i; }; }", "n::s", "the argument of the body x is in a namespace, which C has not"},
			{"namespace n { enum e { E }; }", "n::e", "is in a namespace"},
			{"class s { public: int i; };", "s", "the argument of the body x is a class"},
			{"struct b { int i; };\nstruct s : b { int j; };", "s", "has a base class"},
			{"struct s { int i; virtual void f() {} };\nstatic s one;", "s", "has virtual functions"},
			{"struct s { int &i; };", "s", "the member i of struct s is a reference"},
			{"struct s { int s::*m; };", "s", "the member m of struct s is a pointer to a member"},
			{"enum class e { A };", "e", "is an enum class"},
			{"union u { int n; };", "u", "is a union, which Go has not"},
			{"struct s { int n : 3; };", "s", "is a bit-field"},
		} {
			folder(t, map[string]string{"t.h": shared + c.types + "\n",
				"x.cpp": "#include \"t.h\"\nCORO_BODY(x, " + c.body + ", coro_none, 0)\n{\n}\n"})
			assert.ErrorContains(t, gen("-pkg", "p"), c.want, c.types)
			assert.NoFileExists(t, "bodies_gen.go")
		}
		for name, c := range map[string]struct{ text, want string }{
			"own.cc":  {coroh + "struct s { int n; };\nCORO_BODY(x, s, coro_none, 0)\n{\n}\n", "struct s is defined in own.cc: move it into a header"},
			"io.cxx":  {coroh + "CORO_BODY(x, coro_fd, coro_none, 0)\n{\n}\n", "coro_fd is declared in coro_io.h, which coro.h does not include"},
			"none.cc": {"extern \"C\" void x(void *, void *)\n{\n}\n", "no CORO_BODY defines a body in none.cc"},
		} {
			folder(t, map[string]string{name: c.text})
			assert.ErrorContains(t, gen("-pkg", "p"), c.want, name)
		}
	})
	folder(t, map[string]string{"a.cc": oneBody})
	t.Setenv("CXX", "no-such-compiler")
	assert.ErrorContains(t, gen("-pkg", "p"), `there is no C++ compiler "no-such-compiler": install g++, or name another in $CXX`)
}

// C and C++ files of one folder are one package.
func TestCAndCxxSideBySide(t *testing.T) {
	for _, compiler := range []string{"gcc", "g++"} {
		if _, err := exec.LookPath(compiler); err != nil {
			t.Skip(err)
		}
	}
	t.Setenv("CC", "gcc")
	t.Setenv("CXX", "g++")
	body := "#include \"t.h\"\nCORO_BODY(NAME, struct pair, coro_none, 0)\n{\n}\n"
	files := map[string]string{"t.h": shared, "a.c": strings.Replace(body, "NAME", "in_c", 1), "b.cc": strings.Replace(body, "NAME", "in_cxx", 1)}
	text := written(t, files)
	assert.Contains(t, text, "var InC = ")
	assert.Contains(t, text, "var InCxx = ")
	files["b.cc"] = strings.Replace(body, "NAME", "in_c", 1)
	folder(t, files)
	assert.ErrorContains(t, gen("-pkg", "p"), "there are two in_c, at a.c:2 and at b.cc:2")
	delete(files, "a.c")
	files["b.cc"] = "#include \"a.h\"\n"
	files["a.h"] = strings.Replace(body, "NAME", "in_cxx", 1)
	folder(t, files)
	assert.ErrorContains(t, gen("-pkg", "p"), "each file that includes that header")
}
