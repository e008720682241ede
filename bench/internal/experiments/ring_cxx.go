package experiments

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/organzine/coro/bench/internal/cbody"
)

//go:embed cxx/ring.cpp
var cxxSource []byte

var cxxRings = ringSystem{name: sysCxx, variant: "one thread", posts: 4_000_000, least: 200,
	bytes: 300, run: runCxx}

// noCxx: why there are no rings of C++20 coroutines; empty: there are.
func noCxx(o RingOptions) string {
	if o.Extra > 0 {
		return "its coroutines have no stack to use"
	}
	if _, err := exec.LookPath("g++"); err != nil {
		return "there is no g++"
	}
	return ""
}

// cxxProgram builds the program, once in a process, and opens it: the file itself is gone by then.
var cxxProgram = sync.OnceValues(func() (*os.File, error) {
	dir, err := os.MkdirTemp("", "coro-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	source, program := filepath.Join(dir, "ring.cpp"), filepath.Join(dir, "ring")
	if err := os.WriteFile(source, cxxSource, 0o600); err != nil {
		return nil, err
	}
	if out, err := exec.Command("g++", "-O2", "-std=c++20", "-o", program,
		source).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("g++: %w\n%s", err, out)
	}
	return os.Open(program)
})

func runCxx(r cbody.Rings) (time.Duration, int64, error) {
	program, err := cxxProgram()
	if err != nil {
		return 0, 0, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), ringPatience)
	defer cancel()
	flag := func(b bool) string { return strconv.Itoa(map[bool]int{true: 1}[b]) }
	cmd := exec.CommandContext(ctx, "/proc/self/fd/3",
		strconv.Itoa(r.Rings), strconv.Itoa(r.Members), strconv.Itoa(r.Rounds),
		flag(r.Strict), flag(r.LIFO))
	cmd.ExtraFiles = []*os.File{program}
	out, err := cmd.Output()
	if err != nil {
		return 0, 0, errors.Join(fmt.Errorf("the C++ program: %w", err), ctx.Err())
	}
	var ns, grown int64
	if _, err := fmt.Fscan(bytes.NewReader(out), &ns, &grown); err != nil {
		return 0, 0, fmt.Errorf("the C++ program printed %q: %w", out, err)
	}
	return time.Duration(ns), grown, nil
}
