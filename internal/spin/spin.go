// Package spin looks for something to happen, for as long as that has lately paid.
package spin

import (
	"sync/atomic"
	"time"

	"github.com/organzine/coro/internal/bubble"
)

// Turns of an empty loop between two looks (bench wait, chan).
const (
	Turns     = 64  // some 30 ns
	PeekTurns = 256 // where others write the line that is looked at
)

// What else is tuning here.
const (
	// One in tries waits finds out whether a long look pays: at 50 µs for one that does not,
	// 1.6 µs for each wait (docs/benchmarks.md, "How Go is told"; bench wait).
	tries = 32
	// turnsAtOnce is how many turns of a loop there are, at least, between two looks at the
	// clock: 1 µs, beside which a look at the clock is short.
	turnsAtOnce = 2048

	// aloneMax is the most values that a Gatherer takes alone before it waits again for more
	// (bench chan).
	aloneMax = 63
)

// TurnsFor is how many turns of a loop it takes until n values have come or gone; at most 0.5 to
// 0.8 µs.
func TurnsFor(n int) int { return min(64*n, 2048) }

// A Spinner tells how long goroutines that wait for C look before they sleep. Once a worker and a
// waiter have both fallen asleep, each trip there and back is two wake-ups of threads, of tens of
// microseconds. If one of them looks for as long as that takes, neither falls asleep while short
// waits follow each other. Where waits take longer, looking is a waste.
type Spinner struct {
	waits atomic.Uint32
	long  atomic.Bool // the last long look has paid
}

// Spin calls happened until that returns true, for about the time short, or for about the time long
// where long has paid. Between two calls are the given turns of a loop. Spin returns what the last
// call returned.
func (p *Spinner) Spin(short, long time.Duration, turns int, happened func() bool) bool {
	was := p.long.Load()
	most := short
	if was || p.waits.Add(1)%tries == 0 {
		most = long
	}
	for start := (time.Time{}); ; {
		for done := 0; done < turnsAtOnce; done += turns {
			if happened() {
				if most == long && !was {
					p.long.Store(true)
				}
				return true
			}
			for range turns {
			}
		}
		if start.IsZero() {
			if bubble.In() { // whose clock stands still as long as this goroutine runs
				return false
			}
			start = time.Now()
		} else if time.Since(start) >= most {
			break
		}
	}
	if was {
		p.long.Store(false)
	}
	return false
}

// A Gatherer tells whether receivers let values come together: a receiver that takes each value as
// soon as it comes costs the sender a cache miss a value. The Gatherer finds out by waiting whether
// several come one after the other; after each wait that finds one alone it waits half as often.
type Gatherer struct {
	alone atomic.Uint32 // values still to be taken at once
	most  atomic.Uint32 // what alone was set to the last time
}

// Gather waits for more values, where that pays. One has come, and up to `values` may come. come
// returns the number that is there.
func (g *Gatherer) Gather(values int, come func() uint32) {
	if left := g.alone.Load(); left > 0 {
		g.alone.Store(left - 1)
		return
	}
	for range TurnsFor(values) {
	}
	most := uint32(0)
	if come() <= 1 {
		most = min(2*g.most.Load()+1, aloneMax)
	}
	g.most.Store(most)
	g.alone.Store(most)
}
