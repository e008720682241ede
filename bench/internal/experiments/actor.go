package experiments

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/bench/internal/cbody"
	"github.com/organzine/coro/bench/internal/harness"
	"github.com/organzine/coro/bench/internal/savina"
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
}

var actorPrograms = []actorProgram{
	{"pingpong", cbody.PingPong, 400_000, func(n int) int { return 3 * n }},
	{"counting", cbody.Counting, 1_000_000, func(n int) int { return n + 2 }},
	{"threadring", cbody.ThreadRing, 1_000_000, func(n int) int { return n + 1 }},
	{"big", cbody.Big, 20_000,
		func(n int) int { return 2*cbody.ActorBig*n + 2*cbody.ActorBig }},
	{"chameneos", cbody.Chameneos, 200_000,
		func(n int) int { return 4*n + 4*cbody.ActorsOf }},
	{"fanin", cbody.FanIn, 10_000,
		func(n int) int { return cbody.ActorsOf * (n + (n+99)/100) }},
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
				goProgram(sysGoroutine, p.name, workers, p.n, openChannels),
				goProgram(sysFairGo, p.name, workers, p.n, openRefs(workers)))
		}
		for _, batch := range []int{1, actorBatch} {
			list = append(list, forkJoin(start, cbody.FJThrput, workers, batch),
				forkJoin(start, cbody.FJThrputBrief, workers, batch))
		}
		for _, p := range goPrograms {
			list = append(list, goProgram(sysGoroutine, p.name, workers, p.n, openChannels),
				goProgram(sysFairGo, p.name, workers, p.n, openRefs(workers)))
		}
	}
	list = append(list, askRows()...)
	list = append(list, idleActors(), burstActors(), idleGoroutines(), idleRefs(1), idleRefs(1000))
	list = append(list, actorFairness()...)
	return &harness.Experiment{
		Name:  "actor",
		Asked: true,
		About: `actors in C (coro-c), actors in Go (coro-go), and goroutines with a channel of 64
each, or of a place for each actor if that is more, in ns a message. The programs are Savina's; fanin:
100 actors send to one. fjthrput: one thread outside sends to 60 actors, one message at a time, or 64
("batch"); brief: the actors are declared so, and run on that thread. ask1, ask64: 1 or 64 goroutines
ask an actor each, or a goroutine by a pair of channels with a time-out, and wait for the answer.
ask8: a coroutine asks eight actors, one after the other, or all at once, in ns a question: on its
worker, or on the other one.
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

// askRows are a coroutine that asks eight actors.
func askRows() (list []harness.Row) {
	const n, actors = 50_000, 8
	ask := coro.MustFunc[cbody.Asks, int64](cbody.AskStart).OnWorker(0)
	for _, workers := range []int{1, 2} {
		for _, row := range []struct {
			name string
			how  int32
		}{{"ask8", cbody.AskEach}, {"ask8 lend", cbody.AskLend}, {"ask8 all", cbody.AskAll}} {
			of := cbody.Asks{How: row.how, N: int64(n / actorScale)}
			if workers > 1 {
				of.Worker = uint32(workers)
			}
			list = append(list, harness.Row{System: sysFairC, Variant: row.name,
				Workers: workers, N: actors, Open: onScheduler(
					perMessage(resultNS(ask, of, actors*n/actorScale)),
					coro.WithWorkers(workers))})
		}
	}
	return list
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

// counts is an actor, or many, that counts messages.
type counts struct{ n atomic.Int64 }

func (c *counts) Receive(savina.World, savina.Msg) { c.n.Add(1) }

func idleGoroutines() harness.Row {
	return harness.Row{System: sysGoroutine, Variant: "idle", Workers: 1, N: actorGoroutines,
		Open: unwarmed(func() (harness.Values, error) {
			n := actorGoroutines / actorScale
			debug.FreeOSMemory()
			before, err := resident()
			if err != nil {
				return nil, err
			}
			var handled counts
			w := savina.NewChannels(n, actorRoom)
			for range n {
				w.Send(w.Spawn(&handled), savina.Msg{})
			}
			err = until(func() bool { return handled.n.Load() == int64(n) })
			after, residentErr := resident()
			return harness.Values{"bytes_each": float64(after-before) / float64(n)},
				errors.Join(err, residentErr, w.Stop())
		})}
}

// ------------------------------------------------------------------------------------ goroutines

// goPrograms are those that actors in C do not do in the same way.
var goPrograms = []struct {
	name string
	n    int
}{{"fjthrput", 10_000}, {"ask1", 100_000}, {"ask64", 100_000}}

// goProgram is a program of package savina, by actors in Go.
func goProgram(sys, name string, workers, n int, open savina.System) harness.Row {
	return harness.Row{System: sys, Variant: name, Workers: workers, N: n, Procs: workers,
		Open: timed(func() (harness.Values, error) {
			r, err := savina.Run(name, open, actorScale)
			return messageNS(r.Took, int(r.Messages)), err
		})}
}

// openChannels makes goroutines. With fewer places, actors that fill each other's channels would
// wait without end.
func openChannels(n int) (savina.World, error) {
	return savina.NewChannels(n, max(actorRoom, n)), nil
}
