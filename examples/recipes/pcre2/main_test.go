package main

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
)

func TestRun(t *testing.T) {
	text, err := run(context.Background())
	require.NoError(t, err)
	assert.Equal(t, "1217780 bytes: 20000 matches, the last one user19999@post.example.com", text)
}

func TestEdges(t *testing.T) {
	s, err := coro.New()
	require.NoError(t, err)
	defer s.Close(context.Background())
	ctx := context.Background()

	found, err := findAll(ctx, s, "a", nil)
	assert.NoError(t, err)
	assert.Empty(t, found)
	found, err = findAll(ctx, s, "x*", []byte("axb"))
	assert.NoError(t, err)
	assert.Equal(t, [][2]int{{0, 0}, {1, 2}, {2, 2}, {3, 3}}, found)

	_, err = findAll(ctx, s, "(", []byte("a"))
	var failed *coro.BodyError
	require.True(t, errors.As(err, &failed), err)
	assert.Contains(t, err.Error(), "parenthesis")

	canceled, cancel := context.WithCancel(ctx)
	cancel()
	_, err = findAll(canceled, s, "a", []byte("a"))
	assert.ErrorIs(t, err, context.Canceled)
}
