// Command bench measures coro and its peers in one run, on one machine, and prints tables or JSON.
//
//	go run ./bench                     tables of everything that is quick, in under a minute
//	go run ./bench -list               the names of the experiments and their rows
//	go run ./bench -run 'spawn|yield'  those whose name matches
//	go run ./bench -json               one object per measurement, one per line
//	go run ./bench -format gobench     as Go's benchmarks, a line for each run: for benchstat
//	go run ./bench -run ring -lifo     the experiment "ring" can be told how; -help has all of that
//	go run ./bench -repeat 3           how far apart the values of three times lie
//	go run ./bench -rows '^coro/'      the rows whose name, as -list has it, matches
//	go run ./bench/compare OLD NEW     whether one commit is slower than another
//
// Every row does a fixed amount of work, at least five times; what is printed is the median. Before
// each measured run the row does the same work once without being counted, on threads of its own
// that are gone before the next row begins.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/organzine/coro/bench/internal/experiments"
	"github.com/organzine/coro/bench/internal/harness"
)

const intro = `coro's coroutines in C beside goroutines, threads and the C library, by the same work
on this machine, in under a minute. Each table says what it measures; less is better, but for
speed-ups. The last lines say what came out.`

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	pattern := flags.String("run", "", "only experiments whose name matches this `regexp`")
	format := harness.FormatFlags(flags)
	list := flags.Bool("list", false, "list experiments and rows, measure nothing")
	rows := flags.String("rows", "",
		"only rows whose name, as -list has it, matches this `regexp`")
	runs := flags.Int("runs", harness.MinRuns, "runs of each row")
	once := flags.Bool("once", false,
		"one run of each row: for bench/compare, which takes medians over processes")
	repeat := flags.Int("repeat", 1,
		"measure all this number of times, and print how far apart each row's values lie")
	var o experiments.Options
	ringFlags(flags, &o.Ring)
	flags.StringVar(&o.Fork.Libfork, "libfork", "",
		"forkjoin: beside libfork, whose sources are in this `directory`")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if *once {
		*runs = 1
	} else if *runs < harness.MinRuns {
		return fmt.Errorf("-runs %d: a median takes at least %d", *runs, harness.MinRuns)
	}
	if *repeat < 1 || (*repeat > 1 && *format != harness.Table) {
		return errors.New("-repeat: 1 or more, and no other -format than table")
	}
	if err := o.Ring.Check(); err != nil {
		return err
	}
	o.Fork.Workers = o.Ring.Workers
	all := experiments.All(o)
	if err := harness.Check(all); err != nil {
		return err
	}
	selected, err := harness.Select(all, *pattern)
	if err != nil {
		return err
	}
	if selected, err = harness.WithRows(selected, *rows); err != nil {
		return err
	}
	if *list {
		return printList(out, selected)
	}
	if *repeat > 1 {
		return harness.RepeatAll(out, os.Stderr, selected, *runs, *repeat)
	}
	report := harness.Report{Format: *format}
	if *pattern == "" && *rows == "" {
		report.Intro, report.Verdict = intro, experiments.Verdict
	}
	return report.WriteAll(out, os.Stderr, selected, *runs)
}

// ringFlags are those of the experiment "ring".
func ringFlags(flags *flag.FlagSet, o *experiments.RingOptions) {
	flags.BoolVar(&o.Full, "full", false, "ring: the table of all sizes, which takes long")
	flags.BoolVar(&o.LIFO, "lifo", false, "ring: start each ring when the one before has ended")
	flags.IntVar(&o.Rings, "rings", 0, "ring: this number of rings, and no other size")
	flags.IntVar(&o.Members, "members", 0, "ring: with -rings, members of each (8)")
	flags.IntVar(&o.Rounds, "rounds", 0,
		"ring: how often each member waits and posts (as many as take a while, and 200 or more)")
	flags.IntVar(&o.Extra, "extra", 0, "ring: bytes of stack that each member uses besides")
	flags.StringVar(&o.Usched, "usched", "",
		"ring: with -lifo, beside usched, whose sources are in this `directory`")
	flags.IntVar(&o.Workers, "workers", 0, "ring, forkjoin: this number of workers (1, and all)")
}

func printList(out io.Writer, selected []*harness.Experiment) error {
	for _, e := range selected {
		fmt.Fprintln(out, e.Name)
		if e.Asked {
			fmt.Fprintln(out, "    measured only when asked for, by -run")
		}
		for _, r := range e.Rows {
			fmt.Fprintln(out, "   ", r)
		}
	}
	return nil
}
