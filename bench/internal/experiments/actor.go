package experiments

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/bench/internal/cbody"
	"github.com/organzine/coro/bench/internal/harness"
)

const (
	actorRoom  = 64 // of a goroutine's channel
	actorBatch = 64
)

// How much a run does. Tests do less.
var (
	actorScale      = 1
	actorIdle       = 10_000_000
	actorGoroutines = 100_000
	actorBurst      = 200_000 // actors that have a burst of 1000 each
)

// An actorProgram is one of Savina's, and how many messages it handles.
type actorProgram struct {
	name     string
	program  int64
	n        int
	messages func(n int) int
	actors   int
	goes     func(w goWorld, n int) (time.Duration, error)
}

var actorPrograms = []actorProgram{
	{"pingpong", cbody.PingPong, 400_000, func(n int) int { return 3 * n }, 2, goPingPong},
	{"counting", cbody.Counting, 1_000_000, func(n int) int { return n + 2 }, 2, goCounting},
	{"threadring", cbody.ThreadRing, 1_000_000, func(n int) int { return n + 1 }, cbody.ActorsOf,
		goThreadRing},
	{"big", cbody.Big, 20_000,
		func(n int) int { return 2*cbody.ActorBig*n + 2*cbody.ActorBig }, goBigActors + 1, goBig},
	{"chameneos", cbody.Chameneos, 200_000,
		func(n int) int { return 4*n + 4*cbody.ActorsOf }, cbody.ActorsOf + 1, goChameneos},
	{"fanin", cbody.FanIn, 10_000,
		func(n int) int { return cbody.ActorsOf * (n + (n+99)/100) }, cbody.ActorsOf + 1, goFanIn},
}

// actors is what a message costs, and an idle actor.
func actors() *harness.Experiment {
	start := coro.MustFunc[cbody.Actors, int64](cbody.ActorStart)
	var list []harness.Row
	for _, workers := range []int{1, 2} {
		for _, p := range actorPrograms {
			n := p.n / actorScale
			list = append(list,
				harness.Row{System: sysFairC, Variant: p.name, Workers: workers, N: p.n,
					Open: onScheduler(perMessage(resultNS(start,
						cbody.Actors{Program: p.program, N: int64(n)}, p.messages(n))),
						coro.WithWorkers(workers))},
				harness.Row{System: sysGoroutine, Variant: p.name, Workers: workers, N: p.n,
					Procs: workers, Open: p.inGo(openGoroutines, workers)},
				harness.Row{System: sysFairGo, Variant: p.name, Workers: workers, N: p.n,
					Procs: workers, Open: p.inGo(openRefs(workers), workers)})
		}
		for _, batch := range []int{1, actorBatch} {
			list = append(list, forkJoin(start, cbody.FJThrput, workers, batch),
				forkJoin(start, cbody.FJThrputBrief, workers, batch))
		}
		list = append(list, goForkJoin(sysGoroutine, openGoroutines, workers),
			goForkJoin(sysFairGo, openRefs(workers), workers))
		list = append(list, askRows(workers)...)
	}
	list = append(list, idleActors(), burstActors(), idleGoroutines(), idleRefs(1), idleRefs(1000))
	list = append(list, actorFairness()...)
	return &harness.Experiment{
		Name:  "actor",
		Asked: true,
		About: `actors in C (coro-c), actors in Go (coro-go), and goroutines with a channel of 64
each, in ns a message. The programs are Savina's; fanin: 100 actors send to one. fjthrput: one thread
outside sends to 60 actors, one message at a time, or 64 ("batch"); brief: the actors are declared so,
and run on that thread. ask1, ask64: so many goroutines ask an actor each, or a goroutine by a pair of
channels with a time-out, and wait for the answer.
idle: growth of VmRSS + VmPTE for an actor that has handled one message; burst: 1000 messages, all
at once. Neither has a state. Measure them alone: what one row has mapped, the next one uses again.
newcomer, harmonic: as in experiment fair, with actors; a newcomer is idle until its token comes.
light: each ms one message to each of 10 of 1000 actors, which are brief, and then nothing: CPU time
of all threads.`,
		Metrics: []harness.Metric{
			{Name: "ns_per_message", Title: "ns a message", Digits: 1},
			{Name: "bytes_each", Title: "bytes each", Digits: 1},
			{Name: "service_ratio", Title: "ratio", Digits: 2},
			{Name: "p50_us", Title: "p50 us", Digits: 0},
			{Name: "p99_us", Title: "p99 us", Digits: 0},
			{Name: "unhandled", Title: "unhandled", Digits: 0},
			{Name: "sender_p50_us", Title: "sender p50 us", Digits: 0},
			{Name: "cpu_us_per_message", Title: "CPU us a message", Digits: 2},
			{Name: "rest_ms_per_s", Title: "rest: CPU ms a s", Digits: 2},
		},
		Rows: list,
		Versus: &harness.Versus{
			Metric: "ns_per_message", Title: "against goroutines",
			Peer: func(row, c harness.Row) bool {
				return row.System != sysGoroutine && c.System == sysGoroutine &&
					kind(c) == kind(row) && c.Workers == row.Workers
			},
		},
	}
}

func messageNS(d time.Duration, n int) harness.Values {
	return harness.Values{"ns_per_message": nsEach(d, n)}
}

// perMessage gives a row's time for each of n the name that this experiment has for it.
func perMessage(run func(*coro.Scheduler) (harness.Values, error)) func(*coro.Scheduler) (
	harness.Values, error) {
	return func(s *coro.Scheduler) (harness.Values, error) {
		v, err := run(s)
		return harness.Values{"ns_per_message": v["ns_per_op"]}, err
	}
}

func forkJoin(start coro.Func[cbody.Actors, int64], program int64, workers, batch int) harness.Row {
	variant, n := "fjthrput", 10_000/actorScale/actorBatch*actorBatch
	if batch > 1 {
		variant += " batch"
	}
	if program == cbody.FJThrputBrief {
		variant += " brief"
	}
	return harness.Row{System: sysFairC, Variant: variant, Workers: workers, N: 10_000,
		Open: onScheduler(func(s *coro.Scheduler) (harness.Values, error) {
			task, err := start.Start(s, cbody.Actors{Program: program, N: int64(n)})
			if err != nil {
				return nil, err
			}
			if _, err := task.Wait(context.Background()); err != nil {
				return nil, err
			}
			d, err := cbody.ActorsOutside(n, batch)
			return messageNS(d, n*cbody.Forks), errors.Join(err, settled(s))
		}, coro.WithWorkers(workers))}
}

// ---------------------------------------------------------------------------------------- memory

func actorsGrow(n, burst int) (harness.Values, error) {
	debug.FreeOSMemory()
	before, err := resident()
	if err != nil {
		return nil, err
	}
	s, err := coro.New(coro.WithWorkers(1))
	if err != nil {
		return nil, err
	}
	idle := coro.MustFunc[cbody.Idle, coro.None](cbody.ActorIdle)
	err = errors.Join(idle.Spawn(s, cbody.Idle{N: int64(n), Burst: int64(burst)}), settled(s),
		cbody.Err())
	after, residentErr := resident()
	if got := cbody.ActorsWoken(); err == nil && got != n*burst {
		err = fmt.Errorf("%d of %d messages were handled", got, n*burst)
	}
	return harness.Values{"bytes_each": float64(after-before) / float64(n)},
		errors.Join(err, residentErr, closed(s))
}

func idleActors() harness.Row {
	return harness.Row{System: sysFairC, Variant: "idle", Workers: 1, N: actorIdle,
		Open: unwarmed(func() (harness.Values, error) { return actorsGrow(actorIdle/actorScale, 1) })}
}

func burstActors() harness.Row {
	return harness.Row{System: sysFairC, Variant: "idle burst", Workers: 1, N: actorBurst,
		Open: unwarmed(func() (harness.Values, error) {
			return actorsGrow(actorBurst/actorScale, 1000)
		})}
}

func idleGoroutines() harness.Row {
	return harness.Row{System: sysGoroutine, Variant: "idle", Workers: 1, N: actorGoroutines,
		Open: unwarmed(func() (harness.Values, error) {
			n := actorGoroutines / actorScale
			debug.FreeOSMemory()
			before, err := resident()
			if err != nil {
				return nil, err
			}
			var handled atomic.Int64
			w := newGoActors(n)
			for i := range n {
				w.spawn(func(goMessage) { handled.Add(1) })
				w.send(i, goMessage{})
			}
			err = until(func() bool { return handled.Load() == int64(n) })
			after, residentErr := resident()
			w.stop()
			return harness.Values{"bytes_each": float64(after-before) / float64(n)},
				errors.Join(err, residentErr)
		})}
}

// ------------------------------------------------------------------------------------ goroutines

const (
	goStart = iota
	goPing
	goPong
	goAgain
	goCount
	goRetrieve
	goResult
	goExit
	goMeet
	goChange
)

type goMessage struct {
	kind uint32
	from int32
	n    int64
}

// A goWorld has actors that are numbered, in Go.
type goWorld interface {
	spawn(receive func(goMessage)) int
	send(to int, m goMessage)
	finished()
	// run sends the first message to n actors from the first on, `times` times, and waits for the
	// end.
	run(first, n, times int, m goMessage) (time.Duration, error)
}

// goOpens makes a world for n actors.
type goOpens func(n int) (goWorld, error)

// A goRun is how long a program takes.
type goRun struct {
	begun time.Time
	done  chan time.Duration
}

func (r *goRun) finished() { r.done <- time.Since(r.begun) }

func (r *goRun) measure(w goWorld, first, n, times int, m goMessage) time.Duration {
	runtime.Gosched()
	r.begun = time.Now()
	for range times {
		for i := range n {
			w.send(first+i, m)
		}
	}
	return <-r.done
}

// inGo runs the program in a world of its own.
func (p actorProgram) inGo(open goOpens, workers int) func() (harness.Trial, error) {
	n := p.n / actorScale
	return timed(func() (harness.Values, error) {
		w, err := open(p.actors)
		if err != nil {
			return nil, err
		}
		d, err := p.goes(w, n)
		return messageNS(d, p.messages(n)), err
	})
}

// goActors are goroutines with a channel each.
type goActors struct {
	goRun
	in   []chan goMessage
	n    int
	ends sync.WaitGroup
}

func newGoActors(n int) *goActors {
	w := &goActors{in: make([]chan goMessage, n), goRun: goRun{done: make(chan time.Duration, 1)}}
	for i := range w.in {
		w.in[i] = make(chan goMessage, actorRoom)
	}
	return w
}

func openGoroutines(n int) (goWorld, error) { return newGoActors(n), nil }

func (w *goActors) spawn(receive func(goMessage)) int {
	in := w.in[w.n]
	w.n++
	w.ends.Go(func() {
		for m := range in {
			receive(m)
		}
	})
	return w.n - 1
}

func (w *goActors) send(to int, m goMessage) { w.in[to] <- m }

func (w *goActors) stop() {
	for _, in := range w.in {
		close(in)
	}
	w.ends.Wait()
}

func (w *goActors) run(first, n, times int, m goMessage) (time.Duration, error) {
	d := w.measure(w, first, n, times, m)
	w.stop()
	return d, nil
}

func goPingPong(w goWorld, n int) (time.Duration, error) {
	pong := w.spawn(func(m goMessage) { w.send(int(m.from), goMessage{kind: goPong}) })
	left := n
	ping := w.spawn(func(m goMessage) {
		switch {
		case m.kind != goPong:
			left--
			w.send(pong, goMessage{kind: goPing, from: 1})
		case left > 0:
			w.send(1, goMessage{kind: goAgain})
		default:
			w.finished()
		}
	})
	return w.run(ping, 1, 1, goMessage{})
}

func goCounting(w goWorld, n int) (time.Duration, error) {
	count := int64(0)
	counter := w.spawn(func(m goMessage) {
		if m.kind == goRetrieve {
			w.send(int(m.from), goMessage{kind: goResult, n: count})
		} else {
			count++
		}
	})
	producer := w.spawn(func(m goMessage) {
		if m.kind == goResult {
			w.finished()
			return
		}
		for i := range int64(n) {
			w.send(counter, goMessage{kind: goCount, from: 1, n: i})
		}
		w.send(counter, goMessage{kind: goRetrieve, from: 1})
	})
	return w.run(producer, 1, 1, goMessage{})
}

func goThreadRing(w goWorld, n int) (time.Duration, error) {
	for i := range cbody.ActorsOf {
		next := (i + 1) % cbody.ActorsOf
		w.spawn(func(m goMessage) {
			if m.n > 0 {
				w.send(next, goMessage{kind: goPing, n: m.n - 1})
			} else {
				w.finished()
			}
		})
	}
	return w.run(0, 1, 1, goMessage{kind: goPing, n: int64(n)})
}

const goBigActors = 120

func goBig(w goWorld, n int) (time.Duration, error) {
	const actors = goBigActors
	for i := range actors {
		left, random := n, uint64(i)*0x9e3779b97f4a7c15+1
		w.spawn(func(m goMessage) {
			switch {
			case m.kind == goPing:
				w.send(int(m.from), goMessage{kind: goPong, from: int32(i)})
			case left == 0:
				w.send(actors, goMessage{kind: goExit})
			default:
				left--
				random ^= random << 13
				random ^= random >> 7
				random ^= random << 17
				to := int(random % actors)
				if to == i { // a full channel would wait for itself
					to = (i + 1) % actors
				}
				w.send(to, goMessage{kind: goPing, from: int32(i)})
			}
		})
	}
	left := actors
	w.spawn(func(goMessage) {
		if left--; left == 0 {
			w.finished()
		}
	})
	return w.run(0, actors, 1, goMessage{kind: goPong, from: -1})
}

func goChameneos(w goWorld, n int) (time.Duration, error) {
	left, waiting, fades := n, int32(-1), cbody.ActorsOf
	w.spawn(func(m goMessage) {
		switch {
		case m.kind == goCount:
			if fades--; fades == 0 {
				w.finished()
			}
		case left == 0:
			w.send(int(m.from), goMessage{kind: goExit})
		case waiting < 0:
			waiting = m.from
		default:
			left--
			w.send(int(waiting), m)
			waiting = -1
		}
	})
	for i := range cbody.ActorsOf {
		self, color, meetings := int32(i+1), int64(i%3), int64(0)
		w.spawn(func(m goMessage) {
			meet := goMessage{kind: goMeet, from: self}
			switch m.kind {
			case goStart:
			case goMeet:
				if color != m.n {
					color = 3 - color - m.n
				}
				meetings++
				w.send(int(m.from), goMessage{kind: goChange, from: self, n: color})
			case goChange:
				color = m.n
				meetings++
			default:
				w.send(0, goMessage{kind: goCount, n: meetings})
				return
			}
			meet.n = color
			w.send(0, meet)
		})
	}
	return w.run(1, cbody.ActorsOf, 1, goMessage{})
}

func goFanIn(w goWorld, n int) (time.Duration, error) {
	for i := range cbody.ActorsOf {
		w.spawn(func(m goMessage) {
			at := m.n
			for end := min(at+100, int64(n)); at < end; at++ {
				w.send(cbody.ActorsOf, goMessage{kind: goCount, from: int32(i), n: at})
			}
			if at < int64(n) {
				w.send(i, goMessage{kind: goAgain, n: at})
			}
		})
	}
	left := cbody.ActorsOf * n
	w.spawn(func(goMessage) {
		if left--; left == 0 {
			w.finished()
		}
	})
	return w.run(0, cbody.ActorsOf, 1, goMessage{})
}

func goForkJoin(sys string, open goOpens, workers int) harness.Row {
	return harness.Row{System: sys, Variant: "fjthrput", Workers: workers, N: 10_000,
		Procs: workers, Open: timed(func() (harness.Values, error) {
			n := 10_000 / actorScale / actorBatch * actorBatch
			w, err := open(cbody.Forks)
			if err != nil {
				return nil, err
			}
			var ends atomic.Int64
			ends.Store(int64(cbody.Forks))
			for range cbody.Forks {
				left, angle := n, 37.2
				w.spawn(func(goMessage) {
					if s := math.Sin(angle); s*s <= 0 {
						panic("sin")
					}
					if left--; left == 0 && ends.Add(-1) == 0 {
						w.finished()
					}
				})
			}
			d, err := w.run(0, cbody.Forks, n, goMessage{})
			return messageNS(d, n*cbody.Forks), err
		})}
}
