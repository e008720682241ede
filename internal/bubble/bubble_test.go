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

// inTwice returns what both of two looks tell; the first one makes the second one's entry.
func inTwice(want bool) bool {
	first, second := In(), In()
	if first != second {
		return !want
	}
	return first
}

// What is known of one goroutine is not taken for another's, whichever of them has the same place in
// the table.
func TestInOfManyGoroutines(t *testing.T) {
	for range 4 * len(outside) {
		var inside, out bool
		synctest.Test(t, func(*testing.T) { inside = inTwice(true) })
		done := make(chan bool)
		go func() { done <- inTwice(false) }()
		out = <-done
		require.True(t, inside)
		require.False(t, out)
	}
}

func BenchmarkIn(b *testing.B) {
	for b.Loop() {
		In()
	}
}
