package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"github.com/organzine/coro/bench/internal/harness"
)

// A program is how a peer is built and run. Peers of one name share what is built.
type program struct {
	name    string
	build   func(b *builder) error
	command func(b *builder, r row) []string // what measures the row
}

func (b *builder) path(name string) string { return filepath.Join(b.bin, name) }

func (b *builder) command(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return nil
}

// arguments are what the programs of the experiments spawn and switching are told:
//
//	spawn VARIANT WORKERS N             N is divided by the scale
//	switching VARIANT N SWITCHES        so is SWITCHES; a multiple of N is done
func (r row) arguments(b *builder) []string {
	if r.switches > 0 {
		return []string{"switching", r.variant, strconv.Itoa(r.n),
			strconv.Itoa(max(r.switches/b.scale, r.n))}
	}
	return []string{"spawn", r.variant, strconv.Itoa(r.workers), strconv.Itoa(r.spawned(b))}
}

// spawned is what a program spawns for the row.
func (r row) spawned(b *builder) int {
	if r.bench.row != "" {
		return r.n
	}
	return max(r.n/b.scale, 1)
}

// A benchRow is a row of the command bench, whose sizes are not divided.
type benchRow struct{ experiment, row string }

// The command bench measures coro, goroutines and others.
var bench = program{
	name: "bench",
	build: func(b *builder) error {
		return b.command(filepath.Dir(b.sources), "go", "build", "-o", b.path("bench"), ".")
	},
	command: func(b *builder, r row) []string {
		return []string{b.path("bench"), "-run", "^" + r.bench.experiment + "$", "-once", "-json",
			"-rows", "^" + regexp.QuoteMeta(r.bench.row) + "$"}
	},
}

// compiled is a program of one source file, which the compiler is called for with these arguments.
func compiled(name, dir, file, compiler string, args ...string) program {
	return program{
		name: name,
		build: func(b *builder) error {
			return b.command(filepath.Join(b.sources, dir), compiler,
				append([]string{"-O2", "-DNDEBUG", file, "-o", b.path(name)}, args...)...)
		},
		command: func(b *builder, r row) []string {
			return append([]string{b.path(name)}, r.arguments(b)...)
		},
	}
}

func cxx20(name string, libraries ...string) program {
	return compiled(name, "cpp", name+".cpp", "g++", append([]string{"-std=c++20"}, libraries...)...)
}

// golang is a package of the module bench/peers/golang.
func golang(name string) program {
	return goProgram("golang", name, func(b *builder, r row) []string {
		return append([]string{b.path(name)}, r.arguments(b)...)
	})
}

// goProgram is a package of a module below bench/peers.
func goProgram(module, name string, command func(*builder, row) []string) program {
	return program{
		name: name,
		build: func(b *builder) error {
			return b.command(filepath.Join(b.sources, module), "env", "GOWORK=off", "go", "build",
				"-o", b.path(name), "./"+name)
		},
		command: command,
	}
}

// python is a file of Python, for the interpreter that has the module. The remedy is for the case
// that none has it.
func python(file, module, remedy string) program {
	return program{
		name: "python " + module,
		build: func(b *builder) error {
			if err := b.findPython(module); err != nil {
				return fmt.Errorf("%w: %s", err, remedy)
			}
			return nil
		},
		command: func(b *builder, r row) []string { // -B: nothing is written beside the source
			return append([]string{b.pythons[module], "-B", filepath.Join(b.sources, "python", file)},
				r.arguments(b)...)
		},
	}
}

// erlang is a module of Erlang with a function main/1.
var erlang = program{
	name: "processes",
	build: func(b *builder) error {
		return b.command(b.bin, "erlc", filepath.Join(b.sources, "erlang", "processes.erl"))
	},
	command: func(b *builder, r row) []string {
		return append([]string{"erl", "-noshell", "+P", "2000000",
			"+S", fmt.Sprintf("%d:%[1]d", r.workers), "-pa", b.bin, "-run", "processes", "main"},
			r.arguments(b)...)
	},
}

// debianCrates is where Debian's packages put the sources of Rust's libraries.
const debianCrates = "/usr/share/cargo/registry"

// rust is the one program in Rust. Cargo writes beside the source: so that is copied.
var rust = program{
	name: "rust",
	build: func(b *builder) error {
		dir := b.path("rust")
		if err := os.CopyFS(dir, os.DirFS(filepath.Join(b.sources, "rust"))); err != nil {
			return err
		}
		return b.command(dir, "cargo", "build", "--release", "--offline", "--quiet",
			"--config", `source.crates-io.replace-with="debian"`,
			"--config", `source.debian.directory="`+debianCrates+`"`)
	},
	command: func(b *builder, r row) []string {
		return append([]string{filepath.Join(b.path("rust"), "target", "release", "peer")},
			r.arguments(b)...)
	},
}

// The needs of more than one peer.
var (
	needGcc   = need{command: "gcc", remedy: "sudo apt-get install -y gcc libc6-dev"}
	needGxx   = need{command: "g++", remedy: "sudo apt-get install -y g++"}
	needFiber = need{command: "g++", header: "boost/fiber/all.hpp",
		remedy: "sudo apt-get install -y g++ libboost-fiber-dev"}
	needErlang = need{command: "erlc", remedy: "sudo apt-get install -y erlang-base"}
	needCargo  = need{command: "cargo", remedy: "sudo apt-get install -y cargo"}
	needTokio  = need{file: debianCrates + "/tokio-1.*",
		remedy: "sudo apt-get install -y librust-tokio-dev"}
)

// oneAndAll are the numbers of workers of systems that can have more than one: as those of bench.
func oneAndAll() []int {
	if runtime.NumCPU() == 1 {
		return []int{1}
	}
	return []int{1, runtime.NumCPU()}
}

// benchRows are rows of one experiment of bench under their own names.
func benchRows(experiment, system string, rows ...row) []row {
	for i, r := range rows {
		rows[i].bench = benchRow{experiment, harness.Row{System: system, Variant: r.variant,
			Workers: r.workers, N: r.n}.String()}
	}
	return rows
}
