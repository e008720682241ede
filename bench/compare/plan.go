package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// usual are the experiments that are run if none are named: what each core's hot paths cost. They
// are chosen with one regular expression, whether bench itself measures them without being asked or
// not.
const usual = `^(switch|yield|spawn|ring|chan|sync|call|body|wait)$`

// A setting makes an experiment short enough for many rounds.
type setting struct {
	flags []string
	short []string // flags for when only some of its rows are run
	rows  string   // those that are run
	skip  string   // metrics that are not looked at
	why   string
}

// settings of experiments, by name. Others run the rows of coro.
var settings = map[string]setting{
	"ring": {
		flags: []string{"-rings=50"},
		short: []string{"-rounds=2000"},
		rows:  `^(coro|dispatch)/`,
		skip:  `^mps$`,
		why: "rings of one size, 400 members: they stay in the cache, so the code is what counts; " +
			"mps says what ns_per_handover does",
	},
	"actor": {
		rows: `^coro-(c|go)/(pingpong|counting|threadring|big|chameneos|fanin|fjthrput|ask\d+)`,
		why: "without memory, newcomers and light load: 80 s of each process, and they are told " +
			"in quantiles",
	},
	"call": {
		rows: `^coro/(inline|offload workers=\d+ n=\d{2,}$|from-sleep idle)`,
		why: "without one caller that offloads, nor from-sleep busy: 7 s of each process, " +
			"and they measure when the kernel lets Go run",
	},
}

const usualRows = `^coro/`

func settingOf(experiment string) setting {
	s := settings[experiment]
	if s.rows == "" {
		s.rows = usualRows
	}
	return s
}

// A plan is how one experiment is run.
type plan struct {
	experiment       string
	args             []string
	keys             []key // that both sides measure
	oldOnly, newOnly []key
	notes            []string
	round            time.Duration // that a round takes
	rounds           int
	best             int // processes of each side in a round, of which the best counts
}

// wishes are what the user wants of all experiments.
type wishes struct {
	run, rows *regexp.Regexp // rows: nil if it is up to the experiment
	with      []string       // further flags
	best      int            // processes of each side in a round
	rounds    int            // 0: as many as fit into
	budget    time.Duration  // for each experiment
}

// arguments are those of the bench programs: the same for both sides, so none that only one of them
// knows.
func (p *plan) arguments(at pair, w wishes, rows string) {
	s := settings[p.experiment]
	known := func(flag string) bool {
		name, _, _ := strings.Cut(strings.TrimLeft(flag, "-"), "=")
		return at.old.flags[name] && at.new.flags[name]
	}
	flags := slices.Clone(s.flags)
	if known("rows") {
		flags = append(append(flags, "-rows="+rows), s.short...)
	} else {
		p.notes = append(p.notes,
			"one side's bench has no -rows: all are run, so rounds are longer")
	}
	if known("once") {
		flags = append(flags, "-once")
	}
	p.args = []string{"-run=^" + regexp.QuoteMeta(p.experiment) + "$"}
	for _, flag := range flags {
		if known(flag) {
			p.args = append(p.args, flag)
		} else {
			p.notes = append(p.notes,
				"without "+flag+", which one side's bench does not know")
		}
	}
	p.args = append(p.args, w.with...)
	if s.why != "" && w.rows == nil {
		p.notes = append(p.notes, s.why)
	}
}

// probe makes the plan of an experiment that both sides have: each runs it once, which is not
// counted.
func probe(ctx context.Context, experiment string, at pair, w wishes) (*plan, error) {
	p := &plan{experiment: experiment}
	s := settingOf(experiment)
	rows, skip := regexp.MustCompile(s.rows), regexp.MustCompile(s.skip)
	if w.rows != nil {
		rows = w.rows
	}
	p.arguments(at, w, rows.String())
	begin := time.Now()
	old, err := at.old.measure(ctx, p.args)
	if err != nil {
		return nil, fmt.Errorf("%s of the old side: %w", experiment, err)
	}
	middle := time.Now()
	new, err := at.new.measure(ctx, p.args)
	if err != nil {
		return nil, fmt.Errorf("%s of the new side: %w", experiment, err)
	}
	p.round = 2*middle.Sub(begin) + time.Since(middle)
	p.match(old, new, func(k key) bool {
		return rows.MatchString(k.row()) && (s.skip == "" || !skip.MatchString(k.Metric))
	})
	return p, nil
}

// match finds out what both sides measure, and what one alone does.
func (p *plan) match(old, new sample, wanted func(key) bool) {
	for _, k := range old.keys {
		if !wanted(k) {
			continue
		}
		if _, both := new.value[k]; both {
			p.keys = append(p.keys, k)
		} else {
			p.oldOnly = append(p.oldOnly, k)
		}
	}
	for _, k := range new.keys {
		if _, both := old.value[k]; !both && wanted(k) {
			p.newOnly = append(p.newOnly, k)
		}
	}
}

// Without a number from the user there are as many rounds as fit into the time, within these
// bounds: with fewer little can be found, and more only cost time.
const (
	usualLeast = 20
	usualMost  = 100
)

// schedule sets how many rounds there are, each with this number of paddings.
func (p *plan) schedule(w wishes, paddings int) error {
	p.best, p.rounds = w.best, w.rounds
	p.round *= time.Duration(paddings * p.best)
	if w.rounds == 0 {
		p.rounds = min(max(int(w.budget/max(p.round, 1)), usualLeast), usualMost)
	}
	if p.rounds < fewestRounds {
		return fmt.Errorf("-rounds %d: at least %d", p.rounds, fewestRounds)
	}
	return nil
}

// takes is about how long the whole plan takes.
func (p *plan) takes() time.Duration { return time.Duration(p.rounds) * p.round }
