package coro

import (
	"sync/atomic"
	"time"
)

const (
	spinTurns = 64  // of a loop, between two looks: some 30 ns
	peekTurns = 256 // where others write the line that is looked at
	spinTries = 32  // one in so many waits finds out whether looking for long pays
	aloneMost = 63  // times that what comes is taken alone before it is found out whether more come
)

// turnsFor is how long it takes that so many values come or go, but not for ever: 0.5 to 0.8 us, in turns of a loop.
func turnsFor(values int) int { return min(64*values, 2048) }

// A spinner tells how long those who wait for C look before they sleep. Once worker and waiter have both fallen asleep, each
// trip there and back is two wake-ups of threads, of tens of microseconds; if one of them looks for as long, neither
// falls asleep while one short wait follows the other. Where they take longer, it is a waste.
type spinner struct {
	waits atomic.Uint32
	long  atomic.Bool // it has paid, the last time
}

// turnsAtOnce is how many turns of a loop there are, or some more, before one looks at the clock.
const turnsAtOnce = 2048

// spin looks until happened for about so long, or longer where that has paid, with so many turns of a loop between two looks. False: in
// vain.
func (p *spinner) spin(short, long time.Duration, turns int, happened func() bool) bool {
	was := p.long.Load()
	most := short
	if was || p.waits.Add(1)%spinTries == 0 {
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

// A gatherer tells whether those who receive let values come together: who takes each as soon as it comes takes a line from who sends
// for it. Whether several come one after the other is found out by waiting, after each time in vain half as often.
type gatherer struct {
	alone atomic.Uint32 // so many still take what comes at once
	most  atomic.Uint32 // as many as that the last time
}

// gather is called when something has come, and so many may; come tells how many there are.
func (g *gatherer) gather(values int, come func() uint32) {
	if left := g.alone.Load(); left > 0 {
		g.alone.Store(left - 1)
		return
	}
	for range turnsFor(values) {
	}
	most := uint32(0)
	if come() <= 1 {
		most = min(2*g.most.Load()+1, aloneMost)
	}
	g.most.Store(most)
	g.alone.Store(most)
}
