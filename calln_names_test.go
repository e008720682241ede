//go:build cgo

package coro_test

import (
	"context"
	"testing"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// inBackground runs f.CallN with n arguments, and returns its error.
func inBackground[A, R any](s *coro.Scheduler, f coro.Func[A, R], n int) <-chan error {
	err := make(chan error, 1)
	go func() { err <- f.CallN(background, s, make([]A, n), make([]R, n)) }()
	return err
}

func TestReportsOfWaitsNameTheFunctionOfCallN(t *testing.T) {
	stalls := make(chan int, 100)
	s := newScheduler(t, coro.WithWorkers(2),
		coro.WithStallHook(func(blocked int) { stalls <- blocked }))
	ended := inBackground(s, park, 3)
	parked(t, s, 3)
	list, n := s.Blocked(100)
	assert.Equal(t, 3, n, "the coroutine that waits for them is not one of them")
	require.Len(t, list, 3)
	for _, b := range list {
		assert.Equal(t, "park", b.Func)
		assert.Equal(t, "park", b.Waits)
	}
	var dead *coro.DeadlockError
	require.ErrorAs(t, s.Rest(soon(t)), &dead)
	assert.Equal(t, 3, dead.Count)
	require.EqualError(t, dead, "coro: deadlock: 3 coroutines wait for ever; "+
		"park in park; park in park; park in park")
	for receive(t, stalls) != 3 { // before all had come there may have been a rest
	}
	require.ErrorIs(t, s.Close(expired), context.Canceled)
	// nil: all had ended before what leads them was told
	if err := receive(t, ended); err != nil {
		require.ErrorIs(t, err, coro.ErrCanceled)
	}
}

func TestACloseNamesTheFunctionOfCallN(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	ended := inBackground(s, spin, 1)
	eventually(t, func() bool { return testbody.Ran() == 1 }, "it spins")
	var still *coro.RunningError
	require.ErrorAs(t, s.Close(expired), &still)
	assert.Equal(t, []string{"spin"}, still.Funcs)
	testbody.Stop()
	require.NoError(t, receive(t, ended))
	require.NoError(t, s.Close(soon(t)))
}
