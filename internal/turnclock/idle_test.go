package turnclock

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// With one P, which the caller has, what waits runs.
func TestGoschedLetsGoroutinesRun(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var c Clock
	for range 100 {
		var ran atomic.Bool
		go ran.Store(true)
		require.Eventually(t, func() bool {
			c.Gosched()
			return ran.Load()
		}, time.Minute, time.Nanosecond)
	}
	require.Zero(t, c.skipped)
	require.False(t, theProcs.oneIsIdle(Now()))
}

// A P that is idle is found, and one that computes is not.
func TestOneIsIdle(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	isIdle := func() bool {
		p := procs{looked: -letGo, samples: theProcs.samples}
		return p.oneIsIdle(Now())
	}
	require.Eventually(t, isIdle, time.Minute, time.Millisecond)

	var stop, stopped atomic.Bool
	defer func() {
		stop.Store(true)
		for !stopped.Load() {
			runtime.Gosched()
		}
	}()
	go func() {
		for !stop.Load() {
		}
		stopped.Store(true)
	}()
	for end := time.Now().Add(time.Minute); isIdle(); {
		require.True(t, time.Now().Before(end), "a P that computes counts as idle")
	}
}

// Where a P is idle a goroutine goes on without a switch, most of the time.
func TestGoschedStaysWhereAPIsIdle(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	var c Clock
	require.Eventually(t, func() bool {
		c.Gosched()
		return c.skipped > 0
	}, time.Minute, time.Microsecond)
}

// Whatever the runtime tells of its Ps, one call in some lets go.
func TestGoschedIsNotSkippedForEver(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	c := Clock{skipped: skipMost}
	c.Gosched()
	require.Zero(t, c.skipped)
}

func BenchmarkGosched(b *testing.B) {
	var c Clock
	for b.Loop() {
		c.Gosched()
	}
}
