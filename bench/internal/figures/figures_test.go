package figures

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro/bench/internal/harness"
)

const root = "../../.."

// Documents are filled by "make report", and differ in nothing from what was measured.
func TestDocumentsHaveTheMeasuredFigures(t *testing.T) {
	f, err := Read(filepath.Join(root, Path))
	require.NoError(t, err)
	for _, name := range []string{"README.md", "docs/benchmarks.md"} {
		document, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		filled, err := Fill(string(document), f)
		require.NoError(t, err, name)
		assert.True(t, filled == string(document),
			"%s differs from %s: make report-fill", name, Path)
		assert.True(t, mark.MatchString(filled), "%s has no marks", name)
		for _, block := range mark.FindAllString(filled, -1) {
			assert.NotContains(t, block, "| - ", "%s: a figure is missing", name)
		}
	}
}

func TestNumbers(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 0.0523: "0.052", 0.996: "1.0", 3.4449: "3.4",
		9.96: "10", 42.4: "42", 99.6: "100", 123.4: "123", 4512: "4 510", 1234567: "1 230 000"} {
		assert.Equal(t, want, number(x), x)
	}
}

func measured() Figures {
	m := func(system, variant string, value float64) harness.Measurement {
		return harness.Measurement{Experiment: "switch", System: system, Variant: variant,
			Workers: 1, N: 2, Metric: "ns_one_way", Value: value, Min: value / 2, Max: 2 * value}
	}
	return Figures{"bench": {Machine: harness.Machine{Processor: "A", CPUs: 2},
		Measurements: []harness.Measurement{m("coro", "pair", 3), m("ucontext", "pair", 170)}}}
}

func TestTablesAreFilled(t *testing.T) {
	filled, err := Fill("a\n<!-- figures: switch -->\nold\n<!-- end -->\nb\n", measured())
	require.NoError(t, err)
	assert.Equal(t, "a\n<!-- figures: switch -->\n"+
		"| one switch, ns | coro | `swapcontext` |\n|---|---|---|\n"+
		"| resume and yield by hand, one way | 3.0 (1.5 to 6.0) | 170 (85 to 340) |\n"+
		"| 1000 coroutines in a ring, each yields to the next | - | - |\n<!-- end -->\nb\n", filled)
	again, err := Fill(filled, measured())
	require.NoError(t, err)
	assert.Equal(t, filled, again)

	f := measured()
	f["forkjoin"] = Set{Machine: harness.Machine{Processor: "B", CPUs: 4}}
	for mark, processor := range map[string]string{"machine": " A, 2 CPUs", "machine-forkjoin": " B, 4 CPUs"} {
		filled, err = Fill("<!-- figures: "+mark+" -->\n<!-- end -->\n", f)
		require.NoError(t, err)
		assert.Contains(t, filled, "Medians of five runs."+processor)
	}

	_, err = Fill("<!-- figures: no-such -->\n<!-- end -->\n", measured())
	assert.ErrorContains(t, err, "no-such")
	_, err = Fill("<!-- figures: switch -->\n", measured())
	assert.ErrorContains(t, err, "no end")
}

// Of systems that are not everywhere a missing figure leaves the cell empty.
func TestForkJoinTables(t *testing.T) {
	m := func(system, variant, metric string, workers int, value float64) harness.Measurement {
		return harness.Measurement{Experiment: "forkjoin", System: system, Variant: variant,
			Workers: workers, Metric: metric, Value: value}
	}
	f := Figures{"forkjoin": {Measurements: []harness.Measurement{
		m("serial", "fib", "ms_per_run", 1, 0.02), m("coro", "fib spawn", "times_serial", 1, 1500),
		m("coro", "fib spawn", "times_serial", 2, 900), m("libfork", "uts", "times_serial", 1, 9),
		m("coro", "uts fork", "times_serial", 1, 7), m("onetbb", "fib", "speedup", 2, 1.9),
		m("coro", "queens fork call", "ns_per_child", 2, 12)}}}
	one := tables["forkjoin"].markdown(f)
	assert.Contains(t, one, "| `fib` | 0.020 | - | 1 500 | - | - | - | - | |\n")
	assert.Contains(t, one, "| `uts` | - | 7.0 | - | - | - | - | - | 9.0 |\n")
	assert.Contains(t, tables["forkjoin-speed-up"].markdown(f),
		"| `fib` | - | - | - | - | - | 1.9 | |\n")
	child := tables["forkjoin-child"].markdown(f)
	assert.Contains(t, child, "| `queens`, 1 worker | - | - | - | - | - | |\n")
	assert.Contains(t, child, "| `queens`, 2 workers | - | 12 | - | - | - | |\n")
}

// Memory is in KiB, times are in ms, and the chain has one worker alone.
func TestForksBesideTable(t *testing.T) {
	m := func(variant, metric string, workers int, value float64) harness.Measurement {
		return harness.Measurement{Experiment: "forkjoin-beside", System: "coro", Variant: variant,
			Workers: workers, Metric: metric, Value: value, Min: value, Max: 2 * value}
	}
	text := tables["forkjoin-beside"].markdown(Figures{"forkjoin": {Measurements: []harness.Measurement{
		m("chain memory", "grown_kib", 1, 4000), m("fib memory", "grown_kib", 2, 90),
		m("fib beside", "gap_max_us", 1, 1200)}}})
	assert.Contains(t, text, "| memory: a chain of 100 000 | 4 000 (4 000 to 8 000) KiB | |\n")
	assert.Contains(t, text, "| memory: Fibonacci of 35 | - | 90 (90 to 180) KiB |\n")
	assert.Contains(t, text, "| the same beside Fibonacci of 35 | 1.2 (1.2 to 2.4) ms | - |\n")
}

func TestRatiosTakeTheBestOfTheOthers(t *testing.T) {
	own, other := bench("switch", "coro", "pair", 0, 0, "ns_one_way"),
		bench("switch", "ucontext", "pair", 0, 0, "ns_one_way")
	missing := bench("switch", "none", "pair", 0, 0, "ns_one_way")
	assert.Equal(t, "57 ×", times(own, missing, other)(measured()))
	assert.Equal(t, "-", times(missing, own)(measured()))
	assert.Equal(t, "-", times(own, missing)(measured()))
}

func TestFiguresAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "figures.json")
	none, err := Read(path)
	require.NoError(t, err)
	assert.Empty(t, none)
	require.NoError(t, measured().Write(path))
	back, err := Read(path)
	require.NoError(t, err)
	assert.Equal(t, measured(), back)
	require.NoError(t, os.WriteFile(path, []byte("{"), 0o644))
	_, err = Read(path)
	assert.ErrorContains(t, err, path)
}
