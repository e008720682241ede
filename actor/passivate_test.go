package actor

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A handClock is a clock that a test moves.
type handClock struct {
	mu    sync.Mutex
	at    time.Duration
	timed map[*handTimer]bool // to come
}

type handTimer struct {
	k  *handClock
	at time.Duration
	f  func()
}

func (k *handClock) now() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.at
}

func (k *handClock) after(d time.Duration, f func()) stopper {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := &handTimer{k, k.at + d, f}
	k.timed[t] = true
	return t
}

func (t *handTimer) stop() bool {
	t.k.mu.Lock()
	defer t.k.mu.Unlock()
	was := t.k.timed[t]
	delete(t.k.timed, t)
	return was
}

func (k *handClock) timers() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.timed)
}

// hasTimer tells whether there is a timer that d makes fire.
func (k *handClock) hasTimer(d time.Duration) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for a := range k.timed {
		if a.at <= k.at+d {
			return true
		}
	}
	return false
}

// advance has d pass, and rests after each timer.
func (k *handClock) advance(t *testing.T, y *System, d time.Duration) {
	until := k.now() + d
	for {
		rest(t, y)
		next := (*handTimer)(nil)
		k.mu.Lock()
		for a := range k.timed {
			if a.at <= until && (next == nil || a.at < next.at) {
				next = a
			}
		}
		if next == nil {
			k.at = until
			k.mu.Unlock()
			return
		}
		delete(k.timed, next)
		k.at = next.at
		k.mu.Unlock()
		next.f()
	}
}

func byHand(t *testing.T) (*System, *handClock) {
	y := open(t, Executors(2))
	k := &handClock{timed: make(map[*handTimer]bool)}
	y.clock = k
	return y, k
}

// passivates passivates itself after the time that a message has.
func passivates(t *testing.T, y *System) Ref[time.Duration] {
	return spawn(t, y, func(c *Context[time.Duration], d time.Duration) error {
		c.Passivate(d)
		return nil
	})
}

func requireEnded[M any](t *testing.T, r Ref[M], want bool) {
	t.Helper()
	rest(t, r.c.kind.sys)
	select {
	case <-r.Done():
		require.True(t, want, "has ended")
	default:
		require.False(t, want, "has not ended")
	}
}

func TestPassivateHasOneTimer(t *testing.T) {
	y, k := byHand(t)
	r := passivates(t, y)
	tellAll(t, r, time.Hour)
	require.Equal(t, 1, k.timers())
	tellAll(t, r, 0)
	require.Zero(t, k.timers(), "nothing is left of what was taken back")
	for range 10 {
		tellAll(t, r, time.Minute, 0, time.Hour, time.Hour)
	}
	require.Equal(t, 1, k.timers())
	k.advance(t, y, time.Hour-1)
	requireEnded(t, r, false)
	k.advance(t, y, 1)
	requireEnded(t, r, true)
	require.Zero(t, k.timers(), "an actor that has ended needs none")
}

func TestPassivateReplacesTheTime(t *testing.T) {
	y, k := byHand(t)
	shorter, longer := passivates(t, y), passivates(t, y)
	tellAll(t, shorter, time.Hour, time.Minute)
	tellAll(t, longer, time.Minute, time.Hour)
	k.advance(t, y, time.Minute)
	requireEnded(t, shorter, true)
	requireEnded(t, longer, false)
	k.advance(t, y, time.Hour)
	requireEnded(t, longer, true)
}

func TestPassivateBeginsAnewWithTheSameTime(t *testing.T) {
	y, k := byHand(t)
	r := passivates(t, y)
	tellAll(t, r, time.Minute)
	k.advance(t, y, 40*time.Second)
	tellAll(t, r, time.Minute)
	k.advance(t, y, 40*time.Second)
	requireEnded(t, r, false)
	k.advance(t, y, 20*time.Second)
	requireEnded(t, r, true)
}

type passivatesAtTheEnd struct{}

func (passivatesAtTheEnd) Receive(*Context[int], int) error { return nil }
func (passivatesAtTheEnd) Stopped(c *Context[int], _ error) { c.Passivate(time.Second) }

func TestPassivateOfAnActorThatEnds(t *testing.T) {
	y, k := byHand(t)
	r, err := Spawn(y, func() passivatesAtTheEnd { return passivatesAtTheEnd{} })
	require.NoError(t, err)
	r.Stop()
	<-r.Done()
	require.Zero(t, k.timers())
}

// pass is advance that waits for nobody.
func (k *handClock) pass(d time.Duration) {
	k.mu.Lock()
	k.at += d
	due := []*handTimer{}
	for a := range k.timed {
		if a.at <= k.at {
			due = append(due, a)
			delete(k.timed, a)
		}
	}
	k.mu.Unlock()
	for _, a := range due {
		a.f()
	}
}

func TestPassivateHasNoTimerWhileThereAreChildren(t *testing.T) {
	y, k := byHand(t)
	var child Ref[int]
	r := spawn(t, y, func(c *Context[int], _ int) (err error) {
		child, err = Spawn(c, of(nothing[int]))
		c.Passivate(1)
		return err
	})
	require.NoError(t, r.Tell(0))
	k.advance(t, y, time.Millisecond)
	requireEnded(t, r, false)
	require.Zero(t, k.timers())
	child.Stop()
	<-child.Done()
	rest(t, y)
	k.advance(t, y, time.Millisecond)
	requireEnded(t, r, true)
}

func TestPassivateHasNoTimerWhileAnAnswerIsAwaited(t *testing.T) {
	for _, ends := range []string{"answered", "restarted"} {
		y, k := byHand(t)
		replies := []Reply[int]{}
		answers := []int{}
		r := asker(t, y, asksOnce{of: keeper(t, y, &replies), answers: &answers}, Restart(1, 0))
		tellAll(t, r, "passivate", "ask")
		k.advance(t, y, time.Hour)
		requireEnded(t, r, false)
		require.Zero(t, k.timers(), ends)
		if ends == "answered" {
			require.NoError(t, replies[0].Answer(1))
		} else {
			tellAll(t, r, "bad")
		}
		rest(t, y)
		k.advance(t, y, time.Minute-1)
		requireEnded(t, r, false)
		k.advance(t, y, 1)
		requireEnded(t, r, true)
	}
}

// A message that lasts longer than the time of Passivate has the timer go off once.
func TestPassivateAsksABusyActorOnce(t *testing.T) {
	y, k := byHand(t)
	g := newGate()
	r := spawn(t, y, func(c *Context[int], _ int) error {
		c.Passivate(time.Millisecond)
		g.pass()
		return nil
	}, Waiting())
	require.NoError(t, r.Tell(0))
	<-g.in
	for range 10 {
		k.pass(time.Millisecond)
	}
	x := r.c.sideOf()
	x.mu.Lock()
	require.Len(t, x.signals, 1)
	x.mu.Unlock()
	close(g.open)
	rest(t, y)
	k.advance(t, y, time.Millisecond)
	requireEnded(t, r, true)
}
