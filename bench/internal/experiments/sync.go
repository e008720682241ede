package experiments

import (
	"sync"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/bench/internal/cbody"
	"github.com/organzine/coro/bench/internal/harness"
)

const tokenMembers = 8000 // 1000 rings of cbody.Ring

// How much a run does. Tests do less.
var (
	lockRounds = 1_000_000
	tokenLaps  = 200
)

// synchronization is the price of locks and permits.
func synchronization() *harness.Experiment {
	return &harness.Experiment{
		Name:  "sync",
		Asked: true,
		About: `locks and permits on one worker or P, in ns. mutex: lock and unlock,
semaphore: acquire and release, where nobody waits.
ring: n coroutines, 8 in a ring, and in each ring one token, which each waits for and hands on;
all are live; ns a hand-over.
C: by C coroutines; home: pinned, and what they use is bound to their worker. Go: goroutines; a
semaphore is a buffered channel, and in the ring each waits for the channel of its own, with room
for one.`,
		Metrics: []harness.Metric{{Name: "ns_per_op", Title: "ns", Digits: 2}},
		Rows:    rows(syncOfC(), syncOfGo()),
		Versus: &harness.Versus{
			Metric: "ns_per_op", Title: "against Go's",
			Peer: func(row, c harness.Row) bool {
				return row.System == sysCoro && c.System == sysGoroutine &&
					kind(c) == kind(row) && c.N == row.N
			},
		},
	}
}

func syncOfC() []harness.Row {
	alone := coro.MustFunc[cbody.SyncRun, int64](cbody.Uncontended)
	ring := coro.MustFunc[cbody.SyncRun, int64](cbody.RingStart)
	var list []harness.Row
	for _, where := range []struct {
		name  string
		flags uint32
	}{{" C shared", 0}, {" C home", cbody.Home}} {
		row := func(variant string, n int, run func(*coro.Scheduler) (
			harness.Values, error)) harness.Row {
			return harness.Row{System: sysCoro, Variant: variant + where.name,
				Workers: 1, N: n, Open: onScheduler(run, coro.WithWorkers(1))}
		}
		of := func(kind uint32) func(*coro.Scheduler) (harness.Values, error) {
			return resultNS(alone, cbody.SyncRun{N: int64(lockRounds),
				Flags: where.flags, Kind: kind}, lockRounds)
		}
		list = append(list, row("mutex", 1, of(cbody.Mutex)),
			row("semaphore", 1, of(cbody.Semaphore)))
		for _, n := range []int{cbody.Ring, tokenMembers} {
			laps := tokenLaps * tokenMembers / n
			list = append(list, row("ring", n, resultNS(ring,
				cbody.SyncRun{N: int64(n), Laps: int64(laps), Flags: where.flags},
				n*laps)))
		}
	}
	return list
}

func syncOfGo() []harness.Row {
	row := func(variant string, n int, run func() (time.Duration, int)) harness.Row {
		return harness.Row{System: sysGoroutine, Variant: variant + " Go", Workers: 1, N: n,
			Procs: 1, Open: timed(
				func() (harness.Values, error) {
					d, ops := run()
					return perOp(d, ops, nil)
				})}
	}
	list := []harness.Row{row("mutex", 1, goMutex), row("semaphore", 1, goSemaphore)}
	for _, n := range []int{cbody.Ring, tokenMembers} {
		laps := tokenLaps * tokenMembers / n
		list = append(list, row("ring", n, func() (time.Duration,
			int) {
			return goRings(n, laps), n * laps
		}))
	}
	return list
}

func goMutex() (time.Duration, int) {
	var m sync.Mutex
	done := 0
	start := time.Now()
	for range lockRounds {
		m.Lock()
		done++
		m.Unlock()
	}
	return time.Since(start), done
}

func goSemaphore() (time.Duration, int) {
	permits := make(chan struct{}, 1)
	permits <- struct{}{}
	start := time.Now()
	for range lockRounds {
		<-permits
		permits <- struct{}{}
	}
	return time.Since(start), lockRounds
}

// goRings lets n goroutines, cbody.Ring in a ring, hand a token on, for this number of laps.
func goRings(n, laps int) time.Duration {
	turn := make([]chan struct{}, n)
	for i := range turn {
		turn[i] = make(chan struct{}, 1)
	}
	var started, ended sync.WaitGroup
	started.Add(n)
	for i := range n {
		own, next := turn[i], turn[i/cbody.Ring*cbody.Ring+(i+1)%cbody.Ring]
		ended.Go(func() {
			started.Done()
			for range laps {
				<-own
				next <- struct{}{}
			}
		})
	}
	started.Wait()
	start := time.Now()
	for i := 0; i < n; i += cbody.Ring {
		turn[i] <- struct{}{}
	}
	ended.Wait()
	return time.Since(start)
}
