// Command peers measures the actors of other libraries and languages beside coro's, and goroutines
// with channels, by turns.
//
//	go run ./bench/peers                             all; 15 min
//	go run ./bench/peers -rows '/(counting|fanin) '  the rows whose name matches
//	go run ./bench/peers -list                       the names of the rows
//
// Each peer is a program of its own under actors, and coro's actors and goroutines are rows of the
// command bench; all are built first. Each run of a row is a process, which does the program of
// the row twice, and tells the second time. A peer that cannot be built is left out, and a line
// says what is missing.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/organzine/coro/bench/internal/harness"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(args []string, out, notes io.Writer) error {
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	rows := flags.String("rows", "", "only rows whose name, as -list has it, matches this `regexp`")
	runs := flags.Int("runs", harness.MinRuns, "runs of each row")
	scale := flags.Int("scale", 1, "divide the sizes by this, but those of coro and goroutines")
	asJSON := flags.Bool("json", false, "one JSON object per measurement, one per line")
	list := flags.Bool("list", false, "list the rows, measure nothing")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	if *runs < 1 || *scale < 1 {
		return errors.New("-runs and -scale: want 1 or more")
	}
	bin, err := os.MkdirTemp("", "peers")
	if err != nil {
		return err
	}
	defer os.RemoveAll(bin)
	b := &builder{bin: bin, notes: notes, scale: *scale}
	selected, err := harness.WithRows([]*harness.Experiment{b.experiment()}, *rows)
	if err != nil {
		return err
	}
	if *list {
		for _, r := range selected[0].Rows {
			fmt.Fprintln(out, r)
		}
		return nil
	}
	if err := b.build(selected[0]); err != nil {
		return err
	}
	return harness.WriteAll(out, os.Stderr, selected, *runs, *asJSON)
}
