//go:build cgo

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
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

// received is all frames that come, and how it ends.
func received(t *testing.T, s *coro.Scheduler, from io.Reader) (frames [][]byte, err error) {
	n, err := receive(t.Context(), s, from, func(b coro.Buffer) error {
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
	n, err := receive(t.Context(), s, bytes.NewReader(wire), func(b coro.Buffer) error {
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
	_, err := receive(ctx, s, bytes.NewReader(wire), func(b coro.Buffer) error {
		if n++; n == 7 {
			cancel()
		}
		return b.Free()
	})
	assert.ErrorIs(t, err, context.Canceled)
	assert.Less(t, n, 10_000)
}
