//go:build cgo

package coro_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
)

// doors runs a test with both kinds of doors.
func doors(t *testing.T, test func(t *testing.T, opts ...coro.Option)) {
	t.Run("membarrier", func(t *testing.T) { test(t) })
	t.Run("exchange", func(t *testing.T) {
		test(t, coro.WithTuning(coro.Tuning{NoMembarrier: true}))
	})
	t.Run("small", func(t *testing.T) {
		test(t, coro.WithTuning(coro.Tuning{StealBatch: 1, HandoverBudget: 1,
			StackCache: 1}), coro.WithStackLimit(512*oneStack))
	})
}

// work does one random thing on s. It returns what that adds to the sum. After ErrClosed the sum
// may be that much larger, or not.
func work(t *testing.T, s *coro.Scheduler, random *rand.Rand) (added, unsure int64, err error) {
	n := random.Int64N(200)
	switch random.IntN(8) {
	case 0:
		added, err = n, add.Spawn(s, n)
	case 1:
		sent, err := add.SpawnN(s, int(n), 3)
		return 3 * int64(sent), 0, err
	case 2:
		sent, err := add.SpawnSeq(s, slices.Values([]int64{2, 2, 2, 2, 2}))
		return 2 * int64(sent), 0, err
	case 3:
		b := yield.Batch(s)
		for range n {
			if err = b.Add(random.Int64N(20)); err != nil {
				return 0, n, err
			}
		}
		if err = b.Flush(); err != nil {
			return 0, n, err
		}
		return n, 0, nil
	case 4:
		added, err = 1<<(n%9), tree.Spawn(s, n%9)
	case 5:
		added, err = n, pingPong.Spawn(s, n)
	case 6:
		var task *coro.Task[int64]
		if task, err = square.Start(s, n); err == nil {
			var got int64
			if got, err = task.Wait(soon(t)); err == nil && got != n*n {
				err = fmt.Errorf("the square of %d is not %d", n, got)
			}
		}
	case 7:
		return 0, 0, wakeSomehow(t, s, n)
	}
	if err != nil {
		added = 0
	}
	return added, 0, err
}

// wakeSomehow starts a coroutine that parks, and has Go or C wake it, perhaps before it parks.
func wakeSomehow(t *testing.T, s *coro.Scheduler, n int64) error {
	task, err := park.Start(s, coro.None{})
	if err != nil {
		return err
	}
	if n%2 == 0 {
		if err = task.Wake(); err == nil {
			_, err = task.Wait(soon(t))
		}
		return err
	}
	w, err := wake.Start(s, task.Handle())
	if err != nil { // it is closing, and waits for the task
		_ = task.Wake()
		return err
	}
	if _, err = w.Wait(soon(t)); err == nil {
		_, err = task.Wait(soon(t))
	}
	return err
}

func TestStressEverythingAtOnceAddsUp(t *testing.T) {
	doors(t, func(t *testing.T, opts ...coro.Option) {
		var all []*coro.Scheduler
		for workers := 1; workers <= 3; workers++ {
			all = append(all, newScheduler(t, append(opts,
				coro.WithWorkers(workers))...))
		}
		for round := range scaled(64) {
			var want atomic.Int64
			testbody.Reset()
			var users sync.WaitGroup
			for user := range 8 {
				users.Go(func() {
					random := rand.New(rand.NewPCG(uint64(round), uint64(user)))
					for range 40 {
						added, _, err := work(t, all[random.IntN(len(all))],
							random)
						if !assert.NoError(t, err) {
							return
						}
						want.Add(added)
					}
				})
			}
			users.Wait()
			for _, s := range all {
				finish(t, s)
			}
			require.Equal(t, want.Load(), testbody.Sum(), "round %d", round)
		}
	})
}

func TestStressEveryEndIsExact(t *testing.T) {
	doors(t, func(t *testing.T, opts ...coro.Option) {
		random := rand.New(rand.NewPCG(1, 1))
		paused := newScheduler(t, append(opts, coro.WithWorkers(2), coro.WithPaused())...)
		s := newScheduler(t, append(opts, coro.WithWorkers(2))...)
		for range scaled(8000) {
			testbody.Reset()
			added := int64(1 << random.IntN(6))
			if random.IntN(2) == 0 {
				require.NoError(t, tree.Spawn(paused, int64(random.IntN(6))))
				require.NoError(t, pingPong.Spawn(paused, added))
				require.NoError(t, paused.Run(background))
			} else {
				require.NoError(t, pingPong.Spawn(s, added))
				_, err := yield.SpawnN(s, int(added), random.Int64N(3))
				require.NoError(t, err)
				added *= 2
				require.NoError(t, s.Wait(background))
				require.Equal(t, added, testbody.Sum())
			}
			require.GreaterOrEqual(t, testbody.Sum(), added)
		}
	})
}

func TestStressEveryDeadlockIsExact(t *testing.T) {
	doors(t, func(t *testing.T, opts ...coro.Option) {
		for seed := range uint64(scaled(100)) {
			random := rand.New(rand.NewPCG(seed, 2))
			s := newScheduler(t, append(opts, coro.WithWorkers(1+random.IntN(3)),
				coro.WithPaused())...)
			var tasks []*coro.Task[int32]
			blocked := random.IntN(30)
			for range blocked {
				task, err := park.Start(s, coro.None{})
				require.NoError(t, err)
				tasks = append(tasks, task)
				if random.IntN(2) == 0 {
					require.NoError(t, pingPong.Spawn(s, random.Int64N(100)))
				}
				if random.IntN(3) == 0 {
					require.NoError(t, tree.Spawn(s, random.Int64N(7)))
				}
			}
			for left := blocked; left > 0; {
				var dead *coro.DeadlockError
				require.ErrorAs(t, s.Run(background), &dead, "seed %d", seed)
				require.Equal(t, left, dead.Count, "seed %d", seed)
				for range 1 + random.IntN(left) {
					left--
					require.NoError(t, tasks[left].Wake())
				}
			}
			require.NoError(t, s.Run(background))
			require.NoError(t, s.Close(background))
		}
	})
}

func TestStressClosesInBetweenLoseNothing(t *testing.T) {
	doors(t, func(t *testing.T, opts ...coro.Option) {
		for round := range scaled(160) {
			s := newScheduler(t, append(opts, coro.WithWorkers(2))...)
			cancel := round%2 == 1
			var least, most atomic.Int64
			var users sync.WaitGroup
			for user := range 4 {
				users.Go(func() {
					for random := rand.New(rand.NewPCG(uint64(round),
						uint64(user))); ; {
						added, unsure, err := work(t, s, random)
						least.Add(added)
						most.Add(added + unsure)
						if cancel && (err == coro.ErrCanceled ||
							err == coro.ErrStale) {
							continue // it was on its way
						}
						if err != nil {
							assert.Equal(t, coro.ErrClosed, err)
							return
						}
					}
				})
			}
			time.Sleep(time.Duration(round%5) * time.Millisecond / 2)
			ctx := context.Context(background)
			if cancel {
				ctx = expired
				least.Store(math.MinInt64 / 2)
			}
			err := s.Close(ctx)
			if cancel {
				closedEarly(t, err)
			} else {
				require.NoError(t, err)
			}
			users.Wait()
			require.NoError(t, s.Close(background))
			assert.LessOrEqual(t, least.Load(), testbody.Sum())
			assert.GreaterOrEqual(t, most.Load(), testbody.Sum())
		}
	})
}

// Handles outlive their coroutines and their schedulers: a late wake-up gets ErrStale at most.
func TestStressHandlesMayBeWokenAtAnyTime(t *testing.T) {
	doors(t, func(t *testing.T, opts ...coro.Option) {
		var handles [16]atomic.Uint64
		var stop atomic.Bool
		var wakers sync.WaitGroup
		for waker := range uint64(2) {
			wakers.Go(func() {
				for random := rand.New(rand.NewPCG(waker, 3)); !stop.Load(); {
					err := coro.Handle(handles[random.IntN(
						len(handles))].Load()).Wake()
					if err != nil && !assert.Equal(t, coro.ErrStale, err) {
						return
					}
				}
			})
		}
		for range scaled(80) {
			s, err := coro.New(append(opts, coro.WithWorkers(2))...)
			require.NoError(t, err)
			for i := range 200 {
				task, err := park.Start(s, coro.None{})
				require.NoError(t, err)
				handles[i%len(handles)].Store(uint64(task.Handle()))
			}
			closedEarly(t, s.Close(expired))
			s = nil
			runtime.GC()
		}
		stop.Store(true)
		wakers.Wait()
	})
}

// Go wakes one to four parked coroutines, and waits until all of them have run and park again. Some
// rounds come in a row, so that workers are caught awake, and some after a pause, so that workers
// sleep or are about to.
func TestStressWakesFromGoAreNeverLost(t *testing.T) {
	doors(t, func(t *testing.T, opts ...coro.Option) {
		s := newScheduler(t, append(opts, coro.WithWorkers(2), coro.WithoutStandby())...)
		var tasks []*coro.Task[coro.None]
		for range 4 {
			task, err := laps.Start(s, coro.None{})
			require.NoError(t, err)
			tasks = append(tasks, task)
		}
		random := rand.New(rand.NewPCG(4, 4))
		woken, most := int64(0), counted(100_000)/3+1
		for woken < most {
			if random.IntN(16) == 0 {
				for start, pause := time.Now(),
					time.Duration(random.IntN(30_000)); time.Since(
					start) < pause; {
				}
			}
			for _, task := range tasks[:1+random.IntN(len(tasks))] {
				require.NoError(t, task.Wake())
				woken++
			}
			// without the time for which this process was stopped
			waited := time.Duration(0)
			for last := time.Now(); testbody.Sum() != woken; {
				now := time.Now()
				waited += min(now.Sub(last), 10*time.Millisecond)
				last = now
				if waited > patience {
					require.Fail(t, "a wake is lost", "after %d", woken)
				}
			}
		}
		t.Logf("%d rounds of park and a wake from Go, no standby", woken)
		assert.ErrorIs(t, s.Close(expired), context.Canceled)
	})
}

func TestStressStealingMovesWork(t *testing.T) {
	doors(t, func(t *testing.T, opts ...coro.Option) {
		s := newScheduler(t, append(opts, coro.WithWorkers(2))...)
		const depth = 10
		rounds := int64(0)
		eventually(t, func() bool {
			rounds++
			b := tree.Batch(s) // to one worker
			for range 8 {
				require.NoError(t, b.Add(depth))
			}
			require.NoError(t, b.Flush())
			finish(t, s)
			steals := uint64(0)
			for _, w := range s.Stats().PerWorker {
				steals += w.Steals
			}
			return rounds >= int64(scaled(200)) && steals > 0
		}, "they steal")
		assert.Equal(t, rounds*8<<depth, testbody.Sum())
	})
}

// A coroutine computes for two seconds. The other worker runs at once everything that the coroutine
// has spawned or woken, and that Go spawns behind it.
func TestStressABusyCoroutineHoldsNobodyUp(t *testing.T) {
	const most = 20 * time.Millisecond
	for _, opts := range [][]coro.Option{nil, {coro.WithTuning(
		coro.Tuning{NoMembarrier: true})}} {
		var latest []time.Duration
		for range 30 { // the machine may be busy with something else
			s := newScheduler(t, append(opts, coro.WithWorkers(2))...)
			require.NoError(t, busyParent.Spawn(s, uint64(2*time.Second)))
			eventually(t, testbody.Busy, "it computes")
			for range 2 { // one for each worker
				b := late.Batch(s)
				require.NoError(t, b.Add(testbody.Now()))
				require.NoError(t, b.Flush())
			}
			eventually(t, func() bool { return testbody.Ran() == 4 }, "all have run")
			latest = append(latest, testbody.Latest())
			testbody.Stop()
			finish(t, s)
			if slices.Min(latest) <= most {
				break
			}
		}
		assert.LessOrEqual(t, slices.Min(latest), most, "late by %v", latest)
	}
}

type flowOf = struct {
	Object uintptr
	N      int64
}

var (
	sumsBriefly  = coro.MustFunc[flowOf, int64](testbody.Sums, coro.FuncBrief())
	addsBriefly  = coro.MustFunc[int64, coro.None](testbody.Adds, coro.FuncBrief())
	parksBriefly = coro.MustFunc[coro.None, int32](testbody.Parks, coro.FuncBrief())
)

// A border is a scheduler with brief coroutines that receive from a channel.
type border struct {
	s         *coro.Scheduler
	values    *coro.Chan[int64]
	receivers []*coro.Task[int64]
	sent      atomic.Int64 // values
	sum       atomic.Int64 // what the bodies are to have added
	made      atomic.Int64 // operations
}

func newBorder(t *testing.T, opts ...coro.Option) *border {
	b := &border{s: newScheduler(t, opts...)}
	var err error
	b.values, err = coro.NewChan[int64](b.s, 4)
	require.NoError(t, err)
	for range 2 {
		receiver, err := sumsBriefly.Start(b.s, flowOf{Object: b.values.Address()})
		require.NoError(t, err)
		b.receivers = append(b.receivers, receiver)
	}
	return b
}

// do makes one random operation, checks the result, and counts.
func (b *border) do(random *rand.Rand) error {
	n := random.Int64N(100)
	b.made.Add(1)
	switch random.IntN(11) {
	case 0:
		return b.squares(background, n)
	case 1:
		ctx, cancel := context.WithCancel(background)
		defer cancel()
		return b.squares(ctx, n)
	case 2:
		n %= 5
		r, err := family.Call(background, b.s, n)
		return right(r, (n-1)*n*(2*n-1)/6, err)
	case 3:
		return b.adds(n)
	case 4:
		task, err := addsBriefly.Start(b.s, n)
		if err == nil {
			b.sum.Add(n)
			_, err = task.Wait(background)
		}
		return err
	case 5, 6:
		b.sent.Add(1)
		b.sum.Add(n)
		return b.values.Send(background, n)
	case 7:
		return b.parks(n)
	case 8:
		return b.cancels()
	case 9:
		b.sum.Add(2)
		_, err := callMany.Call(background, b.s, testbody.Calls{ID: uint32(increment),
			How: uint32(n) % 2, N: 2, K: n % 3})
		return err
	default:
		return b.many(1 + n%20)
	}
}

func right[R comparable](got, want R, err error) error {
	if err == nil && got != want {
		err = fmt.Errorf("%v is not %v", got, want)
	}
	return err
}

func (b *border) squares(ctx context.Context, n int64) error {
	r, err := square.Call(ctx, b.s, n)
	return right(r, n*n, err)
}

func (b *border) adds(n int64) error {
	b.sum.Add(n)
	_, err := add.Call(background, b.s, n)
	return err
}

// parks wakes a brief coroutine that waits, or is about to.
func (b *border) parks(n int64) error {
	task, err := parksBriefly.Start(b.s, coro.None{})
	if err != nil {
		return err
	}
	if n%2 == 0 {
		task.Cancel()
	} else if err = task.Wake(); err != nil {
		return err
	}
	r, err := task.Wait(background)
	if n%2 == 0 && err == coro.ErrCanceled {
		return nil // before it has started
	}
	return right(r, []int32{testbody.ECANCELED, testbody.OK}[n%2], err)
}

// cancels has the context of a Call end while the body waits, or before.
func (b *border) cancels() error {
	ctx, cancel := context.WithCancelCause(background)
	go cancel(errEnough)
	if _, err := canceled.Call(ctx, b.s, 2); !errors.Is(err, errEnough) {
		return fmt.Errorf("%w is not the cause", err)
	}
	return nil
}

func (b *border) many(n int64) error {
	args, results := make([]int64, n), make([]int64, n)
	for i := range args {
		args[i] = int64(i)
	}
	err := square.CallN(background, b.s, args, results)
	return right(results[n-1], (n-1)*(n-1), err)
}

// end closes the channel, and checks all counts.
func (b *border) end(t *testing.T) {
	require.NoError(t, b.values.Close())
	received := int64(0)
	for _, receiver := range b.receivers {
		n, err := wait(t, receiver)
		require.NoError(t, err)
		received += n
	}
	finish(t, b.s)
	assert.Equal(t, b.sent.Load(), received)
	assert.Equal(t, b.sum.Load(), testbody.Sum())
	st := b.s.Stats()
	assert.Equal(t, st.Spawned, st.Ended)
}

func TestStressBorderAddsUp(t *testing.T) {
	for _, goroutines := range []int64{1, 8, 100} {
		t.Run(fmt.Sprint(goroutines), func(t *testing.T) {
			doors(t, func(t *testing.T, opts ...coro.Option) {
				b := newBorder(t, append(opts, coro.WithWorkers(2), coro.WithoutStandby())...)
				each := counted(24_000)/goroutines + 1
				var users sync.WaitGroup
				for user := range goroutines {
					users.Go(func() {
						random := rand.New(rand.NewPCG(uint64(user), uint64(goroutines)))
						for range each {
							if !assert.NoError(t, b.do(random)) {
								return
							}
						}
					})
				}
				users.Wait()
				b.end(t)
				assert.Equal(t, goroutines*each, b.made.Load())
				t.Logf("%d operations, %v", b.made.Load(), b.s.Stats().Lends)
			})
		})
	}
}

// What was done before ErrClosed was done whole, and what has returned ErrClosed has done nothing.
func TestStressBorderWhileSchedulersClose(t *testing.T) {
	for _, goroutines := range []int64{1, 8, 100} {
		t.Run(fmt.Sprint(goroutines), func(t *testing.T) {
			done := int64(0)
			for round := range counted(300)/goroutines + 1 {
				s := newScheduler(t, coro.WithWorkers(1+int(round)%2))
				var sum, made atomic.Int64
				var users sync.WaitGroup
				for user := range goroutines {
					users.Go(func() {
						random := rand.New(rand.NewPCG(uint64(user), uint64(round)))
						for {
							added, err := addSomehow(s, random)
							if err != nil {
								assert.Equal(t, coro.ErrClosed, err)
								return
							}
							sum.Add(added)
							made.Add(1)
						}
					})
				}
				least := 20 * goroutines
				eventually(t, func() bool { return made.Load() >= least }, "%d are done", least)
				require.NoError(t, s.Close(soon(t)))
				users.Wait()
				require.Equal(t, sum.Load(), testbody.Sum(), "round %d", round)
				st := s.Stats()
				require.Equal(t, st.Spawned, st.Ended)
				done += made.Load()
			}
			t.Logf("%d operations", done)
		})
	}
}

// addSomehow has bodies add up some numbers. Where it returns an error, nothing was added.
func addSomehow(s *coro.Scheduler, random *rand.Rand) (added int64, err error) {
	n := random.Int64N(100)
	switch random.IntN(5) {
	case 0:
		_, err = add.Call(background, s, n)
		return n, err
	case 1:
		_, err = addsBriefly.Start(s, n)
		return n, err
	case 2:
		args := make([]int64, n%7)
		for i := range args {
			args[i] = int64(i)
			added += args[i]
		}
		return added, add.CallN(background, s, args, nil)
	case 3:
		_, err = yield.Call(background, s, n%4) // adds 1
		return 1, err
	default:
		_, err = callMany.Call(background, s, testbody.Calls{ID: uint32(increment),
			How: uint32(n) % 2, N: 2, K: 1})
		return 2, err
	}
}
