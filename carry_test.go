//go:build cgo

package coro_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
)

type bufferArg struct {
	Does   int32
	Buffer coro.Buffer
	ID     int64
}

type bufferResult struct {
	Status int64
	Buffer coro.Buffer
}

var bufferBody = coro.MustFunc[bufferArg, bufferResult](testbody.Buffer, coro.FuncName("buffers"))

// allFreed waits until all buffers of s were freed.
func allFreed(t testing.TB, s *coro.Scheduler) {
	t.Helper()
	eventually(t, func() bool {
		runtime.GC() // what nobody refers to
		st := s.Stats().Buffers
		return st.Made == st.Freed
	}, "all buffers are freed")
	assertNoBuffers(t, s)
}

func TestABufferGoesToABodyAndComesBack(t *testing.T) {
	s := newScheduler(t)
	for _, does := range []int32{testbody.BufferReturn, testbody.BufferChild} {
		for _, how := range []func(bufferArg) (bufferResult, error){
			func(a bufferArg) (bufferResult, error) { return bufferBody.Call(background, s, a) },
			func(a bufferArg) (bufferResult, error) { return bufferBody.OnWorker(0).Call(soon(t), s, a) },
			func(a bufferArg) (bufferResult, error) {
				task, err := bufferBody.Start(s, a)
				require.NoError(t, err)
				return task.Wait(background)
			},
			func(a bufferArg) (bufferResult, error) {
				task, err := bufferBody.StartContext(soon(t), s, a)
				require.NoError(t, err)
				return task.Wait(background)
			},
			func(a bufferArg) (r bufferResult, err error) {
				g := coro.NewGroup(background, s)
				task, err := bufferBody.Start(g, a)
				require.NoError(t, err)
				require.NoError(t, g.Wait(background))
				return task.Wait(background)
			},
		} {
			b := newBuffer(t, s, "text")
			r, err := how(bufferArg{Does: does, Buffer: b})
			require.NoError(t, err)
			assert.Zero(t, r.Status)
			assertStale(t, b)
			text, err := r.Buffer.Bytes()
			assert.NoError(t, err)
			if does == testbody.BufferReturn {
				assert.Equal(t, "TEXT", string(text))
			}
			assert.NoError(t, r.Buffer.Free())
		}
	}
	allFreed(t, s)
}

func TestABufferThatCannotBeSentStays(t *testing.T) {
	s := newScheduler(t)
	b := newBuffer(t, s, "mine")
	gone := newBuffer(t, s, "gone")
	require.NoError(t, gone.Free())
	_, err := bufferBody.Call(background, s, bufferArg{Buffer: gone})
	assert.ErrorIs(t, err, coro.ErrStale)
	assert.ErrorIs(t, bufferBody.Spawn(s, bufferArg{Buffer: gone}), coro.ErrStale)
	require.NoError(t, b.Use(func([]byte) error {
		_, err := bufferBody.Call(background, s, bufferArg{Buffer: b})
		assert.ErrorIs(t, err, coro.ErrBusy)
		return nil
	}))
	_, err = bufferBody.Call(expired, s, bufferArg{Buffer: b})
	assert.ErrorIs(t, err, context.Canceled)
	assert.ErrorIs(t, bufferBody.SpawnWait(expired, s, bufferArg{Buffer: b}), context.Canceled)
	_, err = bufferBody.SpawnN(s, 2, bufferArg{Buffer: b})
	assert.ErrorContains(t, err, "one coroutine owns")
	callN := func(ctx context.Context) error {
		return bufferBody.CallN(ctx, s, []bufferArg{{Buffer: b}}, make([]bufferResult, 1))
	}
	assert.ErrorIs(t, callN(expired), context.Canceled)
	require.NoError(t, s.Close(soon(t)))
	assert.ErrorIs(t, callN(background), coro.ErrClosed)
	for range 2 {
		_, err = bufferBody.Call(background, s, bufferArg{Buffer: b})
		assert.ErrorIs(t, err, coro.ErrClosed)
		_, err = bufferBody.Start(s, bufferArg{Buffer: b})
		assert.ErrorIs(t, err, coro.ErrClosed)
		assert.ErrorIs(t, bufferBody.Spawn(s, bufferArg{Buffer: b}), coro.ErrClosed)
	}
	text, err := b.Bytes()
	assert.NoError(t, err)
	assert.Equal(t, "mine", string(text))
	require.NoError(t, b.Free())
	assertNoBuffers(t, s)
}

// What nobody receives is freed.
func TestBuffersThatAreDroppedAreFreed(t *testing.T) {
	s := newScheduler(t)
	arg := func(does int32) bufferArg { return bufferArg{Does: does, Buffer: newBuffer(t, s, "text")} }
	for range 20 {
		for _, does := range []int32{testbody.BufferReturn, testbody.BufferFree, testbody.BufferFail,
			testbody.BufferAbort, testbody.BufferChild, testbody.BufferDrop} {
			require.NoError(t, bufferBody.Spawn(s, arg(does)))
			require.NoError(t, bufferBody.OnWorker(0).SpawnWait(background, s, arg(does)))
			_, err := bufferBody.Start(s, arg(does)) // nobody waits
			require.NoError(t, err)
			b := bufferBody.Batch(s)
			require.NoError(t, b.Add(arg(does)))
			require.NoError(t, b.Flush())
		}
		for _, does := range []int32{testbody.BufferFail, testbody.BufferAbort} {
			_, err := bufferBody.Call(background, s, arg(does))
			assert.Error(t, err)
		}
		task, err := bufferBody.Start(s, arg(testbody.BufferCancel))
		require.NoError(t, err)
		task.Cancel() // before it starts, or later
		_, err = task.Wait(background)
		assert.ErrorIs(t, err, coro.ErrCanceled)
		ctx, cancel := context.WithCancel(background)
		go cancel()
		a := arg(testbody.BufferCancel)
		_, err = bufferBody.Call(ctx, s, a)
		assert.ErrorIs(t, err, context.Canceled)
		if a.Buffer.Len() > 0 { // the context has ended before the start: it was not sent
			assert.NoError(t, a.Buffer.Free())
		}
	}
	finish(t, s)
	allFreed(t, s)
}

var answersBuffer = coro.MustExportFunc(func(_ context.Context, b coro.Buffer) (coro.Buffer, error) {
	text, err := b.Bytes()
	if err != nil {
		return coro.Buffer{}, err
	}
	if string(text) == "stays" {
		return coro.Buffer{}, b.Free()
	}
	return b, b.Append([]byte(" of Go"))
})

func TestABufferGoesToAGoFunctionAndComesBack(t *testing.T) {
	s := newScheduler(t)
	call := func(does int32, text string) bufferResult {
		r, err := bufferBody.Call(background, s, bufferArg{does, newBuffer(t, s, text),
			int64(answersBuffer)})
		require.NoError(t, err)
		assert.Zero(t, r.Status)
		return r
	}
	text, err := call(testbody.BufferCall, "text").Buffer.Bytes()
	assert.NoError(t, err)
	assert.Equal(t, "text of Go", string(text))
	assert.Equal(t, coro.Buffer{}, call(testbody.BufferCall, "stays").Buffer)
	call(testbody.BufferNoResult, "text")
	st := s.Stats().Buffers
	assert.EqualValues(t, 3, st.Made)
	assert.EqualValues(t, 2, st.Freed) // all but the first
}

// Coroutines that never start, since their scheduler is closed, give their buffers back.
func TestACloseFreesBuffers(t *testing.T) {
	s := newScheduler(t, coro.WithPaused())
	for range 50 {
		b := newBuffer(t, s, "text")
		require.NoError(t, bufferBody.Spawn(s, bufferArg{Buffer: b}))
		_, err := bufferBody.Start(s, bufferArg{Buffer: newBuffer(t, s, "text")})
		require.NoError(t, err)
		assertStale(t, b)
	}
	require.NoError(t, s.Close(soon(t)))
	allFreed(t, s)
}

func TestWhereAFuncCannotHaveBuffers(t *testing.T) {
	_, err := coro.NewFunc[[7]coro.Buffer, coro.None](testbody.Empty)
	assert.ErrorContains(t, err, "beyond its first 48 bytes")
	_, err = coro.NewFunc[coro.Buffer, [100]byte](testbody.Empty)
	assert.ErrorContains(t, err, "beside an argument or a result of more than 48 bytes")
	_, err = coro.NewFunc[int64, coro.Buffer](testbody.Square)
	require.NoError(t, err)
	_, err = coro.NewFunc[coro.Buffer, int64](testbody.Square)
	assert.ErrorContains(t, err, "another Func of the same C function")
}

type bufferValue struct {
	Number int64
	Buffer coro.Buffer
}

func TestBuffersGoThroughAChan(t *testing.T) {
	for _, capacity := range []int{0, 1, 8} {
		s := newScheduler(t)
		c, err := coro.NewChan[bufferValue](s, capacity)
		require.NoError(t, err)
		n := scaled(3000)
		done := make(chan int, 4)
		for range 2 {
			go func() { // some sends give up
				kept := 0
				for i := range n {
					b := newBuffer(t, s, "text")
					ctx, cancel := context.WithTimeout(background, time.Duration(i%20)*time.Microsecond)
					if i%3 > 0 {
						cancel()
						ctx, cancel = context.WithCancel(background)
					}
					if err := c.Send(ctx, bufferValue{int64(i), b}); err == nil {
						assert.ErrorIs(t, b.Free(), coro.ErrStale)
					} else {
						assert.ErrorIs(t, err, context.DeadlineExceeded)
						assert.NoError(t, b.Free())
						kept++
					}
					cancel()
				}
				done <- kept
			}()
			go func() {
				got := 0
				for v, err := range c.All(background) {
					assert.NoError(t, err)
					text, err := v.Buffer.Bytes()
					assert.NoError(t, err)
					assert.Equal(t, "text", string(text))
					assert.NoError(t, v.Buffer.Free())
					got++
				}
				done <- got
			}()
		}
		sum := <-done + <-done
		require.NoError(t, c.Close())
		sum += <-done + <-done
		assert.Equal(t, 2*n, sum)
		allFreed(t, s)
	}
}

func TestAChanFreesTheBuffersThatAreLeft(t *testing.T) {
	s := newScheduler(t)
	fill := func() *coro.Chan[bufferValue] {
		c, err := coro.NewChan[bufferValue](s, 3)
		require.NoError(t, err)
		for i := range 5 {
			b := newBuffer(t, s, "text")
			ok, err := c.TrySend(bufferValue{int64(i), b})
			require.NoError(t, err)
			require.Equal(t, i < 3, ok)
			if ok {
				assertStale(t, b)
				_, err = c.TrySend(bufferValue{0, b})
				assert.ErrorIs(t, err, coro.ErrStale)
				assert.ErrorIs(t, c.Send(background, bufferValue{0, b}), coro.ErrStale)
			} else {
				require.NoError(t, b.Free())
			}
		}
		return c
	}
	require.NoError(t, fill().Free())
	assertNoBuffers(t, s)
	fill() // nobody refers to it
	allFreed(t, s)
	c := fill()
	require.NoError(t, c.Close())
	b := newBuffer(t, s, "text")
	assert.ErrorIs(t, c.Send(background, bufferValue{0, b}), coro.ErrChanClosed)
	require.NoError(t, b.Free())
	var v bufferValue
	for range 3 {
		i, err := coro.Select(background, coro.OnRecv(c, &v))
		require.NoError(t, err)
		assert.Zero(t, i)
		assert.NoError(t, v.Buffer.Free())
	}
	assertNoBuffers(t, s)
	_, err := coro.NewChan[[65]coro.Buffer](s, 1)
	assert.ErrorContains(t, err, "Buffer")
	_, err = coro.NewChan[struct {
		coro.Buffer
		More [505]byte
	}](s, 1)
	assert.ErrorContains(t, err, "Buffer")
}

// ---------------------------------------------------------------------------------------- CallN

func TestCallNPassesBuffers(t *testing.T) {
	s := newScheduler(t)
	const n = 10000 // more than CallN starts at once
	args, results := make([]bufferArg, n), make([]bufferResult, n)
	busy := newBuffer(t, s, "busy")
	stale := newBuffer(t, s, "stale")
	require.NoError(t, stale.Free())
	does := []int32{testbody.BufferReturn, testbody.BufferFree, testbody.BufferChild,
		testbody.BufferFail, testbody.BufferAbort, testbody.BufferReturn}
	for i := range args {
		args[i] = bufferArg{Does: does[i%len(does)], Buffer: newBuffer(t, s, "text")}
	}
	for i, b := range map[int]coro.Buffer{5: stale, n - 1: busy} {
		require.NoError(t, args[i].Buffer.Free())
		args[i].Buffer = b
	}
	var err error
	require.NoError(t, busy.Use(func([]byte) error {
		err = bufferBody.CallN(background, s, args, results)
		return nil
	}))
	var first *coro.CallError
	require.ErrorAs(t, err, &first)
	assert.Equal(t, 3, first.Index, "that fails")
	for i, a := range args {
		r := results[i]
		switch {
		case i == 5, i == n-1, a.Does == testbody.BufferFail, a.Does == testbody.BufferAbort:
			assert.Zero(t, r)
		case a.Does == testbody.BufferFree:
			assert.Equal(t, coro.Buffer{}, r.Buffer)
		default:
			text, err := r.Buffer.Bytes()
			assert.NoError(t, err)
			assert.Equal(t, "TEXT", string(text))
			assert.NoError(t, r.Buffer.Free())
		}
		if i == n-1 {
			assert.NoError(t, a.Buffer.Free())
		} else {
			assert.ErrorIs(t, a.Buffer.Free(), coro.ErrStale)
		}
	}
	for want, b := range map[error]coro.Buffer{coro.ErrStale: stale,
		coro.ErrBusy: newBuffer(t, s, "busy")} {
		_ = b.Use(func([]byte) error { err = callOneOf(s, b); return nil })
		if want == coro.ErrStale {
			err = callOneOf(s, b)
		} else {
			assert.NoError(t, b.Free())
		}
		require.ErrorAs(t, err, &first)
		assert.ErrorIs(t, first, want)
		assert.Equal(t, 1, first.Index)
	}
	allFreed(t, s)
}

// callOneOf calls two bodies, the second with b.
func callOneOf(s *coro.Scheduler, b coro.Buffer) error {
	does := testbody.BufferFree
	first, err := coro.BufferOf(s, []byte("text"))
	if err != nil {
		return err
	}
	return bufferBody.CallN(background, s, []bufferArg{{Does: does, Buffer: first},
		{Does: does, Buffer: b}}, make([]bufferResult, 2))
}

// Calls that begin have their buffers, and the library frees those of the others, and of results
// that nobody gets.
func TestCallNThatIsCanceledLosesNoBuffer(t *testing.T) {
	for i := range 20 {
		s := newScheduler(t)
		args := make([]bufferArg, 300)
		for k := range args {
			does := testbody.BufferReturn
			if k >= 250 || k%50 == i { // it returns after a cancel of its own
				does = testbody.BufferCancel
			}
			args[k] = bufferArg{Does: does, Buffer: newBuffer(t, s, "text")}
		}
		ctx, cancel := context.WithCancelCause(background)
		time.AfterFunc(time.Duration(i*i)*10*time.Microsecond, func() { cancel(errEnough) })
		err := bufferBody.CallN(ctx, s, args, make([]bufferResult, len(args)))
		require.ErrorIs(t, err, errEnough)
		for _, a := range args {
			if err := a.Buffer.Free(); err != nil { // else nothing has begun
				assert.ErrorIs(t, err, coro.ErrStale)
			}
		}
		require.ErrorIs(t, s.Close(expired), context.Canceled)
		require.NoError(t, s.Close(soon(t)))
		allFreed(t, s)
	}
}

func TestSpawnSeqPassesBuffers(t *testing.T) {
	s := newScheduler(t)
	gone := newBuffer(t, s, "gone")
	require.NoError(t, gone.Free())
	n, err := bufferBody.SpawnSeq(s, func(yield func(bufferArg) bool) {
		for range 300 {
			if !yield(bufferArg{Does: testbody.BufferFree, Buffer: newBuffer(t, s, "text")}) {
				return
			}
		}
		yield(bufferArg{Buffer: gone})
	})
	assert.ErrorIs(t, err, coro.ErrStale)
	assert.Equal(t, 300, n)
	finish(t, s)
	allFreed(t, s)
}

// -------------------------------------------------------------------------------------- selects

func TestASelectSendsTheBufferOfOneCase(t *testing.T) {
	s := newScheduler(t)
	full, err := coro.NewChan[bufferValue](s, 1)
	require.NoError(t, err)
	free, err := coro.NewChan[coro.Buffer](s, 1)
	require.NoError(t, err)
	require.NoError(t, full.Send(background, bufferValue{}))
	b := newBuffer(t, s, "text")
	cases := []coro.Case{coro.OnSend(full, bufferValue{1, b}), coro.OnSend(free, b)}
	i, err := coro.Select(background, cases...)
	require.NoError(t, err)
	assert.Equal(t, 1, i)
	assertStale(t, b)
	_, err = coro.Select(background, cases...)
	assert.ErrorIs(t, err, coro.ErrStale, "it was sent")
	got, err := free.Recv(background)
	require.NoError(t, err)
	require.NoError(t, free.Send(background, coro.Buffer{}))

	b = got
	cases = []coro.Case{coro.OnSend(full, bufferValue{1, b}), coro.OnSend(free, b)}
	i, err = coro.TrySelect(cases...)
	assert.NoError(t, err)
	assert.Equal(t, -1, i)
	ctx := endsSoon()
	_, err = coro.Select(ctx, cases...)
	assert.ErrorIs(t, err, errEnough)
	_, err = coro.Select(ctx, cases...)
	assert.ErrorIs(t, err, errEnough, "the context has ended")
	assert.NoError(t, b.Use(func([]byte) error {
		_, err := coro.Select(background, cases...)
		assert.ErrorIs(t, err, coro.ErrBusy)
		return nil
	}))
	for _, ctx := range []panicky{{background, false}, {background, true}} {
		assert.Panics(t, func() { _, _ = coro.Select(ctx, cases...) })
		assert.Panics(t, func() { _ = free.Send(ctx, b) })
	}
	assert.Panics(t, func() {
		_ = bufferBody.SpawnWait(panicky{background, true}, s, bufferArg{Buffer: b})
	})
	assert.NoError(t, free.Close())
	i, err = coro.Select(background, cases...)
	assert.ErrorIs(t, err, coro.ErrChanClosed)
	assert.Equal(t, 1, i)
	text, err := b.Bytes()
	assert.NoError(t, err)
	assert.Equal(t, "text", string(text), "it is the caller's after each error")

	var v bufferValue
	c, err := coro.NewChan[[2]coro.Buffer](s, 1)
	require.NoError(t, err)
	_, err = coro.Select(background, cases[0], coro.OnSend(c, [2]coro.Buffer{b, b}))
	assert.ErrorIs(t, err, coro.ErrStale, "twice in one value")
	i, err = coro.TrySelect(coro.OnSend(c, [2]coro.Buffer{b}), cases[0], coro.OnRecv(c, nil))
	assert.NoError(t, err)
	assert.Zero(t, i)
	assertStale(t, b)
	i, err = coro.TrySelect(coro.OnRecv(full, &v))
	assert.NoError(t, err)
	assert.Zero(t, i)
	require.NoError(t, c.Free())
	allFreed(t, s)
}

// A panicky context panics when it is asked for its end.
type panicky struct {
	context.Context
	soon bool // also by Err
}

func (panicky) Done() <-chan struct{} { panic("done") }

func (p panicky) Err() error {
	if p.soon {
		panic("err")
	}
	return nil
}

func TestBuffersGoThroughSelects(t *testing.T) {
	for _, capacity := range []int{0, 1, 8} {
		s := newScheduler(t)
		a, err := coro.NewChan[bufferValue](s, capacity)
		require.NoError(t, err)
		b, err := coro.NewChan[bufferValue](s, capacity)
		require.NoError(t, err)
		n := scaled(2000)
		send := func(ctx context.Context) (kept int) {
			for i := range n {
				buffer := newBuffer(t, s, "text")
				ctx, cancel := context.WithTimeout(ctx, time.Duration(i%20)*time.Microsecond)
				if i%3 > 0 {
					cancel()
					ctx, cancel = context.WithCancel(context.WithoutCancel(ctx))
				}
				v := bufferValue{int64(i), buffer}
				_, err := coro.Select(ctx, coro.OnSend(a, v), coro.OnSend(b, v))
				if err == nil {
					assert.ErrorIs(t, buffer.Free(), coro.ErrStale)
				} else {
					assert.ErrorIs(t, err, context.DeadlineExceeded)
					assert.NoError(t, buffer.Free())
					kept++
				}
				cancel()
			}
			return kept
		}
		done := make(chan int, 5)
		for range 2 {
			go func() { done <- send(background) }()
		}
		_, err = coro.Go(s, func(c *coro.Coroutine) (coro.None, error) {
			done <- send(c.Context())
			return coro.None{}, nil
		})
		require.NoError(t, err)
		var all sync.WaitGroup
		var got atomic.Int64
		take := func(v bufferValue) {
			text, err := v.Buffer.Bytes()
			assert.NoError(t, err)
			assert.Equal(t, "text", string(text))
			assert.NoError(t, v.Buffer.Free())
			got.Add(1)
		}
		all.Go(func() {
			for v, err := range a.All(background) {
				assert.NoError(t, err)
				take(v)
			}
		})
		all.Go(func() {
			var v bufferValue
			for {
				i, err := coro.Select(background, coro.OnRecv(a, &v), coro.OnRecv(b, &v))
				if err != nil {
					assert.ErrorIs(t, err, coro.ErrChanClosed)
					if i == 1 {
						return
					}
					continue
				}
				take(v)
			}
		})
		sum := <-done + <-done + <-done
		require.NoError(t, a.Close())
		require.NoError(t, b.Close())
		all.Wait()
		assert.EqualValues(t, 3*n, sum+int(got.Load()))
		finish(t, s)
		allFreed(t, s)
	}
}

// ------------------------------------------------------------------------------------ Go bodies

type goResult struct {
	Text   string // what is behind pointers is Go's
	Buffer coro.Buffer
}

func TestAGoBodyReturnsABuffer(t *testing.T) {
	s := newScheduler(t)
	g := coro.NewGroup(background, s)
	inner := newBuffer(t, s, "text")
	started := func(in coro.Scope, b coro.Buffer, err error) *coro.Task[goResult] {
		task, e := coro.Go(in, func(*coro.Coroutine) (goResult, error) {
			return goResult{"text", b}, err
		})
		require.NoError(t, e)
		return task
	}
	r, err := started(s, inner, nil).Wait(background)
	require.NoError(t, err)
	assertStale(t, inner)
	outer, err := coro.Go(g, func(c *coro.Coroutine) (coro.Buffer, error) {
		r, err := started(s, r.Buffer, nil).Await(c.Context(), c)
		return r.Buffer, err
	})
	require.NoError(t, err)
	b, err := outer.Wait(background)
	require.NoError(t, err)
	again, err := outer.Wait(background)
	require.NoError(t, err)
	assert.Equal(t, b, again)
	text, err := b.Bytes()
	assert.NoError(t, err)
	assert.Equal(t, "text", string(text))

	r, err = started(s, b, errEnough).Wait(background)
	assert.Equal(t, errEnough, err)
	assert.Equal(t, b, r.Buffer, "with an error nothing passes")
	require.NoError(t, b.Free())
	r, err = started(s, b, nil).Wait(background)
	assert.ErrorIs(t, err, coro.ErrStale)
	assert.Zero(t, r)

	for range 20 { // nobody takes it
		started(s, newBuffer(t, s, "text"), nil)
		started(g, newBuffer(t, s, "text"), nil)
		task := started(s, newBuffer(t, s, "text"), nil)
		receive(t, task.Done())
	}
	require.NoError(t, g.Wait(background))
	finish(t, s)
	allFreed(t, s)
}

func TestABufferGoesToAGoBodyOfCAndComesBack(t *testing.T) {
	s := newScheduler(t)
	// a body may keep its buffer over waits, and it may end in each way
	body := coro.MustExportBody(func(c *coro.Coroutine, b coro.Buffer) (coro.Buffer, error) {
		c.Yield()
		text, err := b.Bytes()
		if err != nil {
			return b, err
		}
		switch string(text) {
		case "frees":
			return coro.Buffer{}, b.Free()
		case "fails":
			return b, errors.Join(errEnough, b.Free())
		case "panics":
			_ = b.Free()
			panic("with a buffer")
		}
		return b, b.Append([]byte(" of Go"))
	})
	call := func(does int32, text string) bufferResult {
		r, err := bufferBody.Call(background, s, bufferArg{does, newBuffer(t, s, text), int64(body)})
		require.NoError(t, err)
		return r
	}
	r := call(testbody.BufferSpawnGo, "text")
	assert.Zero(t, r.Status)
	text, err := r.Buffer.Bytes()
	assert.NoError(t, err)
	assert.Equal(t, "text of Go", string(text))
	assert.NoError(t, r.Buffer.Free())
	for text, status := range map[string]int32{"frees": testbody.OK, "fails": testbody.EFAILED,
		"panics": testbody.EFAILED} {
		r = call(testbody.BufferSpawnGo, text)
		assert.EqualValues(t, status, r.Status)
		assert.Zero(t, r.Buffer)
		call(testbody.BufferDropGo, text)
	}
	call(testbody.BufferDropGo, "text")
	finish(t, s)
	allFreed(t, s)
}

// Go bodies that C has started, and that have not begun when the scheduler is canceled, give their
// buffers back; so do results that nobody has joined.
func TestAGoBodyOfCThatNeverBegins(t *testing.T) {
	body := coro.MustExportBody(func(c *coro.Coroutine, b coro.Buffer) (coro.Buffer, error) {
		for c.Park(c.Context()) == nil {
		}
		return b, nil
	})
	for i := range 30 {
		s := newScheduler(t, coro.WithExecutors(1))
		for range 50 {
			require.NoError(t, bufferBody.Spawn(s, bufferArg{testbody.BufferSpawnGo,
				newBuffer(t, s, "text"), int64(body)}))
		}
		time.Sleep(time.Duration(i) * 20 * time.Microsecond)
		require.ErrorIs(t, s.Close(expired), context.Canceled)
		require.NoError(t, s.Close(soon(t)))
		allFreed(t, s)
	}
}

// A lastContext panics once it is told to.
type lastContext struct {
	context.Context
	panics *atomic.Bool
}

func (l lastContext) Done() <-chan struct{} {
	if l.panics.Load() {
		panic("done")
	}
	return l.Context.Done()
}

// A context that panics after the send: the buffer is the receiver's.
func TestABufferThatWasSentStaysTheReceivers(t *testing.T) {
	for _, send := range []func(context.Context, *coro.Chan[coro.Buffer], coro.Buffer){
		func(ctx context.Context, c *coro.Chan[coro.Buffer], b coro.Buffer) { _ = c.Send(ctx, b) },
		func(ctx context.Context, c *coro.Chan[coro.Buffer], b coro.Buffer) {
			_, _ = coro.Select(ctx, coro.OnSend(c, b))
		},
	} {
		s := newScheduler(t)
		ch, err := coro.NewChan[coro.Buffer](s, 0)
		require.NoError(t, err)
		b := newBuffer(t, s, "text")
		var panics atomic.Bool
		task, err := coro.Go(s, func(c *coro.Coroutine) (coro.None, error) {
			defer func() { _ = recover() }()
			ctx, cancel := context.WithCancel(lastContext{c.Context(), &panics})
			defer cancel()
			send(ctx, ch, b)
			return coro.None{}, nil
		})
		require.NoError(t, err)
		parked(t, s, 1)
		panics.Store(true)
		got, err := ch.Recv(background)
		require.NoError(t, err)
		_, _ = wait(t, task)
		assertStale(t, b)
		text, err := got.Bytes()
		assert.NoError(t, err)
		assert.Equal(t, "text", string(text))
		assert.NoError(t, got.Free())
		finish(t, s)
		allFreed(t, s)
	}
}

// Of a result with a buffer that is stale the others are freed.
func TestAResultThatCannotPassIsFreed(t *testing.T) {
	s := newScheduler(t)
	stale := newBuffer(t, s, "stale")
	require.NoError(t, stale.Free())
	task, err := coro.Go(s, func(*coro.Coroutine) ([2]coro.Buffer, error) {
		return [2]coro.Buffer{newBuffer(t, s, "text"), stale}, nil
	})
	require.NoError(t, err)
	_, err = wait(t, task)
	assert.ErrorIs(t, err, coro.ErrStale)
	finish(t, s)
	allFreed(t, s)
}

func TestAValueThatASelectDropsIsFreed(t *testing.T) {
	s := newScheduler(t)
	c, err := coro.NewChan[bufferValue](s, 1)
	require.NoError(t, err)
	b := newBuffer(t, s, "text")
	require.NoError(t, c.Send(background, bufferValue{1, b}))
	i, err := coro.Select(background, coro.OnRecv(c, nil))
	require.NoError(t, err)
	assert.Zero(t, i)
	allFreed(t, s)
	finish(t, s)
}
