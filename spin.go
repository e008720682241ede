package coro

import "sync/atomic"

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

// spin looks so often until happened, or more often where that has paid, with so many turns of a loop between two looks. False: in
// vain.
func (p *spinner) spin(looks, most, turns int, happened func() bool) bool {
	was := p.long.Load()
	n := looks
	if was || p.waits.Add(1)%spinTries == 0 {
		n = most
	}
	for range n {
		if happened() {
			if n == most && !was {
				p.long.Store(true)
			}
			return true
		}
		for range turns {
		}
	}
	if was {
		p.long.Store(false)
	}
	return false
}
