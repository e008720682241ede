//go:build cgo

package hard_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A ground has a scheduler, and another one after each.
type ground struct {
	opts    []coro.Option
	paused  bool
	changes bool // the scheduler is closed now and then, and another one made
	s       atomic.Pointer[coro.Scheduler]
	runner  sync.WaitGroup
}

func (p *ground) open(t *testing.T) {
	s, err := coro.New(p.opts...)
	require.NoError(t, err)
	p.s.Store(s)
	if !p.paused {
		return
	}
	p.runner.Go(func() {
		for {
			err := s.Run(background)
			if err == coro.ErrClosed {
				return
			}
			var deadlock *coro.DeadlockError // until a goroutine wakes one
			if err != nil && !errors.As(err, &deadlock) {
				assert.NoError(t, err)
				return
			}
			runtime.Gosched()
		}
	})
}

// close closes the scheduler: all coroutines must end, with the context or by it.
func (p *ground) close(t *testing.T, ctx context.Context) {
	s := p.s.Load()
	if err := s.Close(ctx); ctx == expired {
		if err != nil && !errors.Is(err, context.Canceled) {
			assert.NoError(t, err)
		}
	} else {
		assert.NoError(t, err)
	}
	assert.NoError(t, s.Close(soon(t)))
	p.runner.Wait()
	assert.Zero(t, s.Stats().Live)
}

// A storm is one goroutine that does random things on schedulers that others use, too.
type storm struct {
	*rand.Rand
	t       *testing.T
	grounds []*ground
	here    *ground // of the present operation
	loose   bool    // one of its schedulers changes
	s       *coro.Scheduler
	count   *atomic.Int64 // operations
	in      *atomic.Int64 // bodies that have begun
	out     *atomic.Int64 // bodies that have ended
	undo    []interface{ Cancel() }
	waits   []func()
}

var errStorm = errors.New("a body's own error")

// good checks an error. If the scheduler changes, the effect of a close is as good as no error.
func (w *storm) good(err error, also ...error) bool {
	if err == nil {
		return true
	}
	if w.loose {
		also = append(also, coro.ErrClosed, coro.ErrCanceled, coro.ErrStale)
	}
	for _, e := range also {
		if errors.Is(err, e) {
			return false
		}
	}
	return assert.NoError(w.t, err)
}

// storms starts a body of w's. Its task is waited for at the end of the operation; check gets its
// result, exactly once.
func storms[T any](
	w *storm, ctx context.Context, f func(c *coro.Coroutine) (T, error), check func(T, error),
) *coro.Task[T] {
	var begun, ended atomic.Int32
	task, err := coro.GoContext(ctx, w.s, func(c *coro.Coroutine) (T, error) {
		begun.Add(1)
		w.in.Add(1)
		defer w.out.Add(1)
		defer ended.Add(1)
		return f(c)
	})
	w.count.Add(1)
	if err != nil {
		w.good(err)
		return nil
	}
	t := w.t
	w.undo = append(w.undo, task)
	w.waits = append(w.waits, func() {
		got, err := task.Wait(soonest)
		check(got, err)
		assert.Equal(t, begun.Load(), ended.Load(), "what has begun has ended: %v", err)
		assert.LessOrEqual(t, begun.Load(), int32(1), "once")
		if begun.Load() == 0 {
			assert.Error(t, err)
		}
		again, err2 := task.Wait(background)
		assert.Equal(t, err, err2)
		_ = again
	})
	return task
}

// startsC is storms for a coroutine with a C body.
func startsC[A, R any](
	w *storm, ctx context.Context, f coro.Func[A, R], arg A, check func(R, error),
) *coro.Task[R] {
	var task *coro.Task[R]
	var err error
	if ctx.Done() == nil {
		task, err = f.Start(w.s, arg)
	} else {
		task, err = f.StartContext(ctx, w.s, arg)
	}
	w.count.Add(1)
	if err != nil {
		w.good(err, context.Cause(ctx))
		return nil
	}
	w.undo = append(w.undo, task)
	w.waits = append(w.waits, func() { check(task.Wait(soonest)) })
	return task
}

// soonest has no end but the test's: a context with a timer for each wait would be most of the
// work.
var soonest = background

// pause lets some time pass, perhaps none.
func (w *storm) pause() {
	switch w.IntN(8) {
	case 0:
		runtime.Gosched()
	case 1:
		for n := w.IntN(20000); n > 0; n-- {
		}
	case 2:
		time.Sleep(time.Duration(w.IntN(50)) * time.Microsecond)
	}
}

// is returns a check for a result.
func is[T comparable](w *storm, want T, also ...error) func(T, error) {
	return func(got T, err error) {
		if w.good(err, also...) {
			assert.Equal(w.t, want, got)
		}
	}
}

// step does one random thing.
func (w *storm) step() {
	w.here = w.grounds[w.IntN(len(w.grounds))]
	w.s, w.loose = w.here.s.Load(), w.here.changes
	w.undo, w.waits = w.undo[:0], w.waits[:0]
	none := coro.None{}
	n := w.IntN(10)
	switch w.IntN(14) {
	case 0:
		startsC(w, background, square, int64(n), is(w, int64(n*n)))
		err := empty.Spawn(w.s, none)
		w.good(err)
	case 1:
		storms(w, background, func(c *coro.Coroutine) (int, error) {
			for range n {
				if err := c.Yield(); err != nil {
					return 0, err
				}
			}
			w.count.Add(int64(n))
			return n, nil
		}, is(w, n))
	case 2:
		w.parked(n)
	case 3: // a body wakes a C body and awaits it
		parked := startsC(w, background, park, none,
			func(status int32, err error) { w.good(err) })
		if parked == nil {
			return
		}
		if storms(w, background, func(c *coro.Coroutine) (int32, error) {
			if err := c.Wake(parked.Handle()); err != nil {
				return 0, err
			}
			w.count.Add(2)
			return parked.Await(background, c)
		}, func(status int32, err error) { w.good(err) }) == nil {
			parked.Cancel()
		}
	case 4: // a C body joins a body
		body := storms(w, background, func(c *coro.Coroutine) (int64, error) {
			return int64(n), c.Yield()
		}, is(w, int64(n)))
		if body != nil {
			startsC(w, background, join, body.Handle(), func(status int32, err error) {
				w.good(err)
			})
		}
	case 5:
		d := time.Duration(w.IntN(100)) * time.Microsecond
		storms(w, background, func(c *coro.Coroutine) (coro.None, error) {
			w.count.Add(1)
			return none, c.Sleep(background, d)
		}, is(w, none))
	case 6:
		storms(w, background, w.fib(3+n%3), is(w, []int{2, 3, 5}[n%3]))
	case 7:
		storms(w, background, func(c *coro.Coroutine) (int, error) {
			if n%2 == 0 {
				if err := c.Yield(); err != nil {
					return 0, err
				}
			}
			if n < 5 {
				runtime.Goexit()
			}
			panic(errStorm)
		}, func(_ int, err error) {
			if w.good(err, errStorm, coro.ErrGoexit) {
				assert.Fail(w.t, "neither panic nor Goexit is an error")
			}
		})
	case 8:
		w.canceled(n)
	case 9:
		w.group(n)
	case 10:
		w.deadline()
	case 11:
		w.pingPong(n)
	case 12: // across schedulers
		s, other := w.s, w.grounds[w.IntN(len(w.grounds))]
		w.s, w.loose = other.s.Load(), w.loose || other.changes
		far := storms(w, background, func(c *coro.Coroutine) (int, error) {
			return n, c.Yield()
		}, is(w, n))
		w.s = s
		if far != nil {
			storms(w, background, func(c *coro.Coroutine) (int, error) {
				return far.Await(background, c)
			}, is(w, n))
		}
	case 13: // a C body starts bodies and joins them
		most := int64(n * (n + 1))
		startsC(w, background, sumGo, testbody.SumGoArg{ID: uint32(doubleBody),
			N: int64(n)}, func(sum int64, err error) {
			switch {
			case !w.good(err):
			case w.loose:
				assert.LessOrEqual(w.t, sum, most)
			default:
				assert.Equal(w.t, most, sum)
			}
		})
		w.count.Add(int64(2 * n))
	}
	w.finish(w.IntN(16) == 0)
}

// finish waits for all that the operation has started.
func (w *storm) finish(cancel bool) {
	if cancel && w.loose { // where an operation may fail anyway
		w.pause()
		for _, task := range w.undo {
			task.Cancel()
			w.count.Add(1)
		}
	}
	for _, f := range w.waits {
		f()
		w.count.Add(1)
	}
}

func descriptors(t *testing.T) int {
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(list)
}

// Bodies do everything at random, on four schedulers at once, of which two come and go. Nothing is
// lost, done twice, or left over. CORO_TEST_GC=1: with the garbage collector running all the time.
func TestStressBodies(t *testing.T) {
	s, err := coro.New() // things that are made once
	require.NoError(t, err)
	goes(t, s, func(c *coro.Coroutine) error { return c.Sleep(background, time.Microsecond) })
	require.NoError(t, s.Close(soon(t)))
	var goroutines, files int
	for range 3 {
		runtime.GC()
		goroutines, files = runtime.NumGoroutine(), descriptors(t)
	}

	if os.Getenv("CORO_TEST_GC") != "" {
		defer debug.SetGCPercent(debug.SetGCPercent(1))
		stop := make(chan struct{})
		var collector sync.WaitGroup
		collector.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					runtime.GC()
				}
			}
		})
		defer collector.Wait()
		defer close(stop)
	}
	grounds := []*ground{
		{opts: []coro.Option{coro.WithName("weather"), coro.WithWorkers(2),
			coro.WithExecutors(2)}},
		{opts: []coro.Option{coro.WithName("weather"), coro.WithWorkers(1),
			coro.WithExecutors(1), coro.WithPaused(),
			coro.WithTuning(coro.Tuning{NoMembarrier: true})}, paused: true},
		{opts: []coro.Option{coro.WithName("weather"), coro.WithWorkers(1),
			coro.WithExecutors(3), coro.WithTuning(coro.Tuning{NoMembarrier: true})},
			changes: true},
		{opts: []coro.Option{coro.WithName("weather"), coro.WithWorkers(3),
			coro.WithExecutors(1), coro.WithTuning(coro.Tuning{HandoverBudget: 1})},
			changes: true},
	}
	for _, p := range grounds {
		p.open(t)
	}
	most := counted(40_000)
	var count, in, out, closes atomic.Int64
	began := time.Now()
	var users, closers sync.WaitGroup
	for user := range uint64(6) {
		users.Go(func() {
			w := &storm{Rand: rand.New(rand.NewPCG(user, 7)), t: t, grounds: grounds,
				count: &count, in: &in, out: &out}
			for count.Load() < most && !t.Failed() {
				w.step()
			}
		})
	}
	stop := make(chan struct{})
	closers.Go(func() {
		random := rand.New(rand.NewPCG(8, 8))
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(random.IntN(8000)) * time.Microsecond):
			}
			p := grounds[2+random.IntN(2)]
			ctx := background
			if random.IntN(2) == 0 {
				ctx = expired
			}
			p.close(t, ctx)
			p.open(t)
			closes.Add(1)
			count.Add(2)
		}
	})
	ended := make(chan struct{})
	go func() { users.Wait(); close(ended) }()
	for last := int64(-1); ; last = count.Load() {
		select {
		case <-ended:
		case <-time.After(patience):
			if count.Load() == last {
				debug.SetTraceback("all")
				panic(fmt.Sprintf("nothing has happened for %v, after %d operations", patience,
					last))
			}
			continue
		}
		break
	}
	close(stop)
	closers.Wait()
	assert.Equal(t, in.Load(), out.Load(), "what has begun has ended")
	for _, p := range grounds[:1] {
		require.NoError(t, p.s.Load().Wait(soon(t)))
	}
	for i, p := range grounds[:2] {
		s := p.s.Load()
		eventually(t, func() bool {
			runtime.GC() // a dropped task gives up its record
			s.Trim()
			st := s.Stats()
			return st.Live == 0 && st.Records == st.RecordsIdle
		}, "no record is left in use, of scheduler %d", i)
	}
	for _, p := range grounds {
		p.close(t, background)
		p.s.Store(nil)
	}
	t.Logf("%d operations, %d bodies, %d closes in %v", count.Load(), in.Load(), closes.Load(),
		time.Since(began).Round(time.Millisecond))
	gone(t, "weather/")
	eventually(t, func() bool { return descriptors(t) <= files }, "no descriptor is left")
	extra := 0
	if os.Getenv("CORO_TEST_GC") != "" {
		extra = 1
	}
	eventually(t, func() bool {
		return runtime.NumGoroutine() <= goroutines+extra
	}, "no goroutine is left")
}
