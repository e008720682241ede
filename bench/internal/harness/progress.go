package harness

import (
	"fmt"
	"os"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// Progress says how far a list of experiments is: by a bar where the file is a terminal, else by a
// line as each experiment begins.
type Progress struct {
	out         *os.File
	experiments int
	begun       int
	bar         *progressbar.ProgressBar // nil: lines
}

// NewProgress is for this number of runs of each row of the experiments.
func NewProgress(out *os.File, list []*Experiment, runs int) *Progress {
	p := &Progress{out: out, experiments: len(list)}
	if term.IsTerminal(int(out.Fd())) {
		all := 0
		for _, e := range list {
			all += len(e.Rows) * runs
		}
		p.bar = progressbar.NewOptions(all, progressbar.OptionSetWriter(out),
			progressbar.OptionShowCount(), progressbar.OptionClearOnFinish(),
			progressbar.OptionSetPredictTime(false))
	}
	return p
}

// begin is called before the first run of an experiment.
func (p *Progress) begin(e *Experiment, runs int) {
	if p == nil {
		return
	}
	p.begun++
	if p.bar != nil {
		p.bar.Describe(e.Name)
		return
	}
	fmt.Fprintf(p.out, "%s: %d of %d experiments, %d runs of %d rows\n", e.Name, p.begun,
		p.experiments, runs, len(e.Rows))
}

// ran is called after each run of a row.
func (p *Progress) ran() {
	if p != nil && p.bar != nil {
		_ = p.bar.Add(1) // what cannot be drawn is not missed
	}
}

// rest takes the bar away, so that a table can be printed.
func (p *Progress) rest() {
	if p != nil && p.bar != nil {
		_ = p.bar.Clear()
	}
}
