package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro/bench/internal/experiments"
)

// program stands for a bench: a script that takes its time from a file, and logs how it was called.
func program(t *testing.T, flags, list, json string) *bench {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bench")
	text := `#!/bin/sh
case "$1" in
-help) cat >&2 <<.
` + flags + `
.
;;
-list) cat <<.
` + list + `
.
;;
*) echo "$*" >>` + path + `.log; cat <<.
` + json + `
.
;;
esac
`
	require.NoError(t, os.WriteFile(path, []byte(text), 0o755))
	b, err := openBench(t.Context(), path)
	require.NoError(t, err)
	return b
}

const (
	oldFlags = "Usage of bench:\n  -json\n    \tone object\n  -run regexp\n    \tonly those\n" +
		"  -rings int\n    \tmany"
	newFlags = oldFlags + "\n  -once\n    \tone run\n  -rows regexp\n    \tonly those\n" +
		"  -rounds int\n    \tmany"
)

func object(system, variant, metric, value string) string {
	return `{"experiment":"ring","system":"` + system + `","variant":"` + variant +
		`","workers":1,"n":2,"metric":"` + metric + `","value":` + value +
		`,"min":1,"max":2,"runs":1}`
}

func TestFlagsAndExperimentsOfAProgram(t *testing.T) {
	list := "ring\n    coro/plain workers=1 n=2\nyield\n    coro/a workers=1 n=1"
	b := program(t, oldFlags, list, "")
	assert.Equal(t, map[string]bool{"json": true, "run": true, "rings": true}, b.flags)
	names, err := b.experiments(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"ring", "yield"}, names)
}

func TestRowsAreMatched(t *testing.T) {
	old := program(t, newFlags, "", strings.Join([]string{
		object("coro", "plain", "ns_per_handover", "4"),
		object("coro", "plain", "mps", "250"),
		object("coro", "gone", "ns_per_handover", "5"),
		object("goroutine", "buffered", "ns_per_handover", "50")}, "\n"))
	new := program(t, newFlags, "", strings.Join([]string{
		object("coro", "fresh", "ns_per_handover", "6"),
		object("coro", "plain", "ns_per_handover", "4")}, "\n"))
	p, err := probe(t.Context(), "ring", pair{0, old, new},
		wishes{with: []string{"-extra", "64"}})
	require.NoError(t, err)
	k := key{"ring", "coro", "plain", 1, 2, "ns_per_handover"}
	gone, fresh := k, k
	gone.Variant, fresh.Variant = "gone", "fresh"
	assert.Equal(t, []key{k}, p.keys)
	assert.Equal(t, []key{gone}, p.oldOnly)
	assert.Equal(t, []key{fresh}, p.newOnly)
	assert.Equal(t, []string{"-run=^ring$", "-rings=50", "-rows=^(coro|dispatch)/",
		"-rounds=2000", "-once", "-extra", "64"}, p.args)
}

// Neither side is told what the other does not know, and that is said.
func TestFlagsThatOneSideLacks(t *testing.T) {
	json := object("coro", "plain", "ns_per_handover", "4")
	sides := pair{0, program(t, oldFlags, "", json), program(t, newFlags, "", json)}
	p, err := probe(t.Context(), "ring", sides, wishes{})
	require.NoError(t, err)
	assert.Equal(t, []string{"-run=^ring$", "-rings=50"}, p.args)
	assert.Contains(t, strings.Join(p.notes, "\n"), "all are run")
}

func TestRowsThatAreAskedFor(t *testing.T) {
	json := object("goroutine", "buffered", "ns_per_handover", "4")
	b := program(t, newFlags, "", json)
	w := wishes{rows: regexp.MustCompile("^goroutine/")}
	p, err := probe(t.Context(), "ring", pair{0, b, b}, w)
	require.NoError(t, err)
	assert.Len(t, p.keys, 1)
	assert.Contains(t, p.args, "-rows=^goroutine/")
}

func TestRoundsTakeTurnsAndAreReported(t *testing.T) {
	old := program(t, newFlags, "", object("coro", "plain", "ns_per_handover", "4"))
	new := program(t, newFlags, "", object("coro", "plain", "ns_per_handover", "5"))
	p, err := probe(t.Context(), "ring", pair{0, old, new}, wishes{})
	require.NoError(t, err)
	p.newOnly = []key{{"ring", "coro", "fresh", 1, 2, "ns_per_handover"}}
	require.NoError(t, p.schedule(wishes{rounds: 12, best: 2}, 2))
	var progress, out bytes.Buffer
	m, err := p.measure(t.Context(), []pair{{0, old, new}, {16, old, new}}, &progress)
	require.NoError(t, err)
	assert.Len(t, m, 12)
	assert.Len(t, m[0], 2)
	assert.Len(t, m[0][1].again, 2)
	list := p.judge(m, 0.01, 0.01)
	require.Len(t, list, 1)
	assert.Equal(t, verdictSlower, list[0].verdict)
	assert.InDelta(t, 1.25, list[0].change.mid, 1e-9)
	assert.Equal(t, 10, strings.Count(progress.String(), "\n"))

	require.NoError(t, writeExperiment(&out, p, list, []int{0, 16}, true))
	writeSummary(&out, list, time.Second)
	for _, want := range []string{"12 rounds", "1.250 to 1.250", "1.000 to 1.000", "padding 16",
		"only in new", "slower: ring coro/plain workers=1 n=2 ns_per_handover, by 25.0 %",
		"1 slower, 0 faster; in 1s"} {
		assert.Contains(t, out.String(), want)
	}
	left, err := filepath.Glob(old.path + "-run*")
	require.NoError(t, err)
	assert.Empty(t, left, "copies of the program")
}

func TestBestOfASide(t *testing.T) {
	list := []sample{}
	for _, v := range []float64{5, 4, 9} {
		list = append(list, sample{value: map[key]float64{
			{Metric: "ns"}: v, {Metric: "mps"}: v, {Metric: "speedup"}: v,
		}})
	}
	for metric, want := range map[string]float64{"ns": 4, "mps": 9, "speedup": 5} {
		v, ok := best(key{Metric: metric}, list)
		assert.True(t, ok)
		assert.Equal(t, want, v, metric)
	}
	_, ok := best(key{Metric: "other"}, list)
	assert.False(t, ok)
	round := []trio{{old: list, again: list, new: list[:1]}}
	assert.Equal(t, [][]values{{{4, 4, 5}}}, measured{round}.of(key{Metric: "ns"}))
	round[0].again = nil
	assert.Empty(t, measured{round}.of(key{Metric: "ns"}), "the control is missing")
}

func TestAProgramThatFails(t *testing.T) {
	b := program(t, newFlags, "", "")
	require.NoError(t, os.WriteFile(b.path, []byte("#!/bin/sh\necho broken >&2; exit 3\n"),
		0o755))
	_, err := b.measure(t.Context(), nil)
	assert.ErrorContains(t, err, "broken")
}

func TestSchedule(t *testing.T) {
	p := &plan{round: time.Second}
	require.NoError(t, p.schedule(wishes{budget: time.Minute, best: 1}, 1))
	assert.Equal(t, 60, p.rounds)
	require.NoError(t, p.schedule(wishes{budget: 30 * time.Second, best: 1}, 4))
	assert.Equal(t, 4*time.Second, p.round)
	assert.Equal(t, usualLeast, p.rounds, "fewer would say nothing")
	p.round = time.Millisecond
	require.NoError(t, p.schedule(wishes{budget: time.Minute, best: 1}, 1))
	assert.Equal(t, usualMost, p.rounds)
	assert.ErrorContains(t, p.schedule(wishes{rounds: 3, best: 1}, 1), "at least 12")
}

func TestCommandLine(t *testing.T) {
	args := []string{"v1", ".", "-run", "^yield$", "-padding", "0,16", "-with", "-rings 5"}
	o, err := parse(args, io.Discard)
	require.NoError(t, err)
	assert.Equal(t, []any{"v1", ".", "^yield$", []int{0, 16}, []string{"-rings", "5"}, 0.01},
		[]any{o.old, o.new, o.wishes.run.String(), o.paddings, o.with, o.least})
	o, err = parse([]string{"-v", "HEAD~3"}, io.Discard)
	require.NoError(t, err)
	assert.Equal(t, []any{"HEAD~3", "", true}, []any{o.old, o.new, o.verbose})
	for name := range strings.FieldsSeq("switch yield spawn ring chan sync call body wait") {
		assert.True(t, o.wishes.run.MatchString(name))
	}
	for _, bad := range []string{"", "a b c", "a -run (", "a -rows (", "a -padding 8",
		"a -padding 16,16", "a -padding x", "a -bench x", "a -best 0", "a -nothing"} {
		_, err := parse(strings.Fields(bad), io.Discard)
		assert.Error(t, err, bad)
	}
}

func TestEachSettingCanBeUsed(t *testing.T) {
	var names []string
	for _, e := range experiments.All(experiments.Options{}) {
		names = append(names, e.Name)
	}
	for name := range settings {
		s := settingOf(name)
		assert.NotPanics(t, func() {
			regexp.MustCompile(s.rows)
			regexp.MustCompile(s.skip)
		})
		assert.NotEmpty(t, s.why, "what is left out is said")
		assert.Contains(t, names, name)
	}
}
