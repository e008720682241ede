package harness

import (
	"flag"
	"fmt"
	"io"
	"runtime"
	"strings"
)

// A Format is how a result is written.
type Format string

const (
	Table   Format = "table"
	JSON    Format = "json"    // an object for each measurement, one a line
	GoBench Format = "gobench" // that of Go's benchmarks, a line for each run: for benchstat
)

// Set is that of [flag.Value].
func (f *Format) Set(name string) error {
	switch Format(name) {
	case Table, JSON, GoBench:
		*f = Format(name)
		return nil
	}
	return fmt.Errorf("%q is none of table, json and gobench", name)
}

func (f *Format) String() string { return string(*f) }

// FormatFlags are -format, and -json for short.
func FormatFlags(flags *flag.FlagSet) *Format {
	f := Table
	flags.Var(&f, "format", "table, json, or gobench for benchstat; a `name`")
	flags.BoolFunc("json", "as -format json: one object per measurement, one per line",
		func(string) error { return f.Set(string(JSON)) })
	return &f
}

func (f Format) write(w io.Writer, res *Result) error {
	switch f {
	case JSON:
		return WriteJSON(w, res.Measurements())
	case GoBench:
		return writeGoBench(w, res)
	}
	return WriteTable(w, res)
}

// writeGoBench writes each run of a row as one run of a benchmark, whose iterations are not
// counted: 1. Its format is that of golang.org/design/14313-benchmark-format.
func writeGoBench(w io.Writer, res *Result) error {
	const head = "goos: %s\ngoarch: %s\npkg: github.com/organzine/coro/bench\ncpu: %s\n"
	_, err := fmt.Fprintf(w, head, runtime.GOOS, runtime.GOARCH, processor())
	for i, row := range res.Rows {
		name := fmt.Sprintf("Benchmark%s%s/%s/%s/workers=%d/n=%d-%d", strings.ToUpper(res.Name[:1]),
			res.Name[1:], row.System, row.Variant, row.Workers, row.N, row.procs())
		for _, values := range res.Runs[i] {
			line := strings.ReplaceAll(name, " ", "_") + " 1"
			for _, m := range res.Metrics {
				if x, ok := values[m.Name]; ok {
					line += fmt.Sprintf(" %v %s", round(x), unitOf(m.Name))
				}
			}
			if _, err := fmt.Fprintln(w, line); err != nil {
				return err
			}
		}
	}
	return err
}

// unitOf is a metric's name as a unit of a benchmark: ns/op of ns_per_op.
func unitOf(metric string) string { return strings.ReplaceAll(metric, "_per_", "/") }
