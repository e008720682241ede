// Command ablate measures what each policy of the scheduler and of actors earns: each has a switch
// (policy.h of csrc/kernel, csrc/border and csrc/actor; internal/policy), and is measured with and
// without, by turns, over the rows that it can touch.
//
//	go run ./bench/ablate                 all that has no result yet, and docs/rent.md from these
//	go run ./bench/ablate -run '^spin$'   some policies
//	go run ./bench/ablate -table          docs/rent.md alone
//
// A policy is measured by bench/compare: at one place of the code, and short. Where a row is
// slower by what is within 3 % of a limit it is measured again, at four places. A result is a file in
// -results, of the tree that it was measured on: what has one is not measured again, so a run that
// was stopped goes on. All take two hours on two cores.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/organzine/coro/bench/internal/harness"
	"github.com/organzine/coro/bench/internal/policies"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "ablate:", err)
		os.Exit(1)
	}
}

type options struct {
	root    string
	run     *regexp.Regexp
	results string
	page    string
	rounds  int
	table   bool
}

func parse(args []string, usage io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("ablate", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.StringVar(&o.root, "root", ".", "the tree")
	run := flags.String("run", "", "policies whose name matches this `regexp`")
	flags.StringVar(&o.results, "results", "build/ablate", "directory of results")
	flags.StringVar(&o.page, "page", "docs/rent.md", "the page with the table")
	flags.IntVar(&o.rounds, "rounds", 12, "rounds of each row")
	flags.BoolVar(&o.table, "table", false, "measure nothing: write the page from the results")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("%s is no flag", flags.Arg(0))
	}
	o.run, err = regexp.Compile(*run)
	return o, err
}

func run(ctx context.Context, args []string, progress io.Writer) error {
	o, err := parse(args, progress)
	if err != nil {
		return err
	}
	names, err := policies.In(o.root)
	if err != nil {
		return err
	}
	plans, err := plansOf(names)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.results, 0o755); err != nil {
		return err
	}
	tree, err := treeOf(ctx, o.root)
	if err != nil {
		return err
	}
	for _, p := range plans {
		if o.table || !o.run.MatchString(p.name) || isMeasured(o.results, p.name, tree) {
			continue
		}
		fmt.Fprintf(progress, "== %s\n", p.name)
		r := result{Policy: p.name, Tree: tree, Machine: harness.ThisMachine(time.Now()).String()}
		if r.Rows, err = o.measure(ctx, p, progress); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		if err := write(o.results, r); err != nil {
			return err
		}
	}
	return writePage(o.page, plans, o.results)
}

// treeOf names the code that is measured: the commit, and whether files differ from it.
func treeOf(ctx context.Context, root string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty")
	cmd.Dir = root
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

// measure screens the policy's rows, and measures those again that are near a limit.
func (o options) measure(ctx context.Context, p plan, progress io.Writer) (
	[]harness.Verdict, error) {
	var all []harness.Verdict
	for _, l := range p.loads {
		rows, err := o.compare(ctx, p.name, l, "0", progress)
		if err != nil {
			return nil, err
		}
		if again, ok := nearLimit(l, rows); ok {
			more, err := o.compare(ctx, p.name, again, "0,16,32,48", progress)
			if err != nil {
				return nil, err
			}
			rows = replaced(rows, more)
		}
		all = append(all, rows...)
	}
	return all, nil
}

// compare runs bench/compare: old is the tree, new is the tree without the policy.
func (o options) compare(ctx context.Context, policy string, l load, padding string,
	progress io.Writer) ([]harness.Verdict, error) {
	file, work := filepath.Join(o.results, "compared.json"), filepath.Join(o.results, "work")
	if err := os.RemoveAll(work); err != nil { // of a run that was killed
		return nil, err
	}
	args := []string{"run", "./bench/compare", ".", ".", "-without", policy, "-json", file,
		"-dir", work, "-run", "^(" + l.experiment + ")$",
		"-rounds", fmt.Sprint(o.rounds), "-best", "1", "-padding", padding}
	if l.rows != "" {
		args = append(args, "-rows", l.rows)
	}
	if l.with != "" {
		args = append(args, "-with", l.with)
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = o.root, progress, progress
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	ran := cmd.Run()
	rows, err := decode(file)
	if err != nil { // status 1 says that a row is slower, as it should be
		return nil, errors.Join(ran, err)
	}
	return rows, nil
}

// The limits: what a row of users gains, and one of Savina.
var limits = []float64{0.05, 0.25}

const near = 0.03

// nearLimit is a load of l's rows that are slower without the policy, and lie within 3 % of a limit.
// False: there are none.
func nearLimit(l load, rows []harness.Verdict) (load, bool) {
	var experiments, names []string
	for _, v := range rows {
		isNear := func(limit float64) bool { return math.Abs(v.Change-1-limit) < near }
		if v.Verdict == "slower" && slices.ContainsFunc(limits, isNear) {
			experiments = append(experiments, regexp.QuoteMeta(v.Experiment))
			names = append(names, regexp.QuoteMeta(v.Row))
		}
	}
	l.experiment = strings.Join(slices.Compact(experiments), "|")
	l.rows = "^(" + strings.Join(names, "|") + ")$"
	return l, names != nil
}

// differs: the policy makes a difference.
func differs(v harness.Verdict) bool { return v.Verdict == "slower" || v.Verdict == "faster" }

// replaced are rows with those of more in the place of what they had.
func replaced(rows, more []harness.Verdict) []harness.Verdict {
	type key struct{ experiment, row, metric string }
	known := map[key]harness.Verdict{}
	for _, v := range more {
		known[key{v.Experiment, v.Row, v.Metric}] = v
	}
	for i, v := range rows {
		if w, ok := known[key{v.Experiment, v.Row, v.Metric}]; ok {
			rows[i] = w
		}
	}
	return rows
}
