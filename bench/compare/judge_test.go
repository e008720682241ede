package main

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A machine makes rounds: noise that is skewed and has outliers, and a speed that drifts and jumps.
type machine struct {
	*rand.Rand
	speed float64
}

func newMachine(seed uint64) *machine { return &machine{rand.New(rand.NewPCG(seed, 1)), 1} }

// process is what one measures that would take 1.
func (m *machine) process() float64 {
	x := 1 + 0.02*m.ExpFloat64()
	if m.Float64() < 0.05 { // something else ran
		x *= 1 + m.Float64()
	}
	return x * m.speed
}

// rounds are n of them, in which new is so much slower, as a factor for each padding.
func (m *machine) rounds(n int, paddings ...float64) [][]values {
	out := make([][]values, n)
	for r := range out {
		for _, slower := range paddings {
			m.speed *= 1 + 0.01*m.NormFloat64()
			if m.Float64() < 0.02 {
				m.speed *= 1.5
			}
			out[r] = append(out[r], values{m.process(), m.process(),
				m.process() * slower})
		}
	}
	return out
}

var aTime = key{Experiment: "e", System: "coro", Metric: "ns_per_op"}

func TestChangesAreFound(t *testing.T) {
	for seed := range uint64(20) {
		m := newMachine(seed)
		for _, c := range []struct {
			metric  string
			factor  float64
			verdict string
		}{
			{"ns_per_op", 1.05, verdictSlower}, {"ns_per_op", 0.95, verdictFaster},
			{"mps", 0.95, verdictSlower}, {"mps", 1.05, verdictFaster},
			{"bytes_each", 1.05, verdictMore}, {"bytes_each", 0.95, verdictLess},
			{"ns_per_op", 1.005, verdictSame}, {"speedup", 2, verdictNone},
		} {
			k := aTime
			k.Metric = c.metric
			j := judge(k, m.rounds(150, c.factor), intervalLevel(30), 0.01)
			assert.Equal(t, c.verdict, j.verdict, "%s times %v: %+v", c.metric,
				c.factor, j)
			if c.verdict != verdictNone {
				assert.InDelta(t, c.factor, j.change.mid, 0.01)
				assert.Less(t, j.change.low, j.change.mid)
				assert.Greater(t, j.change.high, j.change.mid)
			}
		}
	}
}

// In 300 runs of 20 rows it may be 3, and the floor is not needed for that.
func TestNoChangeIsNone(t *testing.T) {
	told := 0
	for seed := range uint64(300) {
		m := newMachine(1000 + seed)
		for range 20 {
			if judge(aTime, m.rounds(40, 1), intervalLevel(20),
				0).verdict != verdictSame {
				told++
			}
		}
	}
	assert.LessOrEqual(t, told, 3)
	t.Log(told, "of 300")
}

// Where a control differs from itself, nothing can be said of what differs as much.
func TestControlIsTheMeasure(t *testing.T) {
	m := newMachine(7)
	rounds := m.rounds(150, 1.05)
	for _, round := range rounds {
		round[0].again *= 0.93
	}
	j := judge(aTime, rounds, 0.001, 0.01)
	assert.Equal(t, verdictSame, j.verdict, "also on the other side of 1")
}

func TestPaddingsAreJudgedTogether(t *testing.T) {
	j := judge(aTime, newMachine(3).rounds(150, 1, 1.10, 1), 0.001, 0.01)
	assert.Equal(t, verdictSame, j.verdict, "one place of three: %+v", j)
	assert.Len(t, j.each, 3)
	assert.InDelta(t, 1.10, j.each[1], 0.02)
	j = judge(aTime, newMachine(3).rounds(150, 1.05, 1.10, 1), 0.001, 0.01)
	assert.Equal(t, verdictSlower, j.verdict)
}

func TestWhatCannotBeJudged(t *testing.T) {
	rounds := newMachine(1).rounds(100, 2)
	assert.Equal(t, verdictNone, judge(aTime, rounds[:5], 0.001, 0.01).verdict, "too few")
	rounds[50][0].new = 0
	j := judge(aTime, rounds, 0.001, 0.01)
	assert.Equal(t, verdictNone, j.verdict, "no ratio")
	assert.Positive(t, j.new)
	assert.Equal(t, verdictNone, judge(aTime, nil, 0.001, 0.01).verdict)
}

func TestUnits(t *testing.T) {
	for metric, want := range map[string]unit{
		"ns_per_op": timeUnit, "ns_one_way": timeUnit, "total_ms": timeUnit, "ms": timeUnit,
		"p99_us": timeUnit, "us_per_task": timeUnit, "ns_arm_cancel": timeUnit,
		"p50_ns": timeUnit, "cpu_us": timeUnit,
		"mps": rateUnit, "per_second": rateUnit,
		"bytes_each": sizeUnit, "bytes_left_after_trim": sizeUnit,
		"times_callback": noUnit, "speedup": noUnit, "loss_percent": noUnit,
	} {
		assert.Equal(t, want, unitOf(metric), metric)
	}
}

// The critical values that tables of the signed-rank test have.
func TestRanksAreThoseOfTheTables(t *testing.T) {
	for _, c := range []struct {
		n, critical int
		level       float64
	}{{10, 8, 0.05}, {15, 25, 0.05}, {20, 52, 0.05}, {10, 3, 0.01}, {25, 68, 0.01}} {
		assert.Equal(t, c.critical+1, lowestRank(c.n, c.level), "%+v", c)
	}
	assert.Zero(t, lowestRank(5, 0.05))
	assert.Equal(t, 1, lowestRank(6, 0.05))
	sum := 0.0
	for _, p := range signedRanks(200) {
		sum += p
	}
	assert.InDelta(t, 1, sum, 1e-9)
}

func TestLevelsCanBeHad(t *testing.T) {
	assert.InDelta(t, 0.198, intervalLevel(1), 0.001, "1.29 spreads, the half of 2.58")
	for _, judged := range []int{1, 4, 75, 1000} {
		assert.Positive(t, lowestRank(fewestRounds, intervalLevel(judged)), judged)
	}
}

func TestShiftOfPlainNumbers(t *testing.T) {
	e := shift([]float64{1, 2, 3, 4, 5, 6, 100}, 0.05)
	assert.InDelta(t, 4, e.mid, 0.5)
	assert.GreaterOrEqual(t, e.low, 1.0)
	assert.LessOrEqual(t, e.low, e.mid)
}
