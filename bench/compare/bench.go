package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/organzine/coro/bench/internal/harness"
)

// patience is how long a process may take: one that takes longer hangs.
const patience = 10 * time.Minute

// A bench is a bench program that was built.
type bench struct {
	path  string
	flags map[string]bool // that the program knows
}

// A sample is what one process measured, in its order.
type sample struct {
	keys  []key
	value map[key]float64
}

var flagLine = regexp.MustCompile(`(?m)^ +-(\w+)`)

// openBench asks a program what flags it has: older ones have fewer.
func openBench(ctx context.Context, path string) (*bench, error) {
	var usage bytes.Buffer
	cmd := command(ctx, "", path, "-help")
	cmd.Stderr = &usage
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	b := &bench{path: path, flags: map[string]bool{}}
	for _, m := range flagLine.FindAllStringSubmatch(usage.String(), -1) {
		b.flags[m[1]] = true
	}
	return b, nil
}

// experiments returns the names of all experiments of the program, also of those that are measured
// only where they are asked for.
func (b *bench) experiments(ctx context.Context) ([]string, error) {
	out, err := output(command(ctx, "", b.path, "-list", "-run", "."))
	if err != nil {
		return nil, err
	}
	var names []string
	for line := range strings.Lines(string(out)) {
		if line[0] != ' ' {
			names = append(names, strings.TrimSpace(line))
		}
	}
	return names, nil
}

// measure runs the program once, from a copy of its file. In which physical pages a program's code
// lies is a matter of chance. The place makes a difference, and lasts as long as the file: with one
// file for all rounds, that difference would be taken for one of the sides.
func (b *bench) measure(ctx context.Context, args []string) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	process := b.path + "-run"
	if err := copyFile(b.path, process); err != nil {
		return sample{}, err
	}
	defer os.Remove(process)
	out, err := output(command(ctx, "", process, append([]string{"-json"}, args...)...))
	if err != nil {
		return sample{}, errors.Join(err, context.Cause(ctx))
	}
	return decode(bytes.NewReader(out))
}

// decode reads measurements, one object a line.
func decode(r io.Reader) (sample, error) {
	s := sample{value: map[key]float64{}}
	for lines := bufio.NewScanner(r); lines.Scan(); {
		var m harness.Measurement
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return sample{}, err
		}
		k := key{m.Experiment, m.System, m.Variant, m.Workers, m.N, m.Metric}
		if _, twice := s.value[k]; !twice {
			s.keys = append(s.keys, k)
		}
		s.value[k] = m.Value
	}
	return s, nil
}
