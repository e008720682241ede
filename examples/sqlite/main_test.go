package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
)

// jobs run on the main thread, where TestMain is.
var jobs = make(chan func())

func TestMain(m *testing.M) {
	ended := make(chan int)
	go func() { ended <- m.Run() }()
	for {
		select {
		case job := <-jobs:
			job()
		case status := <-ended:
			os.Exit(status)
		}
	}
}

func runOnMain(path string, customers, orders int64) (got sums, err error) {
	done := make(chan struct{})
	jobs <- func() {
		got, err = run(context.Background(), path, customers, orders)
		close(done)
	}
	<-done
	return got, err
}

func TestAllOrdersAreKeptByCallsOnTheMainThreadAlone(t *testing.T) {
	for _, path := range []string{":memory:", filepath.Join(t.TempDir(), "shop.db")} {
		for range 3 {
			got, err := runOnMain(path, 20, 100)
			require.NoError(t, err)
			assert.EqualValues(t, 2000, got.Rows)
			assert.EqualValues(t, 20*100*101/2, got.Amount)
			assert.GreaterOrEqual(t, got.Calls, int64(2000))
			assert.Zero(t, got.Elsewhere)
			if path != ":memory:" {
				require.NoError(t, os.Remove(path))
			}
		}
	}
}

func TestNobodyOrders(t *testing.T) {
	got, err := runOnMain(":memory:", 0, 10)
	require.NoError(t, err)
	assert.Zero(t, got.Rows)
}

func TestADatabaseThatCannotBeOpened(t *testing.T) {
	_, err := runOnMain(filepath.Join(t.TempDir(), "no", "such.db"), 1, 1)
	var failed *coro.BodyError
	require.True(t, errors.As(err, &failed), err)
	assert.Contains(t, err.Error(), "unable to open")
}
