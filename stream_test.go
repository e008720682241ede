//go:build cgo

package coro_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
	"github.com/organzine/coro/corotest"
	"github.com/organzine/coro/internal/testbody"
)

// streamArg is struct testbody_stream.
type streamArg struct {
	stream      coro.StreamEnd
	bytes, slow uint64
}

var (
	streamFlip   = coro.MustFunc[streamArg, int64](testbody.StreamFlip)
	streamFails  = coro.MustFunc[streamArg, int64](testbody.StreamFails)
	streamCloses = coro.MustFunc[streamArg, int64](testbody.StreamCloses)
	streamReads  = coro.MustFunc[streamArg, int64](testbody.StreamReads)
	streamWrites = coro.MustFunc[streamArg, int64](testbody.StreamWrites)
	streamKeeps  = coro.MustFunc[streamArg, int64](testbody.StreamKeeps)
)

// What C returns.
const (
	cEclosed   = -7
	cEcanceled = -5
	cEfailed   = -13
	cEtimedout = -15
)

func newStream(t testing.TB, s *coro.Scheduler, bytes int) *coro.Stream {
	t.Helper()
	return made[coro.Stream](t)(coro.NewStream(s, bytes))
}

func starting(
	t testing.TB, s *coro.Scheduler, f coro.Func[streamArg, int64], st *coro.Stream, bytes, slow uint64,
) *coro.Task[int64] {
	t.Helper()
	task, err := f.Start(s, streamArg{st.Address(), bytes, slow})
	require.NoError(t, err)
	return task
}

func flipped(b []byte) []byte {
	out := make([]byte, len(b))
	for i, c := range b {
		out[i] = ^c
	}
	return out
}

// body is the bytes of a body at a position.
func bodyAt(at, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		x := uint64(at+i+1) * 0x9e3779b97f4a7c15
		b[i] = byte(x>>40 ^ x>>56)
	}
	return b
}

// slowly reads or writes few bytes at once, and waits now and then.
func slowly(random *rand.Rand) {
	if random.IntN(50) == 0 {
		time.Sleep(20 * time.Microsecond)
	}
}

// through sends total bytes through a stream and a C filter, and checks each that comes back.
func through(t *testing.T, st *coro.Stream, total, piece int, slowWriter, slowReader bool) {
	var writer sync.WaitGroup
	writer.Go(func() {
		random := rand.New(rand.NewPCG(1, uint64(total)))
		for at := 0; at < total; {
			n := min(total-at, piece)
			if slowWriter {
				n = min(n, 1+random.IntN(piece))
				slowly(random)
			}
			k, err := st.Write(bodyAt(at, n))
			if !assert.NoError(t, err) || !assert.Equal(t, n, k) {
				return
			}
			at += n
		}
		assert.NoError(t, st.CloseWrite())
	})
	defer writer.Wait()
	random := rand.New(rand.NewPCG(2, uint64(total)))
	buffer := make([]byte, piece)
	for at := 0; ; {
		to := buffer
		if slowReader {
			to = to[:1+random.IntN(piece)]
			slowly(random)
		}
		n, err := st.Read(to)
		require.True(t, bytes.Equal(flipped(bodyAt(at, n)), to[:n]), "%d bytes at %d", n, at)
		at += n
		if err == io.EOF {
			require.Equal(t, total, at)
			return
		}
		require.NoError(t, err)
	}
}

func TestALargeBodyGoesThroughAStreamAndACFilter(t *testing.T) {
	corotest.VerifyNone(t)
	for _, slow := range []struct{ writer, reader, filter bool }{
		{}, {writer: true}, {reader: true}, {filter: true}, {true, true, true},
	} {
		t.Run(fmt.Sprint(slow), func(t *testing.T) {
			s := newScheduler(t, coro.WithWorkers(2))
			st := newStream(t, s, 128<<10) // 256 KiB in both directions
			filter, total := uint64(0), int(counted(64<<20))
			if slow != (struct{ writer, reader, filter bool }{}) {
				total = int(counted(2 << 20))
			}
			if slow.filter {
				filter = 1
			}
			task := starting(t, s, streamFlip, st, 4096, filter)
			through(t, st, total, 32<<10, slow.writer, slow.reader)
			got, err := wait(t, task)
			require.NoError(t, err)
			assert.EqualValues(t, total, got)
			require.NoError(t, st.Close())
			finish(t, s)
		})
	}
}

// The smallest streams, and pieces around their sizes.
func TestSmallStreams(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	for _, size := range []int{1, 2, 3, 16, 100} {
		for _, piece := range []int{1, 7, 130} {
			st := newStream(t, s, size)
			task := starting(t, s, streamFlip, st, uint64(piece), 0)
			through(t, st, scaled(3000), piece, false, false)
			_, err := wait(t, task)
			require.NoError(t, err)
		}
	}
	finish(t, s)
}

func TestWhatAStreamRefuses(t *testing.T) {
	s := newScheduler(t)
	var option *coro.OptionError
	for _, bytes := range []int{-1, 0, 1<<30 + 1} {
		_, err := coro.NewStream(s, bytes)
		assert.ErrorAs(t, err, &option)
	}
	_, err := coro.NewStream(nil, 1)
	assert.ErrorAs(t, err, &option)
	assert.Panics(t, func() { new(coro.Stream).Address() })
	assert.Panics(t, func() { _, _ = new(coro.Stream).Read(make([]byte, 1)) })
	finish(t, s)
}

func TestErrorsPassAStreamAsCodes(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	for _, c := range []struct {
		err           error
		reads, writes int64
	}{
		{nil, 0, cEclosed},
		{io.ErrUnexpectedEOF, cEfailed, cEfailed},
		{context.Canceled, cEcanceled, cEcanceled},
		{coro.ErrCanceled, cEcanceled, cEcanceled},
		{os.ErrDeadlineExceeded, cEtimedout, cEtimedout},
		{io.ErrClosedPipe, cEclosed, cEclosed},
		{syscall.ECONNRESET, -4096 - int64(syscall.ECONNRESET), -4096 - int64(syscall.ECONNRESET)},
		{fmt.Errorf("why: %w", &coro.StreamError{Code: -70001}), -70001, -70001},
	} {
		st := newStream(t, s, 10)
		task := starting(t, s, streamReads, st, 10, 0)
		parked(t, s, 1)
		require.NoError(t, st.CloseWithError(c.err))
		got, err := wait(t, task)
		require.NoError(t, err)
		assert.Equal(t, c.reads, got, "%v", c.err)

		st = newStream(t, s, 10)
		task = starting(t, s, streamWrites, st, 10, 0)
		parked(t, s, 1)
		require.NoError(t, st.CloseWithError(c.err))
		got, err = wait(t, task)
		require.NoError(t, err)
		assert.Equal(t, c.writes, got, "%v", c.err)
		_, err = st.Read(make([]byte, 1))
		assert.ErrorIs(t, err, io.ErrClosedPipe)
		_, err = st.Write(make([]byte, 1))
		assert.ErrorIs(t, err, io.ErrClosedPipe)
		assert.NoError(t, st.Close(), "closed again")
	}
	st := newStream(t, s, 10)
	starting(t, s, streamFails, st, 0, 0)
	_, err := st.Write([]byte{1})
	require.NoError(t, err)
	var own *coro.StreamError
	_, err = st.Read(make([]byte, 1))
	require.ErrorAs(t, err, &own)
	assert.EqualValues(t, -70000, own.Code)
	_, err = st.Write([]byte{1})
	require.ErrorAs(t, err, &own)
	assert.EqualValues(t, -70000, own.Code)
	finish(t, s)
}

func TestCodesOfCAreErrorsOfGo(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	for _, c := range []struct {
		code          int64
		reads, writes error
	}{
		{0, io.EOF, io.ErrClosedPipe},
		{cEclosed, io.ErrClosedPipe, io.ErrClosedPipe},
		{cEcanceled, coro.ErrCanceled, coro.ErrCanceled},
		{cEtimedout, os.ErrDeadlineExceeded, os.ErrDeadlineExceeded},
		{-4096 - int64(syscall.EIO), syscall.EIO, syscall.EIO},
		{cEfailed, &coro.StreamError{Code: cEfailed}, &coro.StreamError{Code: cEfailed}},
		{-4096, &coro.StreamError{Code: -4096}, &coro.StreamError{Code: -4096}},
		{-8192, &coro.StreamError{Code: -8192}, &coro.StreamError{Code: -8192}},
		{-1 << 31, &coro.StreamError{Code: -1 << 31}, &coro.StreamError{Code: -1 << 31}},
	} {
		st := newStream(t, s, 10)
		status, err := wait(t, starting(t, s, streamCloses, st, uint64(-c.code), 0))
		require.NoError(t, err)
		require.Zero(t, status)
		_, err = st.Read(make([]byte, 1))
		assert.Equal(t, c.reads, err, "%d", c.code)
		_, err = st.Write(make([]byte, 1))
		assert.Equal(t, c.writes, err, "%d", c.code)
	}
	finish(t, s)
}

// A body that ends without closing the stream is an error, not an end.
func TestABodyThatIsCanceledClosesItsEnd(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	st := newStream(t, s, 10)
	task := starting(t, s, streamReads, st, 10, 0)
	parked(t, s, 1)
	task.Cancel()
	_, err := st.Read(make([]byte, 1))
	assert.ErrorIs(t, err, coro.ErrCanceled)
	_, err = st.Write(make([]byte, 1))
	assert.ErrorIs(t, err, coro.ErrCanceled)
	finish(t, s)
}

func TestDeadlinesOfAStream(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	st := newStream(t, s, 1)
	byte1 := make([]byte, 1)
	timedOut := func(n int, err error) {
		t.Helper()
		assert.Zero(t, n)
		assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
	}
	require.NoError(t, st.SetReadDeadline(time.Now().Add(time.Millisecond)))
	timedOut(st.Read(byte1))
	_, err := st.Write(byte1)
	require.NoError(t, err, "the other direction has none")
	require.NoError(t, st.SetDeadline(time.Now().Add(-time.Second)))
	timedOut(st.Read(byte1))
	timedOut(st.Write(byte1))
	require.NoError(t, st.SetDeadline(time.Time{}))

	// A deadline that is set meanwhile ends the wait.
	for _, call := range []func([]byte) (int, error){st.Read, st.Write} {
		done := make(chan error)
		go func() {
			_, err := call(byte1)
			done <- err
		}()
		time.Sleep(time.Millisecond)
		require.NoError(t, st.SetDeadline(time.Now()))
		assert.ErrorIs(t, <-done, os.ErrDeadlineExceeded)
		require.NoError(t, st.SetDeadline(time.Time{}))
	}

	goes(t, s, func(c *coro.Coroutine) error {
		require.NoError(t, st.SetReadDeadline(time.Now().Add(time.Millisecond)))
		_, err := st.ReadContext(c.Context(), byte1)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return fmt.Errorf("not %w", err)
		}
		return nil
	})
	finish(t, s)
}

func TestContextsEndWaitsAtAStream(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	st := newStream(t, s, 1)
	why := errors.New("enough")
	for _, call := range []func(context.Context, []byte) (int, error){
		st.ReadContext, st.WriteContext,
	} {
		ctx, cancel := context.WithCancelCause(background)
		time.AfterFunc(time.Millisecond, func() { cancel(why) })
		_, err := call(ctx, make([]byte, 2))
		assert.ErrorIs(t, err, why)
	}
	finish(t, s)
}

func TestASecondReaderIsRefused(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	st := newStream(t, s, 1)
	done := make(chan error)
	go func() {
		err := coro.ErrBusy
		for errors.Is(err, coro.ErrBusy) {
			_, err = st.Read(make([]byte, 1))
		}
		done <- err
	}()
	assert.Eventually(t, func() bool {
		_, err := st.ReadContext(overContext(), make([]byte, 1))
		return errors.Is(err, coro.ErrBusy)
	}, patience, time.Millisecond)
	assert.ErrorIs(t, st.Free(), coro.ErrBusy)
	require.NoError(t, st.Close())
	assert.ErrorIs(t, <-done, io.ErrClosedPipe)
	finish(t, s)
}

func overContext() context.Context {
	ctx, cancel := context.WithCancel(background)
	cancel()
	return ctx
}

// Two Go bodies, and the C filter of another scheduler.
func TestGoBodiesUseAStream(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1), coro.WithExecutors(1))
	other := newScheduler(t, coro.WithWorkers(1))
	st := newStream(t, s, 64)
	task := starting(t, other, streamFlip, st, 50, 0)
	total := scaled(20000)
	goes(t, s, func(c *coro.Coroutine) error {
		if _, err := st.WriteContext(c.Context(), bodyAt(0, total)); err != nil {
			return err
		}
		return st.CloseWrite()
	})
	var got bytes.Buffer
	reader := goes(t, s, func(c *coro.Coroutine) error {
		for buffer := make([]byte, 100); ; {
			n, err := st.ReadContext(c.Context(), buffer)
			got.Write(buffer[:n])
			if err != nil {
				return err
			}
		}
	})
	_, err := reader.Wait(soon(t))
	assert.ErrorIs(t, err, io.EOF)
	assert.True(t, bytes.Equal(flipped(bodyAt(0, total)), got.Bytes()))
	_, err = wait(t, task)
	require.NoError(t, err)
	finish(t, other)
	finish(t, s)
}

// Both ends close, in each order, while calls go on; then the scheduler closes.
func TestEndsCloseInEachOrder(t *testing.T) {
	corotest.VerifyNone(t)
	for round := range int(counted(200)) {
		s := newScheduler(t, coro.WithWorkers(1+round%2))
		st := newStream(t, s, 1+round%70)
		task := starting(t, s, streamFlip, st, uint64(1+round%90), uint64(round%3/2))
		random := rand.New(rand.NewPCG(uint64(round), 7))
		var users sync.WaitGroup
		users.Go(func() {
			for _, err := st.Write(make([]byte, 100)); err == nil; _, err = st.Write(make([]byte, 100)) {
			}
		})
		users.Go(func() { _, _ = io.Copy(io.Discard, st) })
		time.Sleep(time.Duration(random.IntN(300)) * time.Microsecond)
		ends := []func(){
			func() { task.Cancel() },
			func() { assert.NoError(t, st.Close()) },
			func() { assert.NoError(t, st.CloseWrite()) },
			func() { assert.NoError(t, st.CloseWithError(syscall.EIO)) },
			func() { closeNow(t, s) },
		}
		random.Shuffle(len(ends), func(i, k int) { ends[i], ends[k] = ends[k], ends[i] })
		for _, end := range ends {
			end()
			time.Sleep(time.Duration(random.IntN(100)) * time.Microsecond)
		}
		users.Wait()
	}
}

func closeNow(t testing.TB, s *coro.Scheduler) {
	ctx, cancel := context.WithCancel(background)
	cancel()
	_ = s.Close(ctx)
	_ = s.Close(soon(t)) // the first may have returned early
}

// Cancels at random points of a transfer lose nothing, and double nothing.
func TestCallsThatEndEarlyLoseNothing(t *testing.T) {
	corotest.VerifyNone(t)
	s := newScheduler(t, coro.WithWorkers(1))
	st := newStream(t, s, 512)
	task := starting(t, s, streamFlip, st, 300, 0)
	total := int(counted(200000))
	briefly := func(random *rand.Rand) (context.Context, context.CancelFunc) {
		if random.IntN(4) == 0 {
			return background, func() {}
		}
		return context.WithTimeout(background, time.Duration(random.IntN(60))*time.Microsecond)
	}
	var writer sync.WaitGroup
	writer.Go(func() {
		random := rand.New(rand.NewPCG(3, 4))
		for at := 0; at < total; {
			ctx, cancel := briefly(random)
			n, err := st.WriteContext(ctx, bodyAt(at, min(total-at, 1+random.IntN(900))))
			cancel()
			if err != nil && !assert.ErrorIs(t, err, context.DeadlineExceeded) {
				return
			}
			at += n
		}
		assert.NoError(t, st.CloseWrite())
	})
	random := rand.New(rand.NewPCG(5, 6))
	for at := 0; ; {
		ctx, cancel := briefly(random)
		to := make([]byte, 1+random.IntN(900))
		n, err := st.ReadContext(ctx, to)
		cancel()
		require.True(t, bytes.Equal(flipped(bodyAt(at, n)), to[:n]), "at %d", at)
		at += n
		if err == io.EOF {
			require.Equal(t, total, at)
			break
		}
		if err != nil {
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
	}
	writer.Wait()
	_, err := wait(t, task)
	require.NoError(t, err)
	finish(t, s)
}

// The end that Go drops is closed, and its memory goes when C has given its end up, too.
func TestAStreamThatIsDropped(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	task := func() *coro.Task[int64] {
		return starting(t, s, streamReads, newStream(t, s, 10), 10, 0)
	}()
	parked(t, s, 1)
	eventually(t, func() bool {
		runtime.GC()
		_, n := s.Blocked(0)
		return n == 0
	}, "the reader hears of it")
	got, err := wait(t, task)
	require.NoError(t, err)
	assert.EqualValues(t, cEclosed, got)
	for range 300 {
		st := newStream(t, s, 10)
		_, err := st.Write([]byte{1})
		require.NoError(t, err)
		_, err = wait(t, starting(t, s, streamFails, st, 0, 0))
		require.NoError(t, err)
	}
	eventually(t, func() bool {
		runtime.GC()
		newStream(t, s, 10).Address()
		return coro.Exposed(s) < 100
	}, "the streams are forgotten")
	finish(t, s)
}

func TestAStreamThatIsFreed(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	st := newStream(t, s, 10)
	_, err := wait(t, starting(t, s, streamKeeps, st, 0, 0))
	require.NoError(t, err)
	assert.NotZero(t, st.Address())
	assert.Equal(t, 1, coro.Exposed(s))
	require.NoError(t, st.Free())
	assert.Zero(t, coro.Exposed(s))
	assert.Zero(t, st.Address())
	assert.ErrorIs(t, st.Free(), coro.ErrDestroyed)
	_, err = st.Read(make([]byte, 1))
	assert.ErrorIs(t, err, coro.ErrDestroyed)
	_, err = st.Write(make([]byte, 1))
	assert.ErrorIs(t, err, coro.ErrDestroyed)
	assert.ErrorIs(t, st.Close(), coro.ErrDestroyed)
	finish(t, s)
}
