//go:build cgo

package coro_test

import (
	"context"
	"runtime"
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
	err = bufferBody.CallN(background, s, []bufferArg{{Buffer: b}}, make([]bufferResult, 1))
	assert.ErrorContains(t, err, "one coroutine owns")
	require.NoError(t, s.Close(soon(t)))
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
	_, err = coro.ExportBody(func(*coro.Coroutine, coro.Buffer) (coro.None, error) {
		return coro.None{}, nil
	})
	assert.ErrorContains(t, err, "has a coro.Buffer")
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
	_, err := coro.TrySelect(coro.OnSend(c, bufferValue{0, b}))
	assert.ErrorContains(t, err, "sends a Buffer")
	require.NoError(t, b.Free())
	var v bufferValue
	for range 3 {
		i, err := coro.Select(background, coro.OnRecv(c, &v))
		require.NoError(t, err)
		assert.Zero(t, i)
		assert.NoError(t, v.Buffer.Free())
	}
	assertNoBuffers(t, s)
	_, err = coro.NewChan[[65]coro.Buffer](s, 1)
	assert.ErrorContains(t, err, "Buffer")
	_, err = coro.NewChan[struct {
		coro.Buffer
		More [505]byte
	}](s, 1)
	assert.ErrorContains(t, err, "Buffer")
}
