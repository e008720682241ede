//go:build cgo

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
	"github.com/organzine/coro/corotest"
)

func scheduler(t *testing.T) *coro.Scheduler {
	corotest.VerifyNone(t) // buffers too
	s, err := coro.New(coro.WithWorkers(2))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	return s
}

// closer is from, with a Close if it has none.
func closer(from io.Reader) io.ReadCloser {
	if c, ok := from.(io.ReadCloser); ok {
		return c
	}
	return io.NopCloser(from)
}

// received is all frames that come, and how it ends.
func received(t *testing.T, s *coro.Scheduler, from io.Reader) (frames [][]byte, err error) {
	n, err := receive(t.Context(), s, closer(from), func(b coro.Buffer) error {
		frame, err := b.Bytes()
		frames = append(frames, frame)
		return errors.Join(err, b.Free())
	})
	assert.Len(t, frames, int(n))
	return frames, err
}

func TestFramesOfAnyLengthCome(t *testing.T) {
	s := scheduler(t)
	var wire []byte
	var want [][]byte
	for _, n := range []int{0, 1, 2, 300, 0, streamBytes, streamBytes + 1, mostBytes, 5} {
		frame := bytes.Repeat([]byte{byte(n + 1)}, n)
		want = append(want, frame)
		wire = appendFrame(wire, frame)
	}
	for _, pieces := range []func(io.Reader) io.Reader{
		func(r io.Reader) io.Reader { return r }, iotest.HalfReader, iotest.DataErrReader,
	} {
		got, err := received(t, s, pieces(bytes.NewReader(wire)))
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	got, err := received(t, s, bytes.NewReader(nil))
	require.NoError(t, err)
	assert.Empty(t, got)
}

func TestWhatIsNoFrameFailsTheStream(t *testing.T) {
	s := scheduler(t)
	good := appendFrame(nil, []byte("good"))
	for _, c := range []struct {
		wire string
		want Fault
	}{
		{"\x00\x10\x00\x01", FaultTooLong},
		{"\xff\xff\xff\xff" + string(make([]byte, 3*streamBytes)), FaultTooLong},
		{"\x00", FaultCutOff},
		{"\x00\x00\x00\x01", FaultCutOff},
		{"\x00\x00\x00\x03ab", FaultCutOff},
	} {
		got, err := received(t, s, bytes.NewReader(append(good, c.wire...)))
		var code *coro.StreamError
		require.ErrorAs(t, err, &code)
		assert.Equal(t, c.want, Fault(code.Code), "%q", c.wire[:min(9, len(c.wire))])
		assert.Equal(t, [][]byte{[]byte("good")}, got)
	}
}

func TestErrorsOfGoEndTheParser(t *testing.T) {
	s := scheduler(t)
	why := errors.New("why")
	wire := bytes.Repeat(appendFrame(nil, []byte("frame")), 100_000)
	n, err := receive(t.Context(), s, closer(bytes.NewReader(wire)), func(b coro.Buffer) error {
		assert.NoError(t, b.Free())
		return why
	})
	assert.ErrorIs(t, err, why)
	assert.Zero(t, n)
	got, err := received(t, s, io.MultiReader(bytes.NewReader(wire[:9]), iotest.ErrReader(why)))
	assert.ErrorIs(t, err, why)
	assert.LessOrEqual(t, len(got), 1)
}

func TestACancelEndsTheParser(t *testing.T) {
	s := scheduler(t)
	ctx, cancel := context.WithCancel(t.Context())
	wire := bytes.Repeat(appendFrame(nil, make([]byte, 1000)), 10_000)
	n := 0
	_, err := receive(ctx, s, closer(bytes.NewReader(wire)), func(b coro.Buffer) error {
		if n++; n == 7 {
			cancel()
		}
		return b.Free()
	})
	assert.ErrorIs(t, err, context.Canceled)
	assert.Less(t, n, 10_000)
}

// The peer sends something, and then neither sends nor ends any more.
func TestASilentPeerDelaysNoError(t *testing.T) {
	s := scheduler(t)
	ctx, cancel := context.WithCancel(t.Context())
	why := errors.New("why")
	fine := func(b coro.Buffer) error { return b.Free() }
	for _, c := range []struct {
		sends []byte
		each  func(coro.Buffer) error
		check func(error)
	}{
		{[]byte{255, 255, 255, 255}, fine, func(err error) {
			var code *coro.StreamError
			require.ErrorAs(t, err, &code)
			assert.Equal(t, FaultTooLong, Fault(code.Code))
		}},
		{appendFrame(nil, nil), func(b coro.Buffer) error {
			return errors.Join(why, b.Free())
		},
			func(err error) { assert.ErrorIs(t, err, why) }},
		{appendFrame(nil, nil), func(b coro.Buffer) error { cancel(); return b.Free() },
			func(err error) { assert.ErrorIs(t, err, context.Canceled) }},
		{appendFrame(nil, nil), fine, // and the context has ended before
			func(err error) { assert.ErrorIs(t, err, context.Canceled) }},
	} {
		wire, peer := net.Pipe()
		sent := make(chan struct{})
		go func() {
			_, _ = peer.Write(c.sends)
			close(sent)
		}()
		_, err := receive(ctx, s, wire, c.each)
		c.check(err)
		<-sent
		_, err = peer.Write([]byte{1})
		assert.ErrorIs(t, err, io.ErrClosedPipe)
		assert.NoError(t, peer.Close())
	}
}

// A parser that never began does not keep its stream.
func TestAParserThatNeverBegan(t *testing.T) {
	corotest.VerifyNone(t)
	s, err := coro.New(coro.WithPaused())
	require.NoError(t, err)
	wire, peer := net.Pipe()
	defer peer.Close()
	done := make(chan error, 1)
	go func() {
		n, err := receive(t.Context(), s, wire, nil)
		assert.Zero(t, n)
		done <- err
	}()
	_, err = peer.Write(make([]byte, 1000)) // into the stream
	require.NoError(t, err)
	now, cancel := context.WithCancel(t.Context())
	cancel()
	_ = s.Close(now) // cancels
	assert.ErrorIs(t, <-done, coro.ErrCanceled)
}
