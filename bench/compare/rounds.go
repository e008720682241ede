package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/organzine/coro/bench/internal/harness"
)

// A trio is what the processes of one round measured at one padding: several of each side.
type trio struct{ old, again, new []sample }

// measured are all rounds, by round and then padding.
type measured [][]trio

// measure runs all rounds of a plan: in each, at every padding, processes of old, as many of old
// again and of new, all in an order that is drawn by lot. What the machine does meanwhile
// hits all alike in the long run. Of two that are alike, chance decides which one is slower.
func (p *plan) measure(ctx context.Context, pairs []pair, progress io.Writer) (measured, error) {
	var all measured
	begin := time.Now()
	for r := range p.rounds {
		round := make([]trio, len(pairs))
		var turns []turn
		for i, at := range pairs {
			for range p.best {
				turns = append(turns, turn{at.old, &round[i].old},
					turn{at.old, &round[i].again}, turn{at.new, &round[i].new})
			}
		}
		rand.Shuffle(len(turns), func(i, k int) { turns[i], turns[k] = turns[k], turns[i] })
		for _, t := range turns {
			s, err := t.of.measure(ctx, p.args)
			if err != nil {
				return nil, fmt.Errorf("%s, round %d: %w", p.experiment, r+1, err)
			}
			*t.to = append(*t.to, s)
		}
		all = append(all, round)
		if done := r + 1; done*10/p.rounds > r*10/p.rounds {
			left := time.Since(begin) / time.Duration(done) * time.Duration(
				p.rounds-done)
			left = left.Round(time.Second)
			fmt.Fprintf(progress, "%s: %d of %d rounds, %v left\n", p.experiment, done,
				p.rounds, left)
		}
	}
	return all, nil
}

// A turn is one process of a round.
type turn struct {
	of *bench
	to *[]sample
}

// of are the values of one key, without rounds in which a side has not measured it. Of a side's
// processes in a round the best counts: what disturbs a process makes it slower, and on a machine
// that others use many are disturbed.
func (m measured) of(k key) [][]values {
	var out [][]values
	for _, round := range m {
		list := make([]values, len(round))
		complete := true
		for i, t := range round {
			var old, again, new bool
			list[i].old, old = best(k, t.old)
			list[i].again, again = best(k, t.again)
			list[i].new, new = best(k, t.new)
			complete = complete && old && again && new
		}
		if complete {
			out = append(out, list)
		}
	}
	return out
}

// best is the best value of a key, or the median where the unit does not tell what is better. Not
// ok: no process has measured the key.
func best(k key, list []sample) (value float64, ok bool) {
	var all []float64
	for _, s := range list {
		if v, ok := s.value[k]; ok {
			all = append(all, v)
		}
	}
	if len(all) == 0 {
		return 0, false
	}
	switch unitOf(k.Metric) {
	case noUnit:
		return harness.Median(all), true
	case rateUnit:
		return slices.Max(all), true
	}
	return slices.Min(all), true
}

// judge says of each key what became of it.
func (p *plan) judge(m measured, level, least float64) []judgement {
	var out []judgement
	for _, k := range p.keys {
		out = append(out, judge(k, m.of(k), level, least))
	}
	return out
}
