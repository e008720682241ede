//go:build cgo

package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
	"github.com/organzine/coro/corotest"
)

func scheduler(t *testing.T, options ...coro.Option) *coro.Scheduler {
	corotest.VerifyNone(t) // buffers too
	s, err := coro.New(append(options, coro.WithWorkers(2))...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	return s
}

func TestAnyLengthIsEncodedInOrder(t *testing.T) {
	s := scheduler(t)
	for _, n := range []int{0, 1, 2, 3, blockBytes - 1, blockBytes, blockBytes + 1, 50*blockBytes + 2} {
		text := make([]byte, n)
		for i := range text {
			text[i] = byte(i / 251)
		}
		for _, r := range []io.Reader{bytes.NewReader(text), iotest.HalfReader(bytes.NewReader(text))} {
			var got bytes.Buffer
			require.NoError(t, encode(t.Context(), s, &got, r))
			assert.Equal(t, base64.StdEncoding.EncodeToString(text), got.String())
		}
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// Each error ends all, and leaves nothing.
func TestErrorsEndAll(t *testing.T) {
	s := scheduler(t)
	why := errors.New("why")
	text := make([]byte, 100*blockBytes)
	r := io.MultiReader(bytes.NewReader(text[:20*blockBytes+5]), iotest.ErrReader(why))
	assert.ErrorIs(t, encode(t.Context(), s, io.Discard, r), why)

	n := 0
	fails := writer(func(p []byte) (int, error) {
		if n++; n > 3 {
			return 0, why
		}
		return len(p), nil
	})
	assert.ErrorIs(t, encode(t.Context(), s, fails, bytes.NewReader(text)), why)

	ctx, cancel := context.WithCancel(t.Context())
	cancels := writer(func(p []byte) (int, error) {
		cancel()
		return len(p), nil
	})
	assert.ErrorIs(t, encode(ctx, s, cancels, bytes.NewReader(text)), context.Canceled)
}

func TestWithoutMemory(t *testing.T) {
	s := scheduler(t, coro.WithBufferLimit(4*blockBytes))
	err := encode(t.Context(), s, io.Discard, bytes.NewReader(make([]byte, 100*blockBytes)))
	var failed *coro.BodyError // in C, or in Go
	if !errors.As(err, &failed) {
		assert.ErrorIs(t, err, coro.ErrNoMemory)
	}
}
