package experiments

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/bench/internal/cbody"
	"github.com/organzine/coro/bench/internal/harness"
)

const (
	sysFairC  = "coro-c"
	sysFairGo = "coro-go"

	fairEarly, fairCrowd = 2, 500 // pairs
	fairGroups, fairSize = 16, 4  // actors of a group
	fairFlooded          = 4
	fairFlood            = 60 // tokens each
	fairNewcomers        = 1000
	fairPeriod           = 2 * time.Millisecond
	fairShort            = 500 * time.Nanosecond
	fairLong             = time.Millisecond
)

// fair is who waits how long beside those who keep each other busy.
func fair() *harness.Experiment {
	var list []harness.Row
	for _, sys := range []string{sysFairC, sysFairGo, sysGoroutine} {
		for _, workers := range []int{1, 2} {
			if workers == 2 {
				list = append(list,
					fairRow(sys, "harmonic", workers, fairShort, harmonic))
			}
			list = append(list,
				fairRow(sys, "newcomer-insular", workers, fairShort, insular),
				fairRow(sys, "newcomer-insular 1ms", workers, fairLong, insular),
				fairRow(sys, "newcomer-flood", workers, fairShort, flood),
				fairRow(sys, "newcomer-flood 1ms", workers, fairLong, flood),
				timerBeside(sys, workers))
		}
	}
	return &harness.Experiment{
		Name:  "fair",
		Asked: true,
		About: `who waits how long beside those who keep each other busy. An actor is a coroutine,
a Go body or a goroutine, with a channel of 64; a Go body without a channel, which others wake,
except in newcomer-flood. It passes each token on after 0.5 us of work, or 1 ms.
harmonic: two pairs pass a token to and fro; then one actor sends 500 more pairs a token each.
ratio: tokens of the pair that got furthest in 2 s, to those of the last pair.
newcomer-insular: beside 16 groups of 4, with two tokens each. newcomer-flood: beside four whose
channels are never empty. A newcomer starts every 2 ms, and is sent a token, from outside: how long
after the start was begun that is handled. unhandled: newcomers not handled half a second later.
sender: how late the sender's own timer was, which is in no other figure.
timer-beside: how late a goroutine's timer is beside four for each worker that only yield.`,
		Metrics: []harness.Metric{
			{Name: "service_ratio", Title: "ratio", Digits: 2},
			{Name: "p50_us", Title: "p50 us", Digits: 0},
			{Name: "p99_us", Title: "p99 us", Digits: 0},
			{Name: "unhandled", Title: "unhandled", Digits: 0},
			{Name: "sender_p50_us", Title: "sender p50 us", Digits: 0},
		},
		Rows: list,
	}
}

// A fairWorld has actors, which are numbered.
type fairWorld interface {
	busy(i, to int) error // a new actor, which passes tokens on
	send(to int) error    // a token
	cry(first, pairs int) error
	newcomer(i int) error
	handled(i int) int64 // as cbody.FairHandled
	sleep(until int64)   // by cbody.Now
	stop() error
}

type fairProgram func(fairWorld) (harness.Values, error)

func fairRow(sys, variant string, workers int, work time.Duration, run fairProgram) harness.Row {
	return worldRow(sys, variant, workers, run, func() (fairWorld, error) {
		return openFair(sys, workers, work)
	})
}

// worldRow runs a program in a world of its own.
func worldRow(sys, variant string, workers int, run fairProgram,
	open func() (fairWorld, error)) harness.Row {
	return harness.Row{System: sys, Variant: variant, Workers: workers, N: 1, Procs: workers,
		Open: unwarmed(func() (harness.Values, error) {
			w, err := open()
			if err != nil {
				return nil, err
			}
			v, err := run(w)
			return v, errors.Join(err, w.stop())
		})}
}

const fairMost = 2*(fairEarly+fairCrowd) + fairNewcomers // actors

func openFair(sys string, workers int, work time.Duration) (fairWorld, error) {
	if sys == sysGoroutine {
		return &fairGoroutines{fairGo: newFairGo(fairMost, work)}, nil
	}
	s, err := coro.New(coro.WithWorkers(workers), coro.WithExecutors(workers))
	if err != nil {
		return nil, err
	}
	if sys == sysFairGo {
		return &fairBodies{fairGo: newFairGo(fairMost, work), s: s}, nil
	}
	w := &fairC{
		s:      s,
		busies: coro.MustFunc[cbody.FairActor, coro.None](cbody.FairBusy),
		comers: coro.MustFunc[cbody.FairActor, coro.None](cbody.FairNewcomer),
		criers: coro.MustFunc[cbody.Crier, coro.None](cbody.FairCrier),
	}
	if err := cbody.OpenFair(fairMost, stepsFor(work, cbody.SpinHere)); err != nil {
		return nil, errors.Join(err, w.stop())
	}
	return w, nil
}

// stepsFor is how many steps of spin take about that long.
func stepsFor(work time.Duration, spin func(steps int)) int {
	const steps = 20_000_000
	least := time.Hour
	for range 3 {
		begin := time.Now()
		spin(steps)
		least = min(least, time.Since(begin))
	}
	return int(steps * float64(work) / float64(least))
}

// ------------------------------------------------------------------------------- the programs

func harmonic(w fairWorld) (harness.Values, error) {
	const pairs = fairEarly + fairCrowd
	for i := range 2 * pairs {
		if err := w.busy(i, i^1); err != nil {
			return nil, err
		}
	}
	for p := range fairEarly {
		if err := w.send(2 * p); err != nil {
			return nil, err
		}
	}
	time.Sleep(50 * time.Millisecond)
	if err := w.cry(2*fairEarly, fairCrowd); err != nil {
		return nil, err
	}
	time.Sleep(200 * time.Millisecond)
	before := make([]int64, pairs)
	for p := range before {
		before[p] = w.handled(2*p) + w.handled(2*p+1)
	}
	time.Sleep(2 * time.Second)
	least, most := int64(1<<62), int64(0)
	for p := range before {
		n := w.handled(2*p) + w.handled(2*p+1) - before[p]
		least, most = min(least, n), max(most, n)
	}
	return harness.Values{"service_ratio": float64(most) / float64(max(least, 1))}, nil
}

func insular(w fairWorld) (harness.Values, error) {
	const n = fairGroups * fairSize
	for i := range n {
		if err := w.busy(i, i-i%fairSize+(i+1)%fairSize); err != nil {
			return nil, err
		}
	}
	for g := 0; g < n; g += fairSize {
		if err := errors.Join(w.send(g), w.send(g+fairSize/2)); err != nil {
			return nil, err
		}
	}
	return comers(w, n)
}

func flood(w fairWorld) (harness.Values, error) {
	for i := range fairFlooded {
		if err := w.busy(i, i); err != nil {
			return nil, err
		}
		for range fairFlood {
			if err := w.send(i); err != nil {
				return nil, err
			}
		}
	}
	return comers(w, fairFlooded)
}

// comers has newcomers come to w, the first with the number first, after all others have started:
// starts are first come, first served.
func comers(w fairWorld, first int) (harness.Values, error) {
	time.Sleep(200 * time.Millisecond)
	sent, slept := make([]int64, fairNewcomers), make([]time.Duration, fairNewcomers)
	start := cbody.Now()
	for i := range sent {
		due := start + int64(i+1)*int64(fairPeriod)
		w.sleep(due)
		sent[i] = cbody.Now()
		slept[i] = time.Duration(sent[i] - due)
		if err := w.newcomer(first + i); err != nil {
			return nil, err
		}
	}
	time.Sleep(500 * time.Millisecond)
	unhandled := 0
	late := make([]time.Duration, len(sent))
	for i, sent := range sent {
		at := w.handled(first + i)
		if at == 0 {
			unhandled++
			at = cbody.Now()
		}
		late[i] = time.Duration(at - sent)
	}
	v := percentiles(late)
	v["unhandled"] = float64(unhandled)
	v["sender_p50_us"] = percentiles(slept)["p50_us"]
	return v, nil
}

// ------------------------------------------------------------------------------ C coroutines

type fairC struct {
	s              *coro.Scheduler
	busies, comers coro.Func[cbody.FairActor, coro.None]
	criers         coro.Func[cbody.Crier, coro.None]
}

func (w *fairC) busy(i, to int) error { return w.busies.Spawn(w.s, cbody.Fair(i, to)) }
func (w *fairC) send(to int) error    { return cbody.FairSend(to) }
func (w *fairC) handled(i int) int64  { return cbody.FairHandled(i) }

// sleep is the thread's: an idle Go sleeps for whole milliseconds.
func (w *fairC) sleep(until int64) { cbody.FairSleep(until) }

func (w *fairC) cry(first, pairs int) error {
	return w.criers.Spawn(w.s, cbody.Crier{First: uint32(first), Pairs: uint32(pairs)})
}

func (w *fairC) newcomer(i int) error {
	if err := w.comers.Spawn(w.s, cbody.Fair(i, i)); err != nil {
		return err
	}
	return cbody.FairSend(i)
}

func (w *fairC) stop() error {
	cbody.StopFair()
	err := closed(w.s)
	cbody.CloseFair()
	return errors.Join(err, cbody.Err())
}

// --------------------------------------------------------------------- Go bodies and goroutines

// A fairActor of Go's has a channel, or tokens that it is woken for.
type fairActor struct {
	count atomic.Int64 // as cbody.FairHandled
	body  coro.Handle
	own   *coro.Chan[int64]
	in    chan int64
	_     [64]byte
}

// A fairGo has the actors of Go's.
type fairGo struct {
	actors  []fairActor
	steps   int
	stopped atomic.Bool
}

func newFairGo(n int, work time.Duration) *fairGo {
	return &fairGo{actors: make([]fairActor, n), steps: stepsFor(work, goSpin)}
}

func (w *fairGo) sleep(until int64)   { time.Sleep(time.Duration(until - cbody.Now())) }
func (w *fairGo) handled(i int) int64 { return w.actors[i].count.Load() }

func (w *fairGo) handle(a *fairActor) {
	a.count.Add(1)
	goSpin(w.steps)
}

type fairBodies struct {
	*fairGo
	s *coro.Scheduler
}

func (w *fairBodies) busy(i, to int) error {
	a, b := &w.actors[i], &w.actors[to]
	take := func(c *coro.Coroutine) error { return c.Park(c.Context()) }
	pass := func(c *coro.Coroutine) error { return c.Wake(b.body) }
	if i == to {
		own, err := coro.NewChan[int64](w.s, 64)
		if err != nil {
			return err
		}
		a.own = own
		take = func(c *coro.Coroutine) error { _, err := own.Recv(c.Context()); return err }
		pass = func(c *coro.Coroutine) error { return own.Send(c.Context(), 1) }
	}
	t, err := coro.Go(w.s, func(c *coro.Coroutine) (coro.None, error) {
		for !w.stopped.Load() {
			if err := take(c); err != nil {
				return coro.None{}, err
			}
			w.handle(a)
			if err := pass(c); err != nil && !w.stopped.Load() {
				return coro.None{}, err
			}
		}
		return coro.None{}, nil
	})
	if err == nil {
		a.body = t.Handle()
	}
	return err
}

func (w *fairBodies) send(to int) error {
	if own := w.actors[to].own; own != nil {
		return own.Send(context.Background(), 1)
	}
	return w.actors[to].body.Wake()
}

func (w *fairBodies) cry(first, pairs int) error {
	_, err := coro.Go(w.s, func(c *coro.Coroutine) (coro.None, error) {
		for i := range pairs {
			if err := c.Wake(w.actors[first+2*i].body); err != nil {
				return coro.None{}, err
			}
		}
		return coro.None{}, nil
	})
	return err
}

func (w *fairBodies) newcomer(i int) error {
	t, err := coro.Go(w.s, func(c *coro.Coroutine) (coro.None, error) {
		if err := c.Park(c.Context()); err != nil {
			return coro.None{}, err
		}
		w.actors[i].count.Store(cbody.Now())
		return coro.None{}, nil
	})
	if err != nil {
		return err
	}
	return t.Handle().Wake()
}

func (w *fairBodies) stop() error {
	w.stopped.Store(true)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := w.s.Close(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	return closed(w.s)
}

type fairGoroutines struct {
	*fairGo
	ends sync.WaitGroup
	quit []chan int64
}

func (w *fairGoroutines) busy(i, to int) error {
	for _, k := range []int{i, to} {
		if w.actors[k].in == nil {
			w.actors[k].in = make(chan int64, 64)
			w.quit = append(w.quit, w.actors[k].in)
		}
	}
	a, b := &w.actors[i], &w.actors[to]
	w.ends.Go(func() {
		for token := range a.in {
			w.handle(a)
			if w.stopped.Load() {
				return
			}
			b.in <- token
		}
	})
	return nil
}

func (w *fairGoroutines) send(to int) error {
	w.actors[to].in <- 1
	return nil
}

func (w *fairGoroutines) cry(first, pairs int) error {
	w.ends.Go(func() {
		for i := range pairs {
			w.actors[first+2*i].in <- 1
		}
	})
	return nil
}

func (w *fairGoroutines) newcomer(i int) error {
	a := &w.actors[i]
	a.in = make(chan int64, 64)
	w.ends.Go(func() {
		<-a.in
		a.count.Store(cbody.Now())
	})
	a.in <- 1
	return nil
}

func (w *fairGoroutines) sleeper(i int) error {
	a := &w.actors[i]
	a.in = make(chan int64, 64)
	w.quit = append(w.quit, a.in)
	w.ends.Go(func() {
		for range a.in {
			a.count.Add(1)
		}
	})
	return nil
}

func (w *fairGoroutines) stop() error {
	w.stopped.Store(true)
	time.Sleep(50 * time.Millisecond) // the tokens end with those who have them
	for _, in := range w.quit {
		close(in)
	}
	w.ends.Wait()
	return nil
}

// ------------------------------------------------------------------------------------- timers

func timerBeside(sys string, workers int) harness.Row {
	return harness.Row{System: sys, Variant: "timer-beside", Workers: workers, N: 4 * workers,
		Procs: workers,
		Open: unwarmed(func() (harness.Values, error) {
			yields := bodiesYield
			switch sys {
			case sysFairC:
				yields = coroutinesYield
			case sysGoroutine:
				yields = goroutinesYield
			}
			end, err := yields(workers)
			if err != nil {
				return nil, err
			}
			late := timersLate()
			return percentiles(late), end()
		})}
}

func timersLate() []time.Duration {
	time.Sleep(20 * time.Millisecond)
	late := make([]time.Duration, 500)
	for i := range late {
		due := time.Now().Add(fairPeriod)
		time.Sleep(time.Until(due))
		late[i] = time.Since(due)
	}
	return late
}

// goroutinesYield, bodiesYield and coroutinesYield start four for each worker that only yield,
// until end is called.
func goroutinesYield(workers int) (end func() error, err error) {
	var stop atomic.Bool
	var ends sync.WaitGroup
	for range 4 * workers {
		ends.Go(func() {
			for !stop.Load() {
				runtime.Gosched()
			}
		})
	}
	return func() error { stop.Store(true); ends.Wait(); return nil }, nil
}

func bodiesYield(workers int) (end func() error, err error) {
	var stop atomic.Bool
	return onFairScheduler(workers, func() { stop.Store(true) }, func(s *coro.Scheduler) error {
		_, err := coro.Go(s, func(c *coro.Coroutine) (coro.None, error) {
			for !stop.Load() {
				if err := c.Yield(); err != nil {
					return coro.None{}, err
				}
			}
			return coro.None{}, nil
		})
		return err
	})
}

func coroutinesYield(workers int) (end func() error, err error) {
	stop := cbody.NewFairStop()
	yields := coro.MustFunc[cbody.FairStop, coro.None](cbody.FairYields)
	stopped, err := onFairScheduler(workers, stop.Stop, func(s *coro.Scheduler) error {
		return yields.Spawn(s, stop)
	})
	if err != nil {
		stop.Free()
		return nil, err
	}
	return func() error { defer stop.Free(); return stopped() }, nil
}

// onFairScheduler starts four for each worker. end stops them, and closes the scheduler.
func onFairScheduler(workers int, stop func(), start func(*coro.Scheduler) error) (
	end func() error, err error,
) {
	s, err := coro.New(coro.WithWorkers(workers), coro.WithExecutors(workers))
	if err != nil {
		return nil, err
	}
	end = func() error { stop(); return closed(s) }
	for range 4 * workers {
		if err := start(s); err != nil {
			return nil, errors.Join(err, end())
		}
	}
	return end, nil
}
