package coro

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// looks makes n waits that are so far apart, from now on. It returns the times at which the budget
// was spent, and how often the clock was read.
func looks(b *budget, now *time.Duration, apart time.Duration, n int) (
	spent []time.Duration, read int,
) {
	for range n {
		*now += apart
		if b.left--; b.left > 0 {
			continue
		}
		read++
		if b.look(*now) {
			spent = append(spent, *now)
		}
	}
	return spent, read
}

// However far apart waits are, the budget lasts for about budgetTurn, and the clock is read a few
// times in it.
func TestABudgetIsSpentInTimeWithFewLooks(t *testing.T) {
	for _, apart := range []time.Duration{1, 5, 10, 39, 100, 333, 1000, 2700, 7100, 9900, 10_100,
		19_000, 21_000, 50_000, 1_000_000} {
		const n = 1 << 18
		b, now := newBudget(), time.Second
		looks(&b, &now, apart, 2*waitsMost) // it is found out
		spent, read := looks(&b, &now, apart, n)
		if !assert.Greater(t, len(spent), 8, "%v apart", apart) {
			continue
		}
		shortest, longest := time.Hour, time.Duration(0)
		for i := range len(spent) - 1 {
			lasted := spent[i+1] - spent[i]
			shortest, longest = min(shortest, lasted), max(longest, lasted)
		}
		assert.GreaterOrEqual(t, shortest, budgetTurn, "%v apart", apart)
		assert.LessOrEqual(t, longest, 2*budgetTurn+apart, "%v apart", apart)
		assert.LessOrEqual(t, read, n/waitsMost+4*(len(spent)+1), "%v apart", apart)
	}
}

// Waits that were short become long: the first look finds out.
func TestABudgetIsSpentSoonAfterWaitsBecomeLong(t *testing.T) {
	b, now := newBudget(), time.Second
	looks(&b, &now, 10, 1<<16)
	spent, _ := looks(&b, &now, time.Millisecond, waitsMost)
	assert.NotEmpty(t, spent)
	spent, _ = looks(&b, &now, time.Millisecond, 100)
	assert.Len(t, spent, 100)
	looks(&b, &now, 10, 4*waitsMost)
	_, read := looks(&b, &now, 10, 100*waitsMost)
	assert.LessOrEqual(t, read, 130, "and short again")
}
