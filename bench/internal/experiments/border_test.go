package experiments

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/organzine/coro"
	"github.com/organzine/coro/bench/internal/cbody"
	"github.com/organzine/coro/bench/internal/harness"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every row measures metrics of its experiment, twice, as a run does with its warm-up. An echo
// checks each answer.
func TestBorderMeasuresSomething(t *testing.T) {
	defer func(n int) { borderFewer = n }(borderFewer)
	borderFewer = 100
	for _, e := range []*harness.Experiment{border(), borderBusy()} {
		for _, row := range e.Rows {
			tr, err := row.Open()
			require.NoError(t, err, row)
			for range 2 {
				v, err := tr.Run()
				assert.NoError(t, err, row)
				assert.NotEmpty(t, v, row)
				for metric, value := range v {
					assert.Positive(t, value, "%s %s", row, metric)
					assert.True(t, slices.ContainsFunc(e.Metrics,
						func(m harness.Metric) bool { return m.Name == metric }), metric)
				}
			}
			if tr.Close != nil {
				assert.NoError(t, tr.Close(), row)
			}
		}
	}
}

// Each way to run an operation does it as often as it says, and tells of one that fails.
func TestOperationsAreCountedAndFail(t *testing.T) {
	defer func(n int) { borderFewer = n }(borderFewer)
	borderFewer = 10
	var done, failAt atomic.Int64
	failed := errors.New("failed")
	c := crossing{system: sysCgo, name: "x", n: 80, each: 7, open: unopened(func() error {
		if done.Add(1) == failAt.Load() {
			return failed
		}
		return nil
	})}
	for _, way := range []struct {
		row  harness.Row
		n    int
		name string
	}{
		{c.steady(), 8, "cgo/x workers=1 n=7"},
		{c.cold(), borderColds / 10, "cgo/x cold workers=1 n=1"},
		{c.busy(), borderBusies / 10, "cgo/x cold busy workers=1 n=1"},
		{c.crowded(4), 8, "cgo/x workers=1 n=4"},
	} {
		assert.Equal(t, way.name, way.row.String())
		tr, err := way.row.Open()
		require.NoError(t, err)
		done.Store(0)
		failAt.Store(0)
		_, err = tr.Run()
		assert.NoError(t, err, way.name)
		assert.EqualValues(t, way.n, done.Load(), way.name)
		done.Store(0)
		failAt.Store(2)
		_, err = tr.Run()
		assert.ErrorIs(t, err, failed, way.name)
		assert.NoError(t, tr.Close())
	}
}

// A handler does its operation once for each request. An operation that fails fails the request.
func TestServedOperation(t *testing.T) {
	var done, stopped int
	var failure error
	op, end, err := served(func() (op, end func() error, err error) {
		return func() error { done++; return failure }, func() error {
			stopped++
			return nil
		}, nil
	}, 1)()
	require.NoError(t, err)
	assert.NoError(t, op())
	assert.NoError(t, op())
	assert.Equal(t, 2, done)
	failure = errors.New("no such thing")
	assert.ErrorContains(t, op(), "500 Internal Server Error: no such thing")
	assert.NoError(t, end())
	assert.Equal(t, 1, stopped)
	assert.Error(t, op(), "the server is closed")

	_, _, err = served(func() (op, end func() error, err error) {
		return nil, nil, failure
	}, 1)()
	assert.ErrorIs(t, err, failure)
}

// What fails in a C body is told by the end of the operation, and the scheduler is closed.
func TestOperationOnWorkers(t *testing.T) {
	var made *coro.Scheduler
	op, end, err := onWorkers(1, func(s *coro.Scheduler) (op, end func() error, err error) {
		made = s
		call := coro.MustFunc[cbody.Calls, coro.None](cbody.CallsBody)
		return func() error {
			if err := call.Spawn(s, cbody.Calls{ID: 1 << 31, N: 1}); err != nil {
				return err
			}
			return settled(s)
		}, nil, nil
	})()
	require.NoError(t, err)
	assert.NoError(t, op())
	assert.ErrorContains(t, end(), "in a C body")
	assert.ErrorIs(t, op(), coro.ErrClosed)

	failure := errors.New("failed")
	_, _, err = onWorkers(1, func(s *coro.Scheduler) (op, end func() error, err error) {
		made = s
		return nil, nil, failure
	})()
	assert.ErrorIs(t, err, failure)
	assert.ErrorIs(t, coro.MustFunc[coro.None, coro.None](cbody.Empty).Spawn(made,
		coro.None{}), coro.ErrClosed)
}
