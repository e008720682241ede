package actor

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

type riddle struct {
	n  int // below 0: there is no answer
	to Reply[int]
}

func solves(_ *Context[riddle], q riddle) error {
	if q.n < 0 {
		return nil
	}
	return q.to.Answer(q.n + 1)
}

func askRiddle(ctx context.Context, r Ref[riddle], n int) (int, error) {
	return Ask(ctx, r, func(to Reply[int]) riddle { return riddle{n, to} })
}

// Systems in bubbles and without one, by turns, in one process: nothing that one of them has made
// is used by another.
func TestAskInBubblesByTurns(t *testing.T) {
	round := func(t *testing.T, patience time.Duration) {
		y := open(t, Executors(2))
		r := spawn(t, y, solves)
		for i := range 20 {
			v, err := askRiddle(t.Context(), r, i)
			require.NoError(t, err)
			require.Equal(t, i+1, v)
		}
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		_, err := askRiddle(ctx, r, -1)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.GreaterOrEqual(t, time.Since(start), patience)
	}
	for range 20 {
		round(t, time.Millisecond)
		synctest.Test(t, func(t *testing.T) { round(t, 24*time.Hour) })
	}
}

// A turn ends although time stands still in a bubble.
func TestTurnEndsInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y := open(t, Executors(1))
		told := false // the executor's
		busy := spawn(t, y, func(c *Context[int], m int) error {
			if told {
				return nil
			}
			return c.Self().Tell(m)
		})
		tells := spawn(t, y, func(*Context[int], int) error { told = true; return nil })
		require.NoError(t, busy.Tell(1))
		require.NoError(t, tells.Tell(1))
		require.NoError(t, y.Rest(t.Context()))
	})
}

// waitsElsewhere makes each call that waits for y, which was made elsewhere, and returns the
// errors. full is an actor without room.
func waitsElsewhere(y *System, r Ref[riddle], full Ref[int]) (errs []error) {
	ctx := context.Background()
	_, err := askRiddle(ctx, r, 1)
	errs = append(errs, err, full.Send(ctx, 2), y.Rest(ctx), y.Run(ctx), y.Drain(ctx), y.Stop(ctx),
		y.Close())
	defer func() {
		err, _ := recover().(error)
		errs = append(errs, err)
	}()
	r.Done()
	return errs
}

// A System is used in the bubble that it was made in, or in none: what waits elsewhere says so, and
// does nothing.
func TestSystemOfAnotherBubble(t *testing.T) {
	var job atomic.Pointer[func()]
	var ended atomic.Bool
	t.Cleanup(func() { ended.Store(true) })
	go func() { // in no bubble
		for ; !ended.Load(); time.Sleep(time.Millisecond) {
			if f := job.Load(); f != nil {
				(*f)()
				job.Store(nil)
			}
		}
	}()
	outside := func(f func()) {
		for job.Store(&f); job.Load() != nil; {
			time.Sleep(time.Millisecond)
		}
	}
	check := func(t *testing.T, elsewhere func(func())) {
		y := open(t)
		r := spawn(t, y, solves)
		goOn := make(chan struct{})
		full := spawn(t, y, func(*Context[int], int) error { <-goOn; return nil }, Room(1), Waiting())
		require.NoError(t, full.Tell(1))
		var errs []error
		elsewhere(func() { errs = waitsElsewhere(y, r, full) })
		require.Len(t, errs, 8)
		for i, err := range errs {
			require.ErrorIs(t, err, ErrBubble, i)
			require.ErrorContains(t, err, "make the System where it is used")
		}
		_, err := askRiddle(t.Context(), r, 1)
		require.NoError(t, err)
		close(goOn)
		rest(t, y)
	}
	check(t, func(f func()) { synctest.Test(t, func(*testing.T) { f() }) })
	synctest.Test(t, func(t *testing.T) { check(t, outside) })
}
