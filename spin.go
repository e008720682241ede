package coro

import (
	"sync/atomic"
	"time"
)

const (
	spinTurns = 64  // of a loop, between two looks: some 30 ns
	peekTurns = 256 // where others write the line that is looked at: let some come together
	spinTries = 32  // one in so many waits finds out whether looking for long pays
)

// A spinner tells how long those who wait for C look before they sleep. Once worker and waiter have both fallen asleep, each
// trip there and back is two wake-ups of threads, of tens of microseconds; if one of them looks for as long, neither
// falls asleep while one short wait follows the other. Where they take longer, it is a waste.
type spinner struct {
	waits atomic.Uint32
	long  atomic.Bool // it has paid, the last time
}

// looksAtOnce is how often one looks before one looks at the clock.
const looksAtOnce = 16

// spin looks until happened for about so long, or longer where that has paid, with so many turns of a loop between two looks. False: in
// vain.
func (p *spinner) spin(short, long time.Duration, turns int, happened func() bool) bool {
	was := p.long.Load()
	most := short
	if was || p.waits.Add(1)%spinTries == 0 {
		most = long
	}
	for start := (time.Time{}); ; {
		for range looksAtOnce {
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
