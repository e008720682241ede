package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/organzine/coro/bench/internal/harness"
)

const metric = "ns_per_message"

// A peer is a system that is measured.
type peer struct {
	system string
	asks   bool // it has the programs ask1 and ask64
	needs  need // what it is built with
	build  func(b *builder, p peer) error
	// run is the command for a program, with that number of workers
	run func(b *builder, p peer, program string, workers int) []string
}

// A need is a command that must be there, or a header of C++, and how to get it.
type need struct{ command, header, remedy string }

const coroC, coroGo, goroutine = "coro-c", "coro-go", "goroutine"

var peers = []peer{
	{system: coroC, build: buildBench, run: runBench},
	{system: coroGo, asks: true, build: buildBench, run: runBench},
	{system: goroutine, asks: true, build: buildBench, run: runBench},
	{system: "hollywood", asks: true, build: buildGo, run: runProgram},
	{system: "protoactor", asks: true, build: buildGo, run: runProgram},
	{system: "go-actor", asks: true, build: buildGo, run: runProgram},
	{system: "caf", build: buildCAF, run: runProgram, needs: need{command: "g++",
		header: "caf/all.hpp", remedy: "sudo apt-get install -y g++ libcaf-dev"}},
	{system: "erlang", build: buildErlang, run: runErlang, needs: need{command: "erlc",
		remedy: "sudo apt-get install -y erlang-base"}},
}

var programs = []string{"pingpong", "counting", "fjthrput", "threadring", "big", "chameneos", "fanin"}
var asking = []string{"ask1", "ask64"}

// A builder builds peers, into the directory bin.
type builder struct {
	bin     string
	notes   io.Writer // what is missing
	scale   int
	sources string // bench/peers
}

func (b *builder) experiment() *harness.Experiment {
	var rows []harness.Row
	for _, program := range slices.Concat(programs, asking) {
		for _, workers := range []int{1, 2} {
			for _, p := range peers {
				if !p.asks && slices.Contains(asking, program) {
					continue
				}
				rows = append(rows, b.row(p, program, workers))
			}
		}
	}
	return &harness.Experiment{
		Name: "actors",
		About: `actors of other libraries and languages beside coro's, and goroutines with a channel of
64 each, in ns a message; ask: ns an answer, from 1 or 64 goroutines outside; with a time-out, but
for coro-go. The programs are Savina's, and fanin: see package bench/internal/savina. coro's and
goroutines are the rows of the experiment actor. "best": of all but coro and goroutines.`,
		Metrics: []harness.Metric{{Name: metric, Title: "ns a message", Digits: 1}},
		Rows:    rows,
		Versus: &harness.Versus{
			Metric: metric, Title: "times the best",
			Peer: func(row, c harness.Row) bool {
				return strings.HasPrefix(row.System, "coro") &&
					!strings.HasPrefix(c.System, "coro") && c.System != goroutine &&
					c.Variant == row.Variant && c.Workers == row.Workers
			},
		},
	}
}

func (b *builder) row(p peer, program string, workers int) harness.Row {
	return harness.Row{System: p.system, Variant: program, Workers: workers, N: 1, Procs: workers,
		Open: func() (harness.Trial, error) {
			return harness.Trial{
				Warm: func() error { return nil }, // the process does it
				Run:  func() (harness.Values, error) { return output(p.run(b, p, program, workers)) },
			}, nil
		}}
}

// output runs the command, and returns what it tells.
func output(command []string) (harness.Values, error) {
	var out, log bytes.Buffer
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, log.Bytes())
	}
	var told struct {
		Each  float64 `json:"ns_per_message"`
		Value float64 `json:"value"` // a line of bench has this instead
	}
	if err := json.Unmarshal(out.Bytes(), &told); err != nil {
		return nil, fmt.Errorf("%s: %w in %q", strings.Join(command, " "), err, out.Bytes())
	}
	if told.Each+told.Value <= 0 {
		return nil, fmt.Errorf("%s: no time in %q", strings.Join(command, " "), out.Bytes())
	}
	return harness.Values{metric: told.Each + told.Value}, nil
}

// build builds the peers that e has rows of. It takes the rows of those away that cannot be built,
// and says why.
func (b *builder) build(e *harness.Experiment) error {
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}",
		"github.com/organzine/coro/bench/peers").Output()
	if err != nil {
		return fmt.Errorf("go list: %w; run this from within the module", err)
	}
	b.sources = strings.TrimSpace(string(dir))
	for _, p := range peers {
		of := func(r harness.Row) bool { return r.System == p.system }
		if !slices.ContainsFunc(e.Rows, of) {
			continue
		}
		err := p.needs.check()
		if err == nil {
			err = p.build(b, p)
		}
		if err != nil {
			fmt.Fprintf(b.notes, "%s is not measured: %v\n", p.system, err)
			e.Rows = slices.DeleteFunc(e.Rows, of)
		}
	}
	if len(e.Rows) == 0 {
		return errors.New("no peer is left")
	}
	return nil
}

// check returns an error that names the remedy, if something is missing.
func (n need) check() error {
	if n.command != "" {
		if _, err := exec.LookPath(n.command); err != nil {
			return fmt.Errorf("%s is missing: %s", n.command, n.remedy)
		}
	}
	if n.header != "" {
		cmd := exec.Command(n.command, "-E", "-x", "c++", "-std=c++17", "-")
		cmd.Stdin = strings.NewReader("#include <" + n.header + ">\n")
		if cmd.Run() != nil {
			return fmt.Errorf("%s is missing: %s", n.header, n.remedy)
		}
	}
	return nil
}

func (b *builder) command(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return nil
}

func (b *builder) path(p peer) string { return filepath.Join(b.bin, p.system) }

func buildGo(b *builder, p peer) error {
	return b.command(filepath.Join(b.sources, "actors"), "env", "GOWORK=off", "go", "build",
		"-o", b.path(p), "./"+p.system)
}

func buildCAF(b *builder, p peer) error {
	return b.command(filepath.Join(b.sources, "actors", "caf"), "g++", "-std=c++17", "-O2",
		"main.cpp", "-o", b.path(p), "-lcaf_core", "-pthread")
}

func buildErlang(b *builder, _ peer) error {
	return b.command(b.bin, "erlc", filepath.Join(b.sources, "actors", "erlang", "actors.erl"))
}

// buildBench builds the command bench, which measures three of the systems.
func buildBench(b *builder, _ peer) error {
	return b.command(filepath.Dir(b.sources), "go", "build", "-o", filepath.Join(b.bin, "bench"), ".")
}

func runProgram(b *builder, p peer, program string, workers int) []string {
	return []string{b.path(p), "-program", program, "-workers", strconv.Itoa(workers),
		"-scale", strconv.Itoa(b.scale)}
}

func runErlang(b *builder, _ peer, program string, workers int) []string {
	return []string{"erl", "-noshell", "+S", fmt.Sprintf("%d:%[1]d", workers), "-pa", b.bin,
		"-run", "actors", "main", program, strconv.Itoa(b.scale)}
}

// runBench is the row of the experiment actor, whose size is not divided.
func runBench(b *builder, p peer, program string, workers int) []string {
	return []string{filepath.Join(b.bin, "bench"), "-run", "^actor$", "-once", "-json", "-rows",
		fmt.Sprintf("^%s/%s workers=%d ", p.system, program, workers)}
}
