package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro/bench/internal/harness"
	"github.com/organzine/coro/bench/internal/policies"
)

const root = "../.."

func plans(t *testing.T) []plan {
	names, err := policies.In(root)
	require.NoError(t, err)
	list, err := plansOf(names)
	require.NoError(t, err)
	assert.Len(t, list, len(all), "a plan is left of a policy that is gone")
	return list
}

// Each policy has a row in docs/rent.md, and each row a policy.
func TestThePageHasEachPolicy(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/rent.md"))
	require.NoError(t, err)
	list := plans(t)
	for _, p := range list {
		assert.Contains(t, string(text), "\n| `"+p.name+"` | ")
	}
	assert.Equal(t, len(list), strings.Count(string(text), "\n| `"))
}

// What a policy is held by is there.
func TestWhatHoldsAPolicyExists(t *testing.T) {
	for _, p := range plans(t) {
		require.NotEmpty(t, p.ground, p.name)
		require.NotEmpty(t, p.held, p.name)
		cmd := exec.Command("git", "grep", "-qwF", p.held, "--", "csrc/test", "csrc/explore",
			"models", "*_test.go", ":!bench/ablate")
		cmd.Dir = root
		assert.NoError(t, cmd.Run(), "%s: nothing is called %s", p.name, p.held)
	}
}

func TestAPolicyWithoutAPlanIsTold(t *testing.T) {
	_, err := plansOf([]string{"spin", "new"})
	assert.ErrorContains(t, err, "policy new has no plan")
}

func TestRowsNearALimitAreMeasuredAgain(t *testing.T) {
	const slower, faster = "slower", "faster"
	rows := []harness.Verdict{
		{Experiment: "x", Row: "a", Change: 1.01, Verdict: slower},
		{Experiment: "x", Row: "b", Change: 1.04, Verdict: slower},
		{Experiment: "x", Row: "c", Change: 0.94, Verdict: faster},
		{Experiment: "y", Row: "d", Change: 1.10, Verdict: slower},
		{Experiment: "z", Row: "e n=(1)", Change: 1.27, Verdict: slower},
		{Experiment: "z", Row: "f", Change: 2, Verdict: slower},
		{Experiment: "z", Row: "g", Change: 1.05, Verdict: "no difference"},
	}
	again, ok := nearLimit(load{experiment: "x|y|z", with: "-w"}, rows)
	assert.True(t, ok)
	assert.Equal(t, load{experiment: "x|z", rows: `^(b|e n=\(1\))$`, with: "-w"}, again)
	_, ok = nearLimit(load{}, rows[2:4])
	assert.False(t, ok)
	got := replaced(rows, []harness.Verdict{{Experiment: "x", Row: "b", Change: 1.2}})
	assert.Equal(t, 1.2, got[1].Change)
	assert.Equal(t, 1.01, got[0].Change)
}

func TestThePageIsWrittenFromResults(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, "page.md")
	require.NoError(t, os.WriteFile(page, []byte("head\n"+begins+"old\n"+ends+"tail\n"), 0o666))
	require.NoError(t, write(dir, result{Policy: "one", Tree: "t1", Machine: "m", Rows: []harness.Verdict{
		{Experiment: "yield", Row: "r1", Metric: "ns", Old: 10, New: 12, Change: 1.2, Verdict: "slower"},
		{Experiment: "yield", Row: "r2", Metric: "ns", Old: 10, New: 10, Change: 1, Verdict: "no difference"},
	}}))
	assert.True(t, isMeasured(dir, "one", "t1"))
	assert.False(t, isMeasured(dir, "one", "t2"))
	assert.False(t, isMeasured(dir, "two", "t1"))
	require.NoError(t, writePage(page, []plan{{name: "one", ground: "a", why: "it pays", held: "x"},
		{name: "two"}}, dir))
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Equal(t, "head\n"+begins+"| policy | without it | ground | measured |\n|---|---|---|---|\n"+
		"| `one` | yield r1 ns 10 → 12 (+20 %); 1 of 2 rows: no difference | (a) it pays; held by `x` | t1, m |\n"+
		"| `two` | not measured | not decided |  |\n"+ends+"tail\n", string(text))
	assert.Error(t, writePage(filepath.Join(dir, "one.json"), nil, dir), "a page without marks")
}

func TestWhatCompareWritesIsRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(file, []byte(`{"Row":"r","Change":1.5}`+"\n"), 0o666))
	rows, err := decode(file)
	require.NoError(t, err)
	assert.Equal(t, []harness.Verdict{{Row: "r", Change: 1.5}}, rows)
}

func TestFlags(t *testing.T) {
	_, err := parse([]string{"x"}, os.Stderr)
	assert.ErrorContains(t, err, "no flag")
	_, err = parse([]string{"-run", "("}, os.Stderr)
	assert.Error(t, err)
}
