// Command http measures HTTP servers by turns, with wrk: examples/httpd, a bare epoll loop in C,
// net/http, fasthttp and, where its binary is given, Lwan. README.md has results.
//
// Each server is a process of its own: this program, started again with -serve. So the CPU time of
// a request is the server's alone.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/organzine/coro/bench/internal/harness"
)

type options struct {
	connections []int
	duration    time.Duration
	lwan        string
}

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(out io.Writer, args []string) error {
	flags := flag.NewFlagSet("http", flag.ContinueOnError)
	var o options
	connections := flags.String("connections", "64,256", "how many connections, with commas")
	flags.DurationVar(&o.duration, "duration", 2*time.Second, "of each run")
	flags.StringVar(&o.lwan, "lwan", "", `the path of Lwan's sample "hello", built elsewhere`)
	runs := flags.Int("runs", harness.MinRuns, "how often each row is measured")
	rows := flags.String("rows", "", "only rows whose name matches the regular expression")
	format := harness.FormatFlags(flags)
	soak := flags.Duration("soak", 0, "load httpd for so long, and look at its memory, instead")
	serve := flags.String("serve", "", "be this server")
	workers := flags.Int("workers", 1, "threads of the server")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *serve != "" {
		return serveAs(out, *serve, *workers)
	}
	if err := findWrk(); err != nil {
		return err
	}
	var err error
	if o.connections, err = numbers(*connections); err != nil {
		return err
	}
	if *soak > 0 {
		return soaked(out, *soak, o.connections[len(o.connections)-1])
	}
	list, err := harness.WithRows([]*harness.Experiment{experiment(o)}, *rows)
	if err != nil {
		return err
	}
	if err := harness.Check(list); err != nil {
		return err
	}
	return harness.Report{Format: *format}.WriteAll(out, os.Stderr, list, *runs)
}

func findWrk() error {
	if _, err := exec.LookPath("wrk"); err != nil {
		return errors.New("wrk is missing; install it with: sudo apt-get install -y wrk")
	}
	return nil
}

func numbers(text string) ([]int, error) {
	var out []int
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("-connections %s: want numbers of 1 or more", text)
		}
		out = append(out, n)
	}
	return out, nil
}
