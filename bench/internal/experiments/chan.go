package experiments

import (
	"context"
	"strings"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/bench/internal/cbody"
	"github.com/organzine/coro/bench/internal/harness"
)

const chanBuffer = 64

// How much a run does. Tests do less.
var (
	chanValues = 300_000 // on one worker
	chanAcross = 50_000  // on two
)

// channels is the price of a value.
func channels() *harness.Experiment {
	return &harness.Experiment{
		Name:  "chan",
		Asked: true,
		About: `values of 8 bytes through a channel from one to another, in ns a value;
buffered: room for 64.
C: two C coroutines, pinned; home: on one worker, and the channel is bound to it; shared: on one
worker; across: on two.
Go: two goroutines with a Go channel, on one P, and across on two. C-to-Go, Go-to-C: a Chan
between a goroutine and a C coroutine.
pair: each value comes back before the next, half a round trip. select: by turns through two
unbuffered channels, to one who selects.
from-sleep: one value each millisecond, from before the send to after the receive.`,
		Metrics: []harness.Metric{
			{Name: "ns_per_op", Title: "ns a value", Digits: 1},
			{Name: "p50_us", Title: "p50 us", Digits: 1},
			{Name: "p99_us", Title: "p99 us", Digits: 1},
		},
		Rows: rows(chanOfC(), chanOfGo(), chanOfBoth(), chanFromSleep()),
		Versus: &harness.Versus{
			Metric: "ns_per_op", Title: "against Go's",
			Peer: func(row, c harness.Row) bool {
				return row.System == sysCoro && c.System == sysGoroutine &&
					kind(c) == kind(row) && c.Workers == row.Workers
			},
		},
	}
}

// kind is the first word of a row's variant.
func kind(r harness.Row) string {
	first, _, _ := strings.Cut(r.Variant, " ")
	return first
}

// resultNS makes a row of a C body that measures itself.
func resultNS[A any](f coro.Func[A, int64], arg A, ops int) func(*coro.Scheduler) (
	harness.Values, error) {
	return func(s *coro.Scheduler) (harness.Values, error) {
		task, err := f.Start(s, arg)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		ns, err := task.Wait(ctx)
		if err == nil {
			err = settled(s)
		}
		return perOp(time.Duration(ns), ops, err)
	}
}

func chanOfC() []harness.Row {
	start := coro.MustFunc[cbody.ChanRun, int64](cbody.ChanStart)
	row := func(variant string, capacity int, kind uint32, where string) harness.Row {
		run, workers, ops := cbody.ChanRun{N: int64(chanValues), Capacity: uint32(capacity),
			Kind: kind}, 1, 1
		switch where {
		case "home":
			run.Flags = cbody.Home
		case "across":
			run.N, run.Receiver, workers = int64(chanAcross), 1, 2
		}
		if kind == cbody.Pair {
			ops = 2
		}
		return harness.Row{System: sysCoro, Variant: variant + " C " + where,
			Workers: workers, N: 2, Open: onScheduler(resultNS(start, run,
				ops*int(run.N)), coro.WithWorkers(workers))}
	}
	var list []harness.Row
	for _, where := range []string{"home", "shared", "across"} {
		list = append(list, row("unbuffered", 0, cbody.OneWay, where),
			row("buffered", chanBuffer, cbody.OneWay, where),
			row("pair", 0, cbody.Pair, where), row("select", 0, cbody.Select, where))
	}
	return list
}

func chanOfGo() []harness.Row {
	var list []harness.Row
	for _, procs := range []int{1, 2} {
		name, n := " Go", chanValues
		if procs == 2 {
			name, n = " Go across", chanAcross
		}
		row := func(variant string, run func(n int) (time.Duration, error),
			ops int) harness.Row {
			return harness.Row{System: sysGoroutine, Variant: variant + name,
				Workers: procs, N: 2, Procs: procs,
				Open: timed(func() (harness.Values, error) {
					d, err := run(n)
					return perOp(d, ops*n, err)
				})}
		}
		list = append(list, row("unbuffered", goOneWay(0), 1),
			row("buffered", goOneWay(chanBuffer), 1), row("pair", goPair, 2),
			row("select", goSelect, 1))
	}
	return list
}

func goOneWay(capacity int) func(n int) (time.Duration, error) {
	return func(n int) (time.Duration, error) {
		c := make(chan int64, capacity)
		go func() {
			for i := range int64(n + 1) {
				c <- i
			}
			close(c)
		}()
		<-c
		start := time.Now()
		for range c {
		}
		return time.Since(start), nil
	}
}

func goPair(n int) (time.Duration, error) {
	there, back := make(chan int64), make(chan int64)
	go func() {
		for v := range there {
			back <- v
		}
	}()
	there <- 0
	<-back
	start := time.Now()
	for i := range int64(n) {
		there <- i
		<-back
	}
	d := time.Since(start)
	close(there)
	return d, nil
}

func goSelect(n int) (time.Duration, error) {
	c := [2]chan int64{make(chan int64), make(chan int64)}
	go func() {
		for i := range n + 1 {
			c[i%2] <- int64(i)
		}
	}()
	<-c[0]
	start := time.Now()
	for range n {
		select {
		case <-c[0]:
		case <-c[1]:
		}
	}
	return time.Since(start), nil
}

func chanOfBoth() []harness.Row {
	row := func(variant string, capacity int, run func(*coro.Chan[int64],
		*coro.Scheduler) (time.Duration, error)) harness.Row {
		return harness.Row{System: sysCoro, Variant: variant, Workers: 2, N: 2,
			Open: onScheduler(
				func(s *coro.Scheduler) (harness.Values, error) {
					c, err := coro.NewChan[int64](s, capacity)
					if err != nil {
						return nil, err
					}
					d, err := run(c, s)
					return perOp(d, chanAcross, err)
				}, coro.WithWorkers(1))}
	}
	return []harness.Row{
		row("unbuffered C-to-Go", 0, chanToGo), row("buffered C-to-Go", chanBuffer,
			chanToGo),
		row("unbuffered Go-to-C", 0, chanToC), row("buffered Go-to-C", chanBuffer, chanToC),
	}
}

func chanToGo(c *coro.Chan[int64], s *coro.Scheduler) (time.Duration, error) {
	send := coro.MustFunc[cbody.Flow, coro.None](cbody.ChanSend)
	ctx := context.Background()
	if err := send.Spawn(s, cbody.Flow{Channel: c.Address(),
		N: int64(chanAcross + 1)}); err != nil {
		return 0, err
	}
	if _, err := c.Recv(ctx); err != nil {
		return 0, err
	}
	start := time.Now()
	for range chanAcross {
		if _, err := c.Recv(ctx); err != nil {
			return 0, err
		}
	}
	return time.Since(start), settled(s)
}

func chanToC(c *coro.Chan[int64], s *coro.Scheduler) (time.Duration, error) {
	recv := coro.MustFunc[cbody.Flow, coro.None](cbody.ChanRecv)
	ctx := context.Background()
	if err := recv.Spawn(s, cbody.Flow{Channel: c.Address(),
		N: int64(chanAcross + 1)}); err != nil {
		return 0, err
	}
	if err := c.Send(ctx, 0); err != nil {
		return 0, err
	}
	start := time.Now()
	for i := range int64(chanAcross) {
		if err := c.Send(ctx, i+1); err != nil {
			return 0, err
		}
	}
	err := settled(s)
	return time.Since(start), err
}

func chanFromSleep() []harness.Row {
	row := func(variant string, run func(*coro.Chan[int64],
		*coro.Scheduler) ([]time.Duration, error)) harness.Row {
		return harness.Row{System: sysCoro, Variant: "from-sleep " + variant, Workers: 2,
			N: 1, Open: onScheduler(
				func(s *coro.Scheduler) (harness.Values, error) {
					c, err := coro.NewChan[int64](s, chanBuffer)
					if err != nil {
						return nil, err
					}
					waits, err := run(c, s)
					return percentiles(waits), err
				}, coro.WithWorkers(1))}
	}
	return []harness.Row{
		row("C-to-Go", sleepToGo), row("Go-to-C", sleepToC),
		{System: sysGoroutine, Variant: "from-sleep Go", Workers: 2, N: 1, Procs: 2,
			Open: timed(func() (harness.Values, error) { return goWakeUp(nil) })},
	}
}

func sleepToGo(c *coro.Chan[int64], s *coro.Scheduler) ([]time.Duration, error) {
	send := coro.MustFunc[cbody.Flow, coro.None](cbody.ChanSend)
	if err := send.Spawn(s, cbody.Flow{Channel: c.Address(), N: callLatencies,
		Pause: int64(callPause), Timed: 1}); err != nil {
		return nil, err
	}
	waits := make([]time.Duration, callLatencies)
	for i := range waits {
		sent, err := c.Recv(context.Background())
		if err != nil {
			return nil, err
		}
		waits[i] = time.Duration(cbody.Now() - sent)
	}
	return waits, settled(s)
}

func sleepToC(c *coro.Chan[int64], s *coro.Scheduler) ([]time.Duration, error) {
	recv := coro.MustFunc[cbody.Flow, coro.None](cbody.ChanRecv)
	if err := recv.Spawn(s, cbody.Flow{Channel: c.Address(), N: callLatencies,
		Timed: 1}); err != nil {
		return nil, err
	}
	for range callLatencies {
		time.Sleep(callPause)
		if err := c.Send(context.Background(), cbody.Now()); err != nil {
			return nil, err
		}
	}
	err := settled(s)
	return cbody.Waits(callLatencies), err
}
