package harness

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
)

// MinRuns is the least number of runs that a median is taken of.
const MinRuns = 5

// Result is an experiment with what every run of every row measured.
type Result struct {
	*Experiment
	Runs []([]Values) // [row][run]
}

// Run makes runs of every row, in rounds: run 1 of each, run 2 of each, …, so that whatever else
// the machine does hits all rows alike. Each run opens its row, warms it up once and closes it, so
// that no row is measured beside another's idle threads. How far it is goes to p, or nowhere if
// that is nil.
func Run(e *Experiment, runs int, p *Progress) (*Result, error) {
	p.begin(e, runs)
	defer p.rest()
	res := &Result{Experiment: e, Runs: make([][]Values, len(e.Rows))}
	for range runs {
		round := make([]Values, len(e.Rows))
		for i, row := range e.Rows {
			v, err := once(row)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", e.Name, row, err)
			}
			round[i] = maps.Clone(v)
			p.ran()
		}
		if e.Derive != nil {
			e.Derive(round)
		}
		for i, v := range round {
			res.Runs[i] = append(res.Runs[i], v)
		}
	}
	return res, nil
}

// once makes one run of a row. Garbage is collected, and its memory given back to the system,
// before the warm-up: else Go's scavenger does that while the row runs, on one CPU of it. Not after
// it: a collection takes the stacks of dead goroutines away, and would make a cold start of every
// run of them.
func once(row Row) (v Values, err error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(row.procs()))
	debug.FreeOSMemory()
	trial, err := row.Open()
	if err != nil {
		return nil, err
	}
	if trial.Close != nil {
		defer func() { err = errors.Join(err, trial.Close()) }()
	}
	if trial.Warm == nil {
		trial.Warm = func() error { _, err := trial.Run(); return err }
	}
	if err := trial.Warm(); err != nil {
		return nil, fmt.Errorf("warm-up: %w", err)
	}
	return trial.Run()
}

// Median is the middle of the values, or the mean of the two middle ones.
func Median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	n := len(s)
	if n == 0 {
		return 0
	}
	return (s[(n-1)/2] + s[n/2]) / 2
}

// Measurements are the result's rows and metrics, in order. A row has those metrics that its runs
// report.
func (res *Result) Measurements() []Measurement {
	var out []Measurement
	for i, row := range res.Rows {
		for _, m := range res.Metrics {
			values := res.values(i, m.Name)
			if len(values) == 0 {
				continue
			}
			out = append(out, Measurement{
				Experiment: res.Name, System: row.System, Variant: row.Variant,
				Workers: row.Workers, N: row.N, Metric: m.Name,
				Value: Median(values), Min: slices.Min(values),
				Max: slices.Max(values), Runs: len(values),
			})
		}
	}
	return out
}

func (res *Result) values(row int, metric string) []float64 {
	var out []float64
	for _, v := range res.Runs[row] {
		if x, ok := v[metric]; ok {
			out = append(out, x)
		}
	}
	return out
}

// versus is how many times smaller the row's metric is than that of its best peer.
func (res *Result) versus(row int) (float64, bool) {
	c := res.Versus
	own := res.values(row, c.Metric)
	best, found := 0.0, false
	for i, peer := range res.Rows {
		if i == row || !c.Peer(res.Rows[row], peer) {
			continue
		}
		if v := res.values(i, c.Metric); len(v) > 0 && (!found || Median(v) < best) {
			best, found = Median(v), true
		}
	}
	if !found || len(own) == 0 || Median(own) == 0 {
		return 0, false
	}
	return best / Median(own), true
}
