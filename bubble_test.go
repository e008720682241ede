//go:build cgo

package coro_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
)

// A bubbleWait is a call that would wait, and must say in a bubble of testing/synctest that it
// cannot.
type bubbleWait struct {
	name string
	call func(ctx context.Context) error
}

// taskWaits are the waits for tasks of s, and for s.
func taskWaits(t *testing.T, s *coro.Scheduler) []bubbleWait {
	inC, err := park.Start(s, coro.None{})
	require.NoError(t, err)
	inGo, err := coro.Go(s, func(c *coro.Coroutine) (int, error) { return 0, c.Park(background) })
	require.NoError(t, err)
	group := coro.NewGroup(background, s)
	member, err := park.Start(group, coro.None{})
	require.NoError(t, err)
	t.Cleanup(func() {
		inC.Cancel()
		inGo.Cancel()
		member.Cancel()
		_ = group.Wait(soon(t))
	})
	full := newScheduler(t, coro.WithRecordLimit(1))
	_, err = park.SpawnN(full, 1<<15, coro.None{})
	require.ErrorIs(t, err, coro.ErrNoMemory)
	paused := newScheduler(t, coro.WithPaused())
	hosted := newScheduler(t, coro.WithMainThread())
	require.NoError(t, park.Spawn(hosted, coro.None{}))
	return []bubbleWait{
		{"New", func(context.Context) error { _, err := coro.New(); return err }},
		{"Task.Wait of C", func(ctx context.Context) error { _, err := inC.Wait(ctx); return err }},
		{"Task.Wait of Go", func(ctx context.Context) error { _, err := inGo.Wait(ctx); return err }},
		{"Task.Done", func(context.Context) (err error) {
			defer func() { err, _ = recover().(error) }()
			inC.Done()
			return nil
		}},
		{"Completions", func(ctx context.Context) (err error) {
			n := 0
			for _, err = range coro.Completions(ctx, inC) {
				n++
			}
			assert.Equal(t, 1, n)
			return err
		}},
		{"Group.Wait", group.Wait},
		{"Start in a group", func(ctx context.Context) error {
			g := coro.NewGroup(ctx, s)
			_, err := square.Start(g, 1)
			assert.ErrorIs(t, g.Wait(ctx), coro.ErrBubble)
			return err
		}},
		{"Scheduler.Wait", s.Wait},
		{"Scheduler.Rest", s.Rest},
		{"Scheduler.Close", s.Close},
		{"Run", paused.Run},
		{"RunMain", hosted.RunMain},
		{"ServeMain", hosted.ServeMain},
		{"SpawnWait", func(ctx context.Context) error { return park.SpawnWait(ctx, full, coro.None{}) }},
	}
}

// callWaits are the calls of bodies that wait.
func callWaits(t *testing.T, s *coro.Scheduler) []bubbleWait {
	others := newScheduler(t) // calls of a CallN that have started go on
	return []bubbleWait{
		{"Call", func(ctx context.Context) error { _, err := park.Call(ctx, s, coro.None{}); return err }},
		{"CallN", func(ctx context.Context) error {
			return park.CallN(ctx, others, make([]coro.None, 3), make([]int32, 3))
		}},
	}
}

// boundStarts hand over a context that may end.
func boundStarts(s *coro.Scheduler) []bubbleWait {
	return []bubbleWait{
		{"StartContext", func(ctx context.Context) error {
			_, err := park.StartContext(ctx, s, coro.None{})
			return err
		}},
		{"GoContext", func(ctx context.Context) error {
			_, err := coro.GoContext(ctx, s, func(*coro.Coroutine) (int, error) { return 0, nil })
			return err
		}},
	}
}

// objects have nothing to take, and are locked by the test.
type objects struct {
	empty, meet *coro.Chan[int64]
	full        *coro.Chan[int64]
	sem         *coro.Semaphore
	mutex       *coro.Mutex
	rw          *coro.RWMutex
	group       *coro.WaitGroup
	cond        *coro.Cond
	inCond      *coro.Mutex
	stream      *coro.Stream
}

func newObjects(t *testing.T, s *coro.Scheduler) (o objects) {
	must := func(err error) { require.NoError(t, err) }
	var err error
	o.empty, err = coro.NewChan[int64](s, 4)
	must(err)
	o.full, err = coro.NewChan[int64](s, 1)
	must(err)
	must(o.full.Send(background, 1))
	o.meet, err = coro.NewChan[int64](s, 0)
	must(err)
	o.sem, err = coro.NewSemaphore(s, 0)
	must(err)
	o.mutex, err = coro.NewMutex(s)
	must(err)
	must(o.mutex.Lock(background))
	o.rw, err = coro.NewRWMutex(s)
	must(err)
	must(o.rw.Lock(background))
	o.group, err = coro.NewWaitGroup(s, 1)
	must(err)
	o.inCond, err = coro.NewMutex(s)
	must(err)
	o.cond, err = coro.NewCond(o.inCond)
	must(err)
	o.stream, err = coro.NewStream(s, 1)
	must(err)
	_, err = o.stream.Write([]byte{1})
	must(err)
	return o
}

func (o objects) waits() []bubbleWait {
	return []bubbleWait{
		{"Recv", func(ctx context.Context) error { _, err := o.empty.Recv(ctx); return err }},
		{"Recv without room", func(ctx context.Context) error { _, err := o.meet.Recv(ctx); return err }},
		{"All", func(ctx context.Context) (err error) {
			for _, err = range o.empty.All(ctx) {
			}
			return err
		}},
		{"Send", func(ctx context.Context) error { return o.full.Send(ctx, 2) }},
		{"Send without room", func(ctx context.Context) error { return o.meet.Send(ctx, 2) }},
		{"Select", func(ctx context.Context) error {
			_, err := coro.Select(ctx, coro.OnRecv(o.empty, nil), coro.OnSend(o.full, 2))
			return err
		}},
		{"Acquire", o.sem.Acquire},
		{"Lock", o.mutex.Lock},
		{"RWMutex.Lock", o.rw.Lock},
		{"RLock", o.rw.RLock},
		{"WaitGroup.Wait", o.group.Wait},
		{"Cond.Wait", func(ctx context.Context) error {
			if err := o.inCond.Lock(ctx); err != nil {
				return err
			}
			err := o.cond.Wait(ctx)
			if unlock := o.inCond.Unlock(); unlock != nil {
				return unlock
			}
			return err
		}},
		{"Stream.Read", func(ctx context.Context) error {
			_, err := o.stream.ReadContext(ctx, make([]byte, 1))
			return err
		}},
		{"Stream.Write", func(ctx context.Context) error {
			_, err := o.stream.WriteContext(ctx, make([]byte, 1))
			return err
		}},
	}
}

// works checks that nothing has taken, or waits for, what the objects have.
func (o objects) works(t *testing.T) {
	t.Helper()
	ctx := soon(t)
	require.NoError(t, o.empty.Send(ctx, 3))
	v, err := o.empty.Recv(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 3, v)
	v, err = o.full.Recv(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 1, v)
	ok, err := o.meet.TrySend(4)
	require.NoError(t, err)
	require.False(t, ok, "nobody waits")
	_, ok, err = o.meet.TryRecv()
	require.NoError(t, err)
	require.False(t, ok)
	require.NoError(t, o.sem.Release(1))
	require.NoError(t, o.sem.Acquire(ctx))
	require.NoError(t, o.mutex.Unlock())
	require.NoError(t, o.rw.Unlock())
	require.NoError(t, o.rw.RLock(ctx))
	require.NoError(t, o.group.Done())
}

// In a bubble every call that would wait returns ErrBubble: it neither hangs, as time stands still
// there, nor touches what belongs to the bubble from outside.
func TestInABubbleEachWaitSaysSo(t *testing.T) {
	s := newScheduler(t)
	o := newObjects(t, s)
	waits := append(o.waits(), taskWaits(t, s)...)
	waits = append(waits, callWaits(t, s)...)
	bound := boundStarts(s)
	for range scaled(8) {
		synctest.Test(t, func(t *testing.T) {
			timeout, cancel := context.WithTimeout(background, time.Hour)
			defer cancel()
			ends, quit := context.WithCancel(background)
			defer quit()
			start := time.Now()
			for _, ctx := range []context.Context{background, timeout, ends} {
				for _, w := range waits {
					assert.ErrorIs(t, w.call(ctx), coro.ErrBubble, w.name)
				}
				if ctx == background {
					continue
				}
				for _, w := range bound {
					assert.ErrorIs(t, w.call(ctx), coro.ErrBubble, w.name)
				}
			}
			assert.Zero(t, time.Since(start))
		})
	}
	o.works(t)
	filter := starting(t, s, streamFlip, o.stream, 1, 0)
	require.NoError(t, o.stream.CloseWrite())
	back, err := io.ReadAll(o.stream)
	require.NoError(t, err)
	require.Equal(t, flipped([]byte{1}), back)
	_, err = wait(t, filter)
	require.NoError(t, err)
	// the calls' coroutines were canceled, and those that wait go on
	eventually(t, func() bool { _, n := s.Blocked(0); return n == 3 }, "only the tasks are left")
}

// What does not wait works in a bubble, and what has come by then is taken.
func TestInABubbleWhatIsThereIsTaken(t *testing.T) {
	s := newScheduler(t)
	c, err := coro.NewChan[int64](s, 1)
	require.NoError(t, err)
	inC, err := square.Start(s, 5)
	require.NoError(t, err)
	inGo, err := coro.Go(s, func(*coro.Coroutine) (int, error) { return 7, nil })
	require.NoError(t, err)
	finish(t, s)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(background, time.Hour)
		defer cancel()
		require.NoError(t, c.Send(ctx, 1))
		v, err := c.Recv(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 1, v)
		n, err := inC.Wait(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 25, n)
		<-inC.Done()
		m, err := inGo.Wait(ctx)
		require.NoError(t, err)
		require.Equal(t, 7, m)
		require.NoError(t, s.Wait(ctx))
		require.NoError(t, empty.Spawn(s, coro.None{}))
	})
	finish(t, s)
	require.NoError(t, s.Close(soon(t)))
	synctest.Test(t, func(t *testing.T) { require.NoError(t, s.Close(background)) })
}

// At a stream, too. A deadline would have a timer of the bubble.
func TestAStreamInABubble(t *testing.T) {
	s := newScheduler(t)
	st := newStream(t, s, 16)
	require.NoError(t, st.SetDeadline(time.Now().Add(patience)))
	task := starting(t, s, streamFlip, st, 4, 0)
	synctest.Test(t, func(t *testing.T) {
		for _, set := range []func(time.Time) error{
			st.SetDeadline, st.SetReadDeadline, st.SetWriteDeadline,
		} {
			assert.ErrorIs(t, set(time.Time{}), coro.ErrBubble)
		}
		n, err := st.Write([]byte("abcd"))
		assert.NoError(t, err)
		assert.Equal(t, 4, n)
	})
	b := make([]byte, 4)
	_, err := io.ReadFull(st, b[:3])
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		_, err := st.Read(b[3:])
		assert.NoError(t, err)
		assert.NoError(t, st.CloseWrite())
	})
	assert.Equal(t, flipped([]byte("abcd")), b)
	n, err := wait(t, task)
	require.NoError(t, err)
	require.EqualValues(t, 4, n)
	synctest.Test(t, func(t *testing.T) {
		_, err := st.Read(b)
		assert.ErrorIs(t, err, io.EOF)
		assert.NoError(t, st.Close())
	})
	finish(t, s)
}

// A Call that calls Go in a bubble makes the call there, whatever its context.
func TestInABubbleACallCallsGo(t *testing.T) {
	s := newScheduler(t)
	for range scaled(100) {
		asleep(t, s)
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(background)
			defer cancel()
			for _, how := range ways {
				came, err := callOne.Call(ctx, s, testbody.Call{ID: uint32(increment), How: how, Number: 1,
					ArgBytes: 8, ResultBytes: 8})
				if err != nil { // no worker sleeps
					require.ErrorIs(t, err, coro.ErrBubble)
					continue
				}
				require.EqualValues(t, 2, came.Number)
			}
		})
	}
	finish(t, s)
}

// A receive in a bubble at a channel without room takes a value, or leaves it to others.
func TestInABubbleNoValueIsLost(t *testing.T) {
	s := newScheduler(t)
	c, err := coro.NewChan[int64](s, 0)
	require.NoError(t, err)
	var sent, received int64
	var ended atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !ended.Load() {
			if ok, err := c.TrySend(1); ok && err == nil {
				sent++
			}
		}
	}()
	for range scaled(400) {
		synctest.Test(t, func(t *testing.T) {
			for range 20 {
				v, err := c.Recv(background)
				if err != nil {
					require.ErrorIs(t, err, coro.ErrBubble)
				}
				received += v
			}
		})
	}
	ended.Store(true)
	<-done
	require.Equal(t, sent, received)
	t.Log(sent)
}

// Serve closes its listener in each case.
func TestServeInABubble(t *testing.T) {
	s := newScheduler(t)
	l := listen(t, "tcp")
	synctest.Test(t, func(t *testing.T) {
		require.ErrorIs(t, s.Serve(background, l, serveEcho), coro.ErrBubble)
	})
	_, err := l.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
}

// endedContexts returns contexts that have ended, and what errors.Is must find in the error of each
// call that has ended by one of them.
func endedContexts(t *testing.T) map[context.Context][]error {
	why := errors.New("enough")
	canceled, cancel := context.WithCancelCause(background)
	cancel(why)
	late, free := context.WithDeadlineCause(background, time.Unix(0, 0), why)
	t.Cleanup(free)
	plain, free := context.WithDeadline(background, time.Unix(0, 0))
	t.Cleanup(free)
	return map[context.Context][]error{
		canceled: {why, context.Canceled},
		late:     {why, context.DeadlineExceeded},
		plain:    {context.DeadlineExceeded},
		expired:  {context.Canceled},
	}
}

// Each call whose context ends returns an error in which errors.Is finds the cause and the Err.
func TestErrorsOfContextsHaveTheCauseAndTheErr(t *testing.T) {
	s := newScheduler(t)
	waits := append(newObjects(t, s).waits(), taskWaits(t, s)...)
	waits = append(waits, callWaits(t, s)...)
	waits = append(waits, boundStarts(s)...)
	waits = append(waits, bodyWaits(t, s)...)
	waits = append(waits,
		bubbleWait{"Serve", func(ctx context.Context) error { return s.Serve(ctx, listen(t, "tcp"), serveEcho) }})
	not := map[string]bool{
		"New": true, "Task.Done": true, "Start in a group": true, // no context
		"Scheduler.Rest":  true, // all are at rest, which it tells
		"Scheduler.Close": true, // which would end what the others wait for
	}
	for ctx, wanted := range endedContexts(t) {
		for _, w := range waits {
			if not[w.name] {
				continue
			}
			result := make(chan error, 1)
			go func() { result <- w.call(ctx) }() // the locks are held by the test's goroutine
			err := <-result
			for _, want := range wanted {
				assert.ErrorIs(t, err, want, w.name)
			}
		}
		closed := newScheduler(t)
		_, err := park.Start(closed, coro.None{})
		require.NoError(t, err)
		err = closed.Close(ctx)
		for _, want := range wanted {
			assert.ErrorIs(t, err, want, "Close")
		}
	}
}

// bodyWaits are the waits of a Go body, each in a body of its own.
func bodyWaits(t *testing.T, s *coro.Scheduler) []bubbleWait {
	other, err := park.Start(s, coro.None{})
	require.NoError(t, err)
	t.Cleanup(other.Cancel)
	in := func(f func(context.Context, *coro.Coroutine) error) func(context.Context) error {
		return func(ctx context.Context) error {
			task, err := coro.Go(s, func(c *coro.Coroutine) (coro.None, error) { return coro.None{}, f(ctx, c) })
			require.NoError(t, err)
			_, err = task.Wait(soon(t))
			return err
		}
	}
	return []bubbleWait{
		{"Park", in(func(ctx context.Context, c *coro.Coroutine) error { return c.Park(ctx) })},
		{"Sleep", in(func(ctx context.Context, c *coro.Coroutine) error { return c.Sleep(ctx, time.Hour) })},
		{"Await", in(func(ctx context.Context, c *coro.Coroutine) error {
			_, err := other.Await(ctx, c)
			return err
		})},
	}
}

// What the end of a context cancels, while it waits, has the cause and the Err in its error: a C
// body, a Go body, and the members of a group.
func TestErrorsOfCanceledTasksHaveTheCauseAndTheErr(t *testing.T) {
	s := newScheduler(t)
	why := errors.New("enough")
	waits := func(c *coro.Coroutine) (int64, error) { return 0, c.Park(background) }
	ends := map[string]func() (context.Context, func()){
		"cancel": func() (context.Context, func()) {
			ctx, cancel := context.WithCancelCause(background)
			return ctx, func() { cancel(why) }
		},
		"deadline": func() (context.Context, func()) {
			ctx, free := context.WithTimeoutCause(background, 20*time.Millisecond, why)
			t.Cleanup(free)
			return ctx, func() {}
		},
	}
	for name, end := range ends {
		ctx, cancel := end()
		inC, err := canceled.StartContext(ctx, s, parksAndTells)
		if name == "deadline" && err != nil {
			require.ErrorIs(t, err, why) // the machine was slow
			continue
		}
		require.NoError(t, err)
		group := coro.NewGroup(ctx, s)
		tasks := []*coro.Task[int64]{inC}
		for _, start := range []func() (*coro.Task[int64], error){
			func() (*coro.Task[int64], error) { return coro.GoContext(ctx, s, waits) },
			func() (*coro.Task[int64], error) { return canceled.Start(group, parksAndTells) },
			func() (*coro.Task[int64], error) { return coro.Go(group, waits) },
		} {
			if task, err := start(); err == nil {
				tasks = append(tasks, task)
			} else {
				require.ErrorIs(t, err, why)
			}
		}
		members := len(tasks) > 2
		cancel()
		for i, task := range tasks {
			got, err := task.Wait(soon(t))
			require.ErrorIs(t, err, why, "%s %d: %d", name, i, got)
			require.ErrorIs(t, err, ctx.Err())
		}
		if err := group.Wait(soon(t)); members {
			require.ErrorIs(t, err, why)
			require.ErrorIs(t, err, ctx.Err())
		}
	}
}

func TestErrorsAreThoseOfGo(t *testing.T) {
	require.ErrorIs(t, coro.ErrCanceled, context.Canceled)
	require.ErrorIs(t, coro.ErrNoCgo, errors.ErrUnsupported)
	require.NotErrorIs(t, coro.ErrCanceled, context.DeadlineExceeded)
	s := newScheduler(t)
	task, err := canceled.Start(s, parksAndTells)
	require.NoError(t, err)
	task.Cancel()
	_, err = task.Wait(soon(t))
	require.ErrorIs(t, err, coro.ErrCanceled)
	require.ErrorIs(t, err, context.Canceled)
}
