package bubble

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestIn(t *testing.T) {
	require.False(t, In())
	synctest.Test(t, func(t *testing.T) {
		require.True(t, In())
		for _, d := range []time.Duration{time.Nanosecond, time.Hour, 100 * 365 * 24 * time.Hour} {
			time.Sleep(d)
			require.True(t, In())
		}
		in := make(chan bool)
		go func() { in <- In() }()
		require.True(t, <-in)
	})
	require.False(t, In())
}

// What is known of one goroutine is not taken for another's, whichever of them has the same place
// in the table.
func TestInOfManyGoroutines(t *testing.T) {
	for range 4 * len(outside) {
		synctest.Test(t, func(t *testing.T) {
			require.True(t, In())
			require.True(t, In())
		})
		done := make(chan [2]bool)
		go func() { done <- [2]bool{In(), In()} }()
		require.Equal(t, [2]bool{}, <-done)
	}
}

func BenchmarkIn(b *testing.B) {
	for b.Loop() {
		In()
	}
}
