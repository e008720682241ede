package steal

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

type item struct{ n int }

func TestInOrder(t *testing.T) {
	for _, alone := range []bool{false, true} {
		q := Queue[item]{Alone: alone}
		require.Nil(t, q.Pop())
		for i := range Room {
			require.True(t, q.Push(&item{i}))
		}
		require.True(t, q.IsFull())
		require.False(t, q.Push(&item{}))
		for i := range Room {
			require.Equal(t, i, q.Pop().n)
		}
		require.Zero(t, q.Len())
		require.Nil(t, q.Pop())
	}
}

func TestRotate(t *testing.T) {
	var q Queue[item]
	for i := range Room - 1 {
		require.True(t, q.Push(&item{i}))
	}
	for i := range 3 * Room {
		head, tail := q.Span()
		require.EqualValues(t, Room-1, tail-head)
		first, taken := q.Rotate(head, tail, &item{Room - 1 + i})
		require.True(t, taken)
		require.Equal(t, i, first.n)
	}
}

func TestStealHalf(t *testing.T) {
	var v, q Queue[item]
	require.False(t, q.StealFrom(&v, Room))
	for i := range 9 {
		require.True(t, v.Push(&item{i}))
	}
	require.True(t, q.StealFrom(&v, Room))
	require.Equal(t, 5, q.Len())
	require.True(t, q.StealFrom(&v, 1))
	require.Equal(t, 3, v.Len())
	for i := range 6 {
		require.Equal(t, i, q.Pop().n)
	}
	q.Forget()
	require.Equal(t, 6, v.Pop().n)
}

func TestList(t *testing.T) {
	var l List[item]
	for round := range 3 {
		for i := range 100 << round {
			l.Push(&item{i})
		}
		require.Equal(t, 100<<round, l.Len())
		for i := range 100 << round {
			require.Equal(t, i, l.Pop().n)
		}
	}
	require.Zero(t, l.Len())
}

// All that is pushed is taken, once, while others steal from each other.
func TestStressThieves(t *testing.T) {
	const owners, each = 4, 20_000
	var queues [owners]Queue[item]
	var taken [owners * each]atomic.Int32
	var left atomic.Int64
	left.Store(owners * each)
	var all sync.WaitGroup
	for me := range owners {
		all.Go(func() {
			q, next := &queues[me], 0
			for left.Load() > 0 {
				for range 10 {
					if next < each && q.Push(&item{me*each + next}) {
						next++
					}
				}
				x := q.Pop()
				if x == nil {
					q.StealFrom(&queues[(me+1)%owners], Room)
					continue
				}
				if head, tail := q.Span(); head != tail && tail-head < Room {
					first, taken := q.Rotate(head, tail, x)
					if !taken {
						continue // x is in the queue, and a thief was quicker
					}
					x = first
				}
				taken[x.n].Add(1)
				left.Add(-1)
			}
		})
	}
	all.Wait()
	for i := range taken {
		require.EqualValues(t, 1, taken[i].Load(), i)
	}
}
