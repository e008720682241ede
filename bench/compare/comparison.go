package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// A comparison is one run of the tool.
type comparison struct {
	options
	shop          workshop
	out, progress io.Writer

	pairs    []pair
	plans    []*plan
	level    float64 // of the intervals
	oldAlone []string
	newAlone []string // experiments that only this side has
}

// prepare builds both sides, runs each experiment once, and says what will be done and how long it
// takes.
func (c *comparison) prepare(ctx context.Context) error {
	r := recipe{paddings: c.paddings, plant: c.plant}
	var err error
	if r.old, err = resolve(ctx, c.shop.root, c.old); err != nil {
		return err
	}
	if r.new, err = resolve(ctx, c.shop.root, c.new); err != nil {
		return err
	}
	if c.without != "" {
		r.new.without = c.without
		r.new.name += " without " + c.without
	}
	fmt.Fprintf(c.out, "old: %s\nnew: %s\n", r.old.name, r.new.name)
	for i, by := range ways {
		if c.way != "" && c.way != by.name {
			continue
		}
		if err = c.try(ctx, r, by); err == nil {
			fmt.Fprintln(c.out, "bench:", by.about)
			break
		}
		if last := i == len(ways)-1; last || c.way != "" || ctx.Err() != nil {
			return err
		}
		fmt.Fprintf(c.out, "bench: not %s: %s\n", by.about, firstLines(err, 3))
	}
	return c.announce()
}

// firstLines are those of an error.
func firstLines(err error, n int) string {
	lines := strings.SplitN(err.Error(), "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], "\n\t")
}

// try builds both sides one way and makes the plans.
func (c *comparison) try(ctx context.Context, r recipe, by way) error {
	fmt.Fprintf(c.progress, "building, with %s\n", by.about)
	var err error
	if c.pairs, err = c.shop.build(ctx, r, by); err != nil {
		return err
	}
	old, err := c.pairs[0].old.experiments(ctx)
	if err != nil {
		return err
	}
	new, err := c.pairs[0].new.experiments(ctx)
	if err != nil {
		return err
	}
	c.plans, c.oldAlone, c.newAlone = nil, nil, nil
	for _, name := range slices.Concat(old, without(new, old)) {
		switch {
		case !c.run.MatchString(name):
		case !slices.Contains(new, name):
			c.oldAlone = append(c.oldAlone, name)
		case !slices.Contains(old, name):
			c.newAlone = append(c.newAlone, name)
		default:
			p, err := probe(ctx, name, c.pairs[0], c.wishes)
			if err != nil {
				return err
			}
			c.plans = append(c.plans, p)
		}
	}
	return nil
}

// without are the names that are not among others.
func without(names, others []string) []string {
	among := func(s string) bool { return slices.Contains(others, s) }
	return slices.DeleteFunc(slices.Clone(names), among)
}

// announce sets the number of rounds, and says what will be measured.
func (c *comparison) announce() error {
	judged := 0
	for _, p := range c.plans {
		for _, k := range p.keys {
			if unitOf(k.Metric) != noUnit {
				judged++
			}
		}
	}
	for _, name := range c.oldAlone {
		fmt.Fprintf(c.out, "experiment %s: only in old\n", name)
	}
	for _, name := range c.newAlone {
		fmt.Fprintf(c.out, "experiment %s: only in new\n", name)
	}
	if judged == 0 {
		return errors.New("there is no row that both sides have")
	}
	c.level = intervalLevel(judged)
	var all time.Duration
	for _, p := range c.plans {
		if err := p.schedule(c.wishes, len(c.pairs)); err != nil {
			return err
		}
		all += p.takes()
		each := p.round.Round(10 * time.Millisecond)
		fmt.Fprintf(c.progress, "%s: %d rounds of %v\n", p.experiment, p.rounds, each)
	}
	fmt.Fprintf(c.progress, "%d values will be judged; about %v\n", judged,
		all.Round(time.Second))
	return nil
}

// measure runs the plans, and prints each when it has been.
func (c *comparison) measure(ctx context.Context) (all []judgement, err error) {
	for _, p := range c.plans {
		m, err := p.measure(ctx, c.pairs, c.progress)
		if err != nil {
			return nil, err
		}
		list := p.judge(m, c.level, c.least)
		if err := writeExperiment(c.out, p, list, c.paddings, c.verbose); err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}
