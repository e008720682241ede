package actor

import (
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// A numbered message: of outside, or one that the actor has sent to itself.
type numbered struct {
	sender, n int
}

// inOrder checks that each sender's messages come as 0, 1, 2...
type inOrder struct {
	t    *testing.T
	next [4]int
}

func (o *inOrder) came(m numbered) {
	if m.n != o.next[m.sender] {
		o.t.Errorf("message %d of %d came as number %d", m.n, m.sender, o.next[m.sender])
	}
	o.next[m.sender] = m.n + 1
}

// What an actor sends to itself keeps its order, whether a message at hand is the last one or not,
// and whatever comes from outside meanwhile.
func TestOwnMessagesKeepTheirOrder(t *testing.T) {
	const senders, each, own = 3, 20_000, 40_000
	for executors := 1; executors <= 3; executors++ {
		y := open(t, Executors(executors))
		o := &inOrder{t: t}
		sent := 0
		r := spawn(t, y, func(c *Context[numbered], m numbered) error {
			o.came(m)
			for range m.n % 4 { // none, one that is pending alone, and more
				if sent < own {
					require.NoError(t, c.Self().Tell(numbered{senders, sent}))
					sent++
				}
			}
			return nil
		})
		var outside sync.WaitGroup
		for sender := range senders {
			outside.Go(func() {
				for i := range each {
					if err := r.Tell(numbered{sender, i}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		outside.Wait()
		rest(t, y)
		require.Equal(t, [4]int{each, each, each, sent}, o.next)
		require.Equal(t, own, sent)
	}
}

// Of three messages the first one is pending alone, and the others are in the box. When the last
// one is handled, what the actor has sent to itself at the second one is in the box.
func TestOwnMessagesBehindOwnMessagesInTheBox(t *testing.T) {
	y := open(t, Executors(1))
	o := &inOrder{t: t}
	own := 0
	r := spawn(t, y, func(c *Context[numbered], m numbered) error {
		o.came(m)
		if m.sender == 0 && m.n%3 > 0 {
			own++
			return c.Self().Tell(numbered{1, own - 1})
		}
		return nil
	})
	sends := spawn(t, y, func(_ *Context[int], first int) error {
		for i := range 3 {
			require.NoError(t, r.Tell(numbered{0, first + i}))
		}
		return nil
	})
	for i := range 3 { // the first time there are no free nodes
		require.NoError(t, sends.Tell(3*i))
		rest(t, y)
	}
	require.Equal(t, [4]int{9, 6}, o.next)
}

// A message that an actor has sent to itself is there after a failure of the one at hand, and a
// dead letter after a stop.
func TestOwnMessagesAfterAFailureAndAStop(t *testing.T) {
	dead := 0
	y := open(t, Executors(1), OnDeadLetter(func(d DeadLetter) {
		if d.Cause == Stopped {
			dead++
		}
	}))
	came := []int{}
	r := spawn(t, y, func(c *Context[int], m int) error {
		came = append(came, m)
		switch m {
		case 1:
			require.NoError(t, c.Self().Tell(2))
			return errors.New("on purpose")
		case 2:
			require.NoError(t, c.Self().Tell(3))
			require.NoError(t, c.Self().Tell(4))
			c.Stop()
		}
		return nil
	}, Resume())
	require.NoError(t, r.Tell(1))
	rest(t, y)
	require.Equal(t, []int{1, 2}, came)
	require.Equal(t, 2, dead)
}

// An actor that always has a message to itself lets others run.
func TestOwnMessagesLetOthersRun(t *testing.T) {
	y := open(t, Executors(1))
	stop := false // one executor runs all turns
	busy := spawn(t, y, func(c *Context[int], m int) error {
		if stop {
			return nil
		}
		return c.Self().Tell(m)
	})
	require.NoError(t, busy.Tell(0))
	stops := spawn(t, y, func(*Context[int], int) error { stop = true; return nil })
	require.NoError(t, stops.Tell(0))
	rest(t, y)
}

// A deep mailbox takes messages by the chunk.
func TestADeepMailboxHasChunks(t *testing.T) {
	y := open(t, Executors(1))
	handled := 0
	r, g := busy(t, y, &handled)
	require.NotNil(t, r.c.box.Load().bulk.Load())
	close(g.open)
	rest(t, y)
	require.Equal(t, many, handled)
}

// Deep mailboxes keep the order of actors, on the only executor and others, and of goroutines, and
// where the actor's turns run on a goroutine of their own.
func TestDeepMailboxesKeepTheOrder(t *testing.T) {
	const each = 30_000
	for executors := 1; executors <= 2; executors++ {
		for _, opts := range [][]SpawnOption{nil, {Waiting()}} {
			y := open(t, Executors(executors))
			o := &inOrder{t: t}
			r := spawn(t, y, func(_ *Context[numbered], m numbered) error {
				o.came(m)
				return nil
			}, opts...)
			var outside sync.WaitGroup
			for sender := range 4 {
				send := func(from, to int) {
					for i := from; i < to; i++ {
						if err := r.Tell(numbered{sender, i}); err != nil {
							t.Error(err)
						}
					}
				}
				if sender < 2 {
					outside.Go(func() { send(0, each) })
					continue
				}
				feeds := spawn(t, y, func(c *Context[int], m int) error {
					send(m, min(m+100, each))
					if m+100 < each {
						return c.Self().Tell(m + 100)
					}
					return nil
				})
				require.NoError(t, feeds.Tell(0))
			}
			outside.Wait()
			rest(t, y)
			require.Equal(t, [4]int{each, each, each, each}, o.next)
		}
	}
}
