package experiments

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/organzine/coro/actor"
	"github.com/organzine/coro/bench/internal/cbody"
	"github.com/organzine/coro/bench/internal/harness"
)

const (
	refsIdle  = 1_000_000
	refsBurst = 100_000 // actors that have a burst of 1000 each
	asks      = 100_000
)

// goRefs are the programs' actors as those of package actor.
type goRefs struct {
	goRun
	sys  *actor.System
	refs []actor.Ref[goMessage]
}

func openRefs(executors int) goOpens {
	return func(n int) (goWorld, error) {
		sys, err := actor.New(actor.Executors(executors))
		return &goRefs{goRun{done: make(chan time.Duration, 1)}, sys,
			make([]actor.Ref[goMessage], 0, n)}, err
	}
}

// A goReceiver calls a function of a program.
type goReceiver struct{ receive func(goMessage) }

func (r *goReceiver) Receive(_ *actor.Context[goMessage], m goMessage) error {
	r.receive(m)
	return nil
}

func (w *goRefs) spawn(receive func(goMessage)) int {
	r, err := actor.Spawn(w.sys, func() *goReceiver { return &goReceiver{receive} })
	if err != nil {
		panic(err)
	}
	w.refs = append(w.refs, r)
	return len(w.refs) - 1
}

func (w *goRefs) send(to int, m goMessage) {
	if err := w.refs[to].Tell(m); err != nil {
		panic(err)
	}
}

func (w *goRefs) run(first, n, times int, m goMessage) (time.Duration, error) {
	d := w.measure(w, first, n, times, m)
	return d, errors.Join(w.sys.Rest(context.Background()), w.sys.Err(), w.sys.Close())
}

// ---------------------------------------------------------------------------------------- memory

func idleRefs(burst int) harness.Row {
	variant, n := "idle", refsIdle
	if burst > 1 {
		variant, n = "idle burst", refsBurst
	}
	return harness.Row{System: sysFairGo, Variant: variant, Workers: 1, N: n,
		Open: unwarmed(func() (harness.Values, error) { return refsGrow(n/actorScale, burst) })}
}

// refsGrow is what n idle actors take of the heap and the rest: each has handled `burst` messages.
// Their state is nothing.
func refsGrow(n, burst int) (harness.Values, error) {
	refs := make([]actor.Ref[int64], n)
	debug.FreeOSMemory()
	before, err := resident()
	if err != nil {
		return nil, err
	}
	sys, err := actor.New(actor.Executors(1))
	if err != nil {
		return nil, err
	}
	nothing := actor.Func[int64](func(*actor.Context[int64], int64) error { return nil })
	for i := range refs {
		r, spawnErr := actor.Spawn(sys, func() actor.Func[int64] { return nothing })
		refs[i], err = r, errors.Join(err, spawnErr)
		for range burst {
			err = errors.Join(err, r.Tell(1))
		}
	}
	err = errors.Join(err, sys.Rest(context.Background()))
	debug.FreeOSMemory()
	after, residentErr := resident()
	runtime.KeepAlive(refs)
	return harness.Values{"bytes_each": float64(after-before) / float64(n)},
		errors.Join(err, residentErr, sys.Close())
}

// ------------------------------------------------------------------------------------------ asks

type goQuestion struct {
	n  int64
	to actor.Reply[int64]
}

func askRows(workers int) (list []harness.Row) {
	for _, askers := range []int{1, 64} {
		variant := "ask1"
		if askers > 1 {
			variant = "ask64"
		}
		n := asks / actorScale / askers
		list = append(list,
			harness.Row{System: sysFairGo, Variant: variant, Workers: workers, N: asks,
				Procs: workers, Open: timed(func() (harness.Values, error) {
					return askRefs(workers, askers, n)
				})},
			harness.Row{System: sysGoroutine, Variant: variant, Workers: workers, N: asks,
				Procs: workers, Open: timed(func() (harness.Values, error) {
					return askChannels(askers, n), nil
				})})
	}
	return list
}

func askRefs(workers, askers, n int) (harness.Values, error) {
	sys, err := actor.New(actor.Executors(workers))
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	d, err := asking(askers, n, func() (func(int64) (int64, error), error) {
		r, err := actor.Spawn(sys, func() actor.Func[goQuestion] {
			return func(_ *actor.Context[goQuestion], q goQuestion) error {
				return q.to.Answer(q.n + 1)
			}
		})
		return func(k int64) (int64, error) {
			return actor.Ask(ctx, r, func(to actor.Reply[int64]) goQuestion {
				return goQuestion{k, to}
			})
		}, err
	})
	return messageNS(d, n*askers), errors.Join(err, sys.Close())
}

// askChannels asks as one would with channels, and a time-out.
func askChannels(askers, n int) harness.Values {
	var quit []chan int64
	d, _ := asking(askers, n, func() (func(int64) (int64, error), error) {
		to, back := make(chan int64, actorRoom), make(chan int64, 1)
		quit = append(quit, to)
		go func() {
			for v := range to {
				back <- v + 1
			}
		}()
		return func(k int64) (int64, error) {
			to <- k
			select {
			case v := <-back:
				return v, nil
			case <-time.After(10 * time.Second):
				return 0, context.DeadlineExceeded
			}
		}, nil
	})
	for _, to := range quit {
		close(to)
	}
	return messageNS(d, n*askers)
}

// asking has goroutines ask n times each, whom `open` gives them.
func asking(askers, n int, open func() (func(int64) (int64, error), error)) (
	time.Duration, error) {
	var all sync.WaitGroup
	var failed atomic.Pointer[error]
	ask := make([]func(int64) (int64, error), askers)
	for i := range ask {
		var err error
		if ask[i], err = open(); err != nil {
			return 0, err
		}
	}
	start := time.Now()
	for i := range ask {
		all.Go(func() {
			for k := range int64(n) {
				if v, err := ask[i](k); err != nil || v != k+1 {
					err = errors.Join(err, errWrongAnswer)
					failed.Store(&err)
					return
				}
			}
		})
	}
	all.Wait()
	d := time.Since(start)
	if err := failed.Load(); err != nil {
		return 0, *err
	}
	return d, nil
}

var errWrongAnswer = errors.New("a wrong answer")

// -------------------------------------------------------------------------------------- fairness

func refRow(variant string, workers int, work time.Duration, run fairProgram) harness.Row {
	row := worldRow(sysFairGo, variant, workers, run, func() (fairWorld, error) {
		return openFairRefs(workers, work)
	})
	return row
}

// fairRefs are actors of package actor. Each token is a message.
type fairRefs struct {
	*fairGo
	sys  *actor.System
	refs []actor.Ref[struct{}]
}

func openFairRefs(executors int, work time.Duration) (*fairRefs, error) {
	sys, err := actor.New(actor.Executors(executors))
	return &fairRefs{newFairGo(fairMost, work), sys, make([]actor.Ref[struct{}], fairMost)}, err
}

func (w *fairRefs) spawn(i int, receive func(a *fairActor) error) (err error) {
	a := &w.actors[i]
	w.refs[i], err = actor.Spawn(w.sys, func() actor.Func[struct{}] {
		return func(*actor.Context[struct{}], struct{}) error { return receive(a) }
	})
	return err
}

func (w *fairRefs) busy(i, to int) error {
	return w.spawn(i, func(a *fairActor) error {
		w.handle(a)
		if w.stopped.Load() {
			return nil
		}
		return w.refs[to].Tell(struct{}{})
	})
}

func (w *fairRefs) send(to int) error { return w.refs[to].Tell(struct{}{}) }

func (w *fairRefs) cry(first, pairs int) error {
	r, err := actor.Spawn(w.sys, func() actor.Func[struct{}] {
		return func(*actor.Context[struct{}], struct{}) error {
			for i := range pairs {
				if err := w.send(first + 2*i); err != nil {
					return err
				}
			}
			return nil
		}
	})
	return errors.Join(err, r.Tell(struct{}{}))
}

func (w *fairRefs) newcomer(i int) error {
	err := w.spawn(i, func(a *fairActor) error {
		a.count.Store(cbody.Now())
		return nil
	})
	return errors.Join(err, w.send(i))
}

func (w *fairRefs) sleeper(i int) error {
	return w.spawn(i, func(a *fairActor) error {
		a.count.Add(1)
		return nil
	})
}

func (w *fairRefs) stop() error {
	w.stopped.Store(true)
	return errors.Join(w.sys.Close(), w.sys.Err())
}

// refTimerBeside is how late a goroutine's timer is beside actors whose mailboxes are never empty.
func refTimerBeside(workers int) harness.Row {
	return harness.Row{System: sysFairGo, Variant: "timer-beside", Workers: workers, N: 4 * workers,
		Procs: workers,
		Open: unwarmed(func() (harness.Values, error) {
			w, err := openFairRefs(workers, fairShort)
			if err != nil {
				return nil, err
			}
			for i := range 4 * workers {
				err = errors.Join(err, w.busy(i, i), w.send(i), w.send(i))
			}
			late := timersLate()
			return percentiles(late), errors.Join(err, w.stop())
		})}
}
