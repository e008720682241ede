// Command compare says of two commits whether one is slower than the other.
//
//	go run ./bench/compare OLD NEW              two commits
//	go run ./bench/compare OLD .                a commit and the work tree as it is
//	go run ./bench/compare OLD . -run '^yield$' some experiments; without it those of the hot paths
//	go run ./bench/compare OLD . -padding 0,16,32,48   at several places of the core's code
//	go run ./bench/compare . . -without spin   the work tree without a policy (docs/rent.md)
//	go run ./bench/compare -check               whether the tool finds 5 %, and nothing in nothing
//
// It builds the bench program of both, outside of the work tree, and runs them by turns, each time
// a new process: old, old again and new, three of each in a round, in an order that is drawn by
// lot. Of three the best counts. Old again is the control: what it differs by from old is what the
// machine makes of no change at all. For each row and metric it prints the medians, new divided by
// old with an interval, the interval of the control, and a verdict: "slower" or "faster" where the
// first interval lies beyond the second, and else "no difference". Of memory it says "more" or
// "less". A metric of which a name does not tell what is better is printed and not judged. See
// [shift] and [judge].
//
// Both sides run the work tree's bench program if that can be built with their cores, or else the
// experiments that each brings along, see [ways]. A row that only one of them has is listed.
//
// It ends with status 1 if any row is slower, with 2 if something went wrong.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	slower, err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(2)
	case slower:
		os.Exit(1)
	}
}

// options are what the command line says.
type options struct {
	wishes
	old, new string
	way      string
	without  string // a policy that new has not
	dir      string // where both are built; empty: a temporary one
	json     string // a file for the judgements
	least    float64
	paddings []int
	plant    int
	check    bool
	verbose  bool
}

// run does what the arguments say, and tells whether a row is slower.
func run(ctx context.Context, args []string, out, progress io.Writer) (slower bool, err error) {
	o, err := parse(args, progress)
	if err != nil {
		return false, err
	}
	if o.check {
		return false, check(ctx, o, out, progress)
	}
	list, err := compare(ctx, o, out, progress)
	return count(list, verdictSlower) > 0, err
}

func parse(args []string, usage io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.Usage = func() {
		fmt.Fprintln(usage, "compare OLD [NEW] [flags]: two commits, "+
			"or one and \".\", the work tree")
		flags.PrintDefaults()
	}
	run := flags.String("run", usual, "experiments whose name matches this `regexp`")
	rows := flags.String("rows", "", "rows whose name matches this `regexp` (those of coro)")
	with := flags.String("with", "", "further `flags` of bench, as in -with '-rings 1000'")
	flags.IntVar(&o.rounds, "rounds", 0, "how many rounds (as many as fit into -time)")
	flags.IntVar(&o.best, "best", 3,
		"processes of each side in a round, of which the best counts")
	flags.DurationVar(&o.budget, "time", 2*time.Minute,
		"how long each experiment may take, about")
	least := flags.Float64("least", 1, "what differs by less `percent` is no difference")
	padding := flags.String("padding", "0",
		"bytes before the code of each unit of the core: 0,16,32,48")
	flags.StringVar(&o.way, "bench", "",
		"work, harness or own (the first of these bench programs that works)")
	flags.StringVar(&o.without, "without", "",
		"switch this `policy` of the new side, the work tree, off")
	flags.StringVar(&o.dir, "dir", "",
		"build there, so that what is the same as last time is not compiled again")
	flags.StringVar(&o.json, "json", "", "write what is judged to this `file`, too")
	flags.IntVar(&o.plant, "plant", -1,
		"slow the new side's yields down by this `percent`, to try the tool")
	flags.BoolVar(&o.check, "check", false,
		"try the tool: a planted 5 % is found, no change is not")
	flags.BoolVar(&o.verbose, "v", false, "print the ratio at each padding")
	names, err := parseMixed(flags, args)
	if err != nil {
		return o, err
	}
	if o.best < 1 {
		return o, fmt.Errorf("-best %d: at least 1", o.best)
	}
	if len(names) > 2 || len(names) == 0 && !o.check {
		return o, errors.New("name one commit or two: compare OLD [NEW]")
	}
	names = append(names, "", "")
	o.old, o.new = names[0], names[1]
	o.with, o.least = strings.Fields(*with), *least/100
	if o.wishes.run, err = regexp.Compile(*run); err != nil {
		return o, err
	}
	if *rows != "" {
		if o.wishes.rows, err = regexp.Compile(*rows); err != nil {
			return o, err
		}
	}
	if !slices.ContainsFunc(ways, func(w way) bool { return o.way == "" || o.way == w.name }) {
		return o, fmt.Errorf("-bench %s: work, harness or own", o.way)
	}
	o.paddings, err = parsePaddings(*padding)
	return o, err
}

// parseMixed lets flags follow what is none. It returns the latter.
func parseMixed(flags *flag.FlagSet, args []string) (names []string, err error) {
	for {
		if err := flags.Parse(args); err != nil {
			return nil, err
		}
		if flags.NArg() == 0 {
			return names, nil
		}
		names, args = append(names, flags.Arg(0)), flags.Args()[1:]
	}
}

func parsePaddings(list string) ([]int, error) {
	var out []int
	for s := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil || n < 0 || n%16 != 0 || n > 1<<20 || slices.Contains(out, n) {
			return nil, fmt.Errorf(
				"-padding %s: multiples of 16, as functions are, each once", list)
		}
		out = append(out, n)
	}
	return out, nil
}

// compare builds, measures, judges and prints.
func compare(ctx context.Context, o options, out, progress io.Writer) ([]judgement, error) {
	begin := time.Now()
	root, err := git(ctx, ".", "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	dir, err := o.place()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	shop := workshop{root: strings.TrimSpace(string(root)), dir: dir}
	c := &comparison{options: o, shop: shop, out: out, progress: progress}
	if err := c.prepare(ctx); err != nil {
		return nil, err
	}
	list, err := c.measure(ctx)
	if err != nil {
		return nil, err
	}
	writeSummary(out, list, time.Since(begin))
	return list, writeJSON(o.json, list)
}

// place makes the directory in which both sides are built.
func (o options) place() (string, error) {
	if o.dir == "" {
		return os.MkdirTemp("", "coro-compare-")
	}
	dir, err := filepath.Abs(o.dir)
	if err == nil {
		err = os.Mkdir(dir, 0o755) // another comparison may be there
	}
	return dir, err
}
