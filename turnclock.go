package coro

import "time"

const (
	// about how far apart the looks of an executor at the clock are, and at most, in turns
	turnsLook = 50 * time.Microsecond
	turnsMost = 256
	// from one time that other goroutines may run to the next
	turnsLetGo = 200 * time.Microsecond
)

// A turnClock tells an executor when to look at what waits outside: by the clock, as a turn may
// take 100 ns or 1 ms. Reading the clock takes as long as half a short turn. So the number of turns
// from one look to the next adapts to their length. The zero value is ready.
type turnClock struct {
	every  uint32        // turns from one look to the next, and most hand-overs in a row
	due    uint32        // the turn of the next look
	last   uint32        // that of the last one
	looked time.Duration // when that was, and
	letGo  time.Duration // when others last ran, both since clockStart
}

var clockStart = time.Now()

// isDue tells whether it is time to look.
func (c *turnClock) isDue(turn uint32) bool { return int32(turn-c.due) >= 0 }

// turnsAreLong tells whether a turn takes some 12 µs or more.
func (c *turnClock) turnsAreLong() bool { return c.every < 4 }

// hurry makes the turn that of the next look, if it is time for that.
func (c *turnClock) hurry(turn uint32, now time.Duration) {
	if now-c.looked >= turnsLook {
		c.due = turn
	}
}

// look looks at the clock. True: other goroutines are to run now; goOn comes after that.
func (c *turnClock) look(turn uint32) bool {
	now := time.Since(clockStart)
	took, turns := now-c.looked, turn-c.last
	// It falls in one step, not by halves: else, where turns of 1 ms follow short ones, what
	// waits would do so for hundreds of these turns.
	fits := time.Duration(turns)*turnsLook/(took+1) + 1
	c.every = uint32(min(fits, max(2*time.Duration(c.every), 1), turnsMost))
	c.looked, c.last, c.due = now, turn, turn+c.every
	return now-c.letGo >= turnsLetGo
}

// goOn begins the next time: others have run.
func (c *turnClock) goOn() {
	c.looked = time.Since(clockStart)
	c.letGo = c.looked
}
