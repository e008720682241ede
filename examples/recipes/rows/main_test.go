//go:build cgo

package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

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

func TestRowsByColumnAndValue(t *testing.T) {
	s := scheduler(t)
	table := "a,b,c\n\nb,b\na\n,b,\nb,a,b"
	for _, c := range []struct {
		column uint32
		value  string
		want   string
		n      int
	}{
		{0, "a", "a,b,c\na\n", 2},
		{0, "", "\n,b,\n", 2},
		{0, "b", "b,b\nb,a,b", 2},
		{1, "b", "a,b,c\nb,b\n,b,\n", 3},
		{2, "", ",b,\n", 1},
		{2, "b", "b,a,b", 1},
		{3, "", "", 0},
		{1 << 31, "a", "", 0},
	} {
		got, n, err := search(t.Context(), s, []byte(table), c.column, c.value)
		require.NoError(t, err)
		assert.Equal(t, c.want, string(got), "%q in %d", c.value, c.column)
		assert.Equal(t, c.n, n)
	}
	got, n, err := search(t.Context(), s, nil, 0, "a")
	require.NoError(t, err)
	assert.Empty(t, got)
	assert.Zero(t, n)
}

// All rows, in their order, of a table with parts of many sizes.
func TestAResultHasAnyLength(t *testing.T) {
	s := scheduler(t)
	for _, width := range []int{0, 1, 100, partBytes, 3*partBytes + 1} {
		line := "x," + strings.Repeat("y", width) + "\n"
		table := []byte(strings.Repeat(line, 1+4*partBytes/len(line)))
		got, n, err := search(t.Context(), s, table, 0, "x")
		require.NoError(t, err)
		assert.Equal(t, 1+4*partBytes/len(line), n)
		assert.True(t, bytes.Equal(table, got), "%d bytes of %d", len(got), len(table))
	}
}

func TestErrorsLeaveNothing(t *testing.T) {
	table := []byte(strings.Repeat("x\n", 4*partBytes))
	s := scheduler(t, coro.WithBufferLimit(partBytes))
	_, _, err := search(t.Context(), s, table, 0, "x")
	var failed *coro.BodyError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, "there is no memory for the rows", failed.Text)

	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("why")
	cancel(why)
	_, _, err = search(ctx, s, table, 0, "x")
	assert.ErrorIs(t, err, why)
}
