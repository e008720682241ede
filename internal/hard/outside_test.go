//go:build cgo

package hard_test

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro/csrc/include"
	"github.com/organzine/coro/internal/race"
)

const outsideMain = `package main

/*
#include "mine.h"
*/
import "C"

import (
	"context"
	"fmt"
	"log"
	"unsafe"

	"github.com/organzine/coro"
)

type pair struct{ A, B int32 }

// Each way to build tells a description from a function.
var (
	sum   = coro.MustFunc[pair, int64](unsafe.Pointer(&C.mine_sum_body))
	plain = coro.MustFunc[[7]byte, int64](unsafe.Pointer(C.mine_sum)) // of that nothing is checked
)

func main() {
	s, err := coro.New(coro.WithWorkers(2))
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close(context.Background())
	if _, err := coro.NewFunc[int64, int64](unsafe.Pointer(&C.mine_sum_body)); err == nil {
		log.Fatal("another alignment is not refused")
	}
	task, err := sum.Start(s, pair{40, 2})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(task.Wait(context.Background()))
}
`

const outsideHeader = `#include "coro.h"

struct mine_pair { int32_t a, b; };

CORO_DECLARE_BODY(mine_sum);
`

const outsideBody = `#include "mine.h"

static void half(void *arg, void *result)
{
	coro_yield();
	*(int64_t *)result = *(int32_t *)arg;
}

/* mine_sum - adds the two. */
CORO_BODY(mine_sum, struct mine_pair, int64_t, 0)
{
	const int32_t summand[2] = {arg->a, arg->b};
	coro_attr attr = {.size = sizeof attr, .flags = CORO_JOINABLE, .result_bytes = sizeof(int64_t)};
	coro_handle child[2];
	for (int i = 0; i < 2; i++)
		coro_spawn_attr(&attr, half, &summand[i], sizeof(int32_t), &child[i]);
	for (int i = 0; i < 2; i++) {
		int64_t value = 0;
		coro_join(child[i], &value, sizeof value);
		*result += value;
	}
}
`

const outsideWithoutCgo = `package main

import (
	"errors"
	"fmt"

	"github.com/organzine/coro"
	"github.com/organzine/coro/generator"
)

func main() {
	_, err := coro.New()
	fmt.Println(errors.Is(err, coro.ErrNoCgo), err)
	_, err = coro.NewFunc[int, int](nil)
	fmt.Println(errors.Is(err, coro.ErrNoCgo))
	_, err = generator.New(nil, 0, 0)
	fmt.Println(errors.Is(err, coro.ErrNoCgo))
}
`

// outside is a module that uses this one, without a network.
type outside struct {
	t   *testing.T
	dir string
	env []string
}

func newOutside(t *testing.T, files map[string]string) *outside {
	t.Helper()
	repository, err := filepath.Abs("../..")
	require.NoError(t, err)
	o := newEmptyOutside(t)
	o.env = append(o.env, "GOFLAGS=-mod=mod")
	for name, text := range files {
		o.write(name, text)
	}
	o.run("go", "mod", "init", "example.org/outside")
	o.run("go", "mod", "edit", "-require=github.com/organzine/coro@v0.0.0",
		"-replace=github.com/organzine/coro="+repository)
	return o
}

// newEmptyOutside is an empty folder.
func newEmptyOutside(t *testing.T) *outside {
	t.Helper()
	if testing.Short() || race.Enabled {
		t.Skip("builds programs, and not with the race detector")
	}
	return &outside{t: t, dir: t.TempDir(), env: append(os.Environ(), "GOFLAGS=",
		"GOWORK=off", "GOPROXY=off", "GOTOOLCHAIN=local")}
}

// try runs a command in the module.
func (o *outside) try(name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(background, 10*patience) // it compiles
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = o.dir
	cmd.Env = o.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (o *outside) run(name string, args ...string) string {
	o.t.Helper()
	out, err := o.try(name, args...)
	require.NoError(o.t, err, "%s %v: %s", name, args, out)
	return out
}

// generate writes coro.h, and the Go side of the C bodies.
func (o *outside) generate() {
	o.t.Helper()
	for _, what := range []string{"header", "gen"} {
		o.run("go", "run", "github.com/organzine/coro/cmd/coro", what)
	}
}

func (o *outside) write(name, text string) {
	name = filepath.Join(o.dir, name)
	require.NoError(o.t, os.MkdirAll(filepath.Dir(name), 0o777))
	require.NoError(o.t, os.WriteFile(name, []byte(text), 0o666))
}

func (o *outside) read(name string) string {
	o.t.Helper()
	text, err := os.ReadFile(filepath.Join(o.dir, name))
	require.NoError(o.t, err)
	return string(text)
}

// ours is a module with C bodies of its own, and a copy of the header.
func ours(t *testing.T, more map[string]string) *outside {
	t.Helper()
	files := map[string]string{"main.go": outsideMain, "mine.h": outsideHeader,
		"mine.c": outsideBody}
	maps.Copy(files, more)
	o := newOutside(t, files)
	o.run("go", "run", "github.com/organzine/coro/cmd/coro", "header")
	return o
}

func TestAnotherModuleBringsItsOwnCoroutines(t *testing.T) {
	o := ours(t, nil)
	assert.Equal(t, include.Text("coro.h"), o.read("coro.h"))
	assert.Equal(t, "42 <nil>\n", o.run("go", "run", "."))
	o.run("go", "vet", ".")
	sums, err := os.ReadFile(filepath.Join(o.dir, "go.sum"))
	require.True(t, err != nil || len(sums) == 0, "nothing else is needed to build it: %s",
		sums)
}

// What the core is compiled from is vendored where nothing else needs it, as the command does.
func TestAVendoredModuleIsBuiltWithoutTheCommand(t *testing.T) {
	o := ours(t, nil)
	o.run("go", "mod", "vendor")
	o.env = append(o.env, "GOFLAGS=-mod=vendor")
	assert.Equal(t, "42 <nil>\n", o.run("go", "run", "."))
}

// With a tool line the command is vendored, with the header and the commands for gdb in it.
func TestAVendoredModuleHasTheCommandAndItsFiles(t *testing.T) {
	o := ours(t, nil)
	o.run("go", "mod", "edit", "-tool=github.com/organzine/coro/cmd/coro")
	o.run("go", "mod", "vendor")
	o.env = append(o.env, "GOFLAGS=-mod=vendor")
	assert.Equal(t, "42 <nil>\n", o.run("go", "run", "."))
	assert.NoDirExists(t, filepath.Join(o.dir, "vendor/github.com/stretchr"))

	o.write("again/nothing", "")
	assert.Regexp(t, "^wrote again/coro.h of coro .*, CORO_VERSION [0-9]+\n$",
		o.run("go", "tool", "coro", "header", "-dir", "again"))
	assert.Equal(t, include.Text("coro.h"), o.read("again/coro.h"))
	assert.Equal(t, "wrote coro-gdb.py; in gdb: source coro-gdb.py, then: help coro\n",
		o.run("go", "tool", "coro", "gdb"))
	assert.Empty(t, o.run("go", "tool", "coro", "gen"))
	assert.Contains(t, o.read("bodies_gen.go"), "\n// MineSum adds the two.\n")
	assert.Empty(t, o.run("go", "tool", "coro", "gen", "-check", "mine.c"))
	assert.Equal(t, "42 <nil>\n", o.run("go", "run", "."), "with bodies_gen.go")
	script, err := os.ReadFile("../../cmd/coro/coro-gdb.py")
	require.NoError(t, err)
	assert.Equal(t, string(script), o.read("coro-gdb.py"))
	assert.Equal(t, string(script), o.run("go", "tool", "coro", "gdb", "-o", "-"))
}

// A copy of the header of another version of coro does not link.
func TestAnOldCopyOfTheHeaderDoesNotLink(t *testing.T) {
	o := ours(t, nil)
	header := o.read("coro.h")
	version := regexp.MustCompile(`(?m)^#define CORO_VERSION .*$`)
	require.Regexp(t, version, header)
	o.write("coro.h", version.ReplaceAllString(header, "#define CORO_VERSION 0"))
	for _, mode := range []string{"exe", "pie", "c-shared"} {
		out, err := o.try("go", "build", "-o", "out", "-buildmode="+mode, ".")
		require.Error(t, err, mode)
		assert.Contains(t, out, "coro_abi_0_of_this_coro_h_is_not_that_of_the_linked_coro"+
			"__run_coro_header_again", mode)
	}
}

func TestWithoutCgoEveryConstructorNamesTheRemedy(t *testing.T) {
	o := newOutside(t, map[string]string{"main.go": outsideWithoutCgo})
	o.env = append(o.env, "CGO_ENABLED=0")
	assert.Equal(t, `true coro: built without its C core: `+
		`it needs linux on amd64 or arm64, CGO_ENABLED=1 and a C compiler; `+
		`a cross build to arm64 needs CGO_ENABLED=1 CC=aarch64-linux-gnu-gcc, for example
true
true
`, o.run("go", "run", "."))
}

const outsideNeedsCgo = `package main

import "github.com/organzine/coro"

const _ = coro.RequiresCgo

func main() {}
`

// A program of Go bodies alone compiles without cgo, and fails at run time. One line makes it an
// error of the build.
func TestABuildThatLosesTheCoreIsStopped(t *testing.T) {
	o := newOutside(t, map[string]string{"main.go": outsideNeedsCgo})
	o.run("go", "build", ".")
	o.env = append(o.env, "CGO_ENABLED=0")
	out, err := o.try("go", "build", ".")
	require.Error(t, err)
	assert.Contains(t, out, "undefined: coro.RequiresCgo")
}

// In a cross build go turns cgo off by itself: the file with RequiresCgo is not part of it.
func TestACrossBuildHasNoRequiresCgo(t *testing.T) {
	const file = "cgo_required.go"
	o := newOutside(t, nil)
	other := map[string]string{"amd64": "arm64", "arm64": "amd64"}[runtime.GOARCH]
	list := []string{"list", "-f", "{{.GoFiles}}", "github.com/organzine/coro"}
	assert.Contains(t, o.run("go", list...), file)
	o.env = append(o.env, "CGO_ENABLED=", "CC=", "GOARCH="+other)
	assert.NotContains(t, o.run("go", list...), file)
	o.env = append(o.env, "CGO_ENABLED=1", "CC=gcc")
	assert.Contains(t, o.run("go", list...), file)
}

// What coro init writes into an empty folder runs at once.
func TestInitStartsAProgram(t *testing.T) {
	needs(t, "gcc")
	o := newOutside(t, nil)
	o.run("go", "mod", "edit", "-tool=github.com/organzine/coro/cmd/coro")
	out := o.run("go", "tool", "coro", "init")
	for _, name := range []string{"coro.h", "body.c", "main.go", "main_test.go", "bodies_gen.go"} {
		assert.Contains(t, out, "wrote "+name)
		assert.FileExists(t, filepath.Join(o.dir, name))
	}
	assert.Equal(t, "77031 comes to 1 in 350 steps\n", o.run("go", "run", "."))
	assert.Contains(t, o.run("go", "test", "-v", "."), "--- PASS: TestSteps")
	o.run("go", "vet", ".")
	assert.Empty(t, o.run("gofmt", "-l", "."))

	before := o.read("bodies_gen.go")
	o.run("go", "generate")
	assert.Equal(t, before, o.read("bodies_gen.go"))
	out, err := o.try("go", "tool", "coro", "init")
	assert.Error(t, err)
	assert.Contains(t, out, "bodies_gen.go is here already: use an empty folder")
}

const outsideLarge = `#include "coro.h"

CORO_BODY(large, coro_none, coro_none, 0)
{
	volatile char a[65536], b[65536];

	(void)arg;
	(void)result;
	a[0] = b[0] = 1;
	coro_yield();
	a[1] = b[0];
}
`

const outsideRunsLarge = `package main

import (
	"context"

	"github.com/organzine/coro"
)

func main() {
	s, err := coro.New()
	if err != nil {
		panic(err)
	}
	Large.Call(context.Background(), s, coro.None{})
}
`

// A frame that is larger than the guard below a stack would miss the guard, and hit what lies
// there. What coro gen writes has such a frame touch each of its pages.
func TestALargeFrameIsToldAsAnOverflow(t *testing.T) {
	needs(t, "gcc")
	o := newOutside(t, map[string]string{"large.c": outsideLarge, "main.go": outsideRunsLarge})
	o.generate()
	out, err := o.try("go", "run", ".")
	require.Error(t, err)
	assert.Contains(t, out, "coro: stack overflow")
	assert.Contains(t, out, "large")
}
