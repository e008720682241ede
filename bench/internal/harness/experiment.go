// Package harness runs experiments and prints what they measured. It knows no system: an
// [Experiment] brings its rows, and a [Row] knows how to make one run of itself.
package harness

import (
	"fmt"
	"regexp"
	"runtime"
	"slices"
)

// Values are what one run measured, by metric.
type Values map[string]float64

// Trial is one row, made ready. Run does the same work whenever it is called, and measures it.
type Trial struct {
	Warm  func() error // before Run, not counted; nil: Run itself, once
	Run   func() (Values, error)
	Close func() error // nil: nothing to give back
}

// Row is one line of a table: one system doing the experiment's work in one way.
type Row struct {
	System, Variant string
	Workers         int // threads that do the work
	N               int // activities, or whatever the experiment counts
	Procs           int // GOMAXPROCS meanwhile; 0: one for each CPU
	Open            func() (Trial, error)
}

// Experiment is one table.
type Experiment struct {
	Name    string
	Asked   bool     // measured only where its name is asked for: it takes long
	About   string   // heads the table: what is measured, one or more lines
	Metrics []Metric // the columns, in order
	Rows    []Row
	Derive  func(round []Values) // optional: adds metrics to each row's values of one round
	Versus  *Versus              // optional: a last column that compares with a peer
}

// Metric is a column. Its name ends in the unit.
type Metric struct {
	Name   string
	Title  string
	Digits int
}

// Versus adds a column: how many times smaller Metric is than the best of the rows that Peer
// accepts for it.
type Versus struct {
	Metric, Title string
	Peer          func(row, candidate Row) bool
}

// Measurement is a row's metric over all runs. It is printed as one object in one line.
type Measurement struct {
	Experiment string  `json:"experiment"`
	System     string  `json:"system"`
	Variant    string  `json:"variant"`
	Workers    int     `json:"workers"`
	N          int     `json:"n"`
	Metric     string  `json:"metric"`
	Value      float64 `json:"value"` // the median
	Min        float64 `json:"min"`
	Max        float64 `json:"max"`
	Runs       int     `json:"runs"`
}

// Select returns the experiments whose name the regular expression matches, in order. An empty one
// matches all but those that must be asked for.
func Select(all []*Experiment, pattern string) ([]*Experiment, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	var out []*Experiment
	for _, e := range all {
		if re.MatchString(e.Name) && !(pattern == "" && e.Asked) {
			out = append(out, e)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no experiment's name matches %q", pattern)
	}
	return out, nil
}

// WithRows returns the experiments with those rows alone whose name the regular expression matches,
// and without experiments that have none of these. An experiment that loses a row loses its Derive
// too, which reads one row's values to make another's.
func WithRows(list []*Experiment, pattern string) ([]*Experiment, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	var out []*Experiment
	for _, e := range list {
		some := *e
		some.Rows = slices.DeleteFunc(slices.Clone(e.Rows),
			func(r Row) bool { return !re.MatchString(r.String()) })
		if len(some.Rows) < len(e.Rows) {
			some.Derive = nil
		}
		if len(some.Rows) > 0 {
			out = append(out, &some)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no row's name matches %q", pattern)
	}
	return out, nil
}

// Check finds mistakes in a list of experiments: two of one name, two rows that cannot be told
// apart.
func Check(all []*Experiment) error {
	names := map[string]bool{}
	for _, e := range all {
		if e.Name == "" || names[e.Name] {
			return fmt.Errorf("experiment %q has no name of its own", e.Name)
		}
		names[e.Name] = true
		if len(e.Metrics) == 0 || len(e.Rows) == 0 {
			return fmt.Errorf("experiment %q has no metrics or no rows", e.Name)
		}
		rows := map[string]bool{}
		for _, r := range e.Rows {
			if rows[r.String()] {
				return fmt.Errorf("experiment %q has %s twice", e.Name, r)
			}
			rows[r.String()] = true
			if r.Open == nil || r.System == "" || r.Workers < 1 {
				return fmt.Errorf("experiment %q: %s cannot be run", e.Name, r)
			}
		}
	}
	return nil
}

// String names the row within its experiment.
func (r Row) String() string {
	return fmt.Sprintf("%s/%s workers=%d n=%d", r.System, r.Variant, r.Workers, r.N)
}

func (r Row) procs() int {
	if r.Procs > 0 {
		return r.Procs
	}
	return runtime.NumCPU()
}
