package harness

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// inTurn gives a row one value after the other.
func inTurn(values ...float64) func() (Trial, error) {
	return func() (Trial, error) {
		return Trial{Warm: func() error { return nil }, Run: func() (Values, error) {
			v := values[0]
			values = values[1:]
			return Values{"ns_per_op": v}, nil
		}}, nil
	}
}

func TestRepeatAllTellsHowFarApartValuesLie(t *testing.T) {
	e := example()
	e.Rows = []Row{
		{System: "fast", Variant: "a", Workers: 1, N: 2, Open: inTurn(2, 4, 6)},
		{System: "slow", Variant: "b", Workers: 1, N: 2, Open: inTurn(20, 40, 63)},
		{System: "slow", Variant: "two", Workers: 2, N: 2, Open: inTurn(30, 61, 90)},
	}
	e.Versus.Peer = func(row, c Row) bool { return row.System == "fast" && c.Variant == "b" }
	var out bytes.Buffer
	require.NoError(t, RepeatAll(&out, nil, []*Experiment{e}, 1, 3))
	got := out.String()
	assert.Contains(t, got,
		"walk fast/a workers=1 n=2 ns_per_op, against slow   5.0 %     10   10   10.5\n")
	assert.Contains(t, got,
		"walk slow/b workers=1 n=2 ns_per_op                 215.0 %   20   40   63\n")
	assert.Contains(t, got, "1 of 2 rows bound by one CPU repeat within 10 % over 3 times.\n")
	assert.Contains(t, got, "walk slow/two workers=2 n=2 ns_per_op   200.0 %   30   61   90\n")
	assert.Contains(t, got, "0 of 1 rows with wake-ups")
}
