//go:build cgo

package coro_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
