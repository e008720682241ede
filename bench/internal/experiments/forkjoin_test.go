package experiments

import (
	"regexp"
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
	{"fib", cbody.ForkFib, forkSize{12, 3, 3}, forkSize{13, 3, 3}},
	{"queens", cbody.ForkQueens, forkSize{6, 3, 3}, forkSize{7, 3, 1}},
	{"quicksort", cbody.ForkSort, forkSize{5000, 3, 3}, forkSize{6000, 1, 1}},
	{"mandelbrot", cbody.ForkMandel, forkSize{24, 3, 3}, forkSize{24, 3, 3}},
	{"uts", cbody.ForkTree, forkSize{30, 3, 3}, forkSize{30, 3, 3}},
	{"matrix", cbody.ForkProduct, forkSize{64, 3, 3}, forkSize{64, 3, 3}},
}

// Each system does each load right, on one worker and on two: a row fails by itself where its
// checksum is not that of the serial program.
func TestForksOfAFew(t *testing.T) {
	list, left := forkRows(forkShort, ForkOptions{Workers: 2})
	systems, _ := forkSystems(ForkOptions{})
	want := 6 + 3 // serial: all loads, and three of them in another size
	for _, s := range systems {
		if s.loads == nil {
			want += 2 * len(forkShort)
		}
		want += 2 * len(s.loads)
	}
	require.Len(t, list, want, "%s", left)
	for _, row := range list {
		tr, err := row.Open()
		require.NoError(t, err, "%s", row)
		v, err := tr.Run()
		require.NoError(t, err, "%s", row)
		assert.Positive(t, v["ms_per_run"], "%s", row)
		assert.Equal(t, row.System != sysSerial, v["times_serial"] > 0, "%s", row)
		isFine := regexp.MustCompile("^(fib|queens|uts)").MatchString(row.Variant)
		assert.Equal(t, row.System != sysSerial && isFine, v["ns_per_child"] > 0, "%s", row)
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
	for f, want := range map[cbody.Fork]uint64{
		{Load: cbody.ForkFib, Size: 27}:    317_810,
		{Load: cbody.ForkQueens, Size: 4}:  16, // 4, 6, 4 and 2 in the rows
		{Load: cbody.ForkTree, Size: 200}:  20_920,
		{Load: cbody.ForkMandel, Size: 24}: 0,
	} {
		assert.Equal(t, want, f.Children(), "%v", f)
	}

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

// What is wrong fails the row.
func TestForksThatAreWrong(t *testing.T) {
	l := forkShort[0]
	wrong := forkSystem{name: "wrong", run: func(f cbody.Fork, _ int) (time.Duration, uint64, error) {
		d, sum, err := f.Serial()
		return d, sum + 1, err
	}}
	tr, err := wrong.row(l, 1).Open()
	require.NoError(t, err)
	_, err = tr.Run()
	assert.EqualError(t, err, "the checksum is 145, and 144 in serial C")

	systems, _ := forkSystems(ForkOptions{})
	for _, s := range systems {
		if s.name == sysOpenMP || s.name == sysTBB {
			_, _, err = s.run(cbody.Fork{Load: l.load, Size: l.small.size}, 1)
			assert.ErrorContains(t, err, s.name+": exit status 2", "no laps")
		}
	}
	_, _, err = cbody.Forked{Ns: -1}.Took()
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

// A row is compared with itself on one worker, and no other row is.
func TestForkSpeedups(t *testing.T) {
	e := forks(ForkOptions{Workers: 2})
	var round []harness.Values
	for _, r := range e.Rows {
		round = append(round, harness.Values{"ms_per_run": 30 / float64(r.Workers*r.Workers)})
	}
	e.Derive(round)
	for i, r := range e.Rows {
		if r.Workers == 1 {
			assert.NotContains(t, round[i], "speedup", "%s", r)
		} else {
			assert.Equal(t, 4.0, round[i]["speedup"], "%s", r)
		}
	}
}

// A way of coro is compared with those rows of OpenMP and oneTBB that do the same.
func TestForksAgainstPeers(t *testing.T) {
	peer := forks(ForkOptions{}).Versus.Peer
	own := harness.Row{System: sysCoro, Variant: "fib fork call", Workers: 2, N: 27}
	same := harness.Row{System: sysTBB, Variant: "fib", Workers: 2, N: 27}
	assert.True(t, peer(own, same))
	assert.False(t, peer(same, same))
	for _, other := range []harness.Row{
		{System: sysSerial, Variant: "fib", Workers: 2, N: 27},
		{System: sysOpenMP, Variant: "f", Workers: 2, N: 27},
		{System: sysOpenMP, Variant: "fib", Workers: 1, N: 27},
		{System: sysOpenMP, Variant: "fib", Workers: 2, N: 22},
	} {
		assert.False(t, peer(own, other), "%s", other)
	}
}
