package include

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// compileBody compiles C code behind coro.h, and returns what the compiler says.
func compileBody(t *testing.T, code string, how ...string) (string, error) {
	t.Helper()
	path, err := exec.LookPath(how[0])
	if err != nil {
		t.Skip(err)
	}
	main := filepath.Join(t.TempDir(), "main.c")
	require.NoError(t, os.WriteFile(main, []byte("#include \"coro.h\"\n"+code), 0o666))
	args := append(how[1:len(how):len(how)], "-I.", "-Wall", "-Wextra", "-Wpedantic",
		"-Wmissing-declarations", "-Wconversion", "-Werror", "-S", "-o", "-", main)
	out, err := exec.Command(path, args...).CombinedOutput()
	return string(out), err
}

const typedBodies = `
#include <setjmp.h>

struct add_arg {
	int64_t a, b;
};

CORO_DECLARE_BODY(add);
CORO_BODY(add, struct add_arg, int64_t, CORO_BRIEF)
{
	*result = arg->a + arg->b;
}
CORO_BODY(nothing, coro_none, coro_none, 0)
{
}
CORO_BODY_STACK(deep, coro_sem *, double, 64 << 10, CORO_BRIEF)
{
	*result = *arg != NULL;
}
CORO_BODY(dense, uint8_t, coro_none, CORO_DENSE | CORO_BRIEF)
{
	coro_sleep(*arg);
}

static jmp_buf again;

CORO_BODY(jumps, int, int, 0)
{
	volatile int n = 0;

	if (setjmp(again) < *arg)
		longjmp(again, ++n);
	*result = n;
}
`

func TestTypedBodiesCompileWithoutAWarning(t *testing.T) {
	for _, how := range []string{
		"gcc -x c -std=c11", "gcc -x c -std=gnu11 -O2", "gcc -x c -std=gnu17 -O3",
		"clang -x c -std=c11", "clang -x c -std=gnu11 -O2",
		"g++ -x c++ -std=c++11", "clang++ -x c++ -std=c++17 -O2",
	} {
		t.Run(how, func(t *testing.T) {
			out, err := compileBody(t, typedBodies, strings.Fields(how)...)
			require.NoError(t, err, out)
			for _, name := range []string{"add", "add_body", "jumps", "jumps_body"} {
				assert.Regexp(t, `(?m)^`+name+`:`, out, "its name is C's")
			}
		})
	}
}

func TestABodyThatCannotBeDoesNotCompile(t *testing.T) {
	for _, compiler := range []string{"gcc", "clang"} {
		for code, want := range map[string]string{
			"struct big { char c[4097]; };\nCORO_BODY(x, struct big, int, 0) {}": "the argument of x has more bytes",
			// its size is 0 in 16 bits
			"struct big { char c[65536]; };\nCORO_BODY(x, int, struct big, 0) {}": "the result of x has more bytes",
			"struct wide { _Alignas(32) char c[32]; };\n" +
				"CORO_BODY(x, struct wide, int, 0) {}": "the argument of x is aligned to more than 16",
			"CORO_BODY(x, void, int, 0) {}":                     "the argument of x is coro_none, not void",
			"CORO_BODY(x, int, int, CORO_JOINABLE) {}":          "the flags of x are CORO_DENSE and CORO_BRIEF",
			"CORO_BODY_STACK(x, int, int, 4095, 0) {}":          "the stack of x is from",
			"CORO_BODY_STACK(x, int, int, -1, 0) {}":            "the stack of x is from",
			"CORO_BODY_STACK(x, int, int, 4096, CORO_DENSE) {}": "x is dense",
			"CORO_BODY(x, int, int, 0) { *result = arg->a; }":   "arg",
		} {
			t.Run(compiler+" "+want, func(t *testing.T) {
				out, err := compileBody(t, code+"\n", compiler, "-x", "c", "-std=gnu11")
				require.Error(t, err)
				assert.Contains(t, out, want)
			})
		}
	}
}
