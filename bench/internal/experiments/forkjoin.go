package experiments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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

const (
	sysSerial = "serial" // plain C, without children
	sysOpenMP = "openmp"
	sysTBB    = "onetbb"
)

// A forkLoad is what a forkSystem does.
type forkLoad struct {
	name         string
	load         uint32
	small, large forkSize
}

// A forkSize is how much of a load a run does. Sizes are as in forkload.h, and laps as in
// [cbody.Fork].
type forkSize struct {
	size   uint32
	serial uint32 // laps of plain C, so many that they take some milliseconds
	laps   uint32 // of systems
}

var forkLoads = []forkLoad{
	{"fib", cbody.ForkFib, forkSize{22, 101, 2}, forkSize{27, 21, 6}},
	{"queens", cbody.ForkQueens, forkSize{9, 101, 2}, forkSize{11, 11, 6}},
	{"quicksort", cbody.ForkSort, forkSize{100_000, 2, 2}, forkSize{10_000_000, 1, 1}},
	{"mandelbrot", cbody.ForkMandel, forkSize{256, 2, 2}, forkSize{1024, 1, 2}},
	{"uts", cbody.ForkTree, forkSize{200, 51, 2}, forkSize{200, 51, 11}},
	{"matrix", cbody.ForkProduct, forkSize{256, 2, 2}, forkSize{512, 1, 2}},
}

// A forkSystem is one way of having children and waiting for them.
type forkSystem struct {
	name, way string
	fast      bool     // its loads are large
	loads     []uint32 // it has these alone; nil: all
	run       func(f cbody.Fork, workers int) (time.Duration, uint64, error)
}

// forks is what it costs to divide work among children and to wait for them.
func forks(o ForkOptions) *harness.Experiment {
	list, left := forkRows(forkLoads, o)
	about := `programs that divide their work among children, and wait for these, at each step:
fib, queens, uts (an unbalanced tree of 20 921 nodes): a child does next to nothing. quicksort (down
to 512 keys), mandelbrot (a child for each row at last), matrix (by quarters, down to 16 x 16): a
child computes for microseconds. Each checksum is that of the serial program. ms: the whole. ns a
child: that, with what the child computes. times serial: against the same in plain C without
children, just before. speed-up: against the same row with one worker, in the same round. The last
column: how many times faster than the better of OpenMP and oneTBB.
coro fork: coro_fork_begin and coro_fork_join; fork call: from a goroutine, by Func.Call; for:
coro_for over rows. spawn: coro_spawn_attr and coro_join; a child runs after what was queued before
it, so a tree is walked in breadth, and each parent that waits keeps its stack. scope: coro_scope_new
for each parent, coro_scope_spawn and coro_scope_wait. goroutine: sync.WaitGroup.Go, compiled by Go.
These three have smaller sizes. openmp: tasks and taskwait of gcc. onetbb: task_group. libfork: fork
and join of its lazy pool, where -libfork names the directory of its sources.`
	for _, why := range left {
		about += "\nLeft out: " + why + "."
	}
	return &harness.Experiment{
		Name:  "forkjoin",
		Asked: true,
		About: about,
		Metrics: []harness.Metric{
			{Name: "ms_per_run", Title: "ms", Digits: 3},
			{Name: "ns_per_child", Title: "ns a child", Digits: 1},
			{Name: "times_serial", Title: "times serial", Digits: 2},
			{Name: "speedup", Title: "speed-up", Digits: 2},
		},
		Rows: list,
		Derive: speedups(list, "ms_per_run", func(own, c harness.Row) bool {
			return own.Workers > 1 && c.Workers == 1 && own.System == c.System &&
				own.Variant == c.Variant && own.N == c.N
		}),
		Versus: &harness.Versus{
			Metric: "ms_per_run", Title: "against peers",
			Peer: func(own, c harness.Row) bool {
				return own.System == sysCoro && (c.System == sysOpenMP || c.System == sysTBB) &&
					own.Workers == c.Workers && own.N == c.N &&
					strings.HasPrefix(own.Variant, c.Variant+" ")
			},
		},
	}
}

// forkSystems are the systems that there are, and why others are left out.
func forkSystems(o ForkOptions) (list []forkSystem, left []string) {
	fine := []uint32{cbody.ForkFib, cbody.ForkQueens, cbody.ForkTree}
	list = []forkSystem{
		{sysCoro, "fork", true, nil, onFork(cbody.ForkFork, forkStarted)},
		{sysCoro, "fork call", true, fine, onFork(cbody.ForkFork, forkCalled)},
		{sysCoro, "for", true, []uint32{cbody.ForkMandel}, onFork(cbody.ForkFor, forkStarted)},
		{sysCoro, "spawn", false, nil, onFork(cbody.ForkSpawn, forkStarted)},
		{sysCoro, "scope", false, nil, onFork(cbody.ForkScope, forkStarted)},
		{sysGoroutine, "", false, nil, goForks},
	}
	for _, p := range forkPrograms(o) {
		if why := p.missing(); why != "" {
			left = append(left, p.name+", as "+why)
			continue
		}
		list = append(list, forkSystem{p.name, "", true, nil, p.run()})
	}
	return list, left
}

// forkRows are the rows of these loads, and what was left out of them and why.
func forkRows(loads []forkLoad, o ForkOptions) (list []harness.Row, left []string) {
	systems, left := forkSystems(o)
	workers := slices.Compact([]int{1, cmp.Or(o.Workers, cpus)})
	for _, l := range loads {
		list = append(list, l.serialRow(l.large))
		if l.small.size != l.large.size {
			list = append(list, l.serialRow(l.small))
		}
		for _, s := range systems {
			if s.loads != nil && !slices.Contains(s.loads, l.load) {
				continue
			}
			for _, w := range workers {
				list = append(list, s.row(l, w))
			}
		}
	}
	return list, left
}

// doneSerial is the time that a lap takes in plain C, and its checksum.
func (l forkLoad) doneSerial(n forkSize) (time.Duration, uint64, error) {
	return cbody.Fork{Load: l.load, Size: n.size, Laps: n.serial}.Serial()
}

func (l forkLoad) serialRow(n forkSize) harness.Row {
	return harness.Row{System: sysSerial, Variant: l.name, Workers: 1, N: int(n.size),
		Open: unwarmed(func() (harness.Values, error) {
			d, _, err := l.doneSerial(n)
			return harness.Values{"ms_per_run": ms(d)}, err
		})}
}

// row does a load, just after plain C has done it: machines change their speed within seconds. A
// checksum that is not that of plain C fails the row.
func (s forkSystem) row(l forkLoad, workers int) harness.Row {
	n := l.small
	if s.fast {
		n = l.large
	}
	r := harness.Row{System: s.name, Variant: l.name, Workers: workers, N: int(n.size)}
	if s.way != "" {
		r.Variant += " " + s.way
	}
	if s.name == sysGoroutine {
		r.Procs = workers
	}
	r.Open = unwarmed(func() (harness.Values, error) {
		serial, right, err := l.doneSerial(n)
		if err != nil {
			return nil, err
		}
		f := cbody.Fork{Load: l.load, Size: n.size, Laps: n.laps}
		d, sum, err := s.run(f, workers)
		if err == nil && sum != right {
			err = fmt.Errorf("the checksum is %d, and %d in serial C", sum, right)
		}
		v := harness.Values{"ms_per_run": ms(d), "times_serial": float64(d) / float64(serial)}
		if children := f.Children(); children > 0 {
			v["ns_per_child"] = nsEach(d, int(children))
		}
		return v, err
	})
	return r
}

type forkFunc = coro.Func[cbody.Fork, cbody.Forked]

// forkStarted has a body done by a worker, and forkCalled by one that is lent to the goroutine.
func forkStarted(ctx context.Context, s *coro.Scheduler, body forkFunc, f cbody.Fork) (
	cbody.Forked, error) {
	task, err := body.Start(s, f)
	if err != nil {
		return cbody.Forked{}, err
	}
	return task.Wait(ctx)
}

func forkCalled(ctx context.Context, s *coro.Scheduler, body forkFunc, f cbody.Fork) (
	cbody.Forked, error) {
	return body.Call(ctx, s, f)
}

// onFork has a body of C do a load, on a scheduler of its own.
func onFork(entry unsafe.Pointer, do func(context.Context, *coro.Scheduler, forkFunc, cbody.Fork) (
	cbody.Forked, error)) func(cbody.Fork, int) (time.Duration, uint64, error) {
	body := coro.MustFunc[cbody.Fork, cbody.Forked](entry)
	return func(f cbody.Fork, workers int) (d time.Duration, sum uint64, err error) {
		s, err := coro.New(coro.WithWorkers(workers))
		if err != nil {
			return 0, 0, err
		}
		defer func() { err = errors.Join(err, closed(s), cbody.Err()) }()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		r, err := do(ctx, s, body, f)
		if err != nil {
			return 0, 0, err
		}
		return r.Took()
	}
}
