package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	"github.com/organzine/coro/bench/internal/figures"
	"github.com/organzine/coro/bench/internal/harness"
)

// A command measures, and prints an object a line.
type command struct {
	name string
	dir  string // from the root
	args []string
	env  func(root string) []string
}

var commands = []command{
	{name: "bench", args: []string{"go", "run", "./bench", "-json", "-run",
		"^(switch|yield|spawn|fib|tasks|memory|ladder|fib-curve|dense|ring|chan|border|fair|io)$"}},
	{name: "peers", args: []string{"go", "run", "./bench/peers", "-json", "-runs", "3"}},
	{name: "http", dir: "bench/http", args: []string{"go", "run", ".", "-json", "-connections", "64", "-rows", "/hello "},
		env: func(root string) []string {
			return []string{"GOWORK=off", "PKG_CONFIG_PATH=" + filepath.Join(root, "build/llhttp")}
		}},
}

// measure runs the commands, and keeps what each has measured in f and in the file at path.
func measure(f figures.Figures, root, path string, which *regexp.Regexp) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	for _, c := range commands {
		if !which.MatchString(c.name) {
			continue
		}
		set, err := c.measure(root)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		f[c.name] = set
		if err := f.Write(path); err != nil {
			return err
		}
	}
	return nil
}

func (c command) measure(root string) (figures.Set, error) {
	cmd := exec.Command(c.args[0], c.args[1:]...)
	cmd.Dir = filepath.Join(root, c.dir)
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "GOFLAGS=")
	if c.env != nil {
		cmd.Env = append(cmd.Env, c.env(root)...)
	} else {
		cmd.Env = append(cmd.Env, "GOWORK=")
	}
	set := figures.Set{Machine: harness.ThisMachine(time.Now()), Before: harness.Listen()}
	out, err := cmd.Output()
	if err != nil {
		return set, err
	}
	set.After = harness.Listen()
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var m harness.Measurement
		if err := d.Decode(&m); err != nil {
			return set, err
		}
		set.Measurements = append(set.Measurements, m)
	}
	return set, nil
}
