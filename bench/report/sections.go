package main

import (
	"cmp"
	"fmt"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/organzine/coro/bench/internal/figures"
)

// A section of the page is a chart, with what it shows and what it does not.
type section struct {
	id, title, shows, hides string
	draw                    func(figures.Figures) (*plot.Plot, vg.Length, error)
}

var sections = []section{
	{
		id: "spawn", title: "500 000 that do nothing",
		shows: `From the first spawn to the end of the last of 500 000 empty activities (20 000 pthreads,
100 000 fibers that are posted), in ns for each. A logarithmic scale: each mark is ten times the one
before.`,
		hides: `What an activity costs that waits, or needs a stack deeper than an empty one. The
systems of other languages also run their own event loops or virtual machines, and each was written
in the way that its documents show, not the fastest that one can think of.`,
		draw: spawn,
	},
	{
		id: "switching", title: "A switch from one to another",
		shows: `One of two coroutines lets the other run, on one thread, in ns. resume: the caller goes
on in a coroutine by hand, which comes back to it. yield: a scheduler chooses. transfer: one names the
next.`,
		hides: `Coroutines without stacks, of C++20, Python's generators and tokio, can wait in their own
outermost function alone, and do less at a switch. With a thousand of them, caches count: the table of
"make peers" has these rows too.`,
		draw: switching,
	},
	{
		id: "ladder", title: "The ladder: from swapcontext to a run loop",
		shows: `The life of a coroutine that is suspended once, in ns. Each row leaves something out
that the one above does, in the steps in which RethinkDB's authors made their coroutines fast in
2010.`,
		hides: `Only ten coroutines are there at once, so all are in the cache. The first two rows
are the C library's, the next two are coro's calls by hand, and the last is a worker: they differ in
more than the one step that each is named after.`,
		draw: ladder,
	},
	{
		id: "application", title: "The ladder in an application",
		shows: `A server of keys and values that answers one small request of each connection:
requests in a second of CPU time, of server and clients together. The server has a coroutine for each
connection, as the ladder's steps make it, or none at all.`,
		hides: `System calls take most of the time, and are the same in all rows; on machines where
they are cheaper, stacks and switches count for more. The connections are pairs of Unix sockets, and
live for one request; with sixteen on each the rows are nearer to each other.`,
		draw: application,
	},
	{
		id: "switch-bytes", title: "What a switch costs with live bytes",
		shows: `A yield of one of 200 coroutines, in ns, with so many bytes of its stack in use. A
dense coroutine has no stack of its own: its bytes are copied at each switch.`,
		hides: `Only memory that is touched before each yield, once. With more coroutines than the
cache holds both lines rise.`,
		draw: switchBytes,
	},
	{
		id: "ring", title: "Rings",
		shows: `Millions of posts a second in rings of 8 coroutines that wait for each other, one token
a ring, over the number of all coroutines, on one worker.`,
		hides: `Strict rings alone: in loose ones a member finds several posts at once, and rates are
higher. Above 8 000 members the sizes are measured by "make ring" alone.`,
		draw: rings,
	},
	{
		id: "speedup", title: "Speed-up over workers",
		shows: `The 100 000th Fibonacci number, 200 times, all spawned by one: how many times faster
than by one bare thread, over the number of workers.`,
		hides: `No system is faster than the machine's CPUs allow, whose number is below. A task takes
half a millisecond or more: with tasks of 1 µs stealing shows.`,
		draw: speedup,
	},
	{
		id: "forkjoin", title: "Fork and join",
		shows: `A program that divides its work among children and waits for them, at each step, on one
thread: how many times longer it takes than the same in plain C without children. Fibonacci of 27,
whose children do next to nothing, and the product of two matrices by quarters, whose last parts
take about 2 µs. Spawns, scopes and goroutines have Fibonacci of 22, and smaller matrices.`,
		hides: `Two workers, and four more loads: the tables of docs/benchmarks.md have them. What
goroutines compute is compiled by Go, and all else by gcc.`,
		draw: forkJoin,
	},
	{
		id: "border", title: "The border: Go and C",
		shows: `Time of one operation in ns when Go has been asleep for 1 ms before it: the median,
and a line up to the 99th percentile.`,
		hides: `Back to back all are faster, by two to forty times. What a thread's wake-up costs
differs much from machine to machine, and here all share two CPUs.`,
		draw: border,
	},
	{
		id: "actors", title: "Actors: a message between two",
		shows: `A message of a ping-pong of two actors, one worker, in ns: actors of other libraries
and languages, each a program of its own.`,
		hides: `One pair that waits for each other. Where many send to one the order is another: the
table of "make peers" has seven programs. The peers have what coro has not: Erlang isolates its
processes, and sends over networks.`,
		draw: actors,
	},
	{
		id: "fairness", title: "Fairness: how late a newcomer is",
		shows: `How long a newcomer waits for its first turn beside groups that keep each other busy, two
workers, in µs: the median, and a line up to the 99th percentile.`,
		hides: `Who computes for long without a pause delays all behind him, in coro as nothing
interrupts a coroutine; goroutines are interrupted after 10 ms.`,
		draw: fairness,
	},
	{
		id: "echo", title: "Echo over connections",
		shows: `CPU time for each of the requests over 64 connections of the loopback device, in µs.`,
		hides: `The kernel takes nine tenths of it, and the client shares the CPUs.`,
		draw:  echo,
	},
	{
		id: "http", title: "HTTP beside other servers",
		shows: `CPU time of the server for each "Hello, World!" over 64 connections, one worker, in µs.`,
		hides: `A handler that does nothing. On two workers, which share the CPUs with the client, coro
takes more CPU than a bare loop does: see bench/http.`,
		draw: http,
	},
}

func benchKey(experiment, system, variant string, workers, n int, metric string) figures.Key {
	return figures.Key{Command: "bench", Experiment: experiment, System: system, Variant: variant,
		Workers: workers, N: n, Metric: metric}
}

// A row is a figure of a chart, with a label that needs no knowledge of the programs.
type row struct{ label, command, system, variant string }

// pickRows are the points of rows on one thread, of n each or of any number, the least first. each:
// the figures are ms for all, and are made ns for each.
func pickRows(f figures.Figures, rows []row, experiment, metric string, n int, each bool) []point {
	var list []point
	for _, r := range rows {
		k := figures.Key{Command: r.command, Experiment: experiment, System: r.system,
			Variant: r.variant, Workers: 1, N: n, Metric: metric}
		scale := 1.0
		if m, ok := f.Find(k); ok && each {
			scale = 1e6 / float64(m.N)
		}
		list = pick(f, list, r.label, k, scale)
	}
	slices.SortStableFunc(list, func(a, b point) int { return cmp.Compare(a.value, b.value) })
	return list
}

func spawn(f figures.Figures) (*plot.Plot, vg.Length, error) {
	list := pickRows(f, []row{
		{"coro, from C", "bench", "coro", "coroutine"},
		{"coro, from Go one by one", "bench", "coro", "go-each"},
		{"C++20, no stacks", "peers", "c++20", "frame"},
		{"tokio tasks", "peers", "tokio", "current_thread"},
		{"Erlang processes", "peers", "erlang", "process"},
		{"goroutines", "bench", "goroutine", "P1"},
		{"ants, a pool", "peers", "ants", "submit"},
		{"Boost.Fiber", "peers", "boost.fiber", "dispatch"},
		{"Python with uvloop", "peers", "uvloop", "uvloop"},
		{"threads", "peers", "pthread", "batches"},
	}, "spawn", "total_ms", 0, true)
	return dots(says("A coroutine is spawned and run in %s ns, a goroutine in %s", list,
		"coro, from C", "goroutines"), "ns each, on one thread", list)
}

func switching(f figures.Figures) (*plot.Plot, vg.Length, error) {
	list := pickRows(f, []row{
		{"coro, resume by hand", "peers", "coro-c", "resume"},
		{"coro, yield", "peers", "coro-c", "yield"},
		{"coro, Go bodies", "peers", "coro-go", "yield"},
		{"goroutines", "peers", "goroutine", "yield"},
		{"C++20, no stacks", "peers", "c++20", "resume"},
		{"Boost.Context", "peers", "boost.context", "resume"},
		{"swapcontext", "peers", "ucontext", "resume"},
		{"tokio", "peers", "tokio", "yield"},
		{"Erlang", "peers", "erlang", "yield"},
		{"Python's asyncio", "peers", "asyncio", "yield"},
	}, "switching", "ns_per_switch", 2, false)
	return dots(says("A coroutine in C yields in %s ns, a goroutine in %s", list, "coro, yield",
		"goroutines"), "ns, two of them on one thread", list)
}

func ladder(f figures.Figures) (*plot.Plot, vg.Length, error) {
	var list []point
	for _, row := range [][3]string{{"swapcontext, new stacks", "ucontext", "new-stack"},
		{"stacks are kept", "ucontext", "reused-stack"}, {"no signal mask", "coro", "no-mask"},
		{"no floating-point state", "coro", "no-fp"}, {"the run loop", "coro", "run-loop"},
		{"goroutines", "goroutine", "Gosched"}} {
		list = pick(f, list, row[0], benchKey("ladder", row[1], row[2], 1, 0, "ns_per_op"), 1)
	}
	return dots(says("A life takes %s ns with swapcontext, and %s in coro's run loop", list,
		"swapcontext, new stacks", "the run loop"), "ns", list)
}

func application(f figures.Figures) (*plot.Plot, vg.Length, error) {
	var list []point
	for _, row := range [][3]string{{"swapcontext, new stacks", "ucontext", "new-stack"},
		{"stacks are kept", "ucontext", "kept-stack"},
		{"coro's light switch", "coro", "light-switch"},
		{"callbacks, no coroutines", "epoll", "callback"}} {
		list = pick(f, list, row[0], figures.Key{Command: "application",
			Experiment: "application", System: row[1], Variant: row[2], Workers: 1, N: 1,
			Metric: "per_second"}, 1)
	}
	return dots(says("Requests a second: %s on new stacks, %s by coro's switch", list,
		"swapcontext, new stacks", "coro's light switch"),
		"requests in a second of CPU time", list)
}

func switchBytes(f figures.Figures) (*plot.Plot, vg.Length, error) {
	line := func(kind string, colour color.Color) series {
		s := series{label: kind + " coroutine", colour: colour}
		for _, extra := range []int{64, 256, 1024, 4096, 8192} {
			k := benchKey("dense", "coro", fmt.Sprintf("yield %s +%d", kind, extra), 1, 200,
				"ns_per_op")
			if m, ok := f.Find(k); ok {
				s.points = append(s.points, plotter.XY{X: float64(extra), Y: m.Value})
			}
		}
		return s
	}
	list := []series{line("plain", blue), line("dense", purple)}
	title := says("With 8 KiB in use a plain coroutine yields in %s ns, a dense one in %s",
		ends(list), "plain coroutine", "dense coroutine")
	return lines(title, "bytes of the stack in use", "ns", true, list)
}

// A curve is a system's line over numbers.
type curve struct {
	label, system, variant string
	colour                 color.Color
	dashed                 bool
}

// curves makes a line of the points of each system.
func curves(list []curve, points func(curve) plotter.XYs) []series {
	var out []series
	for _, c := range list {
		out = append(out, series{label: c.label, colour: c.colour, dashed: c.dashed,
			points: points(c)})
	}
	return out
}

func rings(f figures.Figures) (*plot.Plot, vg.Length, error) {
	list := curves([]curve{
		{"coro", "coro", "strict plain", blue, false},
		{"coro, dense", "coro", "strict dense", purple, false},
		{"coro, policy rr", "dispatch", "strict rr", green, false},
		{"goroutines", "goroutine", "strict buffered", orange, false},
		{"C++20, stackless", "c++20", "strict one thread", grey, true},
	}, func(c curve) (points plotter.XYs) {
		for _, m := range f["bench"].Measurements {
			if m.Experiment == "ring" && m.System == c.system && m.Variant == c.variant &&
				m.Workers == 1 && m.Metric == "mps" {
				points = append(points, plotter.XY{X: float64(m.N), Y: m.Value})
			}
		}
		slices.SortFunc(points, func(a, b plotter.XY) int { return cmp.Compare(a.X, b.X) })
		return points
	})
	title := says("In the largest rings: %s million posts a second, goroutines %s", ends(list),
		"coro", "goroutines")
	return lines(title, "coroutines, one worker", "million posts a second", true, list)
}

func speedup(f figures.Figures) (*plot.Plot, vg.Length, error) {
	list := curves([]curve{
		{"coro", "coro", "stolen", blue, false},
		{"goroutines", "goroutine", "cgo", orange, false},
		{"bare threads", "pthread", "pthreads", grey, true},
	}, func(c curve) (points plotter.XYs) {
		for _, workers := range []int{1, 2, 3, 4, 8} {
			k := benchKey("fib-curve", c.system, c.variant, workers, 0, "speedup")
			if m, ok := f.Find(k); ok {
				points = append(points, plotter.XY{X: float64(workers), Y: m.Value})
			}
		}
		return points
	})
	title := says(fmt.Sprintf("With 8 workers on %d CPUs: %%s times as fast as one thread",
		f["bench"].Machine.CPUs), ends(list), "coro")
	return lines(title, "workers", "times as fast as one thread", false, list)
}

// forkJoin has the finest load, and a coarse one.
func forkJoin(f figures.Figures) (*plot.Plot, vg.Length, error) {
	var list []point
	for _, load := range [][2]string{{"fib", "Fibonacci"}, {"matrix", "matrices"}} {
		of := func(system, way string) row {
			return row{load[1] + ": " + cmp.Or(forkNames[system], system) + way, "forkjoin",
				system, load[0] + way}
		}
		list = append(list, pickRows(f, []row{of("coro", " fork"), of("coro", " spawn"),
			of("coro", " scope"), of("goroutine", ""), of("openmp", ""), of("onetbb", ""),
			of("libfork", "")}, "forkjoin", "times_serial", 0, false)...)
	}
	return dots(says("By children Fibonacci takes %s times as long in coro, %s in oneTBB", list,
		"Fibonacci: coro fork", "Fibonacci: oneTBB"), "times plain C without children", list)
}

var forkNames = map[string]string{"goroutine": "goroutines", "openmp": "OpenMP",
	"onetbb": "oneTBB"}

// tails are points from a row's median to its 99th percentile.
func tails(f figures.Figures, rows [][3]string, experiment string, workers int,
	unit string) []point {
	var list []point
	for _, row := range rows {
		k := benchKey(experiment, row[1], row[2], workers, 0, "p50_"+unit)
		half, ok := f.Find(k)
		k.Metric = "p99_" + unit
		most, ok2 := f.Find(k)
		if ok && ok2 && half.Value > 0 {
			list = append(list, point{row[0], colourOf(row[1]), half.Value, half.Value, most.Value})
		}
	}
	return list
}

func border(f figures.Figures) (*plot.Plot, vg.Length, error) {
	list := tails(f, [][3]string{
		{"cgo call", "cgo", "empty cold"},
		{"coro Call", "coro", "call cold"},
		{"coro Start and Wait, brief", "coro", "start-wait cold"},
		{"coro Start and Wait", "coro", "start-wait plain cold"},
		{"goroutines: request and answer", "goroutine", "echo cold"},
		{"coro: request and answer, brief", "coro", "echo cold"},
		{"coro: request and answer", "coro", "echo plain cold"},
		{"C thread wakes a goroutine", "cgo", "wake callback"},
		{"coroutine calls Go", "coro", "wake offload"},
	}, "border", 1, "ns")
	title := says("After a sleep: Call takes %s ns, a cgo call %s", list, "coro Call", "cgo call")
	return dots(title, "ns, median to 99th percentile", list)
}

func actors(f figures.Figures) (*plot.Plot, vg.Length, error) {
	var rows []row
	names := map[string]string{"coro-c": "coro, actors in C", "coro-go": "coro, actors in Go",
		"goroutine": "goroutines", "go-actor": "go-actor", "caf": "CAF", "erlang": "Erlang"}
	for _, m := range f["peers"].Measurements {
		if m.Experiment == "actors" && m.Variant == "pingpong" && m.Workers == 1 {
			label := cmp.Or(names[m.System], m.System)
			rows = append(rows, row{label, "peers", m.System, m.Variant})
		}
	}
	list := pickRows(f, rows, "actors", "ns_per_message", 0, false)
	return dots(says("A message takes %s ns between actors in C, %s in Go; by channels %s", list,
		names["coro-c"], names["coro-go"], names["goroutine"]), "ns a message", list)
}

func fairness(f figures.Figures) (*plot.Plot, vg.Length, error) {
	list := tails(f, [][3]string{
		{"Go bodies, busy pairs", "coro-go", "newcomer-insular"},
		{"C coroutines, busy pairs", "coro-c", "newcomer-insular"},
		{"goroutines, busy pairs", "goroutine", "newcomer-insular"},
		{"Go bodies, flood", "coro-go", "newcomer-flood"},
		{"C coroutines, flood", "coro-c", "newcomer-flood"},
		{"goroutines, flood", "goroutine", "newcomer-flood"},
	}, "fair", 2, "us")
	return dots(says("Beside busy pairs a newcomer waits %s µs in C, %s in Go; a goroutine %s",
		list, "C coroutines, busy pairs", "Go bodies, busy pairs", "goroutines, busy pairs"),
		"µs, median to 99th percentile", list)
}

func echo(f figures.Figures) (*plot.Plot, vg.Length, error) {
	var list []point
	for _, row := range [][2]string{{"bare epoll loop", "epoll"}, {"C coroutines", "coro"},
		{"goroutines", "goroutine"}} {
		list = pick(f, list, row[0], benchKey("io", row[1], "echo", 1, 64, "cpu_us"), 1)
	}
	return dots(says("An echo takes %s µs of CPU time by coroutines, %s by goroutines", list,
		"C coroutines", "goroutines"), "CPU µs a request, 64 connections", list)
}

func http(f figures.Figures) (*plot.Plot, vg.Length, error) {
	var list []point
	for _, row := range [][2]string{{"bare epoll loop", "epoll"}, {"coro, examples/httpd", "coro"},
		{"fasthttp", "fasthttp"}, {"net/http", "net/http"}} {
		list = pick(f, list, row[0], figures.Key{Command: "http", Experiment: "http",
			System: row[1], Variant: "hello", Workers: 1, N: 64, Metric: "cpu_us"}, 1)
	}
	return dots(says("A request takes %s µs of CPU time in examples/httpd, %s in net/http", list,
		"coro, examples/httpd", "net/http"), "CPU µs a request, 64 connections", list)
}
