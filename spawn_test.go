//go:build cgo

package coro_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each spawned coroutine runs exactly once, with its own argument, in every way of spawning.
func TestEveryWayToSpawnRunsEachOnce(t *testing.T) {
	for name, spawn := range map[string]func(s *coro.Scheduler, n int) (int, error){
		"Spawn": func(s *coro.Scheduler, n int) (int, error) {
			for i := range n {
				if err := add.Spawn(s, int64(i)); err != nil {
					return i, err
				}
			}
			return n, nil
		},
		"SpawnWait": func(s *coro.Scheduler, n int) (int, error) {
			for i := range n {
				if err := add.SpawnWait(background, s, int64(i)); err != nil {
					return i, err
				}
			}
			return n, nil
		},
		"SpawnSeq": func(s *coro.Scheduler, n int) (int, error) {
			return add.SpawnSeq(s, func(yield func(int64) bool) {
				for i := range n {
					if !yield(int64(i)) {
						return
					}
				}
			})
		},
		"Batch": func(s *coro.Scheduler, n int) (int, error) {
			b := add.Batch(s)
			for i := range n {
				if err := b.Add(int64(i)); err != nil {
					return i, err
				}
				if i%17 == 3 { // batches of all kinds
					if err := b.Flush(); err != nil {
						return i, err
					}
				}
			}
			return n, b.Flush()
		},
		"Start": func(s *coro.Scheduler, n int) (int, error) {
			for i := range n {
				if _, err := add.Start(s, int64(i)); err != nil {
					return i, err
				}
			}
			return n, nil
		},
	} {
		for _, paused := range []bool{false, true} {
			opts := []coro.Option{coro.WithWorkers(2)}
			if paused {
				opts = append(opts, coro.WithPaused())
			}
			s := newScheduler(t, opts...)
			for _, n := range []int{0, 1, 2, 61, 62, 63, 124, 1000, 20_000} {
				testbody.Reset()
				sent, err := spawn(s, n)
				require.NoError(t, err, name)
				require.Equal(t, n, sent, name)
				if paused {
					require.NoError(t, s.Run(soon(t)))
				} else {
					finish(t, s)
				}
				require.EqualValues(t, n, testbody.Ran(), name)
				require.EqualValues(t, n*(n-1)/2, testbody.Sum(), name)
			}
		}
	}
}

func TestSpawnNGivesAllTheSameArgument(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	for _, n := range []int{-5, 0, 1, 62, 63, 5000} {
		testbody.Reset()
		sent, err := add.SpawnN(s, n, 7)
		require.NoError(t, err)
		require.Equal(t, max(n, 0), sent)
		finish(t, s)
		require.EqualValues(t, 7*max(n, 0), testbody.Sum())
		require.EqualValues(t, max(n, 0), testbody.Ran())
	}
}

func TestABodyMayWriteItsResultThoughNobodyWantsIt(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	turn := coro.MustFunc[[48]byte, [48]byte](testbody.Turn(48))
	for range 3 {
		require.NoError(t, turn.Spawn(s, [48]byte{1}))
		_, err := turn.SpawnN(s, 100, [48]byte{2})
		require.NoError(t, err)
		_, err = turn.SpawnSeq(s, slices.Values(make([][48]byte, 100)))
		require.NoError(t, err)
		b := turn.Batch(s)
		require.NoError(t, b.Add([48]byte{}))
		require.NoError(t, b.Flush())
		finish(t, s)
	}
	assert.Zero(t, testbody.Sum(), "zeroed and aligned")
}

func TestABatchStartsNothingBeforeItIsFullOrFlushed(t *testing.T) {
	const full = 125 // of 8 bytes of argument
	s := newScheduler(t, coro.WithWorkers(2))
	b := add.Batch(s)
	require.NoError(t, b.Flush(), "it is empty")
	for range full - 1 {
		require.NoError(t, b.Add(1))
	}
	finish(t, s)
	assert.Zero(t, testbody.Sum())
	require.NoError(t, b.Add(1))
	finish(t, s)
	assert.EqualValues(t, full, testbody.Sum())
	require.NoError(t, b.Add(1))
	require.NoError(t, b.Flush())
	require.NoError(t, b.Flush())
	finish(t, s)
	assert.EqualValues(t, full+1, testbody.Sum())
}

func TestBatchesOfManyGoroutinesAndFuncsDoNotMix(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	adds, yields, trees := add.Batch(s), yield.Batch(s), tree.Batch(s)
	for range 200 {
		require.NoError(t, adds.Add(1000))
		require.NoError(t, yields.Add(2))
		require.NoError(t, trees.Add(1))
	}
	require.NoError(t, adds.Flush())
	require.NoError(t, yields.Flush())
	require.NoError(t, trees.Flush())
	finish(t, s)
	assert.EqualValues(t, 200*(1000+1+2), testbody.Sum())
	assert.EqualValues(t, 200, testbody.Ran())
}

func TestSpawnSeqStopsAtTheFirstError(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1), coro.WithRecordLimit(1), coro.WithPaused())
	asked := 0
	n, err := add.SpawnSeq(s, func(yield func(int64) bool) {
		for asked < 1_000_000 {
			asked++
			if !yield(1) {
				return
			}
		}
	})
	assert.Equal(t, coro.ErrNoMemory, err)
	assert.Equal(t, n+1, asked, "each but the one that was refused was started")
	require.NoError(t, s.Run(background))
	assert.EqualValues(t, n, testbody.Sum())
}

func TestSpawnContextGivesUpWithItsContext(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1), coro.WithRecordLimit(1), coro.WithPaused())
	assert.Equal(t, context.Canceled, add.SpawnWait(expired, s, 1))
	n, err := add.SpawnN(s, 1_000_000, 0)
	require.Equal(t, coro.ErrNoMemory, err)
	ctx, cancel := context.WithTimeout(background, 10*time.Millisecond)
	defer cancel()
	assert.Equal(t, context.DeadlineExceeded, add.SpawnWait(ctx, s, 1))
	require.NoError(t, s.Run(background))
	assert.EqualValues(t, n, testbody.Ran())
	assert.Zero(t, testbody.Sum(), "nothing was started")
}

func TestSpawnContextEndsWithErrClosed(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1), coro.WithRecordLimit(1))
	n, err := park.SpawnN(s, 1_000_000, coro.None{})
	require.Equal(t, coro.ErrNoMemory, err)
	result := make(chan error)
	go func() { result <- add.SpawnWait(background, s, 1) }()
	parked(t, s, n)
	_ = s.Close(expired)
	assert.Equal(t, coro.ErrClosed, receive(t, result))
}
