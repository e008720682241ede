//go:build cgo

package coro_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro/csrc"
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

var sum = coro.MustFunc[pair, int64](unsafe.Pointer(C.mine_sum))

func main() {
	s, err := coro.New(coro.WithWorkers(2))
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close(context.Background())
	task, err := sum.Start(s, pair{40, 2})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(task.Wait(context.Background()))
}
`

const outsideHeader = `#include <stdint.h>
void mine_sum(void *arg, void *result);
`

const outsideBody = `#include "mine.h"
#include "coro.h"

static void half(void *arg, void *result)
{
	coro_yield();
	*(int64_t *)result = *(int32_t *)arg;
}

void mine_sum(void *arg, void *result)
{
	coro_attr attr = {.size = sizeof attr, .flags = CORO_JOINABLE, .result_bytes = sizeof(int64_t)};
	coro_handle child[2];
	for (int i = 0; i < 2; i++)
		coro_spawn_attr(&attr, half, (int32_t *)arg + i, sizeof(int32_t), &child[i]);
	for (int i = 0; i < 2; i++) {
		int64_t value = 0;
		coro_join(child[i], &value, sizeof value);
		*(int64_t *)result += value;
	}
}
`

const outsideWithoutCgo = `package main

import (
	"errors"
	"fmt"

	"github.com/organzine/coro"
)

func main() {
	_, err := coro.New()
	fmt.Println(errors.Is(err, coro.ErrNoCgo), err)
	_, err = coro.NewFunc[int, int](nil)
	fmt.Println(errors.Is(err, coro.ErrNoCgo))
	_, err = coro.NewGenerator(nil, 0, 0)
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
	if testing.Short() {
		t.Skip("builds programs")
	}
	repository, err := os.Getwd()
	require.NoError(t, err)
	o := &outside{t: t, dir: t.TempDir()}
	o.env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "GOPROXY=off",
		"GOTOOLCHAIN=local")
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(o.dir, name), []byte(text), 0o666))
	}
	o.run("go", "mod", "init", "example.org/outside")
	o.run("go", "mod", "edit", "-require=github.com/organzine/coro@v0.0.0",
		"-replace=github.com/organzine/coro="+repository)
	return o
}

func (o *outside) run(name string, args ...string) string {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(background, 4*patience) // it compiles
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = o.dir
	cmd.Env = o.env
	out, err := cmd.CombinedOutput()
	require.NoError(o.t, err, "%s %v: %s", name, args, out)
	return string(out)
}

func TestAnotherModuleBringsItsOwnCoroutines(t *testing.T) {
	o := newOutside(t, map[string]string{"main.go": outsideMain, "mine.h": outsideHeader,
		"mine.c": outsideBody})
	o.run("go", "run", "github.com/organzine/coro/cmd/coro", "header")
	written, err := os.ReadFile(filepath.Join(o.dir, "coro.h"))
	require.NoError(t, err)
	require.Equal(t, csrc.Header(), string(written))

	assert.Equal(t, "42 <nil>\n", o.run("go", "run", "."))
	o.run("go", "vet", ".")
	sums, err := os.ReadFile(filepath.Join(o.dir, "go.sum"))
	require.True(t, err != nil || len(sums) == 0, "nothing else is needed to build it: %s",
		sums)

	o.run("go", "mod", "vendor")
	o.env = append(o.env, "GOFLAGS=-mod=vendor")
	assert.Equal(t, "42 <nil>\n", o.run("go", "run", "."))
	assert.NoDirExists(t, filepath.Join(o.dir, "vendor/github.com/stretchr"))
}

func TestWithoutCgoEveryConstructorNamesTheRemedy(t *testing.T) {
	o := newOutside(t, map[string]string{"main.go": outsideWithoutCgo})
	o.env = append(o.env, "CGO_ENABLED=0")
	assert.Equal(t, `true coro: built without its C core: `+
		`it needs CGO_ENABLED=1, a C compiler, and linux on amd64 or arm64
true
true
`, o.run("go", "run", "."))
}
