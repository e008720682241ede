package nats

import (
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func goexit() { runtime.Goexit() }

func TestTellAndAsk(t *testing.T) {
	overBoth(t, func(t *testing.T, transport func() Transport) {
		n := join(t, transport(), Options{})
		k := bank(t, n)
		require.NoError(t, n.Start())
		ctx := within(t, 20*time.Second)
		for i := range 10 {
			require.NoError(t, k.Tell(ctx, "7", deposit{10, i}))
			require.NoError(t, k.Tell(ctx, "8", deposit{1, i}))
		}
		b, err := Ask[int64](ctx, k.To("7", balance{}))
		require.NoError(t, err)
		require.EqualValues(t, 100, b)
		b, err = Ask[int64](ctx, k.To("8", deposit{5, 10}))
		require.NoError(t, err)
		require.EqualValues(t, 15, b)
		_, err = Ask[string](ctx, k.To("7", balance{}))
		require.ErrorIs(t, err, ErrDecode)
		_, err = Ask[int64](ctx, k.To("7", silent{}))
		require.ErrorIs(t, err, ErrNoAnswer)
	})
}

func TestAMessageThatIsSentTwiceCountsOnce(t *testing.T) {
	overBoth(t, func(t *testing.T, transport func() Transport) {
		n := join(t, transport(), Options{})
		k := bank(t, n)
		require.NoError(t, n.Start())
		ctx := within(t, 20*time.Second)
		for range 3 {
			require.NoError(t, k.Tell(ctx, "a", deposit{10, 1}, ID("t1")))
			require.NoError(t, k.Tell(ctx, "b", deposit{10, 1}, ID("t1")))
		}
		for _, key := range []string{"a", "b"} {
			b, err := Ask[int64](ctx, k.To(key, balance{}))
			require.NoError(t, err)
			require.EqualValues(t, 10, b)
		}
	})
}

func TestStatesOutliveTheirActorsAndNodes(t *testing.T) {
	overBoth(t, func(t *testing.T, transport func() Transport) {
		over := transport()
		ctx := within(t, 30*time.Second)
		for i := range 3 {
			n := join(t, over, Options{Name: "one", Idle: 20 * time.Millisecond})
			k := bank(t, n)
			require.NoError(t, n.Start())
			require.NoError(t, k.Tell(ctx, "x", deposit{1, 2 * i}))
			require.Eventually(t, func() bool { // it passivates
				return n.sys.Stats().Spawned > 0 && n.sys.Stats().Actors == 0
			}, 10*time.Second, time.Millisecond)
			b, err := Ask[int64](ctx, k.To("x", deposit{1, 2*i + 1}))
			require.NoError(t, err)
			require.EqualValues(t, 2*i+2, b)
			require.NoError(t, n.Leave(ctx))
			require.NoError(t, n.Leave(ctx))
			require.ErrorIs(t, k.Tell(ctx, "x", balance{}), ErrLeft)
		}
	})
}

func TestPartitionsMoveToNodesThatComeAndFromThoseThatLeave(t *testing.T) {
	overBoth(t, func(t *testing.T, transport func() Transport) {
		ctx := within(t, 60*time.Second)
		var nodes []*Node
		var kinds []*Kind[account, move]
		enter := func() {
			n := join(t, transport(), Options{Partitions: 32})
			k := bank(t, n)
			require.NoError(t, n.Start())
			nodes, kinds = append(nodes, n), append(kinds, k)
		}
		settled := func() {
			require.Eventually(t, func() bool {
				sum := 0
				for _, n := range nodes {
					p := n.Partitions()
					if len(p) == 0 {
						return false
					}
					sum += len(p)
				}
				return sum == 32
			}, 20*time.Second, 5*time.Millisecond)
		}
		sum := int64(0)
		move := func() {
			for i := range 200 {
				require.NoError(t, kinds[i%len(kinds)].Tell(ctx, key(i%20), deposit{1, i}))
			}
			sum += 10
			for i := range 20 {
				b, err := Ask[int64](ctx, kinds[i%len(kinds)].To(key(i), balance{}))
				require.NoError(t, err)
				require.Equal(t, sum, b)
			}
		}
		enter()
		move()
		enter()
		move() // while partitions move
		enter()
		move()
		settled()
		require.NoError(t, nodes[0].Leave(ctx))
		nodes, kinds = nodes[1:], kinds[1:]
		move()
		settled()
	})
}

func key(i int) string { return "key/" + string(rune('a'+i)) }

func TestHandlersThatFail(t *testing.T) {
	overBoth(t, func(t *testing.T, transport func() Transport) {
		var mu sync.Mutex
		var dead []DeadLetter
		n := join(t, transport(), Options{Tries: 3, OnDeadLetter: func(d DeadLetter) {
			mu.Lock()
			dead = append(dead, d)
			mu.Unlock()
		}})
		k := bank(t, n)
		require.NoError(t, n.Start())
		ctx := within(t, 30*time.Second)
		require.NoError(t, k.Tell(ctx, "x", deposit{5, 1}))
		require.NoError(t, k.Tell(ctx, "x", fails{99}))
		require.NoError(t, k.Tell(ctx, "x", deposit{5, 2}))
		require.NoError(t, k.Tell(ctx, "x", panics{}))
		require.NoError(t, k.Tell(ctx, "x", deposit{5, 3}))
		_, err := Ask[int64](ctx, k.To("x", goexits{}))
		require.ErrorIs(t, err, ErrDead)
		b, err := Ask[int64](ctx, k.To("x", deposit{5, 4}))
		require.NoError(t, err)
		require.EqualValues(t, 20, b)
		s, err := Ask[string](ctx, k.To("y", fails{2}))
		require.NoError(t, err)
		require.Equal(t, "after all", s)
		mu.Lock()
		defer mu.Unlock()
		require.Len(t, dead, 3)
		for i, words := range []string{"failure 3", "panic: of a handler", "Goexit"} {
			require.ErrorContains(t, dead[i].Err, words)
			require.Equal(t, 3, dead[i].Tries)
			require.Equal(t, "x", dead[i].Key)
		}
	})
}

func TestWhatCannotBeDecoded(t *testing.T) {
	overBoth(t, func(t *testing.T, transport func() Transport) {
		dead := make(chan DeadLetter, 10)
		n := join(t, transport(), Options{OnDeadLetter: func(d DeadLetter) { dead <- d }})
		k := bank(t, n)
		require.NoError(t, n.Start())
		ctx := within(t, 30*time.Second)
		p := partitionOf("account", "x", 8)
		for i, m := range []message{
			{id: "1", kind: "account", key: "x", data: []byte("\xff{")},
			{id: "2", kind: "account", key: "x", data: []byte(`{"type":"other","value":{}}`)},
			{id: "3", kind: "nothing", key: "x"},
		} {
			require.NoError(t, n.link.publish(ctx, p, &m))
			d := <-dead
			require.Equal(t, m.id, d.ID)
			require.ErrorIs(t, d.Err, []error{ErrDecode, ErrDecode, ErrKind}[i])
		}
		_, err := n.link.store(states).put(ctx, snapshotKey("account", "y"), []byte("cs1 not one"), 0)
		require.NoError(t, err)
		require.NoError(t, k.Tell(ctx, "y", deposit{1, 1}))
		require.ErrorIs(t, (<-dead).Err, ErrDecode)
		b, err := Ask[int64](ctx, k.To("x", deposit{1, 1}))
		require.NoError(t, err)
		require.EqualValues(t, 1, b)
	})
}

func TestKeys(t *testing.T) {
	overBoth(t, func(t *testing.T, transport func() Transport) {
		n := join(t, transport(), Options{})
		k := bank(t, n)
		require.NoError(t, n.Start())
		ctx := within(t, 20*time.Second)
		require.ErrorIs(t, k.Tell(ctx, "", balance{}), ErrKey)
		require.ErrorIs(t, k.Tell(ctx, strings.Repeat("x", MaxKey+1), balance{}), ErrKey)
		for i, key := range []string{strings.Repeat("x", MaxKey), "a b.*>\r\n\x00", "ü/\xff", "%41", "A"} {
			b, err := Ask[int64](ctx, k.To(key, deposit{int64(i + 1), 1}, With("a\nb", "c\nd")))
			require.NoError(t, err)
			require.EqualValues(t, i+1, b, key)
		}
	})
}
