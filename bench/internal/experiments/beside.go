package experiments

import (
	"bufio"
	"errors"
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
	besideSteps  = 300_000_000 // of arithmetic: about a third of a second
	sliceTime    = 80 * time.Millisecond
	slicesN      = 20
	arrivalsEach = time.Millisecond
	arrivalsN    = 10    // at a time
	arrivalSteps = 11000 // of arithmetic: about 10 us
)

// beside is what a scheduler costs others on the same machine.
func beside() *harness.Experiment {
	list := rows(besideNothing(), besideOneBusy(), besideGoroutines())
	return &harness.Experiment{
		Name:  "beside",
		Asked: true,
		About: `what a scheduler costs others. wake-ups: of all worker threads together in
10 s without work.
one-busy: a plain C loop on a thread of its own, and the same in one coroutine while the other
workers have nothing.
go-only: what a goroutine on each P gets done beside an idle scheduler, and (arrivals) while 10
coroutines of about 10 us arrive each millisecond, in slices of 80 ms, each compared with those
before and after it, where the goroutines are alone.
loss: of time or work, in percent; of the last row, less the time that the coroutines took by
themselves.`,
		Metrics: []harness.Metric{
			{Name: "wakeups", Title: "wake-ups", Digits: 0},
			{Name: "ms", Title: "ms", Digits: 2},
			{Name: "loss_percent", Title: "loss %", Digits: 2},
			{Name: "coroutines_percent", Title: "coroutines %", Digits: 2},
		},
		Rows: list,
		Derive: func(round []harness.Values) {
			var alone float64
			for i, row := range list {
				switch {
				case row.Variant != variantOneBusy:
				case row.System == pthreads:
					alone = round[i]["ms"]
				default:
					round[i]["loss_percent"] = 100 * (round[i]["ms"]/alone - 1)
				}
			}
		},
	}
}

func besideNothing() []harness.Row {
	return []harness.Row{{System: sysCoro, Variant: "idle", Workers: cpus, N: 1,
		Open: func() (harness.Trial, error) {
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
			if key, value, ok := strings.Cut(lines.Text(), ":"); ok &&
				strings.HasSuffix(key, "_ctxt_switches") {
				k, _ := strconv.Atoi(strings.TrimSpace(value))
				n += k
			}
		}
		f.Close()
	}
	return n, nil
}

const variantOneBusy = "one-busy"

func besideOneBusy() []harness.Row {
	// What the result should be is computed only if the row is run: it takes as long.
	job := func(open func(busy, quick cbody.Job) func() (harness.Trial, error)) func() (
		harness.Trial, error) {
		return func() (harness.Trial, error) {
			return open(cbody.SpinJob(1, 0, besideSteps), cbody.SpinJob(1, 0, 1000))()
		}
	}
	return []harness.Row{
		{System: pthreads, Variant: variantOneBusy, Workers: 1, N: 1, Open: job(
			func(busy, quick cbody.Job) func() (harness.Trial, error) {
				return onThreads(busy, quick, 1, "ms", time.Millisecond)
			})},
		{System: sysCoro, Variant: variantOneBusy, Workers: cpus, N: 1, Open: job(
			func(busy, quick cbody.Job) func() (harness.Trial, error) {
				return onCoroutines(busy, quick, cpus, "ms", time.Millisecond)
			})},
	}
}

func besideGoroutines() []harness.Row {
	return []harness.Row{
		{System: sysCoro, Variant: "go-only", Workers: cpus, N: cpus,
			Open: bySlices(func(s *coro.Scheduler) (func() (int, error), error) {
				return func() (int, error) { return 0, nil }, nil
			})},
		{System: sysCoro, Variant: "arrivals", Workers: cpus, N: cpus,
			Open: bySlices(arrivals)},
	}
}

// bySlices compares what goroutines get done while there is a scheduler with what they do without
// one. begin has it do something, until the function that it returns is called, which tells how
// many coroutines there were.
//
// Slices are short because machines change their speed, in seconds or less: only neighbours can be
// compared.
func bySlices(begin func(*coro.Scheduler) (end func() (int, error),
	err error)) func() (harness.Trial, error) {
	beside := func() (done float64, coroutines int, err error) {
		s, err := coro.New(coro.WithWorkers(cpus))
		if err != nil {
			return 0, 0, err
		}
		end, err := begin(s)
		if err == nil {
			done = goSlice()
			coroutines, err = end()
		}
		return done, coroutines, errors.Join(err, closed(s))
	}
	run := func(slices int) (harness.Values, error) {
		var losses, shares []float64
		before := goSlice()
		for range slices {
			own, err := ownTime()
			if err != nil {
				return nil, err
			}
			done, coroutines, err := beside()
			if err != nil {
				return nil, err
			}
			after := goSlice()
			share := 100 * float64(coroutines) * own / ms(sliceTime) / float64(cpus)
			losses = append(losses, 100*(1-2*done/(before+after))-share)
			shares = append(shares, share)
			before = after
		}
		return harness.Values{"loss_percent": harness.Median(losses),
			"coroutines_percent": harness.Median(shares)}, nil
	}
	return func() (harness.Trial, error) {
		return harness.Trial{
			Warm: func() error { _, err := run(1); return err },
			Run:  func() (harness.Values, error) { return run(slicesN) },
		}, nil
	}
}

// goSlice is how many pieces of arithmetic a goroutine on each P gets done in a millisecond, as
// long as a slice.
func goSlice() float64 {
	var all sync.WaitGroup
	var done atomic.Int64
	start := time.Now()
	for range cpus {
		all.Go(func() {
			for time.Since(start) < sliceTime {
				goSpin(10_000)
				done.Add(1)
			}
		})
	}
	all.Wait()
	return float64(done.Load()) / ms(time.Since(start))
}

func goSpin(steps int) {
	x := uint64(steps)
	for range steps {
		x = x*6364136223846793005 + 1442695040888963407
	}
	runtime.KeepAlive(x) // so that none of it is left out
}

// arrivals has coroutines come, 10 000 a second.
func arrivals(s *coro.Scheduler) (end func() (int, error), err error) {
	short, err := coro.NewFunc[int64, coro.None](cbody.Spin)
	if err != nil {
		return nil, err
	}
	stop, n := make(chan struct{}), make(chan int)
	go func() { n <- arrive(s, short, stop) }()
	return func() (int, error) {
		close(stop)
		return <-n, settled(s)
	}, nil
}

// ownTime is how many ms one of them takes.
func ownTime() (float64, error) {
	const n = 200
	job := cbody.SpinJob(n, 0, arrivalSteps)
	start := time.Now()
	job.Plain()
	d := time.Since(start)
	return ms(d) / n, job.Check()
}

// arrive spawns at the pace of the clock until it is told to stop. If it was late it makes up for
// it.
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
