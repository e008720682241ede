package experiments

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/bench/internal/cbody"
	"github.com/organzine/coro/bench/internal/harness"
)

// A forkBeside is a row of the experiment "forkjoin-beside".
type forkBeside struct {
	name    string
	forks   cbody.ForkBeside
	sum     int64 // the right one
	workers []int
}

var forkBesides = []forkBeside{
	{"fib memory", cbody.ForkBeside{N: 35}, 9_227_465, []int{1, 2}},
	{"fib sleeps memory", cbody.ForkBeside{N: 27, Every: 10}, 196_418, []int{1, 2}},
	{"chain memory", cbody.ForkBeside{N: 100_000, Flags: cbody.ForksChain}, 100_000, []int{1}},
	{"none beside", cbody.ForkBeside{Flags: cbody.ForksBeside}, 0, []int{1, 2}},
	{"fib beside", cbody.ForkBeside{N: 35, Flags: cbody.ForksBeside}, 9_227_465, []int{1, 2}},
}

// forksBeside is what forks take of memory, and from others of the same workers.
func forksBeside() *harness.Experiment {
	var list []harness.Row
	for _, b := range forkBesides {
		for _, w := range b.workers {
			list = append(list, harness.Row{System: sysCoro, Variant: b.name, Workers: w,
				N: int(b.forks.N), Open: unwarmed(func() (harness.Values, error) {
					return b.run(w)
				})})
		}
	}
	return &harness.Experiment{
		Name:  "forkjoin-beside",
		Asked: true,
		About: `what forks take of memory, and from those beside them.
memory: by how much the process grows at most, VmHWM over VmRSS before, on a scheduler that has had
a few forks: by Fibonacci of 35, of 27 with one child in ten that sleeps 1 ms, and by a chain of
100 000 forks, each begun and joined in the one before.
beside: two coroutines that yield and one that sleeps 1 ms at a time, beside Fibonacci of 35, and
beside none for 0.3 s. gap: the longest between two turns of one that yields. late: the sleeper, at
most, and on average.`,
		Metrics: []harness.Metric{
			{Name: "ms_per_run", Title: "ms", Digits: 1},
			{Name: "grown_kib", Title: "grown KiB"},
			{Name: "gap_max_us", Title: "gap us"},
			{Name: "late_max_us", Title: "late us"},
			{Name: "late_mean_us", Title: "late on mean us"},
		},
		Rows: list,
	}
}

// run has it done on a scheduler of its own, after a little of the same.
func (b forkBeside) run(workers int) (v harness.Values, err error) {
	s, err := coro.New(coro.WithWorkers(workers))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closed(s), cbody.Err()) }()
	few := b.forks
	few.N, few.Every, few.Flags = 10, 0, few.Flags&^cbody.ForksBeside
	if _, err := forksDone(s, few); err != nil {
		return nil, err
	}
	before, err := peakReset()
	if err != nil {
		return nil, err
	}
	done, err := forksDone(s, b.forks)
	if err != nil {
		return nil, err
	}
	if done.Sum != b.sum {
		return nil, fmt.Errorf("the sum is %d, not %d", done.Sum, b.sum)
	}
	v = harness.Values{"ms_per_run": ms(done.Took)}
	if b.forks.Flags&cbody.ForksBeside != 0 {
		v["gap_max_us"] = us(done.Gap)
		v["late_max_us"], v["late_mean_us"] = us(done.Late), us(done.LateOnMean)
		return v, nil
	}
	most, err := procField("/proc/self/status", "VmHWM")
	v["grown_kib"] = float64(most-before) / 1024
	return v, err
}

func us(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func forksDone(s *coro.Scheduler, f cbody.ForkBeside) (cbody.ForksDone, error) {
	task, err := coro.MustFunc[cbody.ForkBeside, cbody.ForksDone](cbody.ForksBody).Start(s, f)
	if err != nil {
		return cbody.ForksDone{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return task.Wait(ctx)
}

// peakReset is VmRSS, from which VmHWM counts again.
func peakReset() (int64, error) {
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		return 0, err
	}
	return procField("/proc/self/status", "VmRSS")
}
