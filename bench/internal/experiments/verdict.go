package experiments

import (
	"fmt"
	"runtime"

	"github.com/organzine/coro/bench/internal/figures"
	"github.com/organzine/coro/bench/internal/harness"
)

// A verdict is one sentence of two rows' figures: how coro's compares with the other's.
type verdict struct {
	own, other figures.Key
	each       bool   // the figures are ms for all n: ns each are told
	says       string // with coro's figure, the other's, and how they compare
}

func rowOf(experiment, system, variant string, workers, n int, metric string) figures.Key {
	return figures.Key{Command: "bench", Experiment: experiment, System: system, Variant: variant,
		Workers: workers, N: n, Metric: metric}
}

var verdicts = []verdict{
	{rowOf("spawn", sysCoro, "coroutine", 1, 500_000, "total_ms"),
		rowOf("spawn", sysGoroutine, "P1", 1, 500_000, "total_ms"),
		true, "A coroutine is spawned and run in %s ns, a goroutine in %s: %s."},
	{rowOf("yield", sysCoro, "coro_yield", 1, 200, "ns_per_op"),
		rowOf("yield", sysGoroutine, "Gosched", 1, 200, "ns_per_op"),
		false, "A coroutine yields in %s ns, a goroutine in %s: %s."},
	{rowOf("switch", sysCoro, "pair", 1, 2, "ns_one_way"),
		rowOf("switch", "ucontext", "pair", 1, 2, "ns_one_way"),
		false, "A switch by hand takes %s ns, by swapcontext %s: %s."},
}

// Verdict is what a run of all experiments has come to, a sentence a line.
func Verdict(list []harness.Measurement) []string {
	f := figures.Figures{"bench": {Measurements: list}}
	var out []string
	for _, v := range verdicts {
		own, ok := f.Find(v.own)
		other, ok2 := f.Find(v.other)
		if !ok || !ok2 {
			continue
		}
		scale := 1.0
		if v.each {
			scale = 1e6 / float64(v.own.N)
		}
		out = append(out, fmt.Sprintf(v.says, harness.Grouped(own.Value*scale, 1),
			harness.Grouped(other.Value*scale, 1), compared(own.Value, other.Value)))
	}
	if m, ok := f.Find(rowOf("memory", sysCoro, "parked", 0, 0, "bytes_each")); ok {
		out = append(out, fmt.Sprintf("A coroutine that waits holds %s bytes, with its stack.",
			harness.Grouped(m.Value, 0)))
	}
	all := runtime.NumCPU()
	if m, ok := f.Find(rowOf("fib", sysCoro, "stolen", all, 0, "speedup")); ok {
		out = append(out, fmt.Sprintf("%d workers compute what one of them spawns %.2f times "+
			"as fast as a bare thread.", all, m.Value))
	}
	return out
}

// compared says how many times faster the first of two durations is.
func compared(own, other float64) string {
	switch x := other / own; {
	case x >= 1.05:
		return fmt.Sprintf("%.*f times faster", digits(x), x)
	case x <= 0.95:
		return fmt.Sprintf("%.*f times slower", digits(1/x), 1/x)
	}
	return "the same"
}

func digits(x float64) int {
	if x >= 10 {
		return 0
	}
	return 1
}
