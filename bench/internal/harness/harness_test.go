package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func fixed(v Values) func() (Trial, error) {
	return func() (Trial, error) {
		return Trial{Run: func() (Values, error) { return v, nil }}, nil
	}
}

func example() *Experiment {
	return &Experiment{
		Name: "walk", About: "one step, in ns.",
		Metrics: []Metric{{"ns_per_op", "ns per step", 2}, {"extra", "extra", 0}},
		Rows: []Row{
			{System: "fast", Variant: "a", Workers: 1, N: 2,
				Open: fixed(Values{"ns_per_op": 2})},
			{System: "slow", Variant: "b", Workers: 1, N: 2000,
				Open: fixed(Values{"ns_per_op": 25, "extra": 12345})},
		},
		Versus: &Versus{Metric: "ns_per_op", Title: "against slow",
			Peer: func(row, c Row) bool {
				return row.System != "slow" && c.System == "slow"
			}},
	}
}

func TestMedian(t *testing.T) {
	assert.Equal(t, 3.0, Median([]float64{5, 1, 3}))
	assert.Equal(t, 2.5, Median([]float64{4, 1, 3, 2}))
	assert.Equal(t, 7.0, Median([]float64{7}))
	assert.Zero(t, Median(nil))
	unsorted := []float64{3, 1, 2}
	Median(unsorted)
	assert.Equal(t, []float64{3, 1, 2}, unsorted, "the caller's slice stays as it is")
}

func TestMeasurementsTakeMedianAndRange(t *testing.T) {
	e := example()
	res := &Result{Experiment: e, Runs: [][]Values{
		{{"ns_per_op": 3}, {"ns_per_op": 1}, {"ns_per_op": 2}},
		{{"ns_per_op": 9}, {"ns_per_op": 9}, {"ns_per_op": 9}},
	}}
	got := res.Measurements()
	require.Len(t, got, 2, "a metric that no run reports has no line")
	assert.Equal(t, Measurement{"walk", "fast", "a", 1, 2, "ns_per_op", 2, 1, 3, 3}, got[0])
}

func TestJSONIsOneObjectALine(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, WriteJSON(&out, []Measurement{
		{"spawn", "coro", "go-batch", 2, 500_000, "total_ms", 2.123456789, 2, 3, 5},
		{"memory", "coro", "", 2, 1, "bytes_each", 4_512_345_678, 0, 1e-3, 5},
	}))
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	require.Len(t, lines, 2)
	assert.Equal(t, `{"experiment":"spawn","system":"coro","variant":"go-batch","workers":2,"n":500000,`+
		`"metric":"total_ms","value":2.12346,"min":2,"max":3,"runs":5}`, lines[0])
	var back map[string]any
	require.NoError(t, json.Unmarshal([]byte(lines[1]), &back))
	assert.Equal(t, 4_512_345_678.0, back["value"])
	assert.Len(t, back, 10)
}

func TestSelectByName(t *testing.T) {
	all := []*Experiment{{Name: "spawn"}, {Name: "switch"}, {Name: "yield"}}
	names := func(pattern string) (out []string) {
		list, err := Select(all, pattern)
		require.NoError(t, err)
		for _, e := range list {
			out = append(out, e.Name)
		}
		return out
	}
	assert.Equal(t, []string{"spawn", "switch", "yield"}, names(""))
	assert.Equal(t, []string{"spawn", "switch"}, names("^s"))
	assert.Equal(t, []string{"switch", "yield"}, names("yield|switch"), "in their own order")

	_, err := Select(all, "nothing")
	assert.ErrorContains(t, err, "nothing")
	_, err = Select(all, "(")
	assert.Error(t, err)
}

func TestRowsByName(t *testing.T) {
	e := example()
	e.Derive = func([]Values) {}
	list, err := WithRows([]*Experiment{e}, "^slow/b workers=1 n=2000$")
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Len(t, list[0].Rows, 1)
	assert.Equal(t, "slow", list[0].Rows[0].System)
	assert.Nil(t, list[0].Derive, "the row that it reads may be gone")
	assert.Len(t, e.Rows, 2, "the caller's experiment stays as it is")

	list, err = WithRows([]*Experiment{e}, "")
	require.NoError(t, err)
	assert.NotNil(t, list[0].Derive)

	_, err = WithRows([]*Experiment{e}, "nothing")
	assert.ErrorContains(t, err, "nothing")
	_, err = WithRows([]*Experiment{e}, "(")
	assert.Error(t, err)
}

func TestCheckFindsMistakes(t *testing.T) {
	assert.NoError(t, Check([]*Experiment{example()}))
	assert.ErrorContains(t, Check([]*Experiment{example(), example()}), "name")

	twice := example()
	twice.Rows = append(twice.Rows, twice.Rows[0])
	assert.ErrorContains(t, Check([]*Experiment{twice}), "twice")

	dead := example()
	dead.Rows[0].Open = nil
	assert.ErrorContains(t, Check([]*Experiment{dead}), "cannot be run")

	empty := example()
	empty.Metrics = nil
	assert.ErrorContains(t, Check([]*Experiment{empty}), "no metrics")
}

func TestRunGoesInRoundsAndWarmsUp(t *testing.T) {
	var log []string
	row := func(name string) Row {
		return Row{System: name, Workers: 1, Open: func() (Trial, error) {
			log = append(log, name+" open")
			return Trial{
				Run: func() (Values, error) {
					log = append(log, name+" run")
					return Values{"ns": 1}, nil
				},
				Close: func() error {
					log = append(log, name+" close")
					return nil
				},
			}, nil
		}}
	}
	e := &Experiment{Name: "e", Metrics: []Metric{{Name: "ns"}},
		Rows: []Row{row("a"), row("b")}}
	res, err := Run(e, 2, nil)
	require.NoError(t, err)
	once := []string{"a open", "a run", "a run", "a close", "b open", "b run", "b run",
		"b close"}
	assert.Equal(t, append(once, once...), log)
	assert.Len(t, res.Runs[0], 2)
	assert.Len(t, res.Runs[1], 2)
}

func TestRunSetsProcsAndPutsThemBack(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	var during int
	e := &Experiment{Name: "e", Metrics: []Metric{{Name: "ns"}},
		Rows: []Row{{System: "a", Workers: 1, Procs: 1, Open: func() (Trial, error) {
			return Trial{Run: func() (Values, error) {
				during = runtime.GOMAXPROCS(0)
				return nil, nil
			}}, nil
		}}}}
	_, err := Run(e, 1, nil)
	require.NoError(t, err)
	assert.Equal(t, 1, during)
	assert.Equal(t, before, runtime.GOMAXPROCS(0))
}

func TestRunFailsWithTheRowsName(t *testing.T) {
	broken := errors.New("broken")
	closed := false
	e := &Experiment{Name: "e", Metrics: []Metric{{Name: "ns"}},
		Rows: []Row{{System: "a", Variant: "v", Workers: 1, Open: func() (Trial, error) {
			return Trial{
				Run:   func() (Values, error) { return nil, broken },
				Close: func() error { closed = true; return nil },
			}, nil
		}}}}
	_, err := Run(e, 1, nil)
	assert.ErrorIs(t, err, broken)
	assert.ErrorContains(t, err, "a/v")
	assert.True(t, closed)
}

func TestDeriveSeesOneRound(t *testing.T) {
	e := example()
	e.Derive = func(round []Values) { round[0]["extra"] = round[1]["ns_per_op"] / round[0]["ns_per_op"] }
	res, err := Run(e, 3, nil)
	require.NoError(t, err)
	assert.Equal(t, []float64{12.5, 12.5, 12.5}, res.values(0, "extra"))
}

func TestTable(t *testing.T) {
	res, err := Run(example(), 5, nil)
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, WriteTable(&out, res))
	assert.Equal(t, `walk: one step, in ns.
Medians of 5 runs.

   system   variant   workers       n   ns per step    extra   against slow
     fast         a         1       2          2.00        -         12.5 x
     slow         b         1   2 000         25.00   12 345              -

`, out.String())
}

func TestTheMachineSaysWhereAndWhen(t *testing.T) {
	m := ThisMachine(time.Date(2030, 1, 2, 3, 4, 0, 0, time.UTC)).String()
	assert.Contains(t, m, runtime.Version())
	assert.Contains(t, m, "2030-01-02 03:04 UTC")
	assert.Contains(t, m, runtime.GOARCH)
	assert.Contains(t, m, "gcc")
}

func TestNoiseTellsWhatOthersDid(t *testing.T) {
	n := Listen()
	assert.Positive(t, n.CPUMS)
	assert.GreaterOrEqual(t, n.WallMS, n.CPUMS*0.99)

	quiet := Noise{WallMS: 20, CPUMS: 20}
	assert.Contains(t, quiet.Since(quiet), "as fast as before")
	assert.Contains(t, Noise{30, 20}.Since(quiet), "Other programs")
	assert.Contains(t, quiet.Since(Noise{30, 20}), "Other programs")
	assert.Contains(t, Noise{30, 29}.Since(quiet), "changed their speed")
	assert.Contains(t, quiet.Since(Noise{30, 29}), "changed their speed")
}

func TestAllAreWrittenBetweenHeaderAndFooter(t *testing.T) {
	progress, err := os.Create(filepath.Join(t.TempDir(), "progress"))
	require.NoError(t, err)
	defer progress.Close()
	other := example()
	other.Name = "run"
	var out bytes.Buffer
	report := Report{Intro: "what it is", Verdict: func(list []Measurement) []string {
		assert.Len(t, list, 6)
		return []string{"all is well"}
	}, Format: Table}
	require.NoError(t, report.WriteAll(&out, progress, []*Experiment{example(), other}, 5))
	text := out.String()
	assert.True(t, strings.HasPrefix(text, "what it is\n\n"), text)
	assert.Contains(t, text, "\nWhat came out:\nall is well\n\nA fixed loop")
	assert.Contains(t, text[:strings.Index(text, "walk: one step")], runtime.Version())
	assert.Contains(t, text[strings.LastIndex(text, "25.00"):], "A fixed loop takes")
	lines, err := os.ReadFile(progress.Name())
	require.NoError(t, err)
	assert.Equal(t, "walk: 1 of 2 experiments, 5 runs of 2 rows\n"+
		"run: 2 of 2 experiments, 5 runs of 2 rows\n", string(lines))

	out.Reset()
	report.Format = JSON
	require.NoError(t, report.WriteAll(&out, progress, []*Experiment{example()}, 5))
	for line := range strings.Lines(out.String()) {
		assert.True(t, json.Valid([]byte(line)), line)
	}
}

// benchLine is what benchstat reads: a name without spaces, a count, and pairs of value and unit.
var benchLine = regexp.MustCompile(`^Benchmark\S+ 1( [0-9.e+-]+ \S+)+$`)

func TestGoBenchHasALineForEachRun(t *testing.T) {
	e := example()
	e.Rows[1].Variant = "with spaces"
	res, err := Run(e, 5, nil)
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, GoBench.write(&out, res))
	text := out.String()
	assert.Contains(t, text, "goos: linux\n")
	assert.Equal(t, 5, strings.Count(text, "\nBenchmarkWalk/fast/a/workers=1/n=2-"))
	assert.Equal(t, 5, strings.Count(text, "\nBenchmarkWalk/slow/with_spaces/workers=1/n=2000-"))
	assert.Contains(t, text, " 1 25 ns/op 12345 extra\n")
	for line := range strings.Lines(text[strings.Index(text, "Benchmark"):]) {
		assert.Regexp(t, benchLine, strings.TrimSuffix(line, "\n"))
	}
}

func TestFormats(t *testing.T) {
	for _, args := range [][]string{{"-format", "json"}, {"-json"}} {
		flags := flag.NewFlagSet("test", flag.ContinueOnError)
		f := FormatFlags(flags)
		assert.Equal(t, Table, *f)
		require.NoError(t, flags.Parse(args))
		assert.Equal(t, JSON, *f)
	}
	var f Format
	assert.ErrorContains(t, f.Set("xml"), "gobench")
}
