//go:build cgo

package coro_test

import (
	"runtime"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const copies = 500

// copied are copies of what make makes. Nothing refers to the originals any more, and the garbage
// collector has seen that. go vet reports a copy by assignment, and with reason.
func copied[T any](t *testing.T, make func(i int) *T) []T {
	list := []T{}
	for i := range copies {
		list = append(list, unsafe.Slice(make(i), 1)...)
	}
	for range 4 {
		runtime.GC()
		time.Sleep(2 * time.Millisecond) // cleanups run
	}
	return list
}

func TestACopyOfAnObjectKeepsItsMemory(t *testing.T) {
	s := newScheduler(t)
	chans := copied(t, func(i int) *coro.Chan[int] {
		c := made[coro.Chan[int]](t)(coro.NewChan[int](s, 4))
		require.NoError(t, c.Send(background, i))
		return c
	})
	semaphores := copied(t, func(i int) *coro.Semaphore {
		return made[coro.Semaphore](t)(coro.NewSemaphore(s, i))
	})
	mutexes := copied(t, func(int) *coro.Mutex {
		m := made[coro.Mutex](t)(coro.NewMutex(s))
		require.NoError(t, m.Lock(background))
		return m
	})
	locks := copied(t, func(int) *coro.RWMutex {
		m := made[coro.RWMutex](t)(coro.NewRWMutex(s))
		require.NoError(t, m.RLock(background))
		return m
	})
	groups := copied(t, func(i int) *coro.WaitGroup {
		return made[coro.WaitGroup](t)(coro.NewWaitGroup(s, i+1))
	})
	onces := copied(t, func(int) *coro.Once {
		o := made[coro.Once](t)(coro.NewOnce(s))
		require.NoError(t, o.Do(background, func() {}))
		return o
	})
	generators := copied(t, func(int) *coro.Generator {
		g := made[coro.Generator](t)(coro.NewGenerator(testbody.Count, copies, 0))
		_, _, err := g.Resume(0)
		require.NoError(t, err)
		return g
	})
	for i := range copies {
		v, ok, err := chans[i].TryRecv()
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, i, v)

		for range i {
			ok, err := semaphores[i].TryAcquire()
			require.NoError(t, err)
			require.True(t, ok)
		}
		ok, err = semaphores[i].TryAcquire()
		require.NoError(t, err)
		require.False(t, ok)

		require.Equal(t, coro.ErrLockedAlready, second(mutexes[i].TryLock()))
		require.NoError(t, mutexes[i].Unlock())
		require.NoError(t, locks[i].RUnlock())
		require.Equal(t, coro.ErrNotLocked, locks[i].RUnlock())
		require.Equal(t, coro.ErrNegativeWaitGroup, groups[i].Add(-i-2))
		require.NoError(t, groups[i].Add(-i-1))
		require.NoError(t, onces[i].Do(background, func() { t.Error("done twice") }))

		n, more, err := generators[i].Resume(0)
		require.NoError(t, err)
		require.True(t, more)
		require.EqualValues(t, 1, n)
		require.NoError(t, generators[i].Close())
	}
}

// The memory of an object whose address was given away goes once, whichever copy has given it.
func TestACopyOfAnObjectHasItsAddress(t *testing.T) {
	s := newScheduler(t)
	c := made[coro.Chan[int64]](t)(coro.NewChan[int64](s, 1))
	two := unsafe.Slice(c, 1)
	two = append([]coro.Chan[int64]{}, two...)
	assert.Equal(t, c.Address(), two[0].Address())
	require.NoError(t, two[0].Send(background, 7))
	v, err := c.Recv(background)
	require.NoError(t, err)
	assert.EqualValues(t, 7, v)
	require.NoError(t, s.Close(background))
}

// A goroutine that waits at a copy is served at the original, and the race detector sees that.
func TestAWaitAtACopy(t *testing.T) {
	s := newScheduler(t)
	c := made[coro.Chan[int]](t)(coro.NewChan[int](s, 0))
	m := made[coro.RWMutex](t)(coro.NewRWMutex(s))
	receiver := append([]coro.Chan[int]{}, unsafe.Slice(c, 1)...)
	locks := append([]coro.RWMutex{}, unsafe.Slice(m, 1)...)
	var all sync.WaitGroup
	shared := 0
	all.Go(func() {
		for i := range 100 {
			v, err := receiver[0].Recv(soon(t))
			assert.NoError(t, err)
			assert.Equal(t, i, v)
			assert.Equal(t, i+1, shared)
			assert.NoError(t, locks[0].RLock(soon(t)))
			_ = shared
			assert.NoError(t, locks[0].RUnlock())
			v, err = receiver[0].Recv(soon(t))
			assert.NoError(t, err)
			assert.Equal(t, -1, v)
		}
	})
	for i := range 100 {
		require.NoError(t, m.Lock(soon(t)))
		shared++
		require.NoError(t, m.Unlock())
		require.NoError(t, c.Send(soon(t), i))
		require.NoError(t, c.Send(soon(t), -1))
	}
	all.Wait()
}

func TestACopiedGeneratorIsTheSameOne(t *testing.T) {
	g := newGenerator(t, testbody.Count, 5)
	same := append([]coro.Generator{}, unsafe.Slice(g, 1)...)
	assert.Equal(t, []int64{0, 1, 2, 3, 4}, all(t, &same[0]))
	_, _, err := g.Resume(0)
	assert.Equal(t, coro.ErrEnded, err)
	require.NoError(t, same[0].Close())
	_, _, err = g.Resume(0)
	assert.Equal(t, coro.ErrClosed, err)
}
