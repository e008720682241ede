package experiments

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/organzine/coro/bench/internal/harness"
)

func TestVerdictSaysWhichIsFaster(t *testing.T) {
	m := func(experiment, system, variant string, workers, n int, metric string,
		value float64) harness.Measurement {
		return harness.Measurement{Experiment: experiment, System: system, Variant: variant,
			Workers: workers, N: n, Metric: metric, Value: value}
	}
	list := []harness.Measurement{
		m("spawn", "coro", "coroutine", 1, 500_000, "total_ms", 5),
		m("spawn", "goroutine", "P1", 1, 500_000, "total_ms", 400),
		m("yield", "coro", "coro_yield", 1, 200, "ns_per_op", 90),
		m("yield", "goroutine", "Gosched", 1, 200, "ns_per_op", 60),
		m("switch", "coro", "pair", 1, 2, "ns_one_way", 3),
		m("switch", "ucontext", "pair", 1, 2, "ns_one_way", 3.1),
		m("memory", "coro", "parked", 4, 1_000_000, "bytes_each", 4452),
		m("fib", "coro", "stolen", runtime.NumCPU(), 200, "speedup", 1.97),
	}
	got := Verdict(list)
	assert.Len(t, got, 5)
	assert.Equal(t, "A coroutine is spawned and run in 10.0 ns, a goroutine in 800.0: 80 times faster.",
		got[0])
	assert.Contains(t, got[1], "1.5 times slower")
	assert.Contains(t, got[2], "the same")
	assert.Contains(t, got[3], "4 452 bytes")
	assert.Contains(t, got[4], "1.97 times")
	assert.Empty(t, Verdict(nil), "what was not measured is not told")
}

// Each line of the verdict has the rows that it needs: make run ends with five lines.
func TestVerdictFindsItsRows(t *testing.T) {
	var list []harness.Measurement
	for _, e := range All(Options{}) {
		for _, r := range e.Rows {
			for _, metric := range e.Metrics {
				list = append(list, harness.Measurement{Experiment: e.Name, System: r.System,
					Variant: r.Variant, Workers: r.Workers, N: r.N, Metric: metric.Name, Value: 1})
			}
		}
	}
	assert.Len(t, Verdict(list), 5)
}
