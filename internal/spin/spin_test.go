package spin

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// gathers is how often n calls of Gather, of which each finds come values, have let some come
// together.
func gathers(g *Gatherer, n int, come uint32) int {
	times := 0
	for range n {
		g.Gather(1, func() uint32 { times++; return come })
	}
	return times
}

func TestGatheringGoesOnAsLongAsItPays(t *testing.T) {
	var g Gatherer
	assert.Equal(t, 10, gathers(&g, 10, 5), "several come: each time")
	assert.Equal(t, 6, gathers(&g, 1+1+1+3+1+7+1+15+1+31+1, 1),
		"one comes: half as often each time")
	assert.Equal(t, aloneMax, int(g.most.Load()))
	assert.Equal(t, 10, gathers(&g, 10*(aloneMax+1), 1), "but never quite given up")
	assert.Equal(t, 1, gathers(&g, aloneMax+1, 2))
	assert.Equal(t, 10, gathers(&g, 10, 2), "until it pays again")
}

func TestALongLookIsTriedNowAndThenAndKeptWhereItPays(t *testing.T) {
	var p Spinner
	never := func() bool { return false }
	for range tries {
		assert.False(t, p.Spin(0, 0, Turns, never))
	}
	var at atomic.Int64
	late := func() bool { return time.Now().UnixNano() > at.Load() }
	long := 0
	for range tries { // exactly one of them looks for long, and then it happens
		at.Store(time.Now().Add(20 * time.Millisecond).UnixNano())
		if p.Spin(0, time.Hour, Turns, late) {
			long++
			break
		}
	}
	assert.Equal(t, 1, long)
	at.Store(time.Now().Add(20 * time.Millisecond).UnixNano())
	assert.True(t, p.Spin(0, time.Hour, Turns, late), "it has paid")
	assert.False(t, p.Spin(0, time.Millisecond, Turns, never))
	start := time.Now()
	assert.False(t, p.Spin(0, time.Hour, Turns, never), "it has not: %v", time.Since(start))
}
