package experiments

import (
	"fmt"
	"runtime"

	"github.com/organzine/coro/bench/internal/harness"
)

// A verdict is one sentence of two rows' figures: how coro's compares with the other's.
type verdict struct {
	experiment, metric string
	own, other         [2]string // system and variant
	workers, n         int
	each               bool   // the metric is ms for all n: ns each are told
	says               string // with coro's figure, the other's, and how they compare
}

var verdicts = []verdict{
	{"spawn", "total_ms", [2]string{sysCoro, "coroutine"}, [2]string{sysGoroutine, "P1"},
		1, 500_000, true, "A coroutine is spawned and run in %s ns, a goroutine in %s: %s."},
	{"yield", "ns_per_op", [2]string{sysCoro, "coro_yield"}, [2]string{sysGoroutine, "Gosched"},
		1, 200, false, "A coroutine yields in %s ns, a goroutine in %s: %s."},
	{"switch", "ns_one_way", [2]string{sysCoro, "pair"}, [2]string{"ucontext", "pair"},
		1, 2, false, "A switch by hand takes %s ns, by swapcontext %s: %s."},
}

// Verdict is what a run of all experiments has come to, a sentence a line.
func Verdict(list []harness.Measurement) []string {
	find := func(experiment, metric string, row [2]string, workers, n int) float64 {
		for _, m := range list {
			if m.Experiment == experiment && m.Metric == metric &&
				m.System == row[0] && m.Variant == row[1] &&
				(workers == 0 || workers == m.Workers) && (n == 0 || n == m.N) {
				return m.Value
			}
		}
		return 0
	}
	var out []string
	for _, v := range verdicts {
		own := find(v.experiment, v.metric, v.own, v.workers, v.n)
		other := find(v.experiment, v.metric, v.other, v.workers, v.n)
		if own == 0 || other == 0 {
			continue
		}
		if v.each {
			own, other = own*1e6/float64(v.n), other*1e6/float64(v.n)
		}
		out = append(out, fmt.Sprintf(v.says, harness.Grouped(own, 1), harness.Grouped(other, 1),
			compared(own, other)))
	}
	if bytes := find("memory", "bytes_each", [2]string{sysCoro, "parked"}, 0, 0); bytes > 0 {
		out = append(out, fmt.Sprintf("A coroutine that waits holds %s bytes, with its stack.",
			harness.Grouped(bytes, 0)))
	}
	all := runtime.NumCPU()
	if up := find("fib", "speedup", [2]string{sysCoro, "stolen"}, all, 0); up > 0 {
		out = append(out, fmt.Sprintf("%d workers compute what one of them spawns %.2f times "+
			"as fast as a bare thread.", all, up))
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
