package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/organzine/coro/bench/internal/harness"
)

// Go's own and coro's actors are there on every machine that has this module.
func TestRowsOfPrograms(t *testing.T) {
	var out, notes bytes.Buffer
	require.NoError(t, run([]string{"-json", "-runs", "1", "-scale", "500",
		"-rows", "^(coro-go|goroutine)/(big|ask1|counting) workers=2 "}, &out, &notes))
	require.Empty(t, notes.String())
	seen := map[string]bool{}
	for d := json.NewDecoder(&out); d.More(); {
		var m harness.Measurement
		require.NoError(t, d.Decode(&m))
		require.Equal(t, "actors", m.Experiment)
		require.Positive(t, m.Value)
		seen[m.System+"/"+m.Variant] = true
	}
	require.Len(t, seen, 6)
}

func TestRowsAreListed(t *testing.T) {
	var out, notes bytes.Buffer
	require.NoError(t, run([]string{"-list"}, &out, &notes))
	require.Contains(t, out.String(), "coro-c/pingpong workers=1 n=1\n")
	require.Contains(t, out.String(), "erlang/fanin workers=2 n=1\n")
	require.NotContains(t, out.String(), "caf/ask")
	require.NoError(t, harness.Check([]*harness.Experiment{(&builder{}).experiment()}))
}

// What is missing is named, with how to get it.
func TestWhatIsMissingIsNamed(t *testing.T) {
	err := need{command: "no-such-compiler", remedy: "apt-get install it"}.check()
	require.ErrorContains(t, err, "no-such-compiler is missing: apt-get install it")
	err = need{command: "gcc", header: "no/such.hpp", remedy: "apt-get install that"}.check()
	require.ErrorContains(t, err, "no/such.hpp is missing: apt-get install that")
	require.NoError(t, need{}.check())
}

func TestWrongArguments(t *testing.T) {
	for _, args := range [][]string{{"-runs", "0"}, {"-scale", "0"}, {"-rows", "("}, {"-rows", "none"},
		{"-what"}} {
		var out, notes bytes.Buffer
		require.Error(t, run(args, &out, &notes), args)
	}
}

func TestOutputThatIsNone(t *testing.T) {
	for _, command := range [][]string{{"false"}, {"echo"}, {"echo", "{}"}, {"echo", "text"}} {
		_, err := output(command)
		require.Error(t, err, command)
	}
	v, err := output([]string{"echo", `{"ns_per_message": 2.5}`})
	require.NoError(t, err)
	require.Equal(t, harness.Values{metric: 2.5}, v)
}
