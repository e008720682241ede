package figures

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/organzine/coro/bench/internal/harness"
)

// A cell is text, or makes its text out of figures; "-" where one is missing.
type cell func(Figures) string

type table struct {
	head []string
	rows [][]cell
}

// number writes a figure with two significant digits, or three from 100 on, its thousands set
// apart.
func number(x float64) string {
	if x == 0 {
		return "0"
	}
	digits := 2
	if math.Abs(x) >= 100 {
		digits = 3
	}
	exact, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'e', digits-1, 64), 64)
	places := max(0, digits-1-int(math.Floor(math.Log10(math.Abs(exact)))))
	return harness.Grouped(exact, places)
}

func text(s string) cell { return func(Figures) string { return s } }

// value is a median times scale, with a unit.
func value(k Key, scale float64, unit string) cell {
	return func(f Figures) string {
		m, ok := f.Find(k)
		if !ok {
			return "-"
		}
		return number(m.Value*scale) + unit
	}
}

// maybe is empty where c's figure is missing: the system is not on every machine.
func maybe(c cell) cell {
	return func(f Figures) string { return strings.TrimSuffix(c(f), "-") }
}

// spread is a median with the least and the most of all runs.
func spread(k Key, scale float64, unit string) cell {
	return func(f Figures) string {
		m, ok := f.Find(k)
		if !ok {
			return "-"
		}
		return fmt.Sprintf("%s (%s to %s)%s", number(m.Value*scale), number(m.Min*scale),
			number(m.Max*scale), unit)
	}
}

// times is how many times less the first takes than the least of the others.
func times(own Key, others ...Key) cell {
	return func(f Figures) string {
		m, ok := f.Find(own)
		least := math.Inf(1)
		for _, k := range others {
			if o, there := f.Find(k); there {
				least = min(least, o.Value)
			}
		}
		if !ok || math.IsInf(least, 1) {
			return "-"
		}
		return number(least/m.Value) + " ×"
	}
}

func bench(experiment, system, variant string, workers, n int, metric string) Key {
	return Key{"bench", experiment, system, variant, workers, n, metric}
}

// The tables of the documents, by the names in their marks.
var tables = map[string]table{
	"why":    why(),
	"more":   more(),
	"switch": switches(),
	"yield":  yields(),
	"spawn":  spawns(),
	"coarse": coarse(),
	"ladder": ladder(),
	"stacks": stacks(),

	"application":       applications(),
	"forkjoin":          forkJoin("times_serial", 1),
	"forkjoin-speed-up": forkJoin("speedup", 2),
	"forkjoin-child":    forkChild(),
	"forkjoin-beside":   forkBeside(),
}

// why is README's table, and more is the rest of it.
func why() table {
	message := func(system string) cell {
		return value(Key{"peers", "actors", system, "pingpong", 1, 0, "ns_per_message"}, 1, " ns")
	}
	return table{
		head: []string{"one thread", "goroutine", "C coroutine of coro"},
		rows: [][]cell{
			{text("from spawn to end, 500 000 empty ones"),
				spawnOf("goroutine", "P1", 1), spawnOf("coro", "coroutine", 1)},
			{text("a switch to the next of 2000"),
				value(bench("yield", "goroutine", "Gosched", 1, 2000, "ns_per_op"), 1, " ns"),
				value(bench("yield", "coro", "coro_yield", 1, 2000, "ns_per_op"), 1, " ns")},
			{text("a value through an unbuffered channel"),
				value(bench("chan", "goroutine", "unbuffered Go", 1, 0, "ns_per_op"), 1, " ns"),
				value(bench("chan", "coro", "unbuffered C home", 1, 0, "ns_per_op"), 1, " ns")},
			{text("a message between two actors"), message("goroutine"), message("coro-c")},
		},
	}
}

func more() table {
	return table{
		head: []string{"", "goroutine", "C coroutine of coro"},
		rows: [][]cell{
			{text("from spawn to end, 500 000 empty ones, two threads"),
				spawnOf("goroutine", "Pall", 2), spawnOf("coro", "coroutine", 2)},
			{text("the same, spawned one by one from Go"),
				text(""), spawnOf("coro", "go-each", 2)},
			{text("memory of one that waits"), text("2 KiB of stack and more"),
				value(bench("memory", "coro", "parked", 0, 0, "bytes_each"), 1, " bytes")},
			{text("the same, [dense](dense.md)"), text(""),
				value(bench("dense", "coro", "parked dense", 0, 0, "bytes_each"), 1, " bytes")},
		},
	}
}

// spawnOf is a row of experiment spawn: its ms are for 500 000.
func spawnOf(system, variant string, workers int) cell {
	const nsOfEach = 1e6 / 500_000
	return value(bench("spawn", system, variant, workers, 0, "total_ms"), nsOfEach, " ns")
}

func switches() table {
	row := func(what, variant string) []cell {
		return []cell{text(what),
			spread(bench("switch", "coro", variant, 1, 0, "ns_one_way"), 1, ""),
			spread(bench("switch", "ucontext", variant, 1, 0, "ns_one_way"), 1, "")}
	}
	return table{
		head: []string{"one switch, ns", "coro", "`swapcontext`"},
		rows: [][]cell{row("resume and yield by hand, one way", "pair"),
			row("1000 coroutines in a ring, each yields to the next", "ring")},
	}
}

func yields() table {
	row := func(what, system, variant string) []cell {
		cells := []cell{text(what)}
		for _, n := range []int{2, 200, 2000, 20_000} {
			cells = append(cells,
				value(bench("yield", system, variant, 1, n, "ns_per_op"), 1, ""))
		}
		return cells
	}
	return table{
		head: []string{"ns per yield, one thread", "2", "200", "2000", "20 000"},
		rows: [][]cell{row("`coro_yield`", "coro", "coro_yield"),
			row("`runtime.Gosched`", "goroutine", "Gosched")},
	}
}

func spawns() table {
	one, all := bench("spawn", "goroutine", "P1", 1, 0, "total_ms"),
		bench("spawn", "goroutine", "Pall", 2, 0, "total_ms")
	row := func(what, variant string) []cell {
		of := func(workers int) Key {
			return bench("spawn", "coro", variant, workers, 0, "total_ms")
		}
		return []cell{text(what), spread(of(1), 1, ""), spread(of(2), 1, ""),
			times(of(2), one, all)}
	}
	return table{
		head: []string{"500 000 empty ones, total ms", "1 worker", "2 workers",
			"2 workers, against the best goroutine row"},
		rows: [][]cell{
			{text("goroutines"), spread(one, 1, ""), spread(all, 1, ""), text("")},
			row("spawned by a coroutine", "coroutine"),
			row("from Go, `SpawnN`", "go-batch"),
			row("from Go, `Spawn` one by one", "go-each"),
			row("paused: spawn and run", "paused"),
		},
	}
}

func coarse() table {
	row := func(workers int) []cell {
		cells := []cell{text(strconv.Itoa(workers))}
		for _, of := range [][2]string{{"coro", "stolen"}, {"goroutine", "cgo"},
			{"pthread", "pthreads"}} {
			cells = append(cells,
				value(bench("fib-curve", of[0], of[1], workers, 0, "speedup"), 1, ""))
		}
		return cells
	}
	return table{
		head: []string{"workers", "coroutines", "goroutines", "bare threads"},
		rows: [][]cell{row(1), row(2), row(3), row(4), row(8)},
	}
}

func ladder() table {
	row := func(what, system, variant string) []cell {
		k := bench("ladder", system, variant, 1, 0, "ns_per_op")
		return []cell{text(what), spread(k, 1, ""),
			times(k, bench("ladder", "ucontext", "new-stack", 1, 0, "ns_per_op"))}
	}
	return table{
		head: []string{"a life, suspended once", "ns", "against the first"},
		rows: [][]cell{
			row("`swapcontext`, a new stack for each", "ucontext", "new-stack"),
			row("stacks are kept", "ucontext", "reused-stack"),
			row("`coro_new` and `coro_resume`: no signal mask", "coro", "no-mask"),
			row("no floating-point state", "coro", "no-fp"),
			row("`coro_spawn`: the run loop", "coro", "run-loop"),
			row("goroutines", "goroutine", "Gosched"),
		},
	}
}

// forkJoin has a row for each load, and a column for each system; first what serial C takes, where
// others are compared with that.
func forkJoin(metric string, workers int) table {
	of := func(system, variant, metric string, workers int) cell {
		return value(Key{"forkjoin", "forkjoin", system, variant, workers, 0, metric}, 1, "")
	}
	systems := [][2]string{{"coro", " fork"}, {"coro", " spawn"}, {"coro", " scope"},
		{"goroutine", ""}, {"openmp", ""}, {"onetbb", ""}}
	t := table{head: []string{fmt.Sprintf("speed-up on %d workers", workers)}}
	isSerial := metric == "times_serial"
	if isSerial {
		t.head = []string{"times serial C, one worker", "serial, ms"}
	}
	t.head = append(t.head, "coro, fork", "coro, spawn and join", "coro, scope", "goroutines",
		"OpenMP", "oneTBB", "libfork")
	for _, load := range []string{"fib", "queens", "uts", "quicksort", "mandelbrot", "matrix"} {
		cells := []cell{text("`" + load + "`")}
		if isSerial {
			cells = append(cells, of("serial", load, "ms_per_run", 1))
		}
		for _, s := range systems {
			cells = append(cells, of(s[0], load+s[1], metric, workers))
		}
		cells = append(cells, maybe(of("libfork", load, metric, workers)))
		t.rows = append(t.rows, cells)
	}
	return t
}

// forkChild is what a child takes where that does next to nothing.
func forkChild() table {
	t := table{head: []string{"ns a child", "coro, fork", "coro, fork from `Call`", "goroutines",
		"OpenMP", "oneTBB", "libfork"}}
	for _, load := range []string{"fib", "queens", "uts"} {
		for _, workers := range []int{1, 2} {
			of := func(system, way string) cell {
				return value(Key{"forkjoin", "forkjoin", system, load + way, workers, 0,
					"ns_per_child"}, 1, "")
			}
			what := fmt.Sprintf("`%s`, %d workers", load, workers)
			if workers == 1 {
				what = fmt.Sprintf("`%s`, 1 worker", load)
			}
			t.rows = append(t.rows, []cell{text(what), of("coro", " fork"),
				of("coro", " fork call"), of("goroutine", ""), of("openmp", ""),
				of("onetbb", ""), maybe(of("libfork", ""))})
		}
	}
	return t
}

// forkBeside is what forks take of memory, and from others.
func forkBeside() table {
	row := func(what, variant, metric string, scale float64, unit string, second bool) []cell {
		of := func(workers int) cell {
			return spread(Key{"forkjoin", "forkjoin-beside", "coro", variant, workers, 0, metric},
				scale, unit)
		}
		if !second {
			return []cell{text(what), of(1), text("")}
		}
		return []cell{text(what), of(1), of(2)}
	}
	memory := func(what, variant string, second bool) []cell {
		return row("memory: "+what, variant+" memory", "grown_kib", 1, " KiB", second)
	}
	return table{
		head: []string{"", "1 worker", "2 workers"},
		rows: [][]cell{
			memory("Fibonacci of 35", "fib", true),
			memory("Fibonacci of 27, one child in ten sleeps 1 ms", "fib sleeps", true),
			memory("a chain of 100 000", "chain", false),
			row("longest gap of one that yields, beside nothing", "none beside", "gap_max_us",
				1e-3, " ms", true),
			row("the same beside Fibonacci of 35", "fib beside", "gap_max_us", 1e-3, " ms", true),
			row("most that a sleep of 1 ms is late, beside nothing", "none beside", "late_max_us",
				1e-3, " ms", true),
			row("the same beside Fibonacci of 35", "fib beside", "late_max_us", 1e-3, " ms", true),
		},
	}
}

// stacks is what the ladder says of where stacks come from, and of their size.
func stacks() table {
	row := func(what, variant string) []cell {
		cells := []cell{text(what)}
		for _, size := range []string{"", " 64K", " 256K", " 1M"} {
			cells = append(cells, spread(Key{"application", "ladder", "ucontext", variant + size,
				1, 0, "ns_per_op"}, 1e-3, ""))
		}
		return cells
	}
	return table{
		head: []string{"a life, suspended once, µs", "16 KiB", "64 KiB", "256 KiB", "1 MiB"},
		rows: [][]cell{
			row("a new stack of `mmap`, with a guard", "new-stack"),
			row("a new stack of `malloc`", "malloc"),
			row("a new stack of `calloc`", "calloc"),
			row("stacks are kept, of `mmap`", "reused-stack"),
			row("stacks are kept, of `calloc`", "reused-calloc"),
		},
	}
}

func applications() table {
	row := func(what, system, variant string) []cell {
		cells := []cell{text(what)}
		for _, n := range []int{1, 16} {
			of := func(metric string) Key {
				return Key{"application", "application", system, variant, 1, n, metric}
			}
			cells = append(cells, spread(of("per_second"), 1, ""), value(of("times"), 1, " ×"),
				value(of("server_us"), 1, " µs"))
		}
		return cells
	}
	return table{
		head: []string{"", "1 request a connection: a second", "", "the server alone",
			"16 requests: a second", "", "the server alone"},
		rows: [][]cell{
			row("`swapcontext`, a new stack for each", "ucontext", "new-stack"),
			row("`swapcontext`, stacks are kept", "ucontext", "kept-stack"),
			row("the light switch, stacks are kept", "coro", "light-switch"),
			row("callbacks, no coroutines", "epoll", "callback"),
		},
	}
}

func (t table) markdown(f Figures) string {
	var b strings.Builder
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(t.head)
	b.WriteString(strings.Repeat("|---", len(t.head)) + "|\n")
	for _, row := range t.rows {
		var cells []string
		for _, c := range row {
			cells = append(cells, c(f))
		}
		line(cells)
	}
	return strings.ReplaceAll(b.String(), "|  |", "| |")
}

var mark = regexp.MustCompile(`(?s)<!-- figures: ([a-z-]+) -->\n.*?<!-- end -->\n`)

// Fill replaces what is between each "<!-- figures: NAME -->" and "<!-- end -->" of a document by
// the table of that name; for the name "machine", by where and when the command bench measured, and
// for "machine-COMMAND" by those of another.
func Fill(document string, f Figures) (string, error) {
	var err error
	filled := mark.ReplaceAllStringFunc(document, func(old string) string {
		name := mark.FindStringSubmatch(old)[1]
		var content string
		if t, ok := tables[name]; ok {
			content = t.markdown(f)
		} else if command, ok := strings.CutPrefix(name, "machine-"); ok || name == "machine" {
			if !ok {
				command = "bench"
			}
			content = "Medians of five runs. " + f[command].Machine.String() + ".\n"
		} else {
			err = fmt.Errorf("no table of figures has the name %q", name)
		}
		return "<!-- figures: " + name + " -->\n" + content + "<!-- end -->\n"
	})
	if n := strings.Count(document, "<!-- figures: "); err == nil &&
		n != len(mark.FindAllString(document, -1)) {
		err = fmt.Errorf("one of %d marks of figures has no end, or a wrong name", n)
	}
	return filled, err
}
