// Command peers measures coroutines and actors of other libraries and languages beside coro's, and
// goroutines, by turns.
//
//	go run ./bench/peers                             all; 25 min
//	go run ./bench/peers -run '^spawn$'              the experiments whose name matches
//	go run ./bench/peers -rows '/(counting|fanin) '  the rows whose name matches
//	go run ./bench/peers -list                       the names of the experiments and their rows
//
// Each peer is a program of its own, in a directory for each language, and coro and goroutines are
// rows of the command bench; all are built first. Each run of a row is a process, which does the
// work of the row twice, and tells the second time. A peer that cannot be built is left out, and a
// line says what is missing. A line for each peer tells its version, where its program knows it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/organzine/coro/bench/internal/harness"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(args []string, out, notes io.Writer) error {
	b := &builder{notes: notes}
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	pattern := flags.String("run", "", "only experiments whose name matches this `regexp`")
	rows := flags.String("rows", "", "only rows whose name, as -list has it, matches this `regexp`")
	runs := flags.Int("runs", harness.MinRuns, "runs of each row")
	format := harness.FormatFlags(flags)
	list := flags.Bool("list", false, "list experiments and rows, measure nothing")
	flags.IntVar(&b.scale, "scale", 1, "divide the sizes by this, but those of coro and goroutines")
	flags.StringVar(&b.minicoro, "minicoro", "", "the `directory` of minicoro's source")
	flags.StringVar(&b.libaco, "libaco", "", "the `directory` of libaco's source")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if *runs < 1 || b.scale < 1 {
		return errors.New("-runs and -scale: want 1 or more")
	}
	for _, dir := range []*string{&b.minicoro, &b.libaco} {
		if *dir == "" {
			continue
		}
		var err error
		if *dir, err = filepath.Abs(*dir); err != nil {
			return err
		}
	}
	selected, err := harness.Select(b.experiments(), *pattern)
	if err != nil {
		return err
	}
	if selected, err = harness.WithRows(selected, *rows); err != nil {
		return err
	}
	if *list {
		printList(out, selected)
		return nil
	}
	if b.bin, err = os.MkdirTemp("", "peers"); err != nil {
		return err
	}
	defer os.RemoveAll(b.bin)
	return b.measure(out, selected, *runs, harness.Report{Format: *format})
}

func printList(out io.Writer, selected []*harness.Experiment) {
	for _, e := range selected {
		fmt.Fprintln(out, e.Name)
		for _, r := range e.Rows {
			fmt.Fprintln(out, "   ", r)
		}
	}
}

// measure builds the peers of all rows first. An experiment without a peer is left out.
func (b *builder) measure(out io.Writer, selected []*harness.Experiment, runs int,
	report harness.Report) error {
	left := 0
	for _, e := range selected {
		if err := b.build(e); err != nil {
			return err
		}
		left += len(e.Rows)
	}
	if left == 0 {
		return errors.New("no peer is left")
	}
	selected = slices.DeleteFunc(selected,
		func(e *harness.Experiment) bool { return len(e.Rows) == 0 })
	if err := report.WriteAll(out, os.Stderr, selected, runs); err != nil {
		return err
	}
	b.tellVersions()
	return nil
}
