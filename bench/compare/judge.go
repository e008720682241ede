package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/organzine/coro/bench/internal/harness"
)

// falseAlarms is the highest chance that a run says of any row that it differs although nothing
// does: each row gets its share.
const falseAlarms = 0.01

// intervalLevel is the level of the two intervals that [judge] compares, in a run that judges this
// number of values.
//
// There is a false alarm where the two intervals do not touch although nothing differs. Their
// middles then have the same spread, and so has the distance of the middles, as both contain the
// same old. So each interval covers half of the way that the distance would have to be off, in
// spreads of a normal distribution. The estimates of many rounds have that distribution, whatever
// the noise is.
func intervalLevel(judged int) float64 {
	z := math.Sqrt2 * math.Erfinv(1-falseAlarms/float64(judged))
	return math.Erfc(z / 2 / math.Sqrt2)
}

// fewestRounds are needed to say anything.
const fewestRounds = 12

// key is what is measured: a metric of a row of an experiment.
type key struct {
	Experiment, System, Variant string
	Workers, N                  int
	Metric                      string
}

// row names the key's row within its experiment, as bench -list does, without the metric.
func (k key) row() string {
	return harness.Row{System: k.System, Variant: k.Variant, Workers: k.Workers,
		N: k.N}.String()
}

// A unit says what it means that a value is larger than another.
type unit int

const (
	noUnit   unit = iota // what is better cannot be told: printed, and not judged
	timeUnit             // slower
	rateUnit             // faster
	sizeUnit             // more memory, which is no speed
)

// unitOf reads the unit off the metric's name: the harness does not say it. ns_per_op, total_ms and
// p50_us are times, mps and per_second are rates, bytes_each a size; a ratio to something else that
// was measured is none of these.
func unitOf(metric string) unit {
	words := strings.Split(metric, "_")
	first, last := words[0], words[len(words)-1]
	isTime := func(word string) bool {
		return slices.Contains([]string{"ns", "us", "ms"}, word)
	}
	switch {
	case isTime(first), isTime(last):
		return timeUnit
	case metric == "mps", metric == "per_second":
		return rateUnit
	case first == "bytes":
		return sizeUnit
	}
	return noUnit
}

// The verdicts.
const (
	verdictSlower = "slower"
	verdictFaster = "faster"
	verdictMore   = "more"
	verdictLess   = "less"
	verdictSame   = "no difference"
	verdictNone   = "not judged"
)

// values are what one round measured of a key, at one padding.
type values struct{ old, again, new float64 }

// A judgement says of one key what became of it.
type judgement struct {
	key
	old, new float64 // medians
	change   estimate
	control  estimate
	verdict  string
	each     []float64 // new / old at each padding
}

// judge compares one key. rounds holds what was measured, by round and then padding.
//
// change is what new divided by old is, and control the same for the second processes of old and
// the first, both as ratios with an interval. Where there are paddings, a round's ratio is the
// median over these. There is a difference if the interval of change lies wholly beyond that of
// control, and beyond least, on the same side of 1 or the other: what the control strays to one
// side, it might have strayed to the other.
func judge(k key, rounds [][]values, level, least float64) judgement {
	j := judgement{key: k, verdict: verdictNone}
	j.old = medianOf(rounds, func(v values) float64 { return v.old })
	j.new = medianOf(rounds, func(v values) float64 { return v.new })
	u := unitOf(k.Metric)
	if u == noUnit || len(rounds) < fewestRounds || !positive(rounds) {
		return j
	}
	change := func(v values) float64 { return math.Log(v.new / v.old) }
	j.change = shift(perRound(rounds, change), level)
	control := func(v values) float64 { return math.Log(v.again / v.old) }
	j.control = shift(perRound(rounds, control), level)
	margin := max(math.Log(1+least), math.Abs(j.control.low), math.Abs(j.control.high))
	j.verdict = u.verdict(j.change, margin)
	for p := range rounds[0] {
		at := make([][]values, len(rounds))
		for r := range rounds {
			at[r] = rounds[r][p : p+1]
		}
		j.each = append(j.each, math.Exp(shift(perRound(at, change), level).mid))
	}
	j.change, j.control = j.change.exp(), j.control.exp()
	return j
}

func (u unit) verdict(change estimate, margin float64) string {
	up, down := verdictSlower, verdictFaster
	switch u {
	case rateUnit:
		up, down = down, up
	case sizeUnit:
		up, down = verdictMore, verdictLess
	}
	switch {
	case change.low > margin:
		return up
	case change.high < -margin:
		return down
	}
	return verdictSame
}

func (e estimate) exp() estimate {
	return estimate{math.Exp(e.mid), math.Exp(e.low), math.Exp(e.high)}
}

// positive: a ratio can be made of each.
func positive(rounds [][]values) bool {
	for _, round := range rounds {
		for _, v := range round {
			if !(v.old > 0 && v.again > 0 && v.new > 0) {
				return false
			}
		}
	}
	return true
}

// perRound is the median over paddings of f, for each round.
func perRound(rounds [][]values, f func(values) float64) []float64 {
	out := make([]float64, len(rounds))
	for r, round := range rounds {
		at := make([]float64, len(round))
		for p, v := range round {
			at[p] = f(v)
		}
		out[r] = harness.Median(at)
	}
	return out
}

// medianOf is the median of f over all that was measured.
func medianOf(rounds [][]values, f func(values) float64) float64 {
	var all []float64
	for _, round := range rounds {
		for _, v := range round {
			all = append(all, f(v))
		}
	}
	return harness.Median(all)
}

// String is how a key is told on a line of its own.
func (k key) String() string { return fmt.Sprintf("%s %s %s", k.Experiment, k.row(), k.Metric) }
