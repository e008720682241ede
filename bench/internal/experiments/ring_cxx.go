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

// cxxProgram builds the program, once in a process.
var cxxProgram = sync.OnceValues(func() (*os.File, error) {
	return builtProgram(func(dir, program string) error {
		source := filepath.Join(dir, "ring.cpp")
		if err := os.WriteFile(source, cxxSource, 0o600); err != nil {
			return err
		}
		if out, err := exec.Command("g++", "-O2", "-std=c++20", "-o", program,
			source).CombinedOutput(); err != nil {
			return fmt.Errorf("g++: %w\n%s", err, out)
		}
		return nil
	})
})

// builtProgram has a program built, in a directory of its own, and opens it: the file itself is
// gone by then.
func builtProgram(build func(dir, program string) error) (*os.File, error) {
	dir, err := os.MkdirTemp("", "coro-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "ring")
	if err := build(dir, program); err != nil {
		return nil, err
	}
	return os.Open(program)
}

// runProgram runs an open program with these arguments, and returns what it prints.
func runProgram(name string, program *os.File, args ...int) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), ringPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/proc/self/fd/3")
	for _, n := range args {
		cmd.Args = append(cmd.Args, strconv.Itoa(n))
	}
	cmd.ExtraFiles = []*os.File{program}
	out, err := cmd.Output()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), ctx.Err())
	}
	return out, nil
}

func runCxx(r cbody.Rings) (time.Duration, int64, error) {
	program, err := cxxProgram()
	if err != nil {
		return 0, 0, err
	}
	flag := func(b bool) int { return map[bool]int{true: 1}[b] }
	out, err := runProgram("the C++ program", program, r.Rings, r.Members, r.Rounds, flag(r.Strict),
		flag(r.LIFO))
	if err != nil {
		return 0, 0, err
	}
	var ns, grown int64
	if _, err := fmt.Fscan(bytes.NewReader(out), &ns, &grown); err != nil {
		return 0, 0, fmt.Errorf("the C++ program printed %q: %w", out, err)
	}
	return time.Duration(ns), grown, nil
}
