package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
)

func TestRun(t *testing.T) {
	text, err := run(context.Background())
	require.NoError(t, err)
	assert.Equal(t, "16334668 bytes in 250 chunks: less than a half when compressed true, "+
		"the same ones back", text)
}

func TestAnyLengthComesBack(t *testing.T) {
	s, err := coro.New()
	require.NoError(t, err)
	defer s.Close(context.Background())
	for _, n := range []int{0, 1, chunkBytes - 1, chunkBytes, chunkBytes + 1, 10*chunkBytes + 7} {
		text := make([]byte, n)
		for i := range text { // nothing that can be compressed
			text[i] = byte(rand.Uint32())
		}
		packed, err := compress(context.Background(), s, text)
		require.NoError(t, err)
		back, err := decompress(context.Background(), s, packed)
		require.NoError(t, err)
		assert.Equal(t, text, back)
	}
}

func TestDamagedBytesAreAnErrorOfTheirChunk(t *testing.T) {
	s, err := coro.New()
	require.NoError(t, err)
	defer s.Close(context.Background())
	packed, err := compress(context.Background(), s, make([]byte, 3*chunkBytes))
	require.NoError(t, err)
	packed[1] = []byte{0xff, 0xff, 0xff}
	_, err = decompress(context.Background(), s, packed)
	var call *coro.CallError
	require.True(t, errors.As(err, &call), err)
	assert.Equal(t, 1, call.Index)
	var failed *coro.BodyError
	assert.True(t, errors.As(err, &failed), err)
}
