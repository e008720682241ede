package experiments

import (
	"context"
	"errors"
	"sync"
	"syscall"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/bench/internal/cbody"
	"github.com/organzine/coro/bench/internal/harness"
)

const (
	borderColds   = 300     // operations in a run, where there are pauses
	borderBusies  = 50      // beside goroutines that compute
	borderEmpties = 500_000 // empty operations in a run, without a pause
	borderTrips   = 20_000  // others
	borderShort   = 5 * stepsPerUS
	borderCrowd   = 8 // goroutines that call at once
	borderWorkers = 2 // for them
)

// borderFewer divides how much a run does. Tests do less.
var borderFewer = 1

// briefBody declares that the body of a Func is brief. It has the option where there is one: see
// border_call.go.
var briefBody []coro.FuncOption

// borderCalls are the rows of Func.Call, and borderCallsBusy those of borderBusy: see
// border_call.go. borderLent are those of arguments that lend, or are large, and of buffers:
// border_lent.go.
var borderCalls, borderCallsBusy, borderLent func() []harness.Row

// border is the price of the border between Go and C.
func border() *harness.Experiment {
	list := rows(borderCgo(), borderStarts(), borderEchoes(), borderWakes(), borderCrowds())
	if borderCalls != nil {
		list = rows(list, borderCalls())
	}
	if borderLent != nil {
		list = rows(list, borderLent())
	}
	return &harness.Experiment{
		Name:  "border",
		Asked: true,
		About: `the border between Go and C, one operation after the other; cold: one each
millisecond. 1us, 5us: C computes for about that long.
cgo: a plain cgo call. start-wait: Func.Start and Task.Wait of an empty C body. echo: a request and
its answer over two unbuffered channels, with a C body or, on one P, a goroutine. plain: the body is
not declared brief.
wake: from C, a call each millisecond until Go runs: an offloaded call until its function begins,
and a callback until a goroutine has received what the callback sends.
1x, 8x: goroutines that call at once. handler: an HTTP server that calls for each request, from 8
connections of a client in the same process. children: a body spawns 1000 children of 1 us and joins
them, in the time that it takes itself, or a loop in C.
slice: the argument lends 4096 bytes of Go's; of call-n, 64 bytes each. 256 bytes: the argument has
so many. crowd: 8 goroutines at once, which lend the same memory. buffer: one of 64 bytes is made
and freed by a goroutine, or by a body in C.`,
		Metrics: borderMetrics,
		Rows:    list,
	}
}

// borderBusy is the same beside goroutines that want every P.
func borderBusy() *harness.Experiment {
	list := rows([]harness.Row{cgoEmpty().busy(), startWait("", briefBody).busy(),
		echo("", briefBody).busy(), goEcho().busy()})
	if borderCallsBusy != nil {
		list = rows(list, borderCallsBusy())
	}
	return &harness.Experiment{
		Name:  "border-busy",
		Asked: true,
		About: `cold rows of the experiment border while a goroutine computes on every
P.`,
		Metrics: borderMetrics,
		Rows:    list,
	}
}

var borderMetrics = []harness.Metric{
	{Name: "ns_per_op", Title: "ns", Digits: 1},
	{Name: "per_second", Title: "per second", Digits: 0},
	{Name: "p50_ns", Title: "p50 ns", Digits: 0},
	{Name: "p99_ns", Title: "p99 ns", Digits: 0},
	{Name: "cpu_us", Title: "CPU us each", Digits: 2},
}

func borderCgo() []harness.Row {
	oneUS := crossing{system: sysCgo, name: "1us", n: borderTrips, open: spinHere(stepsPerUS)}
	return []harness.Row{cgoEmpty().steady(), cgoEmpty().cold(), oneUS.steady()}
}

func cgoEmpty() crossing {
	return crossing{system: sysCgo, name: "empty", n: borderEmpties,
		open: unopened(func() error { cbody.Nothing(); return nil })}
}

func spinHere(steps int) opener {
	return unopened(func() error { cbody.SpinHere(steps); return nil })
}

func borderStarts() []harness.Row {
	brief, plain := startWait("", briefBody), startWait(" plain", nil)
	return []harness.Row{brief.steady(), brief.cold(), plain.steady(), plain.cold()}
}

func startWait(variant string, opts []coro.FuncOption) crossing {
	empty := coro.MustFunc[coro.None, coro.None](cbody.Empty, opts...)
	return crossing{system: sysCoro, name: "start-wait" + variant, n: borderTrips,
		open: onWorkers(1, func(s *coro.Scheduler) (op, end func() error, err error) {
			return startedAndAwaited(s, empty), nil, nil
		})}
}

func borderEchoes() []harness.Row {
	brief, plain := echo("", briefBody), echo(" plain", nil)
	return []harness.Row{brief.steady(), brief.cold(), plain.steady(), plain.cold(),
		goEcho().steady(), goEcho().cold()}
}

var errEcho = errors.New("the answer is not the request")

// echo: between a goroutine and a C body.
func echo(variant string, opts []coro.FuncOption) crossing {
	entry := cbody.EchoBody
	if opts == nil { // brief is a function, whichever Func it is started by
		entry = cbody.EchoPlain
	}
	body := coro.MustFunc[cbody.Echo, coro.None](entry, opts...)
	begin := func(s *coro.Scheduler) (op, end func() error, err error) {
		requests, err := coro.NewChan[int64](s, 0)
		if err != nil {
			return nil, nil, err
		}
		answers, err := coro.NewChan[int64](s, 0)
		if err != nil {
			return nil, nil, err
		}
		err = body.Spawn(s, cbody.Echo{Requests: requests.Address(),
			Answers: answers.Address()})
		var sent int64
		return func() error {
				sent++
				if err := requests.Send(context.Background(), sent); err != nil {
					return err
				}
				answer, err := answers.Recv(context.Background())
				if err == nil && answer != sent {
					err = errEcho
				}
				return err
			}, func() error {
				return errors.Join(requests.Close(), answers.Close(), settled(s))
			}, err
	}
	return crossing{system: sysCoro, name: "echo" + variant, n: borderTrips,
		open: onWorkers(1, begin)}
}

// goEcho: between two goroutines.
func goEcho() crossing {
	return crossing{system: sysGoroutine, name: "echo", n: borderTrips, procs: 1,
		open: func() (op, end func() error, err error) {
			requests, answers := make(chan int64), make(chan int64)
			go func() {
				defer close(answers)
				for v := range requests {
					answers <- v
				}
			}()
			var sent int64
			return func() error {
					sent++
					requests <- sent
					if <-answers != sent {
						return errEcho
					}
					return nil
				}, func() error {
					close(requests)
					<-answers
					return nil
				}, nil
		}}
}

// sinceThen is the Go function that says how late it is called.
var sinceThen = sync.OnceValue(func() coro.FuncID {
	return coro.MustExportFunc(func(_ context.Context, sent int64) (int64, error) {
		return cbody.Now() - sent, nil
	})
})

func borderWakes() []harness.Row {
	body := coro.MustFunc[cbody.Asleep, coro.None](cbody.CallAsleep)
	return []harness.Row{
		{System: sysCoro, Variant: "wake offload", Workers: 1, N: 1, Open: onScheduler(
			func(s *coro.Scheduler) (harness.Values, error) {
				n := fewer(borderColds)
				err := body.Spawn(s, cbody.Asleep{ID: uint32(sinceThen()),
					N: int64(n), Pause: int64(waitPause)})
				if err == nil {
					err = settled(s)
				}
				return percentilesNS(cbody.Waits(n)), err
			}, coro.WithWorkers(1))},
		{System: sysCgo, Variant: "wake callback", Workers: 1, N: 1, Open: timed(
			func() (harness.Values, error) {
				waits, err := cbody.WakesFromC(fewer(borderColds), waitPause)
				if err != nil {
					return nil, err
				}
				return percentilesNS(waits), nil
			})},
	}
}

func borderCrowds() []harness.Row { return crowds(sysCgo, spinHere(borderShort)) }

// crowds are the rows of goroutines that call something of about 5 us.
func crowds(system string, open opener) []harness.Row {
	c := crossing{system: system, workers: borderWorkers, procs: borderWorkers, n: borderTrips}
	at := func(name string, callers int, open opener) harness.Row {
		c := c
		c.name, c.open = name, open
		return c.crowded(callers)
	}
	return []harness.Row{at("1x5us", 1, open), at("8x5us", borderCrowd, open),
		at("handler", borderCrowd, served(open, borderCrowd))}
}

// An opener makes an operation ready. The operation is done by one goroutine at a time, or by many,
// as its row says; end gives back what it needs.
type opener func() (op, end func() error, err error)

// unopened is of an operation that needs nothing.
func unopened(op func() error) opener {
	return func() (func() error, func() error, error) {
		return op, func() error { return nil }, nil
	}
}

// onWorkers is of an operation that needs a scheduler, which it gets for itself. begin's end is nil
// if there is nothing to do before the scheduler is closed. A failed call in a C body is an error
// of end.
func onWorkers(n int, begin func(*coro.Scheduler) (op, end func() error, err error)) opener {
	return func() (op, end func() error, err error) {
		s, err := coro.New(coro.WithWorkers(n))
		if err != nil {
			return nil, nil, err
		}
		op, stop, err := begin(s)
		if err != nil {
			return nil, nil, errors.Join(err, closed(s))
		}
		return op, func() error {
			var err error
			if stop != nil {
				err = stop()
			}
			return errors.Join(err, closed(s), cbody.Err())
		}, nil
	}
}

// A crossing is an operation at the border, of which rows are made.
type crossing struct {
	system, name string
	workers      int // 0: one
	procs        int // 0: one for each CPU
	n            int // operations in a run without pauses
	each         int // what each of them counts for; 0: one
	open         opener
}

func (c crossing) row(suffix string, n int, run func(op func() error) (harness.Values,
	error)) harness.Row {
	return harness.Row{System: c.system, Variant: c.name + suffix, Workers: max(c.workers, 1),
		N: n, Procs: c.procs, Open: func() (harness.Trial, error) {
			op, end, err := c.open()
			return harness.Trial{Close: end, Run: func() (harness.Values, error) {
				return run(op)
			}}, err
		}}
}

// steady: one operation after the other.
func (c crossing) steady() harness.Row {
	each := max(c.each, 1)
	return c.row("", each, func(op func() error) (harness.Values, error) {
		n := fewer(c.n)
		start := time.Now()
		for range n {
			if err := op(); err != nil {
				return nil, err
			}
		}
		return perOp(time.Since(start), n*each, nil)
	})
}

// cold: one operation each millisecond.
func (c crossing) cold() harness.Row {
	return c.row(" cold", 1, func(op func() error) (harness.Values, error) {
		return apart(fewer(borderColds), op)
	})
}

// busy: the same while a goroutine computes on every P.
func (c crossing) busy() harness.Row {
	return c.row(" cold busy", 1, func(op func() error) (harness.Values, error) {
		return beforeSpins(true, func(*coro.Scheduler) (harness.Values, error) {
			return apart(fewer(borderBusies), op)
		})(nil)
	})
}

// crowded: goroutines that do one operation after the other.
func (c crossing) crowded(callers int) harness.Row {
	return c.row("", callers, func(op func() error) (harness.Values, error) {
		return crowd(callers, max(fewer(c.n)/callers, 1), op)
	})
}

func fewer(n int) int { return max(n/borderFewer, 1) }

// apart does n operations with pauses, and times each.
func apart(n int, op func() error) (harness.Values, error) {
	waits := make([]time.Duration, n)
	for i := range waits {
		time.Sleep(waitPause)
		start := time.Now()
		if err := op(); err != nil {
			return nil, err
		}
		waits[i] = time.Since(start)
	}
	return percentilesNS(waits), nil
}

// crowd has n operations done by each of several goroutines.
func crowd(callers, n int, op func() error) (harness.Values, error) {
	waits, failed := make([]time.Duration, callers*n), make([]error, callers)
	var all sync.WaitGroup
	start, cpu := time.Now(), cpuTime()
	for i := range callers {
		all.Go(func() {
			for k := i * n; k < (i+1)*n && failed[i] == nil; k++ {
				begin := time.Now()
				failed[i] = op()
				waits[k] = time.Since(begin)
			}
		})
	}
	all.Wait()
	d, cpu := time.Since(start), cpuTime()-cpu
	if err := errors.Join(failed...); err != nil {
		return nil, err
	}
	v := percentilesNS(waits)
	v["per_second"] = float64(len(waits)) / d.Seconds()
	v["cpu_us"] = nsEach(cpu, len(waits)) / 1e3
	return v, nil
}

// cpuTime is the CPU time of the process until now.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // the arguments are right
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
