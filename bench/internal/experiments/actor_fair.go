package experiments

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/bench/internal/cbody"
	"github.com/organzine/coro/bench/internal/harness"
)

const (
	lightActors = 1000
	lightTokens = 10 // each millisecond
)

// How long the light load is, and then the rest. Tests do less.
var lightFor, restFor = 3 * time.Second, 2 * time.Second

// actorFairness has the rows of experiment fair with actors, and the one of a light load.
func actorFairness() (list []harness.Row) {
	for _, workers := range []int{1, 2} {
		rows := []harness.Row{
			actorRow("newcomer-insular", workers, fairShort, insular),
			actorRow("newcomer-insular 1ms", workers, fairLong, insular),
			actorRow("newcomer-flood", workers, fairShort, flood),
			actorRow("newcomer-flood 1ms", workers, fairLong, flood),
			actorRow("light", workers, 0, light),
			fairRow(sysGoroutine, "light", workers, 0, light),
			refRow("newcomer-insular", workers, fairShort, insular),
			refRow("newcomer-insular 1ms", workers, fairLong, insular),
			refRow("newcomer-flood", workers, fairShort, flood),
			refRow("newcomer-flood 1ms", workers, fairLong, flood),
			refRow("light", workers, 0, light),
			refTimerBeside(workers),
		}
		if workers == 2 {
			rows = append(rows, actorRow("harmonic", workers, fairShort, harmonic),
				refRow("harmonic", workers, fairShort, harmonic))
		}
		list = append(list, rows...)
	}
	return list
}

func actorRow(variant string, workers int, work time.Duration, run fairProgram) harness.Row {
	return worldRow(sysFairC, variant, workers, run, func() (fairWorld, error) {
		return openActors(workers, work)
	})
}

// fairActors are actors in C. Each of them is there from the beginning, and idle: a newcomer's
// first message comes from outside.
type fairActors struct{ *fairC }

// openActors makes actors of what the world of coroutines has.
func openActors(workers int, work time.Duration) (fairWorld, error) {
	opened, err := openFair(sysFairC, workers, work)
	if err != nil {
		return nil, err
	}
	w := &fairActors{opened.(*fairC)}
	makes := coro.MustFunc[coro.None, coro.None](cbody.FairActors)
	err = errors.Join(makes.Spawn(w.s, coro.None{}), w.s.Wait(context.Background()), cbody.Err())
	if err != nil {
		return nil, errors.Join(err, w.stop())
	}
	return w, nil
}

func (w *fairActors) busy(i, to int) error {
	cbody.Fair(i, to)
	return nil
}

func (w *fairActors) newcomer(i int) error { return cbody.FairSend(i) }

func (w *fairActors) sleeper(i int) error {
	cbody.FairCounts(i)
	return nil
}

// light is the CPU time of a message, where some come each millisecond, and that of the rest.
func light(world fairWorld) (harness.Values, error) {
	w, ok := world.(interface {
		fairWorld
		sleeper(i int) error // a new actor, which counts its tokens
	})
	if !ok {
		return nil, errors.New("no sleepers")
	}
	for i := range lightActors {
		if err := w.sleeper(i); err != nil {
			return nil, err
		}
	}
	time.Sleep(100 * time.Millisecond)
	ticks := int(lightFor / time.Millisecond)
	used, start := cpuTime(), cbody.Now()
	for i := range ticks {
		// Go's own sleep: a call of C that sleeps costs Go more than what is measured here
		time.Sleep(time.Duration(start + int64(i+1)*int64(time.Millisecond) - cbody.Now()))
		for k := range lightTokens {
			if err := w.send((i*lightTokens + k) % lightActors); err != nil {
				return nil, err
			}
		}
	}
	time.Sleep(10 * time.Millisecond)
	used = cpuTime() - used
	got, n := int64(0), int64(ticks*lightTokens)
	for i := range lightActors {
		got += w.handled(i)
	}
	if got != n {
		return nil, fmt.Errorf("%d of %d tokens were handled", got, n)
	}
	rest := cpuTime()
	time.Sleep(restFor)
	rest = cpuTime() - rest
	return harness.Values{
		"cpu_us_per_message": float64(used.Nanoseconds()) / 1e3 / float64(n),
		"rest_ms_per_s":      rest.Seconds() * 1e3 / restFor.Seconds(),
	}, nil
}
