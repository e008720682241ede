package coro

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// gathers is how often so many calls of gather, when so many have come each time, have let some come together.
func gathers(g *gatherer, calls int, come uint32) int {
	times := 0
	for range calls {
		g.gather(1, func() uint32 { times++; return come })
	}
	return times
}

func TestGatheringGoesOnAsLongAsItPays(t *testing.T) {
	var g gatherer
	assert.Equal(t, 10, gathers(&g, 10, 5), "several come: each time")
	assert.Equal(t, 6, gathers(&g, 1+1+1+3+1+7+1+15+1+31+1, 1), "in vain: half as often each time")
	assert.Equal(t, aloneMost, int(g.most.Load()))
	assert.Equal(t, 10, gathers(&g, 10*(aloneMost+1), 1), "but never quite given up")
	assert.Equal(t, 1, gathers(&g, aloneMost+1, 2))
	assert.Equal(t, 10, gathers(&g, 10, 2), "until it pays again")
}
