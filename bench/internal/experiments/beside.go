package experiments

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/bench/internal/cbody"
	"github.com/organzine/coro/bench/internal/harness"
)

const (
	idleTime     = 10 * time.Second
	besideSteps  = 300_000_000 // of arithmetic on each CPU: about a third of a second
	arrivalsEach = time.Millisecond
	arrivalsN    = 10    // at a time
	arrivalSteps = 11000 // of arithmetic: about 10 us
)

// beside is what a scheduler costs those who share the machine with it.
func beside() *harness.Experiment {
	list := rows(besideNothing(), besideIdle(), besideArrivals())
	return &harness.Experiment{
		Name:  "beside",
		Asked: true,
		About: `what a scheduler costs others. wake-ups: of all worker threads together in 10 s without work.
one-busy: a plain C loop on a thread of its own, and the same in one coroutine while the other workers have nothing.
go-only: arithmetic, shared by a goroutine on each P: alone, beside an idle scheduler, and while 10 coroutines of about 10 us
arrive each millisecond. loss: of time, against alone in the same round; of the last row, less the coroutines' own.`,
		Metrics: []harness.Metric{
			{Name: "wakeups", Title: "wake-ups", Digits: 0},
			{Name: "ms", Title: "ms", Digits: 2},
			{Name: "loss_percent", Title: "loss %", Digits: 2},
			{Name: "coroutines_percent", Title: "coroutines %", Digits: 2},
		},
		Rows:   list,
		Derive: losses(list),
	}
}

// losses compares each row with the one of its variant that is alone.
func losses(list []harness.Row) func([]harness.Values) {
	return func(round []harness.Values) {
		for i, own := range list {
			for k, alone := range list {
				if alone.System != sysGoroutine && alone.System != pthreads || alone.Variant != own.Variant || i == k {
					continue
				}
				loss := 100 * (round[i]["ms"]/round[k]["ms"] - 1)
				round[i]["loss_percent"] = loss - round[i]["coroutines_percent"]
			}
		}
	}
}

func besideNothing() []harness.Row {
	return []harness.Row{{System: sysCoro, Variant: "idle", Workers: cpus, N: 1, Open: func() (harness.Trial, error) {
		s, err := coro.New(coro.WithWorkers(cpus))
		if err != nil {
			return harness.Trial{}, err
		}
		return harness.Trial{
			Warm:  func() error { time.Sleep(100 * time.Millisecond); return nil },
			Run:   func() (harness.Values, error) { return wakeups(s, idleTime) },
			Close: func() error { return closed(s) },
		}, nil
	}}}
}

// wakeups counts how often the worker threads ran meanwhile.
func wakeups(s *coro.Scheduler, d time.Duration) (harness.Values, error) {
	before, err := switches(s)
	if err != nil {
		return nil, err
	}
	time.Sleep(d)
	after, err := switches(s)
	return harness.Values{"wakeups": float64(after - before)}, err
}

// switches are the context switches of all worker threads until now.
func switches(s *coro.Scheduler) (n int, err error) {
	for _, w := range s.Stats().PerWorker {
		f, err := os.Open(fmt.Sprintf("/proc/self/task/%d/status", w.ThreadID))
		if err != nil {
			return 0, err
		}
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.HasSuffix(key, "_ctxt_switches") {
				k, _ := strconv.Atoi(strings.TrimSpace(value))
				n += k
			}
		}
		f.Close()
	}
	return n, nil
}

func besideIdle() []harness.Row {
	busy := cbody.SpinJob(1, 0, besideSteps)
	quick := cbody.SpinJob(1, 0, 1000)
	list := []harness.Row{
		{System: pthreads, Variant: "one-busy", Workers: 1, N: 1, Open: onThreads(busy, quick, 1, "ms", time.Millisecond)},
		{System: sysCoro, Variant: "one-busy", Workers: cpus, N: 1, Open: onCoroutines(busy, quick, cpus, "ms", time.Millisecond)},
	}
	alone := func() (harness.Values, error) { return goJob() }
	return append(list,
		harness.Row{System: sysGoroutine, Variant: "go-only", Workers: cpus, N: cpus, Open: timed(alone)},
		harness.Row{System: sysCoro, Variant: "go-only", Workers: cpus, N: cpus,
			Open: onScheduler(func(*coro.Scheduler) (harness.Values, error) { return goJob() }, coro.WithWorkers(cpus))})
}

// goJob is arithmetic in one goroutine for each CPU. They take it piece by piece: what one loses because somebody else wants
// its CPU, another makes up for.
func goJob() (harness.Values, error) {
	const piece = 100_000
	var all sync.WaitGroup
	var taken atomic.Int64
	start := time.Now()
	for range cpus {
		all.Go(func() {
			for taken.Add(piece) <= int64(cpus)*besideSteps {
				goSpin(piece)
			}
		})
	}
	all.Wait()
	return harness.Values{"ms": ms(time.Since(start))}, nil
}

func goSpin(steps int) {
	x := uint64(steps)
	for range steps {
		x = x*6364136223846793005 + 1442695040888963407
	}
	runtime.KeepAlive(x) // so that none of it is left out
}

// besideArrivals: the same while coroutines come, 10 000 a second.
func besideArrivals() []harness.Row {
	short := coro.MustFunc[int64, coro.None](cbody.Spin)
	run := func(s *coro.Scheduler) (harness.Values, error) {
		own, err := ownTime()
		if err != nil {
			return nil, err
		}
		stop, n := make(chan struct{}), make(chan int)
		go func() { n <- arrive(s, short, stop) }()
		v, err := goJob()
		close(stop)
		came := <-n
		if err == nil {
			err = settled(s)
		}
		v["coroutines_percent"] = 100 * float64(came) * own / v["ms"] / float64(cpus)
		return v, err
	}
	return []harness.Row{
		{System: sysGoroutine, Variant: "arrivals", Workers: cpus, N: cpus, Open: timed(goJob)},
		{System: sysCoro, Variant: "arrivals", Workers: cpus, N: cpus, Open: onScheduler(run, coro.WithWorkers(cpus))},
	}
}

// ownTime is how many ms one of them takes.
func ownTime() (float64, error) {
	const n = 1000
	job := cbody.SpinJob(n, 0, arrivalSteps)
	start := time.Now()
	job.Plain()
	d := time.Since(start)
	return ms(d) / n, job.Check()
}

// arrive spawns at the pace of the clock until it is told to stop. If it was late it makes up for it.
func arrive(s *coro.Scheduler, f coro.Func[int64, coro.None], stop <-chan struct{}) int {
	start := time.Now()
	for n := 0; ; {
		for due := int(time.Since(start)/arrivalsEach+1) * arrivalsN; n < due; n++ {
			if f.Spawn(s, arrivalSteps) != nil {
				return n
			}
		}
		select {
		case <-stop:
			return n
		case <-time.After(arrivalsEach):
		}
	}
}
