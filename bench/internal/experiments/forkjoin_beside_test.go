package experiments

import (
	"os"
	"testing"

	"github.com/organzine/coro/bench/internal/cbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestForksBesideOfAFew(t *testing.T) {
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Skip(err)
	}
	for _, b := range []forkBeside{
		{"fib", cbody.ForkBeside{N: 12}, 144, nil},
		{"sleeps", cbody.ForkBeside{N: 8, Every: 10}, 21, nil},
		{"chain", cbody.ForkBeside{N: 3000, Flags: cbody.ForksChain}, 3000, nil},
		{"beside", cbody.ForkBeside{N: 24, Flags: cbody.ForksBeside}, 46_368, nil},
		{"none", cbody.ForkBeside{Flags: cbody.ForksBeside}, 0, nil},
	} {
		for _, workers := range []int{1, 2} {
			v, err := b.run(workers)
			require.NoError(t, err, b.name)
			assert.Positive(t, v["ms_per_run"], b.name)
			isBeside := b.forks.Flags == cbody.ForksBeside
			assert.Equal(t, isBeside, v["gap_max_us"] > 0, b.name)
			if !isBeside {
				assert.Contains(t, v, "grown_kib", b.name)
			}
			if b.forks.Every > 0 {
				assert.GreaterOrEqual(t, v["ms_per_run"], 1.0, "a child has slept")
			}
			if b.forks.N == 0 {
				assert.Positive(t, v["late_max_us"], b.name)
			}
		}
	}
	_, err := forkBeside{"wrong", cbody.ForkBeside{N: 12}, 143, nil}.run(1)
	assert.EqualError(t, err, "the sum is 144, not 143")
}
