package actor

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// badEnds are how functions of a program's fail.
var badEnds = map[string]func(){
	"panic":  func() { panic("of a function of the program's, by a test") },
	"goexit": runtime.Goexit,
}

// closes tests that everything ends, soon.
func closes(t *testing.T, y *System) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- y.Close() }()
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-time.After(time.Minute):
		require.Fail(t, "Close does not return")
	}
}

func TestAHookThatFailsIsCalledOnceForItsEvent(t *testing.T) {
	for name, fail := range badEnds {
		for kind, opts := range map[string][]SpawnOption{
			"plain": {Restart(9, 0)}, "waiting": {Restart(9, 0), Waiting()},
		} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				failures, dead := 0, 0
				y, err := New(Executors(1),
					OnFailure(func(*Failure) { failures++; fail() }),
					OnDeadLetter(func(DeadLetter) { dead++; fail() }))
				require.NoError(t, err)
				handled := 0
				r := spawn(t, y, func(_ *Context[int], m int) error {
					if handled++; m == 0 {
						return errors.New("bad")
					}
					return nil
				}, opts...)
				tellAll(t, r, 1, 0, 1)
				rest(t, y)
				require.Equal(t, [...]int{3, 1, 1}, [...]int{handled, failures, dead})
				st := y.Stats()
				require.EqualValues(t, 1, st.Failures)
				require.EqualValues(t, 1, st.Dead)
				require.EqualValues(t, 2, st.HookFailures)
				closes(t, y)
			})
		}
	}
}

func TestEachWaitingMessageIsADeadLetterOnceThoughTheHookFails(t *testing.T) {
	const n = 100
	for name, fail := range badEnds {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			told := map[int]int{}
			y, err := New(Executors(1), OnDeadLetter(func(d DeadLetter) {
				mu.Lock()
				told[d.Message.(query).n]++
				mu.Unlock()
				fail()
			}))
			require.NoError(t, err)
			goOn := make(chan struct{})
			r := spawn(t, y, func(c *Context[query], _ query) error {
				<-goOn
				c.Stop()
				return nil
			})
			require.NoError(t, r.Tell(query{}))
			answers := make(chan error, n)
			for i := range n {
				go func() {
					_, err := Ask(t.Context(), r, func(to Reply[int]) query { return query{i + 1, to} })
					answers <- err
				}()
			}
			require.Eventually(t, func() bool { return r.c.count() == n }, time.Minute, time.Millisecond)
			close(goOn)
			for range n {
				require.ErrorIs(t, <-answers, ErrStopped)
			}
			closes(t, y)
			require.Len(t, told, n)
			require.EqualValues(t, n, y.Stats().Dead)
			require.EqualValues(t, n, y.Stats().HookFailures)
		})
	}
}

// count is how many messages are in the box.
func (c *actorOf[M]) count() int {
	n := c.box.Load()
	if n == nil || n == &c.pool().ended {
		return 0
	}
	return int(n.count() - min(n.count(), c.behind()))
}

func TestAHookThatFailsForATimersMessage(t *testing.T) {
	for name, fail := range badEnds {
		t.Run(name, func(t *testing.T) {
			y, err := New(Executors(1), OnDeadLetter(func(DeadLetter) { fail() }))
			require.NoError(t, err)
			r := spawn(t, y, func(c *Context[int], m int) error {
				c.After(time.Hour, 1)
				c.After(time.Hour, 2)
				return nil
			})
			require.NoError(t, r.Tell(0))
			rest := make(chan error)
			go func() { rest <- y.Rest(t.Context()) }()
			require.Eventually(t, func() bool { return y.laters.Load() == 2 }, time.Minute,
				time.Millisecond)
			r.Stop()
			require.NoError(t, <-rest)
			require.EqualValues(t, 2, y.Stats().Dead)
			closes(t, y)
		})
	}
}

// What a hook calls of the package is as if the behaviour had called it, on whose account it runs.
func TestAHookMayNotWait(t *testing.T) {
	var y *System
	errs := make(chan error, 9)
	other := Ref[int]{}
	y, err := New(Executors(1), OnFailure(func(*Failure) {
		errs <- y.Close()
		errs <- y.Rest(context.Background())
		errs <- other.Tell(1)
	}))
	require.NoError(t, err)
	var handled atomic.Int32
	other = spawn(t, y, func(*Context[int], int) error { handled.Add(1); return nil })
	for _, opts := range [][]SpawnOption{{Resume()}, {Resume(), Waiting()}} {
		r := spawn(t, y, func(*Context[int], int) error { return errors.New("bad") }, opts...)
		require.NoError(t, r.Tell(0))
		for range 2 {
			if len(opts) == 1 {
				require.ErrorIs(t, <-errs, ErrWaits)
			} else {
				require.ErrorIs(t, <-errs, ErrDeadlock)
			}
		}
		require.NoError(t, <-errs)
	}
	rest(t, y)
	require.EqualValues(t, 2, handled.Load())
	closes(t, y)
}
