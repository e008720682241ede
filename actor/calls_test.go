package actor

import (
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAskThen(t *testing.T) {
	y := open(t)
	answers := spawn(t, y, func(c *Context[query], q query) error {
		switch {
		case q.n < 0:
			return q.to.Fail(errBad)
		case q.n == 0:
			c.Stop()
			return nil
		}
		return q.to.Answer(q.n + 1)
	})
	type result struct {
		v   int
		err error
	}
	got := make(chan result, 1)
	asks := spawn(t, y, func(c *Context[int], n int) error {
		return AskThen(c, answers, func(to Reply[int]) query { return query{n, to} },
			func(_ *Context[int], v int, err error) error {
				got <- result{v, err}
				return nil
			})
	}, Resume())
	require.NoError(t, asks.Tell(1))
	require.Equal(t, result{2, nil}, <-got)
	require.NoError(t, asks.Tell(-1))
	require.Equal(t, result{0, errBad}, <-got)
	require.NoError(t, answers.Tell(query{}))
	<-answers.Done()
	require.NoError(t, asks.Tell(1))
	rest(t, y)
	require.EqualValues(t, 1, y.Stats().Failures, "ErrStopped was returned")
	require.Empty(t, got)
}

// A question that becomes a dead letter is answered with why.
func TestAskThenOfDeadLetters(t *testing.T) {
	y := oneExecutor(t)
	answers := spawn(t, y, func(c *Context[query], _ query) error { c.Stop(); return nil })
	var got []error
	asks := spawn(t, y, func(c *Context[int], n int) error {
		for range 3 {
			err := AskThen(c, answers, func(to Reply[int]) query { return query{n, to} },
				func(_ *Context[int], _ int, err error) error {
					got = append(got, err)
					return nil
				})
			if err != nil {
				return err
			}
		}
		return nil
	})
	tellAll(t, asks, 1)
	require.Equal(t, []error{ErrStopped, ErrStopped}, got, "the first was handled")
}

func TestAdapt(t *testing.T) {
	y := open(t)
	var got []int
	r := spawn(t, y, func(_ *Context[query], q query) error {
		got = append(got, q.n)
		return q.to.Answer(q.n)
	}, Resume())
	lengths, err := Adapt(r, func(s string) query { return query{n: len(s)} })
	require.NoError(t, err)
	require.NoError(t, lengths.Tell("four"))
	require.NoError(t, lengths.Send(t.Context(), "seven.."))
	twice, err := Adapt(lengths, func(n int) string { return string(make([]byte, n)) })
	require.NoError(t, err)
	require.NoError(t, twice.Tell(3))
	rest(t, y)
	require.Equal(t, []int{4, 7, 3}, got)
	asks, err := Adapt(r, func(to Reply[int]) query { return query{9, to} })
	require.NoError(t, err)
	v, err := Ask(t.Context(), asks, func(to Reply[int]) Reply[int] { return to })
	require.NoError(t, err)
	require.Equal(t, 9, v)
	asks.Stop()
	require.Nil(t, asks.Done())
	r.Stop()
	<-r.Done()
	require.ErrorIs(t, twice.Tell(3), ErrStopped)
	_, err = Ask(t.Context(), asks, func(to Reply[int]) Reply[int] { return to })
	require.ErrorIs(t, err, ErrStopped)
}

func TestGroups(t *testing.T) {
	y := oneExecutor(t)
	hold := make(chan struct{})
	var begun atomic.Int32
	var got [3][]uint64
	refs := make([]Ref[uint64], 3)
	for i := range refs {
		refs[i] = spawn(t, y, func(_ *Context[uint64], m uint64) error {
			begun.Add(1)
			<-hold
			got[i] = append(got[i], m)
			return nil
		}, Waiting())
	}
	byTurns, err := RoundRobin(refs...)
	require.NoError(t, err)
	for i := range uint64(6) {
		require.NoError(t, byTurns.Tell(i))
	}
	// while a turn takes its messages the load is a moment too low
	require.Eventually(t, func() bool { return begun.Load() == 3 }, 10*time.Second, time.Millisecond)
	least, err := LeastLoaded(refs...)
	require.NoError(t, err)
	for range 3 {
		require.NoError(t, refs[1].Tell(100))
	}
	require.NoError(t, least.Tell(101))
	require.NoError(t, least.Tell(101))
	close(hold)
	rest(t, y)
	require.Equal(t, []uint64{1, 4, 100, 100, 100}, got[1])
	require.Equal(t, 3, len(got[0]))
	require.Equal(t, 3, len(got[2]))

	hashed, err := ConsistentHash(func(m uint64) uint64 { return m }, refs...)
	require.NoError(t, err)
	byKey := func() (where map[uint64]int, counts [3]int) {
		got = [3][]uint64{}
		for range 2 {
			for m := range uint64(300) {
				require.NoError(t, hashed.Tell(m))
			}
		}
		rest(t, y)
		where = map[uint64]int{}
		for i, list := range got {
			for _, m := range list {
				if at, ok := where[m]; ok {
					require.Equal(t, at, i)
				}
				where[m] = i
			}
			counts[i] = len(list)
		}
		require.Len(t, where, 300)
		return where, counts
	}
	before, counts := byKey()
	for _, n := range counts {
		require.Greater(t, n, 120)
	}
	refs[1].Stop()
	<-refs[1].Done()
	after, _ := byKey()
	for m, at := range before {
		if at != 1 {
			require.Equal(t, at, after[m], "its key has stayed")
		}
	}
	for range 10 {
		require.NoError(t, byTurns.Tell(1))
		require.NoError(t, least.Tell(1))
	}
	for _, r := range refs {
		r.Stop()
		<-r.Done()
	}
	for _, g := range []Ref[uint64]{byTurns, least, hashed} {
		require.ErrorIs(t, g.Tell(1), ErrStopped)
	}
}

func TestTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y, err := New()
		require.NoError(t, err)
		start := time.Now()
		var ticks []time.Duration
		var timer Timer
		r := spawn(t, y, func(c *Context[int], m int) error {
			switch m {
			case 0:
				timer = c.Every(time.Second, 1)
				require.True(t, c.After(time.Minute, 5).Stop())
				c.After(3500*time.Millisecond, 2)
			case 1:
				ticks = append(ticks, time.Since(start))
			case 2:
				require.True(t, timer.Stop())
				require.False(t, timer.Stop())
			default:
				t.Error("it was stopped")
			}
			return nil
		})
		require.NoError(t, r.Tell(0))
		require.NoError(t, y.Rest(t.Context()))
		time.Sleep(time.Hour)
		require.Equal(t, []time.Duration{time.Second, 2 * time.Second, 3 * time.Second}, ticks)
		require.NoError(t, y.Close())
	})
}

// A message of Every whose predecessor is not handled is left out.
func TestTicksDoNotPileUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y, err := New()
		require.NoError(t, err)
		ticks := 0
		r := spawn(t, y, func(c *Context[int], m int) error {
			if m == 0 {
				c.Every(time.Second, 1)
				time.Sleep(time.Hour + 500*time.Millisecond)
			}
			ticks += m
			return nil
		}, Waiting())
		require.NoError(t, r.Tell(0))
		time.Sleep(time.Hour + 2500*time.Millisecond)
		synctest.Wait()
		require.Equal(t, 3, ticks)
		require.NoError(t, y.Close())
	})
}

func TestAMessageLaterIsADeadLetterAtTheEnd(t *testing.T) {
	y := open(t)
	r := spawn(t, y, func(c *Context[int], _ int) error {
		c.After(time.Hour, 1)
		c.Every(time.Hour, 2)
		c.Stop()
		return nil
	})
	require.NoError(t, r.Tell(0))
	<-r.Done()
	rest(t, y)
	require.EqualValues(t, 1, y.Stats().Stopped)
}

func TestBecome(t *testing.T) {
	y := open(t)
	var got []string
	second := Func[string](func(_ *Context[string], m string) error {
		got = append(got, "second "+m)
		return nil
	})
	r := spawn(t, y, func(c *Context[string], m string) error {
		got = append(got, "first "+m)
		return c.Become(second)
	})
	for _, m := range []string{"a", "b", "c"} {
		require.NoError(t, r.Tell(m))
	}
	rest(t, y)
	require.Equal(t, []string{"first a", "second b", "second c"}, got)
}

func TestUnwatch(t *testing.T) {
	y := open(t)
	a := spawn(t, y, nothing[int])
	notices := make(chan Ended, 3)
	w := spawn(t, y, func(c *Context[Ended], e Ended) error {
		if e.Name != "" {
			notices <- e
			return nil
		}
		unwatch, err := c.Watch(a, func(e Ended) Ended { return e })
		require.NoError(t, err)
		require.True(t, unwatch())
		require.False(t, unwatch())
		for range 2 {
			_, err = c.Watch(a, func(e Ended) Ended { return e })
			require.NoError(t, err)
		}
		return nil
	})
	require.NoError(t, w.Tell(Ended{}))
	rest(t, y)
	a.Stop()
	rest(t, y)
	require.Len(t, notices, 2, "one for each call")
}

func TestDrain(t *testing.T) {
	y := oneExecutor(t)
	n := 0
	r := spawn(t, y, func(*Context[int], int) error { n++; return nil })
	sends := spawn(t, y, func(*Context[int], int) error {
		for i := range 100 {
			if err := r.Tell(i); err != nil {
				return err
			}
		}
		r.Drain()
		return r.Tell(100)
	})
	require.NoError(t, sends.Tell(0))
	<-r.Done()
	require.Equal(t, 100, n)
	rest(t, y)
	require.EqualValues(t, 1, y.Stats().Stopped)
}

// Actors on the executor of one that waits in Go, although it may not, are taken over by others.
func TestAStuckExecutorKeepsNobodyWaiting(t *testing.T) {
	y := open(t, Executors(2))
	for range 20 {
		woken := make(chan struct{})
		b := spawn(t, y, func(*Context[int], int) error { close(woken); return nil })
		a := spawn(t, y, func(*Context[int], int) error {
			if err := b.Tell(1); err != nil {
				return err
			}
			<-woken
			return nil
		})
		require.NoError(t, a.Tell(1))
		rest(t, y)
	}
}

// And what comes from outside is handled by others too.
func TestAStuckExecutorAndOutside(t *testing.T) {
	y := open(t, Executors(2))
	waits := spawn(t, y, func(_ *Context[chan int], woken chan int) error { <-woken; return nil })
	wakes := spawn(t, y, func(_ *Context[chan int], woken chan int) error {
		close(woken)
		return nil
	})
	for range 100 {
		woken := make(chan int)
		require.NoError(t, waits.Tell(woken))
		require.NoError(t, wakes.Tell(woken))
		rest(t, y)
	}
}

// One that floods another waits for it: mailboxes stay short.
func TestSendersAreHeldBack(t *testing.T) {
	y := open(t, Executors(1))
	deepest := uint32(0)
	var sink Ref[int]
	sink = spawn(t, y, func(*Context[int], int) error {
		deepest = max(deepest, sink.c.behind())
		return nil
	})
	for range 20 {
		r := spawn(t, y, func(c *Context[int], left int) error {
			if err := sink.Tell(left); err != nil || left == 0 {
				return err
			}
			return c.Self().Tell(left - 1)
		})
		require.NoError(t, r.Tell(5_000))
	}
	rest(t, y)
	require.Less(t, deepest, uint32(5_000))
}

// At rest no CPU is used: nobody looks around.
func TestAtRestNothingRuns(t *testing.T) {
	y := open(t)
	r := spawn(t, y, nothing[int])
	for i := range 1000 {
		require.NoError(t, r.Tell(i))
	}
	rest(t, y)
	turns := func() (n uint32) {
		for _, e := range y.executors {
			n += atomic.LoadUint32(&e.turns)
		}
		return n
	}
	y.mu.Lock()
	require.Zero(t, y.active)
	require.Len(t, y.idle, len(y.executors))
	y.mu.Unlock()
	before := turns()
	var used [2]syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &used[0]))
	time.Sleep(50 * time.Millisecond)
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &used[1]))
	require.Equal(t, before, turns())
	y.mu.Lock()
	require.False(t, y.ticker.on)
	y.mu.Unlock()
	cpu := time.Duration(used[1].Utime.Nano() - used[0].Utime.Nano())
	require.Less(t, cpu, 40*time.Millisecond)
}

// After a burst the memory of the messages is given back.
func TestMemoryAfterABurst(t *testing.T) {
	y := open(t, Executors(2))
	heap := func() uint64 {
		for range 3 {
			runtime.GC()
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	refs := make([]Ref[[4]int64], 10_000)
	for i := range refs {
		refs[i] = spawn(t, y, nothing[[4]int64])
	}
	before := heap()
	hold := make(chan struct{})
	holds := spawn(t, y, func(*Context[int], int) error { <-hold; return nil })
	require.NoError(t, holds.Tell(0))
	require.NoError(t, holds.Tell(0))
	for range 100 {
		for _, r := range refs {
			require.NoError(t, r.Tell([4]int64{}))
		}
	}
	close(hold)
	rest(t, y)
	require.EqualValues(t, 1_000_002, y.Stats().Handled)
	after := heap()
	require.Less(t, after, before+before/5+1_000_000, "the lists of the executors may stay")
}
