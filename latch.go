package coro

import (
	"context"
	"runtime"

	"github.com/organzine/coro/csrc"
)

// latchMost is how far a Latch counts.
const latchMost = 1 << 60

// A Latch is a count, and those who wait until it is zero: a wait group between coroutines, C or Go, and goroutines. For C bodies it is a
// coro_latch. Once it is zero it may be used again. Where nobody waits, each call costs some 20 ns, without a cgo call; see Chan for who is
// suspended by waiting, and how long its memory lives.
type Latch struct {
	object
	core csrc.Latch
}

// NewLatch makes one of s, with a count from 0 to 2⁶⁰. It returns an *OptionError, ErrNoMemory or ErrNoCgo.
func NewLatch(s *Scheduler, count int) (*Latch, error) {
	if !csrc.Available {
		return nil, ErrNoCgo
	}
	if count < 0 || count > latchMost {
		return nil, &OptionError{"NewLatch", count, "needs a count from 0 to 2⁶⁰"}
	}
	core, status := csrc.NewLatch(uint64(count))
	l := &Latch{core: core}
	return adopt(l, &l.object, s, core, status)
}

// Add changes the count by n, which may be negative; at zero, all who wait go on. It returns ErrNegativeLatch if it would be negative,
// an *OptionError if it would be more than 2⁶⁰: then it was not changed.
func (l *Latch) Add(n int) error {
	l.edge.release()
	defer runtime.KeepAlive(l)
	status := l.core.Add(int64(n))
	switch {
	case status == csrc.Overflow:
		return &OptionError{"Latch.Add", n, "the count would be more than 2⁶⁰"}
	case status == csrc.Invalid && !l.core.IsDead():
		return ErrNegativeLatch
	}
	return objectError(status)
}

// Done is Add(-1).
func (l *Latch) Done() error { return l.Add(-1) }

// Wait returns when the count is zero. It returns the cause, if the context ends first, or the Go body is canceled; ErrClosed, if the
// scheduler is closed meanwhile.
func (l *Latch) Wait(ctx context.Context) error {
	if status := l.core.TryWait(); status != csrc.TimedOut {
		return l.taken(status)
	}
	return l.await(ctx, waitOp{try: l.core.TryWait, begin: l.core.Wait})
}
