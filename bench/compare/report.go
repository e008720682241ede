package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/organzine/coro/bench/internal/harness"
)

// writeExperiment prints the table of an experiment.
func writeExperiment(out io.Writer, p *plan, list []judgement, paddings []int, verbose bool) error {
	fmt.Fprintf(out, "\n%s: %d rounds\n", p.experiment, p.rounds)
	for _, note := range p.notes {
		fmt.Fprintf(out, "(%s)\n", note)
	}
	fmt.Fprintln(out)
	tw := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "row\tmetric\told\tnew\tnew/old\t\told/old\tverdict")
	for _, j := range list {
		fmt.Fprintf(tw, "%s\t%s\t%.4g\t%.4g\t%s\t%s\t%s\t%s\n", j.row(), j.Metric, j.old,
			j.new, j.change.middle(), j.change.interval(), j.control.interval(),
			j.verdict)
		if verbose && j.verdict != verdictNone && len(paddings) > 1 {
			for i, padding := range paddings {
				fmt.Fprintf(tw, "\tpadding %d\t\t\t%.3f\t\t\t\n", padding,
					j.each[i])
			}
		}
	}
	writeAlone(tw, "old", p.oldOnly)
	writeAlone(tw, "new", p.newOnly)
	return tw.Flush()
}

// writeAlone lists what only one side measures.
func writeAlone(w io.Writer, side string, keys []key) {
	for _, k := range keys {
		fmt.Fprintf(w, "%s\t%s\t\t\t\t\t\tonly in %s\n", k.row(), k.Metric, side)
	}
}

func (e estimate) middle() string {
	if e == (estimate{}) {
		return "-"
	}
	return fmt.Sprintf("%.3f", e.mid)
}

func (e estimate) interval() string {
	if e == (estimate{}) {
		return "-"
	}
	return fmt.Sprintf("%.3f to %.3f", e.low, e.high)
}

// writeJSON writes the judgements to a file, one a line. No name: none.
func writeJSON(name string, list []judgement) error {
	if name == "" {
		return nil
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	for _, j := range list {
		v := harness.Verdict{Experiment: j.Experiment, Row: j.row(), Metric: j.Metric,
			Old: j.old, New: j.new, Change: j.change.mid, Low: j.change.low,
			High: j.change.high, ControlLow: j.control.low,
			ControlHigh: j.control.high, Verdict: j.verdict}
		if err := enc.Encode(v); err != nil {
			return err
		}
	}
	return os.WriteFile(name, text.Bytes(), 0o644)
}

// count is how many have a verdict.
func count(list []judgement, verdict string) (n int) {
	for _, j := range list {
		if j.verdict == verdict {
			n++
		}
	}
	return n
}

// writeSummary prints the last lines: the counts, and how sure they are.
func writeSummary(out io.Writer, list []judgement, took time.Duration) {
	fmt.Fprintln(out)
	for _, verdict := range []string{verdictSlower, verdictFaster} {
		for _, j := range list {
			if j.verdict == verdict {
				fmt.Fprintf(out, "%s: %s, by %.1f %%\n", verdict, j.key,
					100*(j.change.mid-1))
			}
		}
	}
	var counts []string
	for i, verdict := range []string{verdictSlower, verdictFaster, verdictSame, verdictMore,
		verdictLess, verdictNone} {
		if n := count(list, verdict); n > 0 || i < 2 {
			counts = append(counts, fmt.Sprintf("%d %s", n, verdict))
		}
	}
	fmt.Fprintf(out, "%s; in %v. Without a change any is told in %g %% of such runs, at most.\n",
		strings.Join(counts, ", "), took.Round(time.Second), 100*falseAlarms)
}
