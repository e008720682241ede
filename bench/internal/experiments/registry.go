// Package experiments holds what is measured: one file for each experiment, and one for each peer
// in it. A new experiment is a file with a function like [All]'s, and its name here; a new system
// is a file with a function that returns rows, and its name in the experiment's list of rows.
package experiments

import (
	"runtime"
	"slices"
	"time"

	"github.com/organzine/coro/bench/internal/harness"
)

// Options are what experiments can be told. The zero value is what they do by themselves.
type Options struct {
	Ring RingOptions
	Fork ForkOptions
}

// All are the experiments in the order in which they run.
func All(o Options) []*harness.Experiment {
	return []*harness.Experiment{
		switching(),
		yielding(),
		spawning(),
		fib(),
		tasks(),
		memory(),
		beside(),
		calling(),
		bodies(),
		waiting(),
		channels(),
		streams(),
		synchronization(),
		timers(),
		blocking(),
		ring(o.Ring),
		forks(o.Fork),
		forksBeside(),
		dense(),
		ladder(),
		application(),
		fibCurve(),
		border(),
		borderBusy(),
		fair(),
		actors(),
		inputOutput(),
		connections(),
	}
}

// The systems, as they are called in the tables.
const (
	sysCoro      = "coro"
	sysGoroutine = "goroutine"
	sysUcontext  = "ucontext"
	sysCxx       = "c++20"
)

// cpus is what "all workers" means.
var cpus = runtime.NumCPU()

// oneAndAll are the numbers of workers that scaling is shown with: 1 and all; only 1 on a single
// CPU.
func oneAndAll() []int { return slices.Compact([]int{1, cpus}) }

func rows(lists ...[]harness.Row) []harness.Row { return slices.Concat(lists...) }

// timed makes a row out of a function that needs nothing opened.
func timed(run func() (harness.Values, error)) func() (harness.Trial, error) {
	return func() (harness.Trial, error) { return harness.Trial{Run: run}, nil }
}

// unwarmed is timed for a function that needs no run before it counts.
func unwarmed(run func() (harness.Values, error)) func() (harness.Trial, error) {
	return func() (harness.Trial, error) {
		return harness.Trial{Warm: func() error { return nil }, Run: run}, nil
	}
}

func ms(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// speedups adds to each row of a round how many times faster than a base row it is, by a metric.
func speedups(rows []harness.Row, metric string, base func(own,
	candidate harness.Row) bool) func([]harness.Values) {
	return func(round []harness.Values) {
		for i, own := range rows {
			for k, candidate := range rows {
				if base(own, candidate) {
					round[i]["speedup"] = round[k][metric] / round[i][metric]
				}
			}
		}
	}
}
