//go:build cgo

package coro_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ticking is a Go body that sleeps for ever.
func ticking(c *coro.Coroutine) (coro.None, error) {
	for {
		if err := c.Sleep(background, time.Millisecond); err != nil {
			return coro.None{}, err
		}
	}
}

// serving is a Go body that starts a C body for each value that it receives.
func serving(s *coro.Scheduler, in *coro.Chan[int64]) func(*coro.Coroutine) (coro.None, error) {
	return func(c *coro.Coroutine) (coro.None, error) {
		for {
			n, err := in.Recv(c.Context())
			if err != nil {
				return coro.None{}, err
			}
			if err := add.Spawn(s, n); err != nil {
				return coro.None{}, err
			}
		}
	}
}

func TestWaitDoesNotWaitForDaemons(t *testing.T) {
	stalls := make(chan int, 1000)
	s := newScheduler(t, coro.WithWorkers(2), coro.WithStallHook(func(n int) { stalls <- n }))
	in := newChan[int64](t, s, 4)
	_, err := coro.Go(s, serving(s, in), coro.AsDaemon())
	require.NoError(t, err)
	c, err := laps.Daemon().Start(s, coro.None{})
	require.NoError(t, err)
	require.NoError(t, laps.OnWorker(1).Daemon().Spawn(s, coro.None{}))
	require.NoError(t, laps.Daemon().OnWorker(0).Spawn(s, coro.None{}))
	_, err = laps.Daemon().SpawnN(s, 3, coro.None{})
	require.NoError(t, err)
	b := laps.Daemon().Batch(s)
	require.NoError(t, b.Add(coro.None{}))
	require.NoError(t, b.Flush())
	const daemons = 8
	eventually(t, func() bool {
		st := s.Stats()
		return st.Daemons == daemons && st.Live == daemons && st.Awake == 0
	}, "they wait")
	assert.False(t, s.Stats().Stalled)
	want := int64(0)
	for range scaled(300) {
		require.NoError(t, in.Send(background, 1))
		require.NoError(t, c.Wake())
		require.NoError(t, add.Spawn(s, 1))
		want += 3
		require.NoError(t, s.Wait(soon(t)))
		require.Equal(t, want, testbody.Sum(), "what daemons were asked for before is done")
	}
	assert.Empty(t, stalls)

	// the time of a daemon is no matter, and it hides no stall
	_, err = coro.Go(s, ticking, coro.AsDaemon())
	require.NoError(t, err)
	for range 20 {
		require.NoError(t, add.Spawn(s, 1))
		require.NoError(t, s.Wait(soon(t)))
	}
	var list []coro.BlockedCoroutine
	eventually(t, func() bool {
		var n int
		list, n = s.Blocked(100)
		return n == daemons+1
	}, "all are blocked at once, also the one that sleeps again and again")
	for _, b := range list {
		assert.True(t, b.Daemon, b)
		assert.Contains(t, fmt.Sprint(b), ", daemon")
	}
	require.NoError(t, s.Close(soon(t)), "daemons are canceled")
	st := s.Stats()
	assert.Zero(t, st.Live+st.Daemons)
	assert.Equal(t, st.Spawned, st.Ended)
	assert.Empty(t, stalls)
}

func TestAStallIsToldOfOthersThanDaemons(t *testing.T) {
	stalls := make(chan int, 100)
	s := newScheduler(t, coro.WithWorkers(2), coro.WithStallHook(func(n int) { stalls <- n }))
	_, err := laps.Daemon().SpawnN(s, 5, coro.None{})
	require.NoError(t, err)
	eventually(t, func() bool { return s.Stats().Daemons == 5 }, "they have come")
	task, err := park.Start(s, coro.None{})
	require.NoError(t, err)
	assert.Equal(t, 1, receive(t, stalls))
	eventually(t, func() bool { return s.Stats().Stalled }, "it is one")
	list, n := s.Blocked(1)
	require.Equal(t, 6, n)
	assert.Equal(t, "park", list[0].Func, "daemons come last")
	require.NoError(t, task.Wake())
	_, err = wait(t, task)
	require.NoError(t, err)
	require.NoError(t, s.Wait(soon(t)))
	assert.False(t, s.Stats().Stalled)
}

func TestRunDoesNotReportDaemons(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithPaused())
	in := newChan[int64](t, s, 4)
	_, err := coro.Go(s, serving(s, in), coro.AsDaemon())
	require.NoError(t, err)
	require.NoError(t, laps.Daemon().Spawn(s, coro.None{}))
	for i := range int64(3) {
		require.NoError(t, in.Send(background, 1))
		require.NoError(t, s.Run(soon(t)))
		assert.Equal(t, i+1, testbody.Sum())
	}
	task, err := park.Start(s, coro.None{})
	require.NoError(t, err)
	var deadlock *coro.DeadlockError
	require.ErrorAs(t, s.Run(soon(t)), &deadlock)
	assert.Equal(t, 1, deadlock.Count)
	require.Len(t, deadlock.Blocked, 1)
	assert.Equal(t, "park", deadlock.Blocked[0].Func)
	require.NoError(t, task.Wake())
	require.NoError(t, s.Run(soon(t)))
}

// A daemon in a group is a member of the group: the group's end is its end.
func TestAGroupWaitsForItsDaemons(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	g := coro.NewGroup(background, s)
	_, err := laps.Daemon().Start(g, coro.None{})
	require.NoError(t, err)
	_, err = coro.Go(g, ticking, coro.AsDaemon())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(background)
	bound, err := laps.Daemon().StartContext(ctx, s, coro.None{})
	require.NoError(t, err)
	body, err := coro.GoContext(ctx, s, ticking, coro.AsDaemon())
	require.NoError(t, err)
	require.NoError(t, s.Wait(soon(t)))
	assert.ErrorIs(t, g.Wait(expired), context.Canceled, "it goes on")
	enough := errors.New("enough")
	g.Cancel(enough)
	assert.Equal(t, enough, g.Wait(soon(t)))
	cancel()
	_, err = bound.Wait(soon(t))
	assert.ErrorIs(t, err, context.Canceled, "it was told, and has returned")
	_, err = body.Wait(soon(t))
	assert.ErrorIs(t, err, context.Canceled)
	finish(t, s)
}

// Close waits for the others first; and for a daemon, which is in a Go function, the function's
// context ends.
func TestCloseCancelsDaemonsWhenTheOthersHaveEnded(t *testing.T) {
	for _, how := range ways {
		s := newScheduler(t, coro.WithWorkers(2))
		in := make(chan struct{}, 1)
		forEver := coro.MustExportFunc(func(ctx context.Context, _ int64) (int64, error) {
			in <- struct{}{}
			<-ctx.Done()
			return 0, context.Cause(ctx)
		})
		call := testbody.Call{ID: uint32(forEver), How: how, ArgBytes: 8, ResultBytes: 8}
		if how == testbody.Offload {
			require.NoError(t, callOne.Daemon().Spawn(s, call))
			receive(t, in)
			require.NoError(t, s.Wait(soon(t)), "although its call is under way")
		}
		daemon, err := coro.Go(s, ticking, coro.AsDaemon())
		require.NoError(t, err)
		other, err := park.Start(s, coro.None{})
		require.NoError(t, err)
		go func() {
			time.Sleep(3 * time.Millisecond)
			assert.NoError(t, daemon.Err())
			assert.NoError(t, other.Wake())
		}()
		require.NoError(t, s.Close(soon(t)))
		got, err := other.Wait(background)
		require.NoError(t, err)
		assert.Zero(t, got, "it was woken, and not canceled")
		assert.ErrorIs(t, daemon.Err(), coro.ErrCanceled)
		assert.Zero(t, s.Stats().Live)
	}
}

func ExampleFunc_Daemon() {
	stalled := func(n int) { fmt.Println(n, "wait for ever") }
	s, err := coro.New(coro.WithStallHook(stalled))
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	defer s.Close(ctx) // ends the server, too
	server, err := laps.Daemon().Start(s, coro.None{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(server.Wake(), s.Wait(ctx)) // a request, and the end of all that came of it
	// Output: <nil> <nil>
}
