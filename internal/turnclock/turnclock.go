// Package turnclock tells an executor when to look at what waits outside.
package turnclock

import "time"

// What is tuning here (docs/fairness.md, "Go bodies"; bench fair).
const (
	// about how far apart the looks of an executor at the clock are, and at most, in turns
	look = 50 * time.Microsecond
	most = 256
	// from one time that other goroutines may run to the next: a goroutine's timer is late by
	// about as much
	letGo = 200 * time.Microsecond
	// how often Gosched does nothing, one time after the other: for 10 ms, as long as Go's own
	// time slice (docs/rent.md, stay-on-p)
	skipMost = int(10 * time.Millisecond / letGo)
)

// A Clock goes by time, as a turn may take 100 ns or 1 ms. Reading the clock takes as long as half
// a short turn. So the number of turns from one look to the next adapts to their length. What a
// turn is, is the caller's to count. The zero value is ready.
type Clock struct {
	every   uint32        // turns from one look to the next
	due     uint32        // the turn of the next look
	last    uint32        // that of the last one
	looked  time.Duration // when that was, and
	letGo   time.Duration // when others last ran, both by Now
	skipped int           // how often Gosched has done nothing since
}

var start = time.Now()

// Now is the time by which clocks go.
func Now() time.Duration { return time.Since(start) }

// IsDue tells whether it is time to look.
func (c *Clock) IsDue(turn uint32) bool { return int32(turn-c.due) >= 0 }

// Every is how many turns there are from one look to the next, about.
func (c *Clock) Every() uint32 { return c.every }

// TurnsAreLong tells whether a turn takes some 12 µs or more.
func (c *Clock) TurnsAreLong() bool { return c.every < 4 }

// Soon makes the turn that of the next look.
func (c *Clock) Soon(turn uint32) { c.due = turn }

// Hurry is Soon, if it is time for a look.
func (c *Clock) Hurry(turn uint32, now time.Duration) {
	if now-c.looked >= look {
		c.Soon(turn)
	}
}

// LetsGo tells whether other goroutines are to run now.
func (c *Clock) LetsGo(now time.Duration) bool { return now-c.letGo >= letGo }

// Look looks at the clock. It returns how long a turn has taken since the last look, 0 if there was
// none; and whether other goroutines are to run now: GoOn comes after that.
func (c *Clock) Look(turn uint32) (each time.Duration, letsGo bool) {
	now := Now()
	took, turns := now-c.looked, time.Duration(turn-c.last)
	// It falls in one step, not by halves: else, where turns of 1 ms follow short ones, what
	// waits would do so for hundreds of these turns.
	fits := turns*look/(took+1) + 1
	c.every = uint32(min(fits, max(2*time.Duration(c.every), 1), most))
	c.looked, c.last, c.due = now, turn, turn+c.every
	if turns > 0 {
		each = took / turns
	}
	return each, c.LetsGo(now)
}

// GoOn begins the next time: others have run.
func (c *Clock) GoOn() {
	c.looked = Now()
	c.letGo = c.looked
}
