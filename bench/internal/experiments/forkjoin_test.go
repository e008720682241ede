package experiments

import (
	"slices"
	"testing"
	"time"

	"github.com/organzine/coro/bench/internal/cbody"
	"github.com/organzine/coro/bench/internal/harness"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Short loads, in each of which children have children.
var forkShort = []forkLoad{
	{"fib", cbody.ForkFib, 12, 2, 2},
	{"queens", cbody.ForkQueens, 6, 2, 2},
	{"quicksort", cbody.ForkSort, 5000, 2, 2},
	{"mandelbrot", cbody.ForkMandel, 24, 2, 2},
	{"uts", cbody.ForkTree, 30, 2, 2},
	{"matrix", cbody.ForkProduct, 64, 2, 2},
}

// Each system does each load right, on one worker and on two: a row fails by itself where its
// checksum is not that of the serial program.
func TestForksOfAFew(t *testing.T) {
	list, left := forkRows(forkShort, ForkOptions{Workers: 2})
	systems, _ := forkSystems(ForkOptions{})
	require.Len(t, list, len(forkShort)*(1+2*len(systems)), "%s", left)
	for _, row := range list {
		tr, err := row.Open()
		require.NoError(t, err, "%s", row)
		v, err := tr.Run()
		require.NoError(t, err, "%s", row)
		assert.Positive(t, v["ms_per_run"], "%s", row)
	}
}

// The serial program, by which all others are judged, is right itself.
func TestSerialForks(t *testing.T) {
	serial := func(load, size uint32) uint64 {
		_, sum, err := cbody.Fork{Load: load, Size: size, Laps: 1}.Serial()
		require.NoError(t, err)
		return sum
	}
	assert.Equal(t, uint64(144), serial(cbody.ForkFib, 12))
	assert.Equal(t, uint64(92), serial(cbody.ForkQueens, 8))

	keys := make([]uint32, 5000)
	for i := range keys {
		keys[i] = uint32(goHash(uint64(i)))
	}
	slices.Sort(keys)
	assert.Equal(t, goSum(keys), serial(cbody.ForkSort, 5000))

	const n = 64
	at := func(matrix, i, j int) uint32 { return uint32(goHash(uint64(matrix*n*n + i*n + j))) }
	var product []uint32
	for i := range n {
		for j := range n {
			var sum uint32
			for k := range n {
				sum += at(0, i, k) * at(1, k, j)
			}
			product = append(product, sum)
		}
	}
	assert.Equal(t, goSum(product), serial(cbody.ForkProduct, n))
	assert.NotEqual(t, serial(cbody.ForkTree, 30), serial(cbody.ForkTree, 200), "the tree is deeper")
	assert.NotEqual(t, serial(cbody.ForkMandel, 24), serial(cbody.ForkMandel, 25))
}

// What is wrong or missing fails the row.
func TestForksThatAreWrong(t *testing.T) {
	systems, _ := forkSystems(ForkOptions{})
	l := forkShort[0]
	for _, s := range systems {
		tr, err := s.row(l, 1, 1, func() (uint64, error) { return 145, nil }).Open()
		require.NoError(t, err)
		_, err = tr.Run()
		assert.ErrorContains(t, err, "the checksum is 144, and 145 in serial C", s.name)
		if s.quick {
			_, _, err = s.run(cbody.Fork{Load: l.load, Size: l.size}, 1)
			assert.ErrorContains(t, err, s.name+": exit status 2", "no laps")
		}
	}
	_, _, err := cbody.Forked{Ns: -1}.Took()
	assert.Error(t, err)
	d, sum, err := cbody.Forked{Ns: 5, Sum: 7}.Took()
	assert.NoError(t, err)
	assert.Equal(t, 5*time.Nanosecond, d)
	assert.Equal(t, uint64(7), sum)
}

// A system that is not there is left out, and the heading says why and what to do.
func TestForksWithoutALibrary(t *testing.T) {
	assert.Equal(t, "gcc finds no no/such.h", noCompiler("gcc", "no/such.h"))
	assert.Empty(t, noCompiler("gcc", "stdio.h"))
	p := forkProgram{compiler: "gcc", header: "no/such.h", remedy: "apt-get install it"}
	assert.Equal(t, "gcc finds no no/such.h: apt-get install it", p.missing())

	dir := t.TempDir()
	assert.Contains(t, forks(ForkOptions{}).About,
		"Left out: libfork, as DIR has no include/libfork.hpp: git clone -b v3.8.0 "+
			"https://github.com/ConorWilliams/libfork, and -libfork DIR.")
	assert.Contains(t, forks(ForkOptions{Libfork: dir}).About,
		"Left out: libfork, as "+dir+" has no include/libfork.hpp")

	t.Setenv("PATH", dir)
	e := forks(ForkOptions{Libfork: dir})
	assert.Contains(t, e.About, "Left out: openmp, as there is no gcc: apt-get install gcc.")
	assert.Contains(t, e.About,
		"Left out: onetbb, as there is no g++: apt-get install g++ libtbb-dev.")
	require.NoError(t, harness.Check([]*harness.Experiment{e}))
	var systems []string
	for _, r := range e.Rows {
		systems = append(systems, r.System)
	}
	slices.Sort(systems)
	assert.Equal(t, []string{sysCoro, sysGoroutine, sysSerial}, slices.Compact(systems))
}

// A row is compared with the serial program of its own load, and with itself on one worker.
func TestForkRatios(t *testing.T) {
	list := []harness.Row{
		{System: sysSerial, Variant: "fib", Workers: 1},
		{System: sysCoro, Variant: "fib spawn", Workers: 1},
		{System: sysCoro, Variant: "fib spawn", Workers: 2},
		{System: sysCoro, Variant: "fib scope", Workers: 1},
		{System: sysSerial, Variant: "uts", Workers: 1},
		{System: sysGoroutine, Variant: "uts", Workers: 2},
	}
	round := []harness.Values{{"ms_per_run": 2}, {"ms_per_run": 60}, {"ms_per_run": 40},
		{"ms_per_run": 80}, {"ms_per_run": 3}, {"ms_per_run": 6}}
	forkRatios(list)(round)
	assert.Equal(t, []harness.Values{{"ms_per_run": 2}, {"ms_per_run": 60, "times_serial": 30},
		{"ms_per_run": 40, "times_serial": 20, "speedup": 1.5},
		{"ms_per_run": 80, "times_serial": 40},
		{"ms_per_run": 3}, {"ms_per_run": 6, "times_serial": 2}}, round)
}
