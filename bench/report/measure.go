package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/organzine/coro/bench/internal/figures"
	"github.com/organzine/coro/bench/internal/harness"
)

// A command is a program that measures, and prints an object a line.
type command struct {
	name string
	dir  string     // of the program, from the root
	runs [][]string // the arguments of each run of it
	env  func(root string) []string
	// it is told of peers' directories, where they are known
	peers bool
}

// peerDirs are the directories of the sources of peers that no package has.
type peerDirs struct{ libfork string }

// options are the arguments that tell them.
func (p peerDirs) options() ([]string, error) {
	if p.libfork == "" {
		return nil, nil
	}
	dir, err := filepath.Abs(p.libfork)
	return []string{"-libfork", dir}, err
}

var commands = []command{
	{name: "bench", dir: "bench", runs: [][]string{
		{"-run", "^(switch|yield|spawn|fib|tasks|memory|ladder|fib-curve|dense|ring|chan|border|io)$"},
		{"-run", "^fair$", "-rows", "/newcomer-(insular|flood) workers=2 "},
		// sizes between those that the experiment has by itself
		{"-run", "^ring$", "-workers", "1", "-rings", "12", "-rows", strictRings},
		{"-run", "^ring$", "-workers", "1", "-rings", "125", "-rows", strictRings},
		{"-run", "^ring$", "-workers", "1", "-rings", "12500", "-rows", strictRings},
	}},
	{name: "application", dir: "bench", runs: [][]string{
		{"-run", "^application$"},
		{"-run", "^ladder$", "-rows", "^ucontext/"},
	}},
	{name: "forkjoin", dir: "bench", runs: [][]string{{"-run", "^forkjoin(-beside)?$"}},
		peers: true},
	{name: "peers", dir: "bench/peers", runs: [][]string{
		{"-run", "actors", "-rows", "/pingpong workers=1 ", "-runs", "3"},
		{"-run", "switching", "-runs", "3"},
		{"-run", "spawn", "-runs", "3"},
	}},
	{name: "http", dir: "bench/http", runs: [][]string{{"-connections", "64", "-rows", "/hello "}},
		env: func(root string) []string {
			return []string{"GOWORK=off", "PKG_CONFIG_PATH=" + filepath.Join(root, "build/llhttp")}
		}},
}

const strictRings = `^(coro|dispatch|goroutine|c\+\+20)/strict `

// measure runs the commands, and keeps what each has measured in f and in the file at path.
func measure(f figures.Figures, root, path string, which *regexp.Regexp, dirs peerDirs) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	options, err := dirs.options()
	if err != nil {
		return err
	}
	for _, c := range commands {
		if !which.MatchString(c.name) {
			continue
		}
		if c.peers {
			c = c.with(options)
		}
		if err := c.measure(root, func(s figures.Set) error {
			f[c.name] = s
			return f.Write(path)
		}); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

// with is the command with more arguments.
func (c command) with(options []string) command {
	runs := make([][]string, len(c.runs))
	for i, args := range c.runs {
		runs[i] = slices.Concat(args, options)
	}
	c.runs = runs
	return c
}

// measure makes the runs of a command. What there is after each goes to keep: a run that fails
// takes nothing from those before.
func (c command) measure(root string, keep func(figures.Set) error) error {
	set := figures.Set{Machine: harness.ThisMachine(time.Now()), Before: harness.Listen()}
	for _, args := range c.runs {
		list, err := c.run(root, args)
		if err != nil {
			return err
		}
		set.Measurements = append(set.Measurements, list...)
		set.After = harness.Listen()
		if err := keep(set); err != nil {
			return err
		}
	}
	return nil
}

func (c command) run(root string, args []string) ([]harness.Measurement, error) {
	cmd := exec.Command("go", append([]string{"run", ".", "-json"}, args...)...)
	cmd.Dir = filepath.Join(root, c.dir)
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "GOWORK=")
	if c.env != nil {
		cmd.Env = append(cmd.Env, c.env(root)...)
	}
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var list []harness.Measurement
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var m harness.Measurement
		if err := d.Decode(&m); err != nil {
			return nil, fmt.Errorf("go run . %s: %w", strings.Join(args, " "), err)
		}
		list = append(list, m)
	}
	return list, nil
}
