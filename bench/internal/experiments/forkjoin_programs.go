package experiments

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/organzine/coro/bench/internal/cbody"
)

//go:embed cxx/forkjoin_*.c cxx/forkjoin_*.cpp
var forkSources embed.FS

// A forkProgram is a system whose rows are made by a program of its own, in C or C++.
type forkProgram struct {
	name, source, compiler string
	args                   []string // of the compiler
	header, remedy         string   // what must be there, and how to get it
	why                    string   // it is left out whatever is there; empty: it is not
}

func forkPrograms(o ForkOptions) []forkProgram {
	libfork := forkProgram{name: "libfork", source: "forkjoin_libfork.cpp", compiler: "g++",
		args: []string{"-std=c++20", "-pthread", "-w",
			"-I" + filepath.Join(o.Libfork, "include")}}
	if _, err := os.Stat(filepath.Join(o.Libfork, "include", "libfork.hpp")); o.Libfork == "" ||
		err != nil {
		libfork.why = cmp.Or(o.Libfork, "DIR") + " has no include/libfork.hpp: " +
			"git clone -b v3.8.0 https://github.com/ConorWilliams/libfork, and -libfork DIR"
	}
	return []forkProgram{
		{name: sysOpenMP, source: "forkjoin_omp.c", compiler: "gcc",
			args: []string{"-std=gnu11", "-fopenmp"}, header: "omp.h",
			remedy: "apt-get install gcc"},
		{name: sysTBB, source: "forkjoin_tbb.cpp", compiler: "g++",
			args: []string{"-std=c++20", "-ltbb"}, header: "oneapi/tbb/task_group.h",
			remedy: "apt-get install g++ libtbb-dev"},
		libfork,
	}
}

// missing: why the program cannot be built; empty: it can.
func (p forkProgram) missing() string {
	if p.why != "" {
		return p.why
	}
	why := noCompiler(p.compiler, p.header)
	if why != "" && p.remedy != "" {
		why += ": " + p.remedy
	}
	return why
}

// run has the program do a load. It is built once.
func (p forkProgram) run() func(cbody.Fork, int) (time.Duration, uint64, error) {
	built := sync.OnceValues(func() (*os.File, error) { return builtProgram(p.build) })
	return func(f cbody.Fork, workers int) (time.Duration, uint64, error) {
		program, err := built()
		if err != nil {
			return 0, 0, err
		}
		out, err := runProgram(p.name, program, int(f.Load), int(f.Size), int(f.Laps), workers)
		if err != nil {
			return 0, 0, err
		}
		var r cbody.Forked
		if _, err := fmt.Fscan(bytes.NewReader(out), &r.Ns, &r.Sum); err != nil {
			return 0, 0, fmt.Errorf("%s printed %q: %w", p.name, out, err)
		}
		return r.Took()
	}
}

func (p forkProgram) build(dir, program string) error {
	sources, err := fs.Sub(forkSources, "cxx")
	if err != nil {
		return err
	}
	if err := errors.Join(os.CopyFS(dir, sources), os.CopyFS(dir, cbody.ForkHeaders)); err != nil {
		return err
	}
	args := []string{"-O2", filepath.Join(dir, p.source), "-o", program}
	return compile(p.compiler, append(args, p.args...)...)
}
