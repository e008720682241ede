package actor

import (
	"sync/atomic"
	"time"

	"github.com/organzine/coro/internal/turnclock"
)

// stuck.go - executors whose behaviour computes for long: others take what is queued there.

// An executor shares what is in its queue when it looks at the clock. One whose behaviour computes
// for long, or waits in Go although it may not, does not get to that. So while executors are active
// there is a tick now and then, which tells the others of such a one. At rest there is none.

// A ticker is with System.mu.
type ticker struct {
	timer *time.Timer
	on    bool
	pause time.Duration
	at    time.Duration // of the last tick, or of the start
}

// tickLocked starts the ticks, if there are several executors.
func (y *System) tickLocked() {
	k := &y.ticker
	if k.on || len(y.executors) == 1 || y.stepped != nil {
		return
	}
	k.on, k.pause = true, tickLeast
	y.seeLocked()
	if k.timer == nil {
		k.timer = time.AfterFunc(k.pause, y.tick)
	} else {
		k.timer.Reset(k.pause)
	}
}

// seeLocked remembers how far the executors have got.
func (y *System) seeLocked() {
	y.ticker.at = turnclock.Now()
	for _, e := range y.executors {
		e.seen = atomic.LoadUint32(&e.turns)
	}
}

func (y *System) tick() {
	y.mu.Lock()
	k := &y.ticker
	if y.active == 0 || y.closed {
		k.on = false
		y.mu.Unlock()
		return
	}
	// A turn lasts for about turnLasts, unless a single message takes longer.
	few := uint32((turnclock.Now() - k.at) / (2 * turnLasts))
	help := y.waitingLocked() > 0
	for _, e := range y.executors {
		if atomic.LoadUint32(&e.turns)-e.seen < few && e.queue.Len()+e.held.Len() > 0 {
			e.stuck.Store(true)
			help = true
		}
	}
	w := (*executor)(nil)
	k.pause = min(2*k.pause, tickMost)
	if help {
		w = y.wakeLocked()
		k.pause = tickLeast
	}
	y.seeLocked()
	k.timer.Reset(k.pause)
	y.mu.Unlock()
	w.wake()
}
