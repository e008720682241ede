//go:build cgo

package coro_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/asm"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A brittle context panics, once, at the call number n of its methods by the goroutine that made
// it.
type brittle struct {
	context.Context
	by   uintptr
	left *int
}

type broken struct{}

func newBrittle(ctx context.Context, n int) brittle { return brittle{ctx, asm.Goroutine(), &n} }

func (b brittle) use() {
	if asm.Goroutine() == b.by {
		if *b.left--; *b.left == 0 {
			panic(broken{})
		}
	}
}

func (b brittle) Deadline() (time.Time, bool) { b.use(); return b.Context.Deadline() }
func (b brittle) Done() <-chan struct{}       { b.use(); return b.Context.Done() }
func (b brittle) Err() error                  { b.use(); return b.Context.Err() }
func (b brittle) Value(key any) any           { b.use(); return b.Context.Value(key) }

// brittleContexts are contexts that end in a moment, before a deadline far away, and with one.
var brittleContexts = map[string]func() (context.Context, context.CancelFunc){
	"canceled": func() (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithTimeout(background, time.Hour)
		time.AfterFunc(100*time.Microsecond, cancel)
		return ctx, cancel
	},
	"deadline": func() (context.Context, context.CancelFunc) {
		return context.WithTimeout(background, 100*time.Microsecond)
	},
}

// sweep calls f with contexts that panic at the first call, the second, and so on, until none does.
// It returns how many did.
func sweep(t *testing.T, f func(context.Context)) (panics int) {
	for _, make := range brittleContexts {
		for n := 1; ; n++ {
			ctx, cancel := make()
			b := newBrittle(ctx, n)
			func() {
				defer func() {
					if p := recover(); p != nil && p != (broken{}) {
						panic(p)
					}
				}()
				f(b)
			}()
			cancel()
			if *b.left > 0 {
				break
			}
			panics++
		}
	}
	assert.Positive(t, panics)
	return panics
}

// A panic in a method of a context, wherever it is called, leaves nothing held: no spawning is
// locked, nobody is left on a list of waiters, and the scheduler comes to its end.
func TestAContextThatPanicsLeavesNothingHeld(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithExecutors(1))
	paused := newScheduler(t, coro.WithWorkers(1), coro.WithPaused())
	full := newScheduler(t, coro.WithWorkers(1), coro.WithPaused(), coro.WithRecordLimit(1))
	for empty.Spawn(full, coro.None{}) == nil {
	}
	forever, err := park.Start(s, coro.None{})
	require.NoError(t, err)
	bodyForever := goes(t, s, func(c *coro.Coroutine) error { return c.Park(c.Context()) })
	values := newChan[int](t, s, 0)
	permits := made[coro.Semaphore](t)(coro.NewSemaphore(s, 0))
	lock := made[coro.Mutex](t)(coro.NewMutex(s))
	group := func(start func(*coro.Group) error) {
		g := coro.NewGroup(background, s)
		started := false
		defer func() { // what was started before the panic is canceled
			if !started {
				assert.NoError(t, g.Wait(soon(t)))
			}
		}()
		err := start(g)
		started = true
		g.Cancel(errEnough)
		if werr := g.Wait(soon(t)); err == nil {
			assert.True(t, errors.Is(werr, errEnough) || errors.Is(werr, context.Canceled) ||
				errors.Is(werr, context.DeadlineExceeded), // its own came first
				"%v", werr)
		}
	}
	ends := func(c *coro.Coroutine) (int, error) { return 0, c.Park(c.Context()) }
	calls := map[string]func(ctx context.Context){
		"GoContext": func(ctx context.Context) { _, _ = coro.GoContext(ctx, s, ends) },
		"StartContext": func(ctx context.Context) {
			_, _ = canceled.StartContext(ctx, s, parksAndTells)
		},
		"GoContext in a group": func(ctx context.Context) {
			group(func(g *coro.Group) error { _, err := coro.GoContext(ctx, g, ends); return err })
		},
		"StartContext in a group": func(ctx context.Context) {
			group(func(g *coro.Group) error {
				_, err := canceled.StartContext(ctx, g, parksAndTells)
				return err
			})
		},
		"NewGroup": func(ctx context.Context) {
			g := coro.NewGroup(ctx, s)
			_, _ = canceled.Start(g, parksAndTells)
			_ = g.Wait(soon(t))
		},
		"SpawnWait":      func(ctx context.Context) { _ = empty.SpawnWait(ctx, full, coro.None{}) },
		"Scheduler.Wait": func(ctx context.Context) { _ = s.Wait(ctx) },
		"Scheduler.Run":  func(ctx context.Context) { _ = paused.Run(ctx) },
		"Task.Wait":      func(ctx context.Context) { _, _ = forever.Wait(ctx) },
		"Chan.Recv":      func(ctx context.Context) { _, _ = values.Recv(ctx) },
		"Select": func(ctx context.Context) {
			_, _ = coro.Select(ctx, coro.OnRecv(values, nil))
		},
		"Semaphore.Acquire": func(ctx context.Context) { _ = permits.Acquire(ctx) },
		"Completions": func(ctx context.Context) {
			for range coro.Completions(ctx, forever) {
			}
		},
	}
	for name, f := range calls {
		t.Run(name, func(t *testing.T) { sweep(t, f) })
	}
	assert.Zero(t, coro.WaitingForMemory(full))

	bodies := map[string]func(context.Context, *coro.Coroutine){
		"Park":  func(ctx context.Context, c *coro.Coroutine) { _ = c.Park(ctx) },
		"Sleep": func(ctx context.Context, c *coro.Coroutine) { _ = c.Sleep(ctx, time.Hour) },
		"Await": func(ctx context.Context, c *coro.Coroutine) {
			_, _ = coro.Await(ctx, c, forever)
		},
		"Await of a body": func(ctx context.Context, c *coro.Coroutine) {
			_, _ = coro.Await(ctx, c, bodyForever)
		},
		"Recv":    func(ctx context.Context, c *coro.Coroutine) { _, _ = values.Recv(ctx) },
		"Acquire": func(ctx context.Context, c *coro.Coroutine) { _ = permits.Acquire(ctx) },
		"Lock": func(ctx context.Context, c *coro.Coroutine) {
			assert.Error(t, lock.Lock(ctx))
		},
	}
	require.NoError(t, lock.Lock(background))
	for name, f := range bodies {
		t.Run(name+" by a body", func(t *testing.T) {
			task := goes(t, s, func(c *coro.Coroutine) error {
				for _, make := range brittleContexts {
					for n := 1; ; n++ {
						own, cancel := make()
						ctx := c.Context()
						if name != "Park" && name != "Sleep" {
							own, cancel = context.WithTimeout(ctx, 100*time.Microsecond)
						}
						b := newBrittle(own, n)
						func() {
							defer func() {
								if p := recover(); p != nil && p != (broken{}) {
									panic(p)
								}
							}()
							f(b, c)
						}()
						cancel()
						if *b.left > 0 {
							break
						}
					}
				}
				return nil
			})
			_, err := wait(t, task)
			require.NoError(t, err)
		})
	}
	require.NoError(t, lock.Unlock())
	assert.True(t, tries(t, lock.TryLock), "nobody else waits for it")
	require.NoError(t, permits.Release(1))
	assert.True(t, tries(t, permits.TryAcquire), "nobody else waits for it")
	assert.False(t, tries(t, func() (bool, error) { return values.TrySend(1) }),
		"nobody receives")

	require.NoError(t, forever.Wake())
	require.NoError(t, bodyForever.Wake())
	finish(t, s)
	for _, s := range []*coro.Scheduler{s, paused, full} {
		require.NoError(t, s.Close(soon(t)))
	}
}

// Close heeds its context in whatever it waits, and so does each further one.
func TestCloseReturnsWithItsContextThoughSpawningIsHeld(t *testing.T) {
	s, err := coro.New(coro.WithWorkers(1))
	require.NoError(t, err)
	release := coro.HoldSubmitters(s)
	for range 2 {
		ctx, cancel := context.WithTimeout(background, 10*time.Millisecond)
		var running *coro.RunningError
		require.ErrorAs(t, s.Close(ctx), &running)
		cancel()
		assert.Equal(t, coro.ErrClosed, empty.Spawn(s, coro.None{}))
	}
	release()
	require.NoError(t, s.Close(soon(t)))
}
