package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/organzine/coro/bench/internal/experiments"
	"github.com/organzine/coro/bench/internal/harness"
)

// Go's and coro's rows are there on every machine that has this module. bench gives their metrics
// under the names of this command's, or they are renamed.
func TestRowsOfBench(t *testing.T) {
	values := measured(t, "-rows", "^(coro-go/(big|ask1) workers=2|goroutine/(counting|P1) workers=1|"+
		"coro/paused workers=1|coro-c/(yield|resume) workers=1|goroutine/yield workers=1 n=2$)")
	require.Len(t, values, 15)
	for _, row := range []string{"coro-go/big", "coro-go/ask1", "goroutine/counting"} {
		require.Positive(t, values["actors "+row+" 1 ns_per_message"], row)
	}
	for _, system := range []string{"coro/paused", "goroutine/P1"} {
		for _, metric := range []string{"spawn_ms", "run_ms", "total_ms", "ns_each"} {
			require.Positive(t, values["spawn "+system+" 500000 "+metric], "%s: %s", system, metric)
		}
		require.InEpsilon(t, values["spawn "+system+" 500000 total_ms"]*2,
			values["spawn "+system+" 500000 ns_each"], 0.001)
	}
	for _, row := range []string{"coro-c/yield 2", "coro-c/yield 1000", "coro-c/resume 2",
		"goroutine/yield 2"} {
		require.Positive(t, values["switching "+row+" ns_per_switch"], row)
	}
}

// A C compiler is there wherever coro is built. Every program keeps to the same arguments.
func TestRowsOfAProgramInC(t *testing.T) {
	values := measured(t, "-run", "^spawn$", "-scale", "100", "-rows", "^pthread/batches workers=1 ")
	require.Len(t, values, 2)
	require.InEpsilon(t, values["spawn pthread/batches 20000 total_ms"]*1e6/200,
		values["spawn pthread/batches 20000 ns_each"], 0.001, "200 have been spawned")
}

// measured runs the command once, and returns the values by "experiment system/variant n metric".
func measured(t *testing.T, args ...string) map[string]float64 {
	t.Helper()
	var out, notes bytes.Buffer
	require.NoError(t, run(append([]string{"-json", "-runs", "1"}, args...), &out, &notes))
	require.NotContains(t, notes.String(), "is not measured")
	values := map[string]float64{}
	for d := json.NewDecoder(&out); d.More(); {
		var m harness.Measurement
		require.NoError(t, d.Decode(&m))
		values[fmt.Sprintf("%s %s/%s %d %s", m.Experiment, m.System, m.Variant, m.N, m.Metric)] = m.Value
	}
	return values
}

func TestRowsAreListed(t *testing.T) {
	var out, notes bytes.Buffer
	require.NoError(t, run([]string{"-list"}, &out, &notes))
	for _, line := range []string{"actors\n", "spawn\n", "switching\n",
		"    coro-c/pingpong workers=1 n=1\n", "    erlang/fanin workers=2 n=1\n",
		"    coro/paused workers=1 n=500000\n", "    pthread/batches workers=1 n=20000\n",
		"    coro-go/yield workers=1 n=1000\n", "    libaco/resume workers=1 n=2\n"} {
		require.Contains(t, out.String(), line)
	}
	require.NotContains(t, out.String(), "caf/ask")
	out.Reset()
	require.NoError(t, run([]string{"-list", "-run", "^spawn$"}, &out, &notes))
	require.NotContains(t, out.String(), "switching")
	require.NoError(t, harness.Check((&builder{}).experiments()))
}

// The rows that bench is asked for are among its own.
func TestRowsOfBenchAreThere(t *testing.T) {
	b := &builder{}
	var rows [][]string
	for _, table := range b.tables() {
		for _, p := range table.peers {
			for _, r := range p.rows {
				if r.bench.row != "" {
					rows = append(rows, p.program.command(b, r))
				}
			}
		}
	}
	require.NotEmpty(t, rows)
	all := experiments.All(experiments.Options{})
	for _, command := range rows {
		flags := flag.NewFlagSet("bench", flag.ContinueOnError)
		pattern, only := flags.String("run", "", ""), flags.String("rows", "", "")
		flags.Bool("once", false, "")
		flags.Bool("json", false, "")
		require.NoError(t, flags.Parse(command[1:]))
		selected, err := harness.Select(all, *pattern)
		require.NoError(t, err)
		require.Len(t, selected, 1, command)
		selected, err = harness.WithRows(selected, *only)
		require.NoError(t, err, command)
		require.Len(t, selected[0].Rows, 1, command)
	}
}

// What is missing is named, with how to get it.
func TestWhatIsMissingIsNamed(t *testing.T) {
	err := need{command: "no-such-compiler", remedy: "apt-get install it"}.check()
	require.ErrorContains(t, err, "no-such-compiler is missing: apt-get install it")
	err = need{command: "gcc", header: "no/such.hpp", remedy: "apt-get install that"}.check()
	require.ErrorContains(t, err, "no/such.hpp is missing: apt-get install that")
	require.NoError(t, need{}.check())
}

// A peer without its source, compiler or module is left out, and the others are measured.
func TestWhatIsMissingIsLeftOut(t *testing.T) {
	var out, notes bytes.Buffer
	err := run([]string{"-rows", "^(minicoro|libaco)/", "-minicoro", t.TempDir()}, &out, &notes)
	require.ErrorContains(t, err, "no peer is left")
	require.Contains(t, notes.String(), "/minicoro.h is missing: git clone")
	require.Contains(t, notes.String(), "switching: libaco is not measured: DIR/aco.h is missing: "+
		"git clone https://github.com/hnes/libaco, and -libaco DIR\n")

	b := &builder{}
	missing := python("tasks.py", "no_such_module", "apt-get install that")
	err = b.makes(peer{program: missing})
	require.EqualError(t, err, "no python3 has the module no_such_module: apt-get install that")
	require.Equal(t, err, b.makes(peer{program: missing}), "that is found out once")
}

func TestWrongArguments(t *testing.T) {
	for _, args := range [][]string{{"-runs", "0"}, {"-scale", "0"}, {"-rows", "("}, {"-rows", "none"},
		{"-run", "none"}, {"-run", "("}, {"-what"}, {"spawn"}} {
		var out, notes bytes.Buffer
		require.Error(t, run(args, &out, &notes), args)
		require.Empty(t, out.String(), args)
	}
}

func TestOutputThatIsNone(t *testing.T) {
	for _, command := range [][]string{{"false"}, {"echo"}, {"echo", "{}"}, {"echo", "text"},
		{"echo", `{"version": "1"}`}} {
		_, _, err := output(command)
		require.Error(t, err, command)
	}
	values, version, err := output([]string{"echo", `{"ns_per_message": 2.5, "version": "Some 1.2"}`})
	require.NoError(t, err)
	require.Equal(t, harness.Values{"ns_per_message": 2.5}, values)
	require.Equal(t, "Some 1.2", version)
	values, _, err = output([]string{"printf",
		`{"metric": "a", "value": 1}\n{"metric": "b", "value": 2}\n`})
	require.NoError(t, err)
	require.Equal(t, harness.Values{"a": 1, "b": 2}, values)
}
