package main

import (
	"slices"
	"sync"
)

// An estimate is where the middle of some differences lies, and the interval that holds it.
type estimate struct{ mid, low, high float64 }

// shift estimates by how much two sides differ, from their difference in each round, and holds with
// a probability of at least 1 - level.
//
// The middle is the Hodges-Lehmann estimate, the median of the means of all pairs of differences.
// The interval is Tukey's, which the signed-rank test of Wilcoxon gives (Hollander and Wolfe,
// Nonparametric Statistical Methods, sections 3.1 to 3.3). It is exact for any noise that is
// symmetric. The difference of two sides of a round is symmetric: their order is drawn by lot. So
// where both are alike, chance decides which of the two is larger, whatever the machine does. A
// mean would be ruled by the few rounds in which something else ran. A median alone needs half as
// many rounds again.
//
// There are at least [fewestRounds] differences, which is enough for any level of [intervalLevel].
func shift(differences []float64, level float64) estimate {
	rank := lowestRank(len(differences), level)
	var means []float64
	for i, a := range differences {
		for _, b := range differences[i:] {
			means = append(means, (a+b)/2)
		}
	}
	slices.Sort(means)
	n := len(means)
	return estimate{(means[(n-1)/2] + means[n/2]) / 2, means[rank-1], means[n-rank]}
}

// lowestRank is which of the sorted means begins the interval, counted from 1; 0: there are too
// few. It is the largest rank for which the signed-rank statistic is less with a probability of at
// most level / 2.
func lowestRank(n int, level float64) int {
	sum := 0.0
	for rank, p := range signedRanks(n) {
		if sum += p; sum > level/2 {
			return rank
		}
	}
	return 0
}

var signedRankTables sync.Map // n to []float64

// signedRanks are the probabilities of the values that the signed-rank statistic of n differences
// has, if each is as likely to be positive as negative.
func signedRanks(n int) []float64 {
	if t, ok := signedRankTables.Load(n); ok {
		return t.([]float64)
	}
	p := make([]float64, n*(n+1)/2+1)
	p[0] = 1
	for rank := 1; rank <= n; rank++ {
		for s := rank * (rank + 1) / 2; s >= 0; s-- {
			p[s] /= 2
			if s >= rank {
				p[s] += p[s-rank] / 2
			}
		}
	}
	signedRankTables.Store(n, p)
	return p
}
