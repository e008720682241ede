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
	"strings"

	"github.com/organzine/coro/bench/internal/harness"
)

// A peer is a system that an experiment measures.
type peer struct {
	system  string
	needs   []need
	program program
	rows    []row
}

// A row is one way in which an experiment measures a peer.
type row struct {
	variant    string
	workers, n int
	switches   int      // of all coroutines together, where switches are measured
	bench      benchRow // of peers that are rows of the command bench
}

// A table is an experiment, and what its rows are made of.
type table struct {
	harness.Experiment
	peers []peer
	order func(a, b harness.Row) int // of rows; those of one rank are in the order of the peers
	// values are the row's values, by what its program has told; nil: what is told
	values func(b *builder, r row, told harness.Values) harness.Values
}

// A builder builds peers, into the directory bin.
type builder struct {
	bin              string
	notes            io.Writer // what is missing, and versions
	scale            int
	minicoro, libaco string            // directories of source; "": none
	sources          string            // bench/peers
	built            map[string]error  // by the name of the program
	pythons          map[string]string // the interpreter that has a module
	versions         []string          // "system: version"
}

func (b *builder) tables() []table { return []table{actors(), spawning(), switching(b)} }

func (b *builder) experiments() []*harness.Experiment {
	var out []*harness.Experiment
	for _, t := range b.tables() {
		e := t.Experiment
		for _, p := range t.peers {
			for _, r := range p.rows {
				e.Rows = append(e.Rows, b.row(t, p, r))
			}
		}
		slices.SortStableFunc(e.Rows, t.order)
		out = append(out, &e)
	}
	return out
}

func (b *builder) row(t table, p peer, r row) harness.Row {
	return harness.Row{System: p.system, Variant: r.variant, Workers: r.workers, N: r.n,
		Procs: r.workers, Open: func() (harness.Trial, error) {
			return harness.Trial{
				Warm: func() error { return nil }, // the process does it
				Run: func() (harness.Values, error) {
					command := p.program.command(b, r)
					told, version, err := output(command)
					if err != nil {
						return nil, err
					}
					b.hear(p.system, version)
					if t.values != nil {
						told = t.values(b, r, told)
					}
					if told[t.Versus.Metric] <= 0 {
						return nil, fmt.Errorf("%s: no %s is told", strings.Join(command, " "),
							t.Versus.Metric)
					}
					return told, nil
				},
			}, nil
		}}
}

// otherThanGo says that c is a system which a row of coro is compared with: not a goroutine.
func otherThanGo(row, c harness.Row) bool {
	return strings.HasPrefix(row.System, sysCoro) && !strings.HasPrefix(c.System, sysCoro) &&
		c.System != sysGoroutine && c.Workers == row.Workers
}

// output runs the command, and returns the numbers and the version that the command tells: in one
// JSON object by their names, or, as bench does, in an object for each, with its metric and value.
func output(command []string) (told harness.Values, version string, err error) {
	var out, log bytes.Buffer
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = &out, &log
	line := strings.Join(command, " ")
	if err := cmd.Run(); err != nil {
		return nil, "", fmt.Errorf("%s: %w: %s", line, err, log.Bytes())
	}
	text := out.String()
	told = harness.Values{}
	for d := json.NewDecoder(&out); d.More(); {
		var object map[string]any
		if err := d.Decode(&object); err != nil {
			return nil, "", fmt.Errorf("%s: %w in %q", line, err, text)
		}
		if metric, ok := object["metric"].(string); ok {
			object = map[string]any{metric: object["value"]}
		}
		for name, value := range object {
			switch v := value.(type) {
			case float64:
				told[name] = v
			case string:
				version = v
			}
		}
	}
	if len(told) == 0 {
		return nil, "", fmt.Errorf("%s: no number in %q", line, text)
	}
	return told, version, nil
}

// hear keeps the version that a system's program has told.
func (b *builder) hear(system, version string) {
	line := system + ": " + version
	if version != "" && !slices.Contains(b.versions, line) {
		b.versions = append(b.versions, line)
	}
}

func (b *builder) tellVersions() {
	for _, line := range b.versions {
		fmt.Fprintln(b.notes, line)
	}
}

// build builds the peers that e has rows of. The rows of those that cannot be built are taken away,
// and a line says why.
func (b *builder) build(e *harness.Experiment) error {
	if b.sources == "" {
		dir, err := exec.Command("go", "list", "-f", "{{.Dir}}",
			"github.com/organzine/coro/bench/peers").Output()
		if err != nil {
			return fmt.Errorf("go list: %w; run this from within the module", err)
		}
		b.sources = strings.TrimSpace(string(dir))
	}
	tables := b.tables()
	t := tables[slices.IndexFunc(tables, func(t table) bool { return t.Name == e.Name })]
	for _, p := range t.peers {
		of := func(r harness.Row) bool { return r.System == p.system }
		if !slices.ContainsFunc(e.Rows, of) {
			continue
		}
		if err := b.makes(p); err != nil {
			fmt.Fprintf(b.notes, "%s: %s is not measured: %v\n", e.Name, p.system, err)
			e.Rows = slices.DeleteFunc(e.Rows, of)
		}
	}
	return nil
}

// makes builds the program of a peer, once.
func (b *builder) makes(p peer) error {
	for _, n := range p.needs {
		if err := n.check(); err != nil {
			return err
		}
	}
	if err, done := b.built[p.program.name]; done {
		return err
	}
	if b.built == nil {
		b.built = map[string]error{}
	}
	err := p.program.build(b)
	b.built[p.program.name] = err
	return err
}

// A need is what a peer is built with or run by, and how to get it.
type need struct {
	command string
	header  string // of C++, for the command
	file    string // a pattern of filepath.Match
	remedy  string
}

// check returns an error that names the remedy, if something is missing.
func (n need) check() error {
	if n.command != "" {
		if _, err := exec.LookPath(n.command); err != nil {
			return fmt.Errorf("%s is missing: %s", n.command, n.remedy)
		}
	}
	if n.header != "" {
		cmd := exec.Command(n.command, "-E", "-x", "c++", "-std=c++20", "-")
		cmd.Stdin = strings.NewReader("#include <" + n.header + ">\n")
		if cmd.Run() != nil {
			return fmt.Errorf("%s is missing: %s", n.header, n.remedy)
		}
	}
	if n.file != "" {
		if found, _ := filepath.Glob(n.file); len(found) == 0 {
			return fmt.Errorf("%s is missing: %s", n.file, n.remedy)
		}
	}
	return nil
}

// source is the need of a file of C in a directory that an option names.
func source(dir, file, option, url string) need {
	n := need{file: filepath.Join(dir, file), remedy: "git clone " + url + ", and " + option + " DIR"}
	if dir == "" {
		n.file = filepath.Join("DIR", file)
	}
	return n
}

// findPython finds the interpreter that has the module: Debian's before another one.
func (b *builder) findPython(module string) error {
	for _, python := range []string{"/usr/bin/python3", "python3"} {
		if exec.Command(python, "-c", "import "+module).Run() == nil {
			if b.pythons == nil {
				b.pythons = map[string]string{}
			}
			b.pythons[module] = python
			return nil
		}
	}
	return errors.New("no python3 has the module " + module)
}
