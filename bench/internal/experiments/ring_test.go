package experiments

import (
	"slices"
	"testing"

	"github.com/organzine/coro/bench/internal/harness"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every row's rings come to their end, however they are started: the bodies count, and check each
// call.
func TestRingsOfAFew(t *testing.T) {
	for name, o := range map[string]RingOptions{
		"all live": {Rings: 5, Members: 3, Rounds: 20},
		"pairs":    {Rings: 2, Members: 2, Rounds: 50},
		"lifo":     {Rings: 5, Members: 8, Rounds: 10, LIFO: true},
		"deep":     {Rings: 2, Members: 4, Rounds: 10, Extra: 30_000},
		"two":      {Rings: 5, Members: 3, Rounds: 20, Workers: min(2, cpus)},
		"two lifo": {Rings: 4, Members: 3, Rounds: 20, Workers: min(2, cpus), LIFO: true},
		"once":     {Rings: 1, Members: 2, Rounds: 1},
	} {
		require.NoError(t, o.Check(), name)
		for _, row := range ring(o).Rows {
			tr, err := row.Open()
			require.NoError(t, err, "%s: %s", name, row)
			require.NoError(t, tr.Warm(), "%s: %s", name, row)
			v, err := tr.Run()
			require.NoError(t, err, "%s: %s", name, row)
			assert.Positive(t, v["mps"], "%s: %s", name, row)
			assert.InEpsilon(t, 1e3, v["mps"]*v["ns_per_handover"], 1e-6)
		}
	}
}

// The members are there when memory is looked at, and have used their stacks.
func TestRingsAreLiveWhenMemoryIsLookedAt(t *testing.T) {
	for _, row := range ring(RingOptions{Rings: 1000, Members: 8, Rounds: 1,
		Extra: 5000}).Rows {
		if row.System == sysPthread || row.System == sysRust { // so many threads
			continue
		}
		tr, err := row.Open()
		require.NoError(t, err)
		v, err := tr.Run()
		require.NoError(t, err)
		assert.Greater(t, v["bytes_each"], 5000.0, "%s", row)
	}
}

func TestRingTables(t *testing.T) {
	assert.NoError(t, harness.Check([]*harness.Experiment{ring(RingOptions{Full: true})}))
	sizes := func(o RingOptions, system, variant string) (n []int) {
		for _, r := range ring(o).Rows {
			if r.System == system && r.Variant == variant && r.Workers == 1 {
				n = append(n, r.N)
			}
		}
		return n
	}
	assert.Equal(t, ringSizes, sizes(RingOptions{}, sysCoro, "loose plain"))
	assert.Subset(t, sizes(RingOptions{Full: true}, sysCoro, "loose plain"),
		[]int{16, 400, 8000})
	assert.Empty(t, sizes(RingOptions{}, sysCoro, "loose plain of 2"))
	assert.Contains(t, sizes(RingOptions{Full: true}, sysCoro, "strict plain of 2"), 8000)
	assert.Equal(t, []int{12}, sizes(RingOptions{Rings: 4, Members: 3}, sysGoroutine,
		"strict buffered of 3"))
	assert.Contains(t, sizes(RingOptions{LIFO: true}, sysCoro, "loose plain lifo"), 8000)

	left := ring(RingOptions{Rings: 1 << 24, Members: 1 << 16})
	assert.Contains(t, left.About, "for want of")
	assert.False(t, slices.ContainsFunc(left.Rows,
		func(r harness.Row) bool { return r.System == sysCoro }))
}

func TestRingsAreComparedWithTheirLike(t *testing.T) {
	e := ring(RingOptions{Full: true})
	peers := func(variant string, n, workers int) (of []string) {
		for _, c := range e.Rows {
			if e.Versus.Peer(harness.Row{System: sysCoro, Variant: variant, N: n,
				Workers: workers}, c) {
				of = append(of, c.System+" "+c.Variant)
			}
		}
		return of
	}
	assert.Equal(t, []string{"goroutine loose buffered"}, peers("loose plain", 8000, 1))
	assert.Equal(t, []string{"goroutine strict buffered of 2"},
		peers("strict plain of 2", 16, 1))
	assert.Equal(t, []string{"goroutine strict buffered"}, peers("strict plain fifo", 16, 1))
	assert.Empty(t, peers("strict plain", 17, 1))
}

func TestRingOptions(t *testing.T) {
	assert.NoError(t, RingOptions{}.Check())
	assert.NoError(t, RingOptions{Rings: 2, Members: 2, Rounds: 1, Extra: 1,
		Workers: 1}.Check())
	for what, o := range map[string]RingOptions{
		"-members 1":   {Rings: 1, Members: 1},
		"-rounds -1":   {Rounds: -1},
		"-extra":       {Extra: 5 << 20},
		"-workers":     {Workers: cpus + 1},
		"needs -rings": {Members: 8},
	} {
		assert.ErrorContains(t, o.Check(), what)
	}
}

// What a row needs, and is not there, is told with its remedy. All else is there.
func TestRingsWithoutACompiler(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	e := ring(RingOptions{Rings: 2, Members: 2})
	assert.Contains(t, e.About, "there is no rustc: sudo apt-get install")
	assert.Contains(t, e.About, "there is no g++")
	assert.Contains(t, e.About, "there is no cc")
	var systems []string
	for _, row := range e.Rows {
		systems = append(systems, row.System)
		assert.NotContains(t, row.Variant, "without locks")
	}
	assert.Contains(t, systems, sysPthread)
	assert.NotContains(t, systems, sysRust)
	assert.NotContains(t, systems, sysCxx)
}

// A directory that has no usched is told with what the compiler says; usched is asked for as its
// own measurements are taken.
func TestRingsOfUsched(t *testing.T) {
	assert.Contains(t, noUsched(RingOptions{LIFO: true}), "-usched DIR")
	assert.Contains(t, noUsched(RingOptions{Usched: "."}), "-lifo")
	dir := t.TempDir()
	o := RingOptions{Rings: 1, Members: 2, Rounds: 5, LIFO: true, Usched: dir}
	var found []string
	for _, row := range ring(o).Rows {
		if row.System != sysUsched {
			continue
		}
		found = append(found, row.Variant)
		tr, err := row.Open()
		require.NoError(t, err)
		_, err = tr.Run()
		assert.ErrorContains(t, err, dir)
	}
	assert.Equal(t, []string{"loose rr lifo of 2", "loose ll lifo of 2"}, found)
}
