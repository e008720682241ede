//go:build cgo

package bodies_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
	"github.com/organzine/coro/corotest"
	"github.com/organzine/coro/examples/service/bodies"
)

var squares = coro.MustExportFunc(func(_ context.Context, number uint32) (int64, error) {
	if number == 0 {
		return 0, errors.New("item 0 has no price")
	}
	return int64(number) * int64(number), nil
})

func scheduler(t *testing.T) *coro.Scheduler {
	t.Helper()
	corotest.VerifyNone(t)
	s, err := coro.New(coro.WithWorkers(2))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	return s
}

func TestSteps(t *testing.T) {
	s := scheduler(t)
	for n, want := range map[uint64]uint64{1: 0, 2: 1, 27: 111, 77031: 350} {
		task, err := bodies.Steps.Start(s, n)
		require.NoError(t, err)
		got, err := task.Wait(t.Context())
		require.NoError(t, err)
		assert.Equal(t, want, got, n)
	}
}

func TestTotal(t *testing.T) {
	s := scheduler(t)
	for _, test := range []struct {
		items []bodies.Item
		want  int64
	}{
		{nil, 0},
		{[]bodies.Item{bodies.NewItem(3, 2), bodies.NewItem(5, 1)}, 43},
		{[]bodies.Item{bodies.NewItem(3, 2), bodies.NewItem(0, 1)}, -1},
	} {
		items, err := coro.NewChan[bodies.Item](s, len(test.items))
		require.NoError(t, err)
		task, err := bodies.Total.Start(s, bodies.NewOrder(items, squares))
		require.NoError(t, err)
		for _, item := range test.items {
			require.NoError(t, items.Send(t.Context(), item))
		}
		require.NoError(t, items.Close())
		got, err := task.Wait(t.Context())
		require.NoError(t, err)
		assert.Equal(t, test.want, got)
	}
}

// The order's channel stays open, as that of a client who has gone.
func TestTotalIsCanceledWhereItWaits(t *testing.T) {
	s := scheduler(t)
	items, err := coro.NewChan[bodies.Item](s, 0)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	task, err := bodies.Total.StartContext(ctx, s, bodies.NewOrder(items, squares))
	require.NoError(t, err)
	require.NoError(t, items.Send(t.Context(), bodies.NewItem(1, 1)))
	cancel()
	_, err = task.Wait(t.Context())
	assert.ErrorIs(t, err, context.Canceled)
}
