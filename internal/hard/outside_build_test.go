//go:build cgo

package hard_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro/csrc/include"
)

// A main package that is a library as well.
const outsideLibrary = `package main

import "C"

import (
	"context"

	"github.com/organzine/coro"
)

//export outside_sum
func outside_sum(a, b C.int) C.int {
	s, err := coro.New(coro.WithWorkers(2))
	if err != nil {
		return -1
	}
	defer s.Close(context.Background())
	task, err := sum.Start(s, pair{int32(a), int32(b)})
	if err != nil {
		return -2
	}
	n, err := task.Wait(context.Background())
	if err != nil {
		return -3
	}
	return C.int(n)
}
`

const outsideLinked = `#include <stdio.h>

int outside_sum(int a, int b);

int main(void)
{
	printf("%d\n", outside_sum(40, 2));
	return 0;
}
`

// Two libraries in one process, each with a coro of its own, and in the global scope.
const outsideLoader = `#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	int (*sum[2])(int, int);

	for (int i = 0; i < 2 && i < argc - 1; i++) {
		void *library = dlopen(argv[i + 1], RTLD_NOW | RTLD_GLOBAL);
		if (!library || !(sum[i] = (int (*)(int, int))dlsym(library, "outside_sum"))) {
			puts(dlerror());
			return 1;
		}
	}
	for (int i = 0; i < 6; i++)
		printf("%d\n", sum[i % 2](40, i));
	return 0;
}
`

// needs skips the test without one of the tools.
func needs(t *testing.T, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
}

// muslCompiler is Debian's compiler for musl, which looks into no folder of the kernel's headers.
func muslCompiler(t *testing.T) string {
	t.Helper()
	multiarch, err := exec.Command("gcc", "-print-multiarch").Output()
	require.NoError(t, err)
	return "musl-gcc -idirafter /usr/include -idirafter /usr/include/" +
		strings.TrimSpace(string(multiarch))
}

// needsToCompile skips the test where a program does not compile with the flags of a C compiler.
func needsToCompile(t *testing.T, compiler string, flags ...string) {
	t.Helper()
	needs(t, compiler)
	args := append(flags, "-x", "c", "-", "-o", filepath.Join(t.TempDir(), "out"))
	cmd := exec.Command(compiler, args...)
	cmd.Stdin = strings.NewReader("int main(void) { return 0; }\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("%s %v: %s", compiler, flags, out)
	}
}

// needsTimeToBuild skips the test where builds of the core are not asked for.
func needsTimeToBuild(t *testing.T) {
	t.Helper()
	if os.Getenv("CORO_TEST_BUILDS") == "" {
		t.Skip("builds the core again: make test-builds")
	}
}

// A user's program is built and run in each way that go offers. Each way compiles the core again,
// so only the shared library is built where CORO_TEST_BUILDS is not set, as by make test-builds.
func TestAnotherModuleIsBuiltInEachWay(t *testing.T) {
	o := ours(t, map[string]string{"library.go": outsideLibrary})
	for _, way := range []struct {
		name  string
		needs []string // compiler and flags
		env   []string
		flags []string
	}{
		{name: "race", flags: []string{"-race"}},
		{name: "asan", needs: []string{"gcc", "-fsanitize=address"}, flags: []string{"-asan"}},
		{name: "static", needs: []string{"gcc", "-static"},
			flags: []string{"-tags=netgo,osusergo", "-ldflags=-extldflags=-static"}},
		{name: "pie", flags: []string{"-buildmode=pie"}},
		{name: "stripped", flags: []string{"-ldflags=-s -w"}},
		{name: "clang", needs: []string{"clang"}, env: []string{"CC=clang"}},
		{name: "musl", needs: []string{"musl-gcc", "-static"}, env: []string{"CC=" + muslCompiler(t)},
			flags: []string{"-ldflags=-extldflags=-static"}},
	} {
		t.Run(way.name, func(t *testing.T) {
			needsTimeToBuild(t)
			t.Parallel() // cgo compiles the files of a package one after the other
			if len(way.needs) > 0 {
				needsToCompile(t, way.needs[0], way.needs[1:]...)
			}
			in := *o
			in.t, in.env = t, append(o.env[:len(o.env):len(o.env)], way.env...)
			in.run("go", append([]string{"build", "-o", way.name}, append(way.flags, ".")...)...)
			assert.Equal(t, "42 <nil>\n", in.run("./"+way.name))
		})
	}
	t.Run("cross", func(t *testing.T) {
		needsTimeToBuild(t)
		t.Parallel()
		other, triple := "arm64", "aarch64-linux-gnu"
		if runtime.GOARCH == other {
			other, triple = "amd64", "x86_64-linux-gnu"
		}
		emulator := "qemu-" + triple[:strings.Index(triple, "-")]
		needsToCompile(t, triple+"-gcc")
		in := *o
		in.t = t
		in.env = append(o.env[:len(o.env):len(o.env)], "CGO_ENABLED=1", "GOARCH="+other, "CC="+triple+"-gcc")
		in.run("go", "build", "-o", "cross", ".")
		needs(t, emulator)
		assert.Equal(t, "42 <nil>\n", in.run(emulator, "-L", "/usr/"+triple, "./cross"))
	})
	t.Run("c-archive", func(t *testing.T) {
		needsTimeToBuild(t)
		t.Parallel()
		needs(t, "gcc")
		in := *o
		in.t = t
		in.run("go", "build", "-buildmode=c-archive", "-o", "archive/libsum.a", ".")
		in.write("archive/main.c", outsideLinked)
		in.run("gcc", "-o", "linked", "archive/main.c", "archive/libsum.a", "-pthread")
		assert.Equal(t, "42\n", in.run("./linked"))
	})
	t.Run("c-shared", func(t *testing.T) {
		t.Parallel()
		needs(t, "gcc")
		in := *o
		in.t = t
		in.run("go", "build", "-buildmode=c-shared", "-o", "one.so", ".")
		in.run("go", "build", "-buildmode=c-shared", "-ldflags=-w", "-o", "two.so", ".")
		in.write("loader/main.c", outsideLoader)
		in.run("gcc", "-o", "loader/loader", "loader/main.c", "-ldl")
		assert.Equal(t, "40\n41\n42\n43\n44\n45\n",
			in.run("./loader/loader", "./one.so", "./two.so"))
		noneButPublicNames(t, filepath.Join(in.dir, "one.so"))
	})
}

var coreName = regexp.MustCompile(`^coro`)

// noneButPublicNames checks what of the core a library shows to others. With more, the cores of two
// libraries in one process, perhaps of two versions, would take each other's functions for theirs.
func noneButPublicNames(t *testing.T, library string) {
	t.Helper()
	file, err := elf.Open(library)
	require.NoError(t, err)
	defer file.Close()
	symbols, err := file.DynamicSymbols()
	require.NoError(t, err)
	header := ""
	for _, name := range include.Names {
		header += include.Text(name)
	}
	public := 0
	for _, s := range symbols {
		if s.Section == elf.SHN_UNDEF || !coreName.MatchString(s.Name) {
			continue
		}
		assert.Regexp(t, `\b`+s.Name+`\b`, header, "it is not public")
		public++
	}
	assert.Greater(t, public, 100, "the public names are there")
}

const outsideBodies = `package bodies

// #include "../mine.h"
import "C"

import (
	"unsafe"

	"github.com/organzine/coro"
)

type Pair struct{ A, B int32 }

var Sum = coro.MustFunc[Pair, int64](unsafe.Pointer(C.mine_sum), coro.FuncName("mine_sum"))
`

const outsideBodiesTest = `package bodies

import (
	"testing"

	"github.com/organzine/coro"
	"github.com/organzine/coro/corotest"
)

func TestSum(t *testing.T) {
	corotest.VerifyNone(t)
	s, err := coro.New(coro.WithWorkers(1))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context())
	task, err := Sum.Start(s, Pair{40, 2})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := task.Wait(t.Context()); got != 42 || err != nil {
		t.Fatal(got, err)
	}
}
`

// The way of docs/internals/testing.md: a package of its own for the C bodies, and ordinary tests
// of it.
func TestAnotherModuleTestsItsOwnBodies(t *testing.T) {
	o := newOutside(t, map[string]string{
		"bodies/bodies.go":      outsideBodies,
		"bodies/bodies_test.go": outsideBodiesTest,
		"bodies/mine.c":         strings.ReplaceAll(outsideBody, `"mine.h"`, `"../mine.h"`),
		"mine.h":                outsideHeader,
	})
	o.run("go", "run", "github.com/organzine/coro/cmd/coro", "header", "-dir", "bodies")
	assert.Contains(t, o.run("go", "test", "-v", "./..."), "--- PASS: TestSum")
}
