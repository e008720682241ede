package experiments

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/organzine/coro/actor"
	"github.com/organzine/coro/bench/internal/cbody"
	"github.com/organzine/coro/bench/internal/harness"
	"github.com/organzine/coro/bench/internal/savina"
)

const (
	refsIdle  = 1_000_000
	refsBurst = 100_000 // actors that have a burst of 1000 each
)

// goRefs are the programs' actors as those of package actor.
type goRefs struct {
	sys     *actor.System
	refs    []actor.Ref[savina.Msg]
	replies [savina.Askers]actor.Reply[savina.Msg] // the askers, by Msg.From
}

func openRefs(executors int) savina.System {
	return func(n int) (savina.World, error) {
		sys, err := actor.New(actor.Executors(executors))
		return &goRefs{sys: sys, refs: make([]actor.Ref[savina.Msg], 0, n)}, err
	}
}

// A goReceiver is a program's actor.
type goReceiver struct {
	w *goRefs
	a savina.Actor
}

func (r *goReceiver) Receive(_ *actor.Context[savina.Msg], m savina.Msg) error {
	r.a.Receive(r.w, m)
	return nil
}

func (w *goRefs) Spawn(a savina.Actor) int32 {
	r, err := actor.Spawn(w.sys, func() *goReceiver { return &goReceiver{w, a} })
	must(err)
	w.refs = append(w.refs, r)
	return int32(len(w.refs) - 1)
}

func (w *goRefs) Send(to int32, m savina.Msg) { must(w.refs[to].Tell(m)) }

func (w *goRefs) Ask(to int32, m savina.Msg) savina.Msg {
	r, err := actor.Ask(context.Background(), w.refs[to],
		func(to actor.Reply[savina.Msg]) savina.Msg {
			w.replies[m.From] = to
			return m
		})
	must(err)
	return r
}

func (w *goRefs) Reply(to, m savina.Msg) { must(w.replies[to.From].Answer(m)) }

func (w *goRefs) Stop() error {
	return errors.Join(w.sys.Rest(context.Background()), w.sys.Err(), w.sys.Close())
}

func must(err error) {
	if err != nil {
		panic(err)
	}
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

// -------------------------------------------------------------------------------------- fairness

func refRow(variant string, workers int, work time.Duration, run fairProgram) harness.Row {
	return worldRow(sysFairGo, variant, workers, run, func() (fairWorld, error) {
		return openFairRefs(workers, work)
	})
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
