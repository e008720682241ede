package main

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestListMeasuresNothing(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run([]string{"-list"}, &out))
	for _, name := range []string{"switch", "yield", "spawn", "fib", "tasks", "memory"} {
		assert.Contains(t, out.String(), name+"\n")
	}
	out.Reset()
	require.NoError(t, run([]string{"-list", "-run", "^fib$"}, &out))
	assert.NotContains(t, out.String(), "spawn")
	assert.NotContains(t, out.String(), "only when asked for")
	out.Reset()
	require.NoError(t, run([]string{"-list", "-run", "^ladder$"}, &out))
	assert.Contains(t, out.String(), "ladder\n    measured only when asked for, by -run\n")
}

func TestJSONOfTheShortestExperiment(t *testing.T) {
	if testing.Short() {
		t.Skip("measures for a second")
	}
	var out bytes.Buffer
	require.NoError(t, run([]string{"-json", "-run", "^switch$"}, &out))
	n := 0
	for dec := json.NewDecoder(&out); ; n++ {
		var m struct {
			Experiment, System, Variant, Metric string
			Value, Min, Max                     float64
			Runs                                int
		}
		if err := dec.Decode(&m); err == io.EOF {
			break
		} else {
			require.NoError(t, err)
		}
		assert.Equal(t, "ns_one_way", m.Metric)
		assert.GreaterOrEqual(t, m.Runs, 5)
		assert.True(t, 0 < m.Min && m.Min <= m.Value && m.Value <= m.Max, "%+v", m)
	}
	assert.Equal(t, 4, n)
}

func TestJSONOfSmallRings(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run([]string{"-json", "-run", "^ring$", "-rings", "2", "-rounds", "10"},
		&out))
	found := map[string]int{}
	for dec := json.NewDecoder(&out); ; {
		var m struct {
			Experiment, System, Variant, Metric string
			N, Workers                          int
			Value, Min                          float64
		}
		if err := dec.Decode(&m); err == io.EOF {
			break
		} else {
			require.NoError(t, err)
		}
		assert.Equal(t, "ring", m.Experiment)
		assert.Equal(t, 16, m.N)
		assert.Equal(t, 1, m.Workers)
		assert.Positive(t, m.Min, "%+v", m)
		found[m.System+" "+m.Variant+" "+m.Metric]++
	}
	for _, want := range []string{"coro loose plain", "coro strict plain",
		"coro loose plain fifo", "coro strict plain fifo", "goroutine loose buffered",
		"goroutine strict unbuffered", "pthread loose semaphores"} {
		assert.Equal(t, 1, found[want+" mps"], want)
		assert.Equal(t, 1, found[want+" ns_per_handover"], want)
	}
	assert.Equal(t, 1, found["coro loose plain bytes_each"])
}

func TestOneRunOfSomeRows(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run([]string{"-json", "-once", "-run", "^switch$", "-rows",
		"^coro/pair "}, &out))
	var m struct {
		System, Variant string
		Runs            int
	}
	dec := json.NewDecoder(&out)
	require.NoError(t, dec.Decode(&m))
	assert.Equal(t, "coro pair", m.System+" "+m.Variant)
	assert.Equal(t, 1, m.Runs)
	assert.False(t, dec.More())
}

// The experiment border has rows of different metrics.
func TestRowsOfTheBorder(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run([]string{"-json", "-once", "-run", "^border$", "-rows",
		"^cgo/(1us|8x5us) "}, &out))
	found := map[string]float64{}
	for dec := json.NewDecoder(&out); ; {
		var m struct {
			Variant, Metric string
			N               int
			Value           float64
		}
		if err := dec.Decode(&m); err == io.EOF {
			break
		} else {
			require.NoError(t, err)
		}
		assert.Positive(t, m.Value, "%+v", m)
		found[m.Variant+" "+m.Metric] = m.Value
	}
	assert.Len(t, found, 5)
	assert.Less(t, 300.0, found["1us ns_per_op"])
	assert.LessOrEqual(t, found["8x5us p50_ns"], found["8x5us p99_ns"])
	for _, metric := range []string{"per_second", "cpu_us"} {
		assert.Contains(t, found, "8x5us "+metric)
	}
}

func TestMistakesOnTheCommandLine(t *testing.T) {
	var out bytes.Buffer
	assert.ErrorContains(t, run([]string{"-runs", "4"}, &out), "at least 5")
	assert.ErrorContains(t, run([]string{"-run", "nothing"}, &out), "nothing")
	assert.ErrorContains(t, run([]string{"-rows", "nothing"}, &out), "nothing")
	assert.ErrorContains(t, run([]string{"spawn"}, &out), "spawn")
	assert.ErrorContains(t, run([]string{"-members", "4"}, &out), "-rings")
	assert.ErrorContains(t, run([]string{"-rings", "4", "-members", "1"}, &out), "-members 1")
	assert.Empty(t, out.String())
}
