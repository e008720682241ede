// Package bubble tells whether a goroutine is in a bubble of testing/synctest. Nothing in a bubble
// may be used from outside: a channel, a timer or a sync.WaitGroup that is made there ends the
// process if a goroutine of another place touches it; and time stands still there while any of its
// goroutines runs, or waits for what is outside.
package bubble

import (
	"sync/atomic"
	"time"

	"github.com/organzine/coro/internal/asm"
)

// outside has the ids of goroutines that were found to be in no bubble. A goroutine is in the same
// place as long as it lives, and its id is never another's.
var outside [256]atomic.Uint64

// In tells whether the caller is in a bubble. It costs some 2 ns where the goroutine has called it
// lately, and is in none; else as much as time.Now.
func In() bool {
	id := asm.GoroutineID() // 0 where goroutines have no numbers
	known := &outside[id%uint64(len(outside))]
	if id != 0 && known.Load() == id {
		return false
	}
	if isTimeOf(time.Now()) {
		return true
	}
	known.Store(id)
	return false
}

// isTimeOf tells whether what time.Now has returned was read in a bubble, whose clock is not
// monotonic.
func isTimeOf(t time.Time) bool { return t == t.Round(0) }
