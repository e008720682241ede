package experiments

import (
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/bench/internal/harness"
)

const (
	bodyYields   = 400_000 // of all members together
	bodyTurns    = 10      // in which they are done
	bodyRounds   = 200_000
	bodySpawns   = 100_000
	sysPull      = "iter.Pull"
	sysChannel   = "channel"
	variantYield = "yield"
	variantHand  = "hand-over"
	variantSpawn = "spawn"
)

// bodyMembers are the numbers of those that yield to each other; bodyYields is a multiple of each,
// by bodyTurns.
var bodyMembers = []int{2, 200, 1000}

// bodies is what coroutines with Go bodies cost.
func bodies() *harness.Experiment {
	return &harness.Experiment{
		Name:  "body",
		Asked: true,
		About: `coroutines with Go bodies on one executor. yield: n that yield in turn;
pulls: how many resumes of n iter.Pull in turn take as long, both by turns, ten times each.
hand-over: two that wake each other and park, against two goroutines on one P that send to each
other over unbuffered channels; half a round trip. spawn: 100 000 that return at once, until the
last has ended, against as many goroutines; executors or Ps: 1 and all.`,
		Metrics: []harness.Metric{
			{Name: "ns_per_op", Title: "ns", Digits: 1},
			{Name: "times_pull", Title: "pulls", Digits: 3},
		},
		Rows: rows(bodyYield(), pullResume(), bodyHandOver(), channelHandOver(),
			bodySpawn(), goroutineSpawnEach()),
		Versus: &harness.Versus{
			Metric: "ns_per_op", Title: "against Go's",
			Peer: func(row, c harness.Row) bool {
				return row.System == sysCoro && c.System != sysCoro &&
					c.Variant == row.Variant && c.Workers == row.Workers && c.N == row.N
			},
		},
	}
}

func perOp(d time.Duration, n int, err error) (harness.Values, error) {
	return harness.Values{"ns_per_op": nsEach(d, n)}, err
}

func onExecutors(n int, run func(*coro.Scheduler) (harness.Values, error)) func() (
	harness.Trial, error) {
	return onScheduler(run, coro.WithWorkers(1), coro.WithExecutors(n))
}

func bodyYield() []harness.Row {
	var out []harness.Row
	for _, members := range bodyMembers {
		each := bodyYields / members / bodyTurns
		out = append(out, harness.Row{System: sysCoro, Variant: variantYield, Workers: 1, N: members,
			Open: onExecutors(1, func(s *coro.Scheduler) (harness.Values, error) {
				ns, times, err := byTurns(bodyTurns,
					func() (float64, error) { return yields(s, members, each) },
					func() (float64, error) { return pulls(members, each), nil })
				return harness.Values{"ns_per_op": ns, "times_pull": times}, err
			})})
	}
	return out
}

// yields is what a yield takes, in ns, where each of all members has n.
func yields(s *coro.Scheduler, members, n int) (float64, error) {
	var started, done atomic.Int64 // an executor that the system stops has a stand-in
	var begin, end time.Time
	var first sync.Once
	all := int64(members)
	for range members {
		if _, err := coro.Go(s, func(c *coro.Coroutine) (coro.None, error) {
			for started.Add(1); started.Load() < all; {
				c.Yield()
			}
			first.Do(func() { begin = time.Now() })
			for range n {
				c.Yield()
			}
			if done.Add(1) == all {
				end = time.Now()
			}
			return coro.None{}, nil
		}); err != nil {
			return 0, err
		}
	}
	err := settled(s)
	return nsEach(end.Sub(begin), members*n), err
}

func pullResume() []harness.Row {
	var out []harness.Row
	for _, members := range bodyMembers {
		out = append(out, harness.Row{System: sysPull, Variant: variantYield, Workers: 1, N: members,
			Open: timed(func() (harness.Values, error) {
				return harness.Values{"ns_per_op": pulls(members, bodyYields/members)}, nil
			})})
	}
	return out
}

// pulls is the same for a resume of iter.Pull.
func pulls(members, n int) float64 {
	next := make([]func() (struct{}, bool), members)
	for i := range next {
		var stop func()
		next[i], stop = iter.Pull(func(yield func(struct{}) bool) {
			for yield(struct{}{}) {
			}
		})
		defer stop()
		next[i]()
	}
	begin := time.Now()
	for range n {
		for i := range next {
			next[i]()
		}
	}
	return nsEach(time.Since(begin), members*n)
}

func bodyHandOver() []harness.Row {
	return []harness.Row{{System: sysCoro, Variant: variantHand, Workers: 1, N: 2,
		Open: onExecutors(1, func(s *coro.Scheduler) (harness.Values, error) {
			var partner coro.Handle
			var begin, end time.Time
			first, err := coro.Go(s, func(c *coro.Coroutine) (coro.None, error) {
				begin = time.Now()
				for range bodyRounds {
					c.Park(c.Context())
					c.Wake(partner)
				}
				end = time.Now()
				return coro.None{}, nil
			})
			if err != nil {
				return nil, err
			}
			if _, err := coro.Go(s, func(c *coro.Coroutine) (coro.None, error) {
				partner = c.Handle()
				for range bodyRounds {
					c.Wake(first.Handle())
					c.Park(c.Context())
				}
				return coro.None{}, nil
			}); err != nil {
				return nil, err
			}
			err = settled(s)
			return perOp(end.Sub(begin), 2*bodyRounds, err)
		})}}
}

func channelHandOver() []harness.Row {
	return []harness.Row{{System: sysChannel, Variant: variantHand, Workers: 1, N: 2, Procs: 1,
		Open: timed(
			func() (harness.Values, error) {
				there, back := make(chan struct{}), make(chan struct{})
				go func() {
					for range there {
						back <- struct{}{}
					}
				}()
				begin := time.Now()
				for range bodyRounds {
					there <- struct{}{}
					<-back
				}
				d := time.Since(begin)
				close(there)
				return perOp(d, 2*bodyRounds, nil)
			})}}
}

func bodySpawn() []harness.Row {
	var out []harness.Row
	for _, n := range oneAndAll() {
		out = append(out, harness.Row{System: sysCoro, Variant: variantSpawn, Workers: n,
			N: bodySpawns, Open: onExecutors(n, func(s *coro.Scheduler) (
				harness.Values, error) {
				begin := time.Now()
				for range bodySpawns {
					if _, err := coro.Go(s,
						func(*coro.Coroutine) (coro.None, error) {
							return coro.None{}, nil
						}); err != nil {
						return nil, err
					}
				}
				err := settled(s)
				return perOp(time.Since(begin), bodySpawns, err)
			})})
	}
	return out
}

func goroutineSpawnEach() []harness.Row {
	var out []harness.Row
	for _, n := range oneAndAll() {
		out = append(out, harness.Row{System: sysGoroutine, Variant: variantSpawn,
			Workers: n, N: bodySpawns, Procs: n, Open: timed(
				func() (harness.Values, error) {
					var wg sync.WaitGroup
					begin := time.Now()
					for range bodySpawns {
						wg.Go(func() {})
					}
					wg.Wait()
					return perOp(time.Since(begin), bodySpawns, nil)
				})})
	}
	return out
}
