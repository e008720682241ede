package experiments

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
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
	return noCompiler("g++", "")
}

// cxxProgram builds the program, once in a process.
var cxxProgram = sync.OnceValues(func() (*os.File, error) {
	return builtProgram(func(dir, program string) error {
		source := filepath.Join(dir, "ring.cpp")
		if err := os.WriteFile(source, cxxSource, 0o600); err != nil {
			return err
		}
		return compile("g++", "-O2", "-std=c++20", "-o", program, source)
	})
})

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
