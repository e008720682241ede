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
func noCxx() string {
	return noCompiler("g++", "")
}

// cxxPrograms has, for each size of the members' data, what builds the program once in a process:
// a coroutine's frame has the size that the compiler gives it.
var cxxPrograms sync.Map

func cxxProgram(extra int) (*os.File, error) {
	build, _ := cxxPrograms.LoadOrStore(extra, sync.OnceValues(func() (*os.File, error) {
		return builtProgram(func(dir, program string) error {
			source := filepath.Join(dir, "ring.cpp")
			if err := os.WriteFile(source, cxxSource, 0o600); err != nil {
				return err
			}
			return compile("g++", "-O2", "-std=c++20", fmt.Sprintf("-DEXTRA=%d", extra), "-o",
				program, source)
		})
	}))
	return build.(func() (*os.File, error))()
}

// timedRings runs a program with these rings, and then further arguments. It prints the time in ns,
// and the bytes by which it has grown.
func timedRings(name string, program *os.File, r cbody.Rings, further ...int) (time.Duration,
	int64, error) {
	flag := func(b bool) int { return map[bool]int{true: 1}[b] }
	out, err := runProgram(name, program, append([]int{r.Rings, r.Members, r.Rounds,
		flag(r.Strict), flag(r.LIFO)}, further...)...)
	if err != nil {
		return 0, 0, err
	}
	var ns, grown int64
	if _, err := fmt.Fscan(bytes.NewReader(out), &ns, &grown); err != nil {
		return 0, 0, fmt.Errorf("%s printed %q: %w", name, out, err)
	}
	return time.Duration(ns), grown, nil
}

func runCxx(r cbody.Rings) (time.Duration, int64, error) {
	program, err := cxxProgram(r.Extra)
	if err != nil {
		return 0, 0, err
	}
	return timedRings("the C++ program", program, r)
}
