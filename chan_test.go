//go:build cgo

package coro_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
	"github.com/organzine/coro/corotest"
	"github.com/organzine/coro/internal/testbody"
)

type pipe struct{ in, out uintptr }

type flow struct {
	object uintptr
	n      int64
}

var (
	double  = coro.MustFunc[pipe, int64](testbody.Double, coro.FuncName("double"))
	produce = coro.MustFunc[flow, int64](testbody.Produce, coro.FuncName("produce"))
	consume = coro.MustFunc[flow, int64](testbody.Consume, coro.FuncName("consume"))
	permits = coro.MustFunc[flow, int64](testbody.Permits, coro.FuncName("permits"))
)

const endless = 1 << 62

// Values of a channel without room that are neither large nor empty go between goroutines without
// cgo.
func TestMeetsWithoutRoom(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	assert.True(t, coro.Meets(newChan[int64](t, s, 0)))
	assert.True(t, coro.Meets(newChan[[64]byte](t, s, 0)))
	assert.False(t, coro.Meets(newChan[[65]byte](t, s, 0)))
	assert.False(t, coro.Meets(newChan[int64](t, s, 1)))
	finish(t, s)
}

var capacities = []int{0, 1, 7, 64}

func TestChanBetweenGoroutinesAndCBodies(t *testing.T) {
	for _, capacity := range capacities {
		s := newScheduler(t, coro.WithWorkers(2))
		in, out := newChan[int64](t, s, capacity), newChan[int64](t, s, capacity)
		task, err := double.Start(s, pipe{in.Address(), out.Address()})
		require.NoError(t, err)
		const n = 5000
		go func() {
			for i := range int64(n) {
				if in.Send(background, i) != nil {
					return
				}
			}
			in.Close()
		}()
		want := int64(0)
		for v, err := range out.All(soon(t)) {
			require.NoError(t, err)
			require.Equal(t, want, v)
			want += 2
		}
		require.EqualValues(t, 2*n, want)
		got, err := task.Wait(soon(t))
		require.NoError(t, err)
		assert.EqualValues(t, n, got)
		_, err = out.Recv(background)
		assert.ErrorIs(t, err, coro.ErrChanClosed)
	}
}

// An object can be used by the C bodies and the Go bodies of every scheduler.
func TestAnObjectIsForCoroutinesOfAnyScheduler(t *testing.T) {
	own, other, third := newScheduler(t, coro.WithWorkers(1)),
		newScheduler(t, coro.WithWorkers(2)),
		newScheduler(t, coro.WithWorkers(1), coro.WithExecutors(1))
	for _, capacity := range capacities {
		in, out := newChan[int64](t, own, capacity), newChan[int64](t, own, capacity)
		const n = 500
		task, err := double.Start(other, pipe{in.Address(), out.Address()})
		require.NoError(t, err)
		goes(t, third, func(c *coro.Coroutine) error {
			defer in.Close()
			for i := range int64(n) {
				if err := in.Send(c.Context(), i); err != nil {
					return err
				}
			}
			return nil
		})
		sum := int64(0)
		for v, err := range out.All(soon(t)) {
			require.NoError(t, err)
			sum += v
		}
		assert.EqualValues(t, n*(n-1), sum)
		_, err = task.Wait(soon(t))
		require.NoError(t, err)
	}
	m := made[coro.Mutex](t)(coro.NewMutex(own))
	require.NoError(t, m.Lock(background))
	tasks := starts(t, other, locks, 2, flow{m.Address(), 10})
	body := goes(t, third, func(c *coro.Coroutine) error {
		return errors.Join(m.Lock(c.Context()), m.Unlock())
	})
	parked(t, other, 2)
	parked(t, third, 1)
	require.NoError(t, m.Unlock())
	zeros(t, tasks)
	_, err := wait(t, body)
	require.NoError(t, err)
}

func TestChanBetweenBodies(t *testing.T) {
	for _, capacity := range capacities {
		s := newScheduler(t, coro.WithWorkers(2), coro.WithExecutors(2))
		in, out := newChan[int64](t, s, capacity), newChan[int64](t, s, capacity)
		const n = 2000
		_, err := coro.Go(s, func(c *coro.Coroutine) (int, error) {
			defer in.Close()
			for i := range int64(n) {
				if err := in.Send(c.Context(), i); err != nil {
					return 0, err
				}
			}
			return 0, nil
		})
		require.NoError(t, err)
		require.NoError(t, double.Spawn(s, pipe{in.Address(), out.Address()}))
		sums, err := coro.Go(s, func(c *coro.Coroutine) (sum int64, err error) {
			for v, err := range out.All(c.Context()) {
				if err != nil {
					return 0, err
				}
				sum += v
			}
			return sum, nil
		})
		require.NoError(t, err)
		got, err := sums.Wait(soon(t))
		require.NoError(t, err)
		assert.EqualValues(t, n*(n-1), got)
	}
}

// One executor: a body that waits for a value lets its sender run.
func TestChanSuspendsBodiesNotExecutors(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1), coro.WithExecutors(1))
	c := newChan[int](t, s, 0)
	var tasks []*coro.Task[int]
	for i := range 100 {
		task, err := coro.Go(s, func(b *coro.Coroutine) (int, error) {
			if i%2 == 1 {
				return 0, c.Send(b.Context(), i)
			}
			return c.Recv(b.Context())
		})
		require.NoError(t, err)
		tasks = append(tasks, task)
	}
	sum := 0
	for _, task := range tasks {
		v, err := task.Wait(soon(t))
		require.NoError(t, err)
		sum += v
	}
	assert.Equal(t, 2500, sum)
}

func TestChanEndsOfWaits(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	c := newChan[int64](t, s, 1)
	_, err := c.Recv(expired)
	assert.ErrorIs(t, err, context.Canceled)
	require.NoError(t, c.Send(expired, 1), "what need not wait is done")
	assert.ErrorIs(t, c.Send(expired, 2), context.Canceled)
	short, cancel := context.WithTimeout(background, time.Millisecond)
	defer cancel()
	assert.ErrorIs(t, c.Send(short, 2), context.DeadlineExceeded)
	got, err := c.Recv(background)
	require.NoError(t, err)
	assert.EqualValues(t, 1, got, "and nothing of what was not")
	_, ok, err := c.TryRecv()
	assert.False(t, ok)
	require.NoError(t, err)
	ok, err = c.TrySend(5)
	assert.True(t, ok)
	require.NoError(t, err)
	ok, err = c.TrySend(6)
	assert.False(t, ok)
	require.NoError(t, err)
	assert.Equal(t, 1, c.Len())
	assert.Equal(t, 1, c.Cap())

	require.NoError(t, c.Close())
	assert.ErrorIs(t, c.Close(), coro.ErrChanClosed)
	assert.ErrorIs(t, c.Send(background, 7), coro.ErrChanClosed)
	_, err = c.TrySend(7)
	assert.ErrorIs(t, err, coro.ErrChanClosed)
	got, err = c.Recv(background)
	require.NoError(t, err)
	assert.EqualValues(t, 5, got, "what is left comes first")
	_, _, err = c.TryRecv()
	assert.ErrorIs(t, err, coro.ErrChanClosed)
	_, err = c.Recv(background)
	assert.ErrorIs(t, err, coro.ErrChanClosed)
}

func TestChanOfABodyThatIsCanceled(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	c := newChan[int64](t, s, 0)
	waits := make(chan struct{})
	task, err := coro.Go(s, func(b *coro.Coroutine) (int64, error) {
		close(waits)
		return c.Recv(b.Context())
	})
	require.NoError(t, err)
	<-waits
	task.Cancel()
	_, err = task.Wait(soon(t))
	assert.ErrorIs(t, err, coro.ErrCanceled)

	task, err = coro.Go(s, func(b *coro.Coroutine) (int64, error) {
		ctx, cancel := context.WithTimeout(b.Context(), time.Millisecond)
		defer cancel()
		_, err := c.Recv(ctx)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		return 3, b.Yield()
	})
	require.NoError(t, err)
	got, err := task.Wait(soon(t))
	require.NoError(t, err)
	assert.EqualValues(t, 3, got, "only that wait has ended")

	ok, err := c.TrySend(1)
	assert.False(t, ok, "nobody is left in the queue")
	require.NoError(t, err)
}

func TestChanOfASchedulerThatIsClosed(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	c := newChan[int64](t, s, 0)
	result := make(chan error, 2)
	go func() { _, err := c.Recv(background); result <- err }()
	go func() { result <- c.Send(background, 1) }()
	require.NoError(t, <-result, "they find each other")
	require.NoError(t, <-result)
	go func() { _, err := c.Recv(background); result <- err }()
	require.NoError(t, s.Close(background))
	assert.ErrorIs(t, <-result, coro.ErrClosed)
	_, err := c.Recv(background)
	assert.ErrorIs(t, err, coro.ErrClosed)
}

func TestChanRefusals(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	var bad *coro.OptionError
	_, err := coro.NewChan[*int](s, 1)
	require.ErrorAs(t, err, &bad)
	_, err = coro.NewChan[struct{ s string }](s, 1)
	require.ErrorAs(t, err, &bad)
	_, err = coro.NewChan[[coro.ElementMax + 1]byte](s, 1)
	require.ErrorAs(t, err, &bad)
	_, err = coro.NewChan[int](s, -1)
	require.ErrorAs(t, err, &bad)
	_, err = coro.NewChan[int](s, coro.CapacityMax+1)
	require.ErrorAs(t, err, &bad)
	_, err = coro.NewChan[[coro.ElementMax]byte](s, coro.CapacityMax)
	require.ErrorIs(t, err, coro.ErrNoMemory)
	_, err = coro.NewSemaphore(s, -1)
	require.ErrorAs(t, err, &bad)
	m, err := coro.NewSemaphore(s, 0)
	require.NoError(t, err)
	require.ErrorAs(t, m.Release(0), &bad)
	require.ErrorIs(t, m.Release(1<<60+1), coro.ErrOverflow)
	assert.False(t, tries(t, m.TryAcquire))
}

func TestChanOfNothingAndOfMuch(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	none := newChan[coro.None](t, s, 0)
	go func() { _ = none.Send(background, coro.None{}) }()
	_, err := none.Recv(soon(t))
	require.NoError(t, err)

	large := newChan[[coro.ElementMax]byte](t, s, 2)
	var v [coro.ElementMax]byte
	for i := range v {
		v[i] = byte(i * 7)
	}
	require.NoError(t, large.Send(background, v))
	got, err := large.Recv(background)
	require.NoError(t, err)
	assert.True(t, v == got)
	same := make(chan bool)
	go func() { got, _ := large.Recv(background); same <- v == got }()
	require.NoError(t, large.Send(background, v))
	assert.True(t, <-same)
}

// The memory of a channel is freed when nothing refers to it, and not before.
func TestChanMemory(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	for i := range 200 {
		c := newChan[int64](t, s, 1000)
		require.NoError(t, c.Send(background, 1))
		if i%2 == 0 {
			task, err := consume.Start(s, flow{c.Address(), 3})
			require.NoError(t, err)
			c = nil // the C body uses it
			runtime.GC()
			task.Cancel()
			if _, err = task.Wait(soon(t)); err != nil {
				require.ErrorIs(t, err, coro.ErrCanceled, "before it started")
			}
		}
	}
	runtime.GC()
}

// Every value that is sent is received once, whichever wait ends in between.
func TestStressChan(t *testing.T) {
	corotest.VerifyNone(t)
	s := newScheduler(t, coro.WithWorkers(2), coro.WithExecutors(2))
	const each = 3000
	for _, capacity := range capacities {
		c := newChan[int64](t, s, capacity)
		var sent, received atomic.Int64
		var senders, receivers sync.WaitGroup
		receive := func(ctx context.Context, yield func()) {
			for i := 0; ; i++ {
				short, cancel := ctx, context.CancelFunc(func() {})
				if i%5 == 0 {
					short, cancel = context.WithTimeout(ctx,
						time.Duration(i%7)*10*time.Microsecond)
				}
				v, err := c.Recv(short)
				cancel()
				if err == nil {
					received.Add(v)
				} else if err == coro.ErrChanClosed {
					return
				}
				yield()
			}
		}
		send := func(ctx context.Context, yield func()) {
			for i := int64(1); i <= each; {
				short, cancel := ctx, context.CancelFunc(func() {})
				if i%7 == 0 {
					short, cancel = context.WithTimeout(ctx,
						time.Duration(i%11)*10*time.Microsecond)
				}
				err := c.Send(short, i)
				cancel()
				if err == nil {
					sent.Add(i)
				} else if !assert.ErrorIs(t, err, context.DeadlineExceeded) {
					return
				}
				i++
				yield()
			}
		}
		for range 2 {
			senders.Add(1)
			go func() { defer senders.Done(); send(background, runtime.Gosched) }()
			receivers.Add(1)
			go func() { defer receivers.Done(); receive(background, func() {}) }()
			senders.Add(1)
			_, err := coro.Go(s, func(b *coro.Coroutine) (int, error) {
				defer senders.Done()
				send(b.Context(), func() { b.Yield() })
				return 0, nil
			})
			require.NoError(t, err)
			receivers.Add(1)
			_, err = coro.Go(s, func(b *coro.Coroutine) (int, error) {
				defer receivers.Done()
				receive(b.Context(), func() {})
				return 0, nil
			})
			require.NoError(t, err)
		}
		source, err := produce.Start(s, flow{c.Address(), each})
		require.NoError(t, err)
		sink, err := consume.Start(s, flow{c.Address(), endless})
		require.NoError(t, err)
		status, err := source.Wait(soon(t))
		require.NoError(t, err)
		require.Zero(t, status)
		sent.Add(each * (each + 1) / 2)
		senders.Wait()
		require.NoError(t, c.Close())
		receivers.Wait()
		sum, err := sink.Wait(soon(t))
		require.NoError(t, err)
		assert.Equal(t, sent.Load(), received.Load()+sum, "capacity %d", capacity)
	}
}

func TestSemaphoreBetweenAll(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithExecutors(2))
	m, err := coro.NewSemaphore(s, 1)
	require.NoError(t, err)
	const each = 2000
	var tasks []*coro.Task[int64]
	for range 3 {
		task, err := permits.Start(s, flow{m.Address(), each})
		require.NoError(t, err)
		tasks = append(tasks, task)
	}
	count := 0 // with the permit
	work := func(ctx context.Context) error {
		for range each {
			if err := m.Acquire(ctx); err != nil {
				return err
			}
			count++
			if err := m.Release(1); err != nil {
				return err
			}
		}
		return nil
	}
	var all sync.WaitGroup
	for range 2 {
		all.Add(2)
		go func() { defer all.Done(); assert.NoError(t, work(background)) }()
		_, err := coro.Go(s, func(b *coro.Coroutine) (int, error) {
			defer all.Done()
			assert.NoError(t, work(b.Context()))
			return 0, nil
		})
		require.NoError(t, err)
	}
	all.Wait()
	for _, task := range tasks {
		others, err := task.Wait(soon(t))
		require.NoError(t, err)
		assert.Zero(t, others)
	}
	assert.Equal(t, 4*each, count)
	assert.EqualValues(t, 3*each, testbody.Sum())
	require.True(t, tries(t, m.TryAcquire), "the permit is there")
	short, cancel := context.WithTimeout(background, time.Millisecond)
	defer cancel()
	assert.ErrorIs(t, m.Acquire(short), context.DeadlineExceeded)
	require.NoError(t, m.Release(2))
	require.NoError(t, m.Acquire(background))
}

// Values that lie on a goroutine's stack pass while the stack grows, at any depth.
func TestChanOnStacksThatGrow(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	c := newChan[[3]int64](t, s, 2)
	var deeper func(n int64) bool
	deeper = func(n int64) bool {
		sent := [3]int64{n, -n, 7 * n}
		if ok, err := c.TrySend(sent); !ok || err != nil {
			return false
		}
		got, ok, err := c.TryRecv()
		return ok && err == nil && got == sent && (n == 0 || deeper(n-1)) && sent[2] == 7*n
	}
	for n := range int64(200) {
		same := make(chan bool)
		go func() { same <- deeper(n) }()
		require.True(t, <-same, "%d deep", n)
	}
}

// Signals for profiles and for preemption, and garbage collections, come at any moment; also while
// C runs on a goroutine's stack.
func TestStressChanUnderSignals(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	c := newChan[int64](t, s, 16)
	task, err := consume.Start(s, flow{c.Address(), endless})
	require.NoError(t, err)
	profiled := pprof.StartCPUProfile(io.Discard) == nil // otherwise another does
	var all sync.WaitGroup
	var sent, received atomic.Int64
	stop := make(chan struct{})
	all.Add(1)
	go func() {
		defer all.Done()
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	}()
	var senders sync.WaitGroup
	n := int64(scaled(100_000))
	for range 3 {
		senders.Add(1)
		go func() {
			defer senders.Done()
			for i := int64(1); i <= n; i++ {
				if ok, _ := c.TrySend(i); ok {
					sent.Add(i)
				}
				if v, ok, _ := c.TryRecv(); ok {
					received.Add(v)
				}
			}
		}()
	}
	senders.Wait()
	close(stop)
	all.Wait()
	if profiled {
		pprof.StopCPUProfile()
	}
	require.NoError(t, c.Close())
	sum, err := task.Wait(soon(t))
	require.NoError(t, err)
	assert.Equal(t, sent.Load(), received.Load()+sum)
}

func TestChanOfManySizes(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	passes(t, s, [1]byte{1})
	passes(t, s, [7]byte{1, 2, 3, 4, 5, 6, 7})
	passes(t, s, [3]int32{1, -2, 3})
	passes(t, s, [63]byte{62: 9})
	passes(t, s, [64]byte{63: 9})
	passes(t, s, [65]byte{64: 9})
	passes(t, s, [200]int16{199: 9})
}

func passes[T comparable](t *testing.T, s *coro.Scheduler, v T) {
	t.Helper()
	c := newChan[T](t, s, 3)
	var zero T
	for _, want := range []T{v, zero, v} {
		require.NoError(t, c.Send(background, want))
	}
	for _, want := range []T{v, zero, v} {
		got, err := c.Recv(background)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}

// A deadline that a body has made for itself is certain to come: a wait until then is no deadlock.
func TestRunAwaitsTheDeadlineOfABodyThatWaits(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1), coro.WithPaused())
	ch := newChan[int](t, s, 0)
	task, err := coro.Go(s, func(c *coro.Coroutine) (int, error) {
		ctx, cancel := context.WithTimeout(c.Context(), 20*time.Millisecond)
		defer cancel()
		return ch.Recv(ctx)
	})
	require.NoError(t, err)
	require.NoError(t, s.Run(background))
	_, err = task.Wait(background)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestSelectDoesWhatCanBeDone(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	a, b := newChan[int64](t, s, 1), newChan[[3]byte](t, s, 1)
	var v int64
	var w [3]byte
	cases := []coro.Case{coro.OnRecv(a, &v), coro.OnRecv(b, &w)}
	i, err := coro.TrySelect(cases...)
	assert.Equal(t, -1, i)
	require.NoError(t, err)
	i, err = coro.Select(expired, cases...)
	assert.Equal(t, -1, i)
	assert.ErrorIs(t, err, context.Canceled)
	i, err = coro.Select(expired, coro.OnRecv(a, nil), coro.OnSend(b, [3]byte{1, 2, 3}))
	assert.Equal(t, 1, i, "what need not wait is done")
	require.NoError(t, err)
	i, err = coro.TrySelect(cases...)
	assert.Equal(t, 1, i)
	require.NoError(t, err)
	assert.Equal(t, [3]byte{1, 2, 3}, w)
	require.NoError(t, a.Send(background, 5))
	i, err = coro.Select(background, coro.OnSend(a, 6), coro.OnRecv[int64](nil, nil),
		coro.OnRecv(a, nil))
	assert.Equal(t, 2, i)
	require.NoError(t, err)
	assert.Zero(t, a.Len())
	require.NoError(t, a.Close())
	i, err = coro.Select(background, cases...)
	assert.Zero(t, i)
	assert.ErrorIs(t, err, coro.ErrChanClosed)
	i, err = coro.TrySelect(coro.OnRecv(b, nil), coro.OnSend(a, 7))
	assert.Equal(t, 1, i)
	assert.ErrorIs(t, err, coro.ErrChanClosed)
}

func TestSelectChoosesAtRandom(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	a, b := newChan[int](t, s, 200), newChan[int](t, s, 200)
	for i := range 200 {
		require.NoError(t, errors.Join(a.Send(background, i), b.Send(background, i)))
	}
	var chosen [2]int
	for range 200 {
		i, err := coro.Select(background, coro.OnRecv(a, nil), coro.OnRecv(b, nil))
		require.NoError(t, err)
		chosen[i]++
	}
	assert.NotZero(t, chosen[0])
	assert.NotZero(t, chosen[1])
}

func TestSelectMisuse(t *testing.T) {
	s, other := newScheduler(t, coro.WithWorkers(1)), newScheduler(t, coro.WithWorkers(1))
	a, b := newChan[int](t, s, 1), newChan[int](t, other, 1)
	for _, cases := range [][]coro.Case{nil, {}, {coro.OnRecv[int](nil, nil), {}},
		{coro.OnSend(a, 1), coro.OnSend(b, 1)},
		make([]coro.Case, coro.SelectMax+1)} {
		i, err := coro.Select(background, cases...)
		assert.Equal(t, -1, i)
		optionError(t, err, "Select")
		_, err = coro.TrySelect(cases...)
		optionError(t, err, "Select")
	}
	assert.Zero(t, a.Len()+b.Len())
	many := make([]coro.Case, coro.SelectMax)
	many[coro.SelectMax-1] = coro.OnSend(a, 1)
	i, err := coro.Select(background, many...)
	assert.Equal(t, coro.SelectMax-1, i)
	require.NoError(t, err)
}

func TestSelectEndsOfWaits(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1), coro.WithExecutors(1))
	a, b := newChan[int64](t, s, 0), newChan[coro.None](t, s, 0)
	cases := func() []coro.Case {
		return []coro.Case{coro.OnRecv(a, nil), coro.OnSend(a, 1),
			coro.OnSend(b, coro.None{})}
	}
	short, cancel := context.WithTimeout(background, time.Millisecond)
	defer cancel()
	_, err := coro.Select(short, cases()...)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	task, err := coro.Go(s, func(c *coro.Coroutine) (int, error) {
		return coro.Select(c.Context(), cases()...)
	})
	require.NoError(t, err)
	parked(t, s, 1)
	task.Cancel()
	_, err = task.Wait(soon(t))
	assert.ErrorIs(t, err, coro.ErrCanceled)
	for _, ch := range []interface {
		Len() int
	}{a, b} {
		assert.Zero(t, ch.Len())
	}
	ok, err := a.TrySend(1)
	assert.False(t, ok, "nobody is left in a queue")
	require.NoError(t, err)
	_, ok, err = a.TryRecv()
	assert.False(t, ok)
	require.NoError(t, err)
	_, ok, err = b.TryRecv()
	assert.False(t, ok)
	require.NoError(t, err)

	waits, err := coro.Go(s, func(c *coro.Coroutine) (int, error) {
		return coro.Select(c.Context(), cases()...)
	})
	require.NoError(t, err)
	parked(t, s, 1)
	_, err = b.Recv(background)
	require.NoError(t, err)
	i, err := waits.Wait(soon(t))
	require.NoError(t, err)
	assert.Equal(t, 2, i)

	waits, err = coro.Go(s, func(c *coro.Coroutine) (int, error) {
		return coro.Select(c.Context(), cases()...)
	})
	require.NoError(t, err)
	parked(t, s, 1)
	require.NoError(t, a.Close())
	_, err = waits.Wait(soon(t))
	assert.ErrorIs(t, err, coro.ErrChanClosed)

	result := make(chan error)
	go func() { _, err := coro.Select(background, coro.OnRecv(b, nil)); result <- err }()
	require.NoError(t, s.Close(background))
	assert.ErrorIs(t, <-result, coro.ErrClosed)
}

// Selects of goroutines and Go bodies find each other, and C bodies.
func TestSelectBetweenAll(t *testing.T) {
	for _, capacity := range []int{0, 3} {
		s := newScheduler(t, coro.WithWorkers(2), coro.WithExecutors(2))
		a, b := newChan[int64](t, s, capacity), newChan[int64](t, s, capacity)
		const each = 1000
		tasks := append(starts(t, s, produce, 1, flow{a.Address(), each}),
			starts(t, s, produce, 1, flow{b.Address(), each})...)
		var got atomic.Int64
		var senders sync.WaitGroup
		send := func(ctx context.Context) error {
			for i := int64(1); i <= each; i++ {
				if _, err := coro.Select(ctx, coro.OnSend(a, i),
					coro.OnSend(b, i)); err != nil {
					return err
				}
			}
			return nil
		}
		senders.Add(1)
		sent := crowd(t, s, 2, send)
		go func() {
			defer senders.Done()
			sent()
			for _, task := range tasks {
				_, err := task.Wait(background)
				assert.NoError(t, err)
			}
			assert.NoError(t, errors.Join(a.Close(), b.Close()))
		}()
		crowd(t, s, 2, func(ctx context.Context) error {
			chans := []*coro.Chan[int64]{a, b}
			for chans[0] != nil || chans[1] != nil {
				var v int64
				i, err := coro.Select(ctx, coro.OnRecv(chans[0], &v),
					coro.OnRecv(chans[1], &v))
				if errors.Is(err, coro.ErrChanClosed) {
					chans[i] = nil
				} else if err != nil {
					return err
				}
				got.Add(v)
			}
			return nil
		})()
		senders.Wait()
		assert.EqualValues(t, 6*each*(each+1)/2, got.Load(), "capacity %d", capacity)
	}
}

// Selects end in random ways: each value is received once, or was not sent.
func TestStressSelect(t *testing.T) {
	corotest.VerifyNone(t)
	s := newScheduler(t, coro.WithWorkers(2), coro.WithExecutors(2))
	a, b := newChan[int64](t, s, 0), newChan[int64](t, s, 2)
	each := int64(scaled(2000))
	sink, err := consume.Start(s, flow{a.Address(), endless})
	require.NoError(t, err)
	var sent, received atomic.Int64
	short := func(ctx context.Context, i int64) (context.Context, context.CancelFunc) {
		if i%3 != 0 {
			return ctx, func() {}
		}
		return context.WithTimeout(ctx, time.Duration(i%7)*10*time.Microsecond)
	}
	receivers := crowd(t, s, 2, func(ctx context.Context) error {
		for i := int64(0); ; i++ {
			c, cancel := short(ctx, i)
			var v, w int64
			_, err := coro.Select(c, coro.OnRecv(a, &v), coro.OnRecv(b, &w))
			cancel()
			received.Add(v + w)
			if errors.Is(err, coro.ErrChanClosed) {
				return nil
			} else if err != nil && !errors.Is(err, context.DeadlineExceeded) {
				return err
			}
		}
	})
	crowd(t, s, 2, func(ctx context.Context) error {
		for i := int64(1); i <= each; i++ {
			c, cancel := short(ctx, i)
			_, err := coro.Select(c, coro.OnSend(a, i), coro.OnSend(b, i))
			cancel()
			if err == nil {
				sent.Add(i)
			} else if !errors.Is(err, context.DeadlineExceeded) {
				return err
			}
			if i%16 == 0 {
				runtime.Gosched()
			}
		}
		return nil
	})()
	require.NoError(t, errors.Join(a.Close(), b.Close()))
	receivers()
	for v, err := range b.All(background) {
		require.NoError(t, err)
		received.Add(v)
	}
	sum, err := sink.Wait(soon(t))
	require.NoError(t, err)
	assert.Equal(t, sent.Load(), received.Load()+sum)
	assert.Positive(t, sent.Load())
}
