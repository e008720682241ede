//go:build cgo

package coro_test

import (
	"context"
	"errors"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A lendable is an object that has an Address.
type lendable interface {
	Address() uintptr
	Free() error
}

// A freeable is an object and what can be done with it.
type freeable struct {
	name   string
	object lendable
	use    int64                           // by C
	hold   func(*testing.T) (letGo func()) // has somebody wait at the object, or hold it
	uses   []func() error
	tries  []func() (bool, error)
}

// heldBy has a goroutine do what waits, and returns when it does.
func heldBy(
	t *testing.T, waits func(context.Context) error, lets func() error,
) (letGo func()) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- waits(background) }()
	eventually(t, sleepsIn("heldBy.func1"), "the goroutine has tried for long enough, and sleeps")
	return func() {
		require.NoError(t, lets())
		require.NoError(t, <-ended)
	}
}

// sleepsIn tells whether a goroutine sleeps that has the function on its stack.
func sleepsIn(function string) func() bool {
	sleeping := regexp.MustCompile(`^goroutine \d+ \[(chan receive|select|sync\..*)\]:`)
	return func() bool {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		for one := range strings.SplitSeq(string(stacks), "\n\n") {
			if sleeping.MatchString(one) && strings.Contains(one, function) {
				return true
			}
		}
		return false
	}
}

func freeables(t *testing.T, s *coro.Scheduler) []freeable {
	room := newChan[int64](t, s, 2)
	direct := newChan[int64](t, s, 0)
	sem := made[coro.Semaphore](t)(coro.NewSemaphore(s, 0))
	mu := made[coro.Mutex](t)(coro.NewMutex(s))
	rw := made[coro.RWMutex](t)(coro.NewRWMutex(s))
	guard := made[coro.Mutex](t)(coro.NewMutex(s))
	cond := made[coro.Cond](t)(coro.NewCond(guard))
	group := made[coro.WaitGroup](t)(coro.NewWaitGroup(s, 1))
	once := made[coro.Once](t)(coro.NewOnce(s))
	ofChan := func(name string, c *coro.Chan[int64], use int64) freeable {
		return freeable{name: name, object: c, use: use,
			hold: func(t *testing.T) func() {
				return heldBy(t, func(ctx context.Context) error {
					_, err := c.Recv(ctx)
					return err
				}, func() error { return c.Send(background, 1) })
			},
			uses: []func() error{
				c.Close,
				func() error { return c.Send(background, 1) },
				func() error { _, err := c.Recv(background); return err },
				func() error { _, err := coro.Select(background, coro.OnRecv(c, nil)); return err },
				func() error { _, err := coro.TrySelect(coro.OnSend(c, 1)); return err },
				func() error {
					for _, err := range c.All(background) {
						return err
					}
					return nil
				},
			},
			tries: []func() (bool, error){
				func() (bool, error) { return c.TrySend(1) },
				func() (bool, error) { _, ok, err := c.TryRecv(); return ok, err },
			},
		}
	}
	return []freeable{
		ofChan("chan with room", room, testbody.SendNow),
		ofChan("chan without room", direct, testbody.ReceiveNow),
		{
			name: "semaphore", object: sem, use: testbody.AcquireNow,
			hold: func(t *testing.T) func() {
				return heldBy(t, sem.Acquire, func() error { return sem.Release(1) })
			},
			uses: []func() error{
				func() error { return sem.Acquire(background) },
				func() error { return sem.Release(1) },
				func() error { return sem.Release(2) },
			},
			tries: []func() (bool, error){sem.TryAcquire},
		},
		{
			name: "mutex", object: mu, use: testbody.LockNow,
			hold: func(t *testing.T) func() {
				require.NoError(t, mu.Lock(background))
				return func() { require.NoError(t, mu.Unlock()) }
			},
			uses:  []func() error{func() error { return mu.Lock(background) }, mu.Unlock},
			tries: []func() (bool, error){mu.TryLock},
		},
		{
			name: "rwmutex", object: rw, use: testbody.ReadNow,
			hold: func(t *testing.T) func() {
				require.NoError(t, rw.RLock(background))
				return func() { require.NoError(t, rw.RUnlock()) }
			},
			uses: []func() error{
				func() error { return rw.Lock(background) },
				func() error { return rw.RLock(background) },
				rw.Unlock, rw.RUnlock,
			},
			tries: []func() (bool, error){rw.TryLock, rw.TryRLock},
		},
		{
			name: "cond", object: cond, use: testbody.SignalNow,
			hold: func(t *testing.T) func() {
				return heldBy(t, func(ctx context.Context) error {
					return errors.Join(guard.Lock(ctx), cond.Wait(ctx), guard.Unlock())
				}, cond.Signal)
			},
			uses: []func() error{cond.Signal, cond.Broadcast, func() error {
				require.NoError(t, guard.Lock(background))
				defer guard.Unlock()
				return cond.Wait(background)
			}},
		},
		{
			name: "wait group", object: group, use: testbody.CountNow,
			hold: func(t *testing.T) func() {
				return heldBy(t, group.Wait, group.Done)
			},
			uses: []func() error{group.Done, func() error { return group.Wait(background) }},
		},
		{
			name: "once", object: once, use: testbody.DoNow,
			hold: func(t *testing.T) func() {
				begun, end := make(chan struct{}), make(chan struct{})
				var ended sync.WaitGroup
				ended.Go(func() {
					assert.NoError(t, once.Do(background, func() { close(begun); <-end }))
				})
				<-begun
				return func() { close(end); ended.Wait() }
			},
			uses: []func() error{func() error { return once.Do(background, func() {}) }},
		},
	}
}

// What is in use is not freed; what was freed says so, to Go and to C.
func TestFree(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1), coro.WithExecutors(1))
	for _, k := range freeables(t, s) {
		t.Run(k.name, func(t *testing.T) {
			address := k.object.Address()
			require.NotZero(t, address)
			require.Equal(t, address, k.object.Address())
			letGo := k.hold(t)
			require.ErrorIs(t, k.object.Free(), coro.ErrBusy)
			require.Equal(t, address, k.object.Address(), "nothing was changed")
			letGo()

			require.NoError(t, k.object.Free())
			assert.ErrorIs(t, k.object.Free(), coro.ErrDestroyed)
			assert.Zero(t, k.object.Address())
			for range 2 {
				for i, use := range k.uses {
					assert.ErrorIs(t, use(), coro.ErrDestroyed, "use %d", i)
				}
				for i, try := range k.tries {
					ok, err := try()
					assert.False(t, ok)
					assert.ErrorIs(t, err, coro.ErrDestroyed, "try %d", i)
				}
				assert.Equal(t, testbody.EINVAL, misuse(t, s, address, k.use), "by C")
				assert.Equal(t, testbody.EINVAL, misuse(t, s, 0, k.use), "C has the new Address")
				task, err := coro.Go(s, func(c *coro.Coroutine) (int, error) { return 0, k.uses[0]() })
				require.NoError(t, err)
				_, err = task.Wait(soon(t))
				assert.ErrorIs(t, err, coro.ErrDestroyed, "by a Go body")
				runtime.GC() // Go refers to the object, so that its memory is still there
			}
			runtime.KeepAlive(k.object)
		})
	}
}

// An object whose address nobody has is freed in the same way, and so is one after Close.
func TestFreeWithoutAnAddressAndAfterClose(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	mine, late := newChan[int64](t, s, 1), newChan[int64](t, s, 1)
	require.NoError(t, mine.Send(background, 1))
	require.NoError(t, mine.Free())
	assert.Zero(t, mine.Address())
	assert.Zero(t, mine.Len(), "what was in the channel is lost")
	_, err := mine.Recv(background)
	assert.ErrorIs(t, err, coro.ErrDestroyed)

	require.NotZero(t, late.Address())
	require.NoError(t, s.Close(background))
	assert.NoError(t, late.Free())
	assert.ErrorIs(t, late.Free(), coro.ErrDestroyed)
}

// An object that C has destroyed is given back by Free.
func TestFreeOfWhatCHasDestroyed(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	p := made[coro.Semaphore](t)(coro.NewSemaphore(s, 0))
	require.Equal(t, testbody.OK, misuse(t, s, p.Address(), testbody.DestroySem))
	assert.NoError(t, p.Free())
	assert.ErrorIs(t, p.Free(), coro.ErrDestroyed)
}

// A channel that others use at the same time is freed, and they hear of it. (While one waits at the
// channel it is not freed: TestFree.)
func TestFreeAmongUses(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	for i := range scaled(100) {
		c := newChan[int64](t, s, i%2)
		require.NotZero(t, c.Address())
		var all sync.WaitGroup
		var used atomic.Int64
		for k := range 4 {
			all.Go(func() {
				var err error
				for ; err == nil; used.Add(1) {
					if k%2 == 0 {
						_, err = c.TrySend(1)
					} else {
						_, _, err = c.TryRecv()
					}
				}
				assert.ErrorIs(t, err, coro.ErrDestroyed)
			})
		}
		eventually(t, func() bool { return used.Load() > 20 }, "used")
		eventually(t, func() bool { return !errors.Is(c.Free(), coro.ErrBusy) }, "freed")
		all.Wait()
		assert.ErrorIs(t, c.Free(), coro.ErrDestroyed)
	}
}

// A channel for the answer of each request: made, used by C, freed. No memory grows, neither Go's
// nor C's, and the garbage collector comes about often enough by itself.
func TestFreedObjectsLeaveNoMemory(t *testing.T) {
	requests := 20_000
	if testing.Short() {
		requests = 2000
	}
	type answer [64]byte
	s := newScheduler(t, coro.WithWorkers(1))
	memory := func() (inGo, inC int) {
		runtime.GC()
		runtime.GC() // the first has the cleanups run
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc), testbody.Allocated()
	}
	uses := func(address uintptr, how int64) {
		task, err := misuses.Start(s, flow{address, how})
		require.NoError(t, err)
		status, err := task.Wait(background)
		require.NoError(t, err)
		require.EqualValues(t, testbody.OK, status)
	}
	request := func() {
		c := newChan[answer](t, s, 64)
		done := made[coro.WaitGroup](t)(coro.NewWaitGroup(s, 1))
		uses(c.Address(), testbody.SendZeros)
		uses(done.Address(), testbody.CountNow)
		v, err := c.Recv(background)
		require.NoError(t, err)
		require.Zero(t, v)
		require.NoError(t, c.Free())
		require.NoError(t, done.Free())
	}
	for range 100 {
		request()
	}
	goBefore, cBefore := memory()
	most := 0
	for i := range requests {
		request()
		if i%500 == 0 {
			most = max(most, testbody.Allocated()-cBefore)
		}
	}
	assert.Less(t, most, 32<<20, "of 90 MB that were made in between")
	var goGrowth, cGrowth int
	eventually(t, func() bool {
		inGo, inC := memory()
		goGrowth, cGrowth = inGo-goBefore, inC-cBefore
		return goGrowth < 1<<20 && cGrowth < 1<<20
	}, "no memory has grown")
	t.Logf("Go: %d bytes more, C: %d bytes more, and %d at most", goGrowth, cGrowth, most)
}
