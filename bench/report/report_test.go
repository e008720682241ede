package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro/bench/internal/figures"
	"github.com/organzine/coro/bench/internal/harness"
)

// sample has a figure or two for each chart.
func sample() figures.Figures {
	m := func(experiment, system, variant string, n int, metric string, value float64) harness.Measurement {
		return harness.Measurement{Experiment: experiment, System: system, Variant: variant, Workers: 1,
			N: n, Metric: metric, Value: value, Min: value / 2, Max: value * 3, Runs: 5}
	}
	fair := func(metric string, value float64) harness.Measurement {
		v := m("fair", "coro-c", "newcomer-flood", 1, metric, value)
		v.Workers = 2
		return v
	}
	return figures.Figures{
		"bench": {Measurements: []harness.Measurement{
			m("spawn", "coro", "coroutine", 500_000, "total_ms", 4),
			m("spawn", "goroutine", "P1", 500_000, "total_ms", 400),
			m("ladder", "coro", "run-loop", 1_000_000, "ns_per_op", 50),
			m("dense", "coro", "yield plain +64", 200, "ns_per_op", 4),
			m("ring", "coro", "strict plain", 16, "mps", 100),
			m("ring", "coro", "strict plain", 8000, "mps", 90),
			m("fib-curve", "coro", "stolen", 200, "speedup", 1),
			m("border", "coro", "call cold", 1, "p50_ns", 300),
			m("border", "coro", "call cold", 1, "p99_ns", 3000),
			fair("p50_us", 30), fair("p99_us", 200),
			m("io", "coro", "echo", 64, "cpu_us", 4)}},
		"application": {Measurements: []harness.Measurement{
			m("application", "coro", "light-switch", 1, "per_second", 20_000)}},
		"forkjoin": {Measurements: []harness.Measurement{
			m("forkjoin", "coro", "fib fork", 27, "times_serial", 40),
			m("forkjoin", "coro", "fib spawn", 22, "times_serial", 2500),
			m("forkjoin", "onetbb", "fib", 22, "times_serial", 200)}},
		"peers": {Measurements: []harness.Measurement{
			m("switching", "coro-c", "yield", 2, "ns_per_switch", 4),
			m("actors", "coro-c", "pingpong", 1, "ns_per_message", 50),
			m("actors", "a <peer>", "pingpong", 1, "ns_per_message", 500)}},
		"http": {Measurements: []harness.Measurement{m("http", "coro", "hello", 64, "cpu_us", 12)}},
	}
}

func wellFormed(t *testing.T, text []byte) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(string(text)))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else {
			require.NoError(t, err)
		}
	}
}

func TestEachSectionHasAChart(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, writePage(sample(), dir))
	for _, s := range sections {
		for _, theme := range themes {
			text, err := os.ReadFile(filepath.Join(dir, s.id+theme.suffix+".svg"))
			require.NoError(t, err)
			wellFormed(t, text)
			chart := string(text)
			assert.NotContains(t, chart, "currentColor", s.id)
			assert.NotContains(t, chart, "#-", s.id)
			assert.NotContains(t, chart, "#010203", s.id)
			assert.Contains(t, chart, theme.page, s.id)
			assert.NotRegexp(t, `font-family:[^;]*[^f];`, chart, s.id)
			assert.Regexp(t, `^<svg [^>]*role="img"[^>]*><title>.+</title>`, chart, s.id)
		}
	}
}

// The page is one file: nothing in it is asked for elsewhere.
func TestThePageNeedsNoOtherFile(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, writePage(sample(), dir))
	text, err := os.ReadFile(filepath.Join(dir, "index.html"))
	require.NoError(t, err)
	page := string(text)
	assert.NotRegexp(t, regexp.MustCompile(`(src|href)="[^#"]`), page)
	assert.NotContains(t, page, "<script")
	assert.NotContains(t, page, "No chart")
	assert.Contains(t, page, "a &lt;peer&gt;")
	assert.Contains(t, page, "currentColor")
	for _, s := range sections {
		assert.Contains(t, page, `<section id="`+s.id+`">`)
	}
}

func TestWhatWasNotMeasuredIsSaid(t *testing.T) {
	dir := t.TempDir()
	f := sample()
	delete(f, "http")
	require.NoError(t, writePage(f, dir))
	text, err := os.ReadFile(filepath.Join(dir, "index.html"))
	require.NoError(t, err)
	assert.Contains(t, string(text), "No chart: http: A request takes - µs of CPU time")
}

// What the documents show was drawn from the committed figures.
func TestChartsOfTheDocuments(t *testing.T) {
	const root = "../.."
	f, err := figures.Read(filepath.Join(root, figures.Path))
	require.NoError(t, err)
	if len(f) == 0 {
		t.Skip("nothing was measured yet")
	}
	for _, s := range sections {
		c, err := s.chart(f)
		require.NoError(t, err)
		assert.NotRegexp(t, `(^| )-( |$)`, c.finding, "%s: its finding lacks a figure", s.id)
		for _, theme := range themes {
			name := s.id + theme.suffix + ".svg"
			kept, err := os.ReadFile(filepath.Join(root, filepath.Dir(figures.Path), name))
			require.NoError(t, err)
			assert.True(t, string(kept) == string(c.alone(theme)), "%s: make report-fill", name)
		}
	}
}

func TestWrongArguments(t *testing.T) {
	for _, args := range [][]string{{"-what"}, {"-measure", "("}, {"-root", t.TempDir(), "-fill"}} {
		assert.Error(t, run(args), args)
	}
}
