package experiments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"github.com/organzine/coro"
	"github.com/organzine/coro/bench/internal/cbody"
	"github.com/organzine/coro/bench/internal/harness"
)

// ForkOptions are what the experiment "forkjoin" can be told.
type ForkOptions struct {
	Workers int    // of the rows with more than one; 0: one for each CPU
	Libfork string // the directory of libfork's sources; empty: none
}

const sysSerial = "serial" // plain C, without children

// A forkLoad is what a forkSystem does. Sizes are as in forkload.h.
type forkLoad struct {
	name      string
	load      uint32
	size      uint32
	serial    uint32 // laps of plain C, so many that a run of it takes some milliseconds
	otherwise uint32 // laps of systems that are neither coro nor goroutines, which make one
}

var forkLoads = []forkLoad{
	{"fib", cbody.ForkFib, 22, 100, 3},
	{"queens", cbody.ForkQueens, 9, 100, 5},
	{"quicksort", cbody.ForkSort, 100_000, 1, 1},
	{"mandelbrot", cbody.ForkMandel, 256, 1, 1},
	{"uts", cbody.ForkTree, 200, 50, 5},
	{"matrix", cbody.ForkProduct, 256, 1, 1},
}

// A forkSystem is one way of having children and waiting for them.
type forkSystem struct {
	name, way string
	quick     bool // it makes forkLoad.otherwise laps
	run       func(f cbody.Fork, workers int) (time.Duration, uint64, error)
}

// forks is what it costs to divide work among children and to wait for them.
func forks(o ForkOptions) *harness.Experiment {
	list, left := forkRows(forkLoads, o)
	about := `programs that divide their work among children, and wait for these, at each step:
fib 22, queens 9, uts (an unbalanced tree of 20 921 nodes): a child does next to nothing. quicksort
(100 000 keys, down to 512), mandelbrot (256 rows, a child for each at last), matrix (256 x 256 by
quarters, down to 16 x 16): a child computes for microseconds. Each checksum is that of the serial
program. ms: the whole. times serial: against the same in plain C without children, just before.
speed-up: against the same row with one worker, in the same round.
coro spawn: coro_spawn_attr and coro_join; scope: coro_scope_spawn and coro_scope_wait. A child of
coro runs after what was queued before it, so a tree is walked in breadth, and each parent that
waits keeps its stack: the sizes are small for that. goroutine: sync.WaitGroup.Go, compiled by Go.
openmp: tasks and taskwait of gcc. onetbb: task_group. libfork: fork and join of its lazy pool,
where -libfork names the directory of its sources.`
	for _, why := range left {
		about += "\nLeft out: " + why + "."
	}
	return &harness.Experiment{
		Name:  "forkjoin",
		Asked: true,
		About: about,
		Metrics: []harness.Metric{
			{Name: "ms_per_run", Title: "ms", Digits: 3},
			{Name: "times_serial", Title: "times serial", Digits: 2},
			{Name: "speedup", Title: "speed-up", Digits: 2},
		},
		Rows: list,
		Derive: speedups(list, "ms_per_run", func(own, c harness.Row) bool {
			return own.Workers > 1 && c.Workers == 1 && own.System == c.System &&
				own.Variant == c.Variant
		}),
	}
}

// forkSystems are the systems that there are, and why others are left out.
func forkSystems(o ForkOptions) (list []forkSystem, left []string) {
	list = []forkSystem{
		{sysCoro, "spawn", false, onFork(cbody.ForkSpawn)},
		{sysCoro, "scope", false, onFork(cbody.ForkScope)},
		{sysGoroutine, "", false, goForks},
	}
	for _, p := range forkPrograms(o) {
		if why := p.missing(); why != "" {
			left = append(left, p.name+", as "+why)
			continue
		}
		list = append(list, forkSystem{p.name, "", true, p.run()})
	}
	return list, left
}

// forkRows are the rows of these loads, and what was left out of them and why.
func forkRows(loads []forkLoad, o ForkOptions) (list []harness.Row, left []string) {
	systems, left := forkSystems(o)
	workers := slices.Compact([]int{1, cmp.Or(o.Workers, cpus)})
	for _, l := range loads {
		list = append(list, l.serialRow())
		for _, s := range systems {
			for _, w := range workers {
				list = append(list, s.row(l, w))
			}
		}
	}
	return list, left
}

// doneSerial is the time that a lap takes in plain C, in ms, and its checksum.
func (l forkLoad) doneSerial() (each float64, sum uint64, err error) {
	d, sum, err := cbody.Fork{Load: l.load, Size: l.size, Laps: l.serial}.Serial()
	return ms(d) / float64(l.serial), sum, err
}

func (l forkLoad) serialRow() harness.Row {
	return harness.Row{System: sysSerial, Variant: l.name, Workers: 1, N: int(l.size),
		Open: unwarmed(func() (harness.Values, error) {
			each, _, err := l.doneSerial()
			return harness.Values{"ms_per_run": each}, err
		})}
}

// row does a load, just after plain C has done it: machines change their speed within seconds. A
// checksum that is not that of plain C fails the row.
func (s forkSystem) row(l forkLoad, workers int) harness.Row {
	r := harness.Row{System: s.name, Variant: l.name, Workers: workers, N: int(l.size)}
	if s.way != "" {
		r.Variant += " " + s.way
	}
	if s.name == sysGoroutine {
		r.Procs = workers
	}
	laps := uint32(1)
	if s.quick {
		laps = l.otherwise
	}
	r.Open = unwarmed(func() (harness.Values, error) {
		serial, right, err := l.doneSerial()
		if err != nil {
			return nil, err
		}
		d, sum, err := s.run(cbody.Fork{Load: l.load, Size: l.size, Laps: laps}, workers)
		if err == nil && sum != right {
			err = fmt.Errorf("the checksum is %d, and %d in serial C", sum, right)
		}
		each := ms(d) / float64(laps)
		return harness.Values{"ms_per_run": each, "times_serial": each / serial}, err
	})
	return r
}

// onFork has a body of C do a load, on a scheduler of its own.
func onFork(body unsafe.Pointer) func(cbody.Fork, int) (time.Duration, uint64, error) {
	start := coro.MustFunc[cbody.Fork, cbody.Forked](body)
	return func(f cbody.Fork, workers int) (d time.Duration, sum uint64, err error) {
		s, err := coro.New(coro.WithWorkers(workers))
		if err != nil {
			return 0, 0, err
		}
		defer func() { err = errors.Join(err, closed(s), cbody.Err()) }()
		task, err := start.Start(s, f)
		if err != nil {
			return 0, 0, err
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		r, err := task.Wait(ctx)
		if err != nil {
			return 0, 0, err
		}
		return r.Took()
	}
}
