package main

import (
	"cmp"
	"fmt"
	"image/color"
	"slices"
	"strings"

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

func threads(n int) string {
	if n == 1 {
		return "1 thread"
	}
	return fmt.Sprintf("%d threads", n)
}

// sorted puts the least first.
func sorted(list []point) []point {
	slices.SortStableFunc(list, func(a, b point) int { return cmp.Compare(a.value, b.value) })
	return list
}

func spawn(f figures.Figures) (*plot.Plot, vg.Length, error) {
	var list []point
	for _, command := range []string{"bench", "peers"} {
		for _, m := range f[command].Measurements {
			own := strings.HasPrefix(m.System, "coro") || m.System == "goroutine"
			if m.Experiment != "spawn" || m.Metric != "total_ms" || command == "peers" && own {
				continue
			}
			label := m.System
			if m.System == "coro" || m.System == "boost.fiber" || m.System == "tokio" {
				label += " " + m.Variant
			}
			each := 1e6 / float64(m.N)
			list = append(list, point{label + ", " + threads(m.Workers),
				colourOf(m.System), m.Value * each, m.Min * each, m.Max * each})
		}
	}
	return dots("Empty ones, spawned and run", "ns each", sorted(list))
}

func switching(f figures.Figures) (*plot.Plot, vg.Length, error) {
	var list []point
	for _, m := range f["peers"].Measurements {
		if m.Experiment == "switching" && m.N == 2 {
			list = append(list, point{m.System + " " + m.Variant, colourOf(m.System), m.Value,
				m.Min, m.Max})
		}
	}
	return dots("A switch, two of them", "ns", sorted(list))
}

func ladder(f figures.Figures) (*plot.Plot, vg.Length, error) {
	var list []point
	for _, row := range [][3]string{{"swapcontext, new stacks", "ucontext", "new-stack"},
		{"stacks are kept", "ucontext", "reused-stack"}, {"no signal mask", "coro", "no-mask"},
		{"no floating-point state", "coro", "no-fp"}, {"the run loop", "coro", "run-loop"},
		{"goroutines", "goroutine", "Gosched"}} {
		list = pick(f, list, row[0], benchKey("ladder", row[1], row[2], 1, 0, "ns_per_op"), 1)
	}
	return dots("A life, suspended once", "ns", list)
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
	return lines("A yield, one of 200", "bytes of the stack in use", "ns", true,
		[]series{line("plain", blue), line("dense", purple)})
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
	return lines("Strict rings, one worker", "coroutines", "million posts a second", true, list)
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
	return lines("200 Fibonacci numbers", "workers", "times faster than one thread", false, list)
}

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
	return dots("From sleep", "ns, median to 99th percentile", tails(f, [][3]string{
		{"cgo call", "cgo", "empty cold"},
		{"coro Call", "coro", "call cold"},
		{"coro Start and Wait, brief", "coro", "start-wait cold"},
		{"coro Start and Wait", "coro", "start-wait plain cold"},
		{"goroutines: request and answer", "goroutine", "echo cold"},
		{"coro: request and answer, brief", "coro", "echo cold"},
		{"coro: request and answer", "coro", "echo plain cold"},
		{"C thread wakes a goroutine", "cgo", "wake callback"},
		{"coroutine calls Go", "coro", "wake offload"},
	}, "border", 1, "ns"))
}

func actors(f figures.Figures) (*plot.Plot, vg.Length, error) {
	var list []point
	for _, m := range f["peers"].Measurements {
		if m.Experiment == "actors" && m.Variant == "pingpong" && m.Workers == 1 {
			list = append(list, point{m.System, colourOf(m.System), m.Value, m.Min, m.Max})
		}
	}
	return dots("Ping-pong", "ns a message", sorted(list))
}

func fairness(f figures.Figures) (*plot.Plot, vg.Length, error) {
	return dots("A newcomer's first turn", "µs, median to 99th percentile", tails(f, [][3]string{
		{"Go bodies, busy pairs", "coro-go", "newcomer-insular"},
		{"C coroutines, busy pairs", "coro-c", "newcomer-insular"},
		{"goroutines, busy pairs", "goroutine", "newcomer-insular"},
		{"Go bodies, flood", "coro-go", "newcomer-flood"},
		{"C coroutines, flood", "coro-c", "newcomer-flood"},
		{"goroutines, flood", "goroutine", "newcomer-flood"},
	}, "fair", 2, "us"))
}

func echo(f figures.Figures) (*plot.Plot, vg.Length, error) {
	var list []point
	for _, row := range [][2]string{{"bare epoll loop", "epoll"}, {"C coroutines", "coro"},
		{"goroutines", "goroutine"}} {
		list = pick(f, list, row[0], benchKey("io", row[1], "echo", 1, 64, "cpu_us"), 1)
	}
	return dots("Echo, 64 connections", "CPU µs a request", list)
}

func http(f figures.Figures) (*plot.Plot, vg.Length, error) {
	var list []point
	for _, row := range [][2]string{{"bare epoll loop", "epoll"}, {"coro, examples/httpd", "coro"},
		{"fasthttp", "fasthttp"}, {"net/http", "net/http"}} {
		list = pick(f, list, row[0], figures.Key{Command: "http", Experiment: "http",
			System: row[1], Variant: "hello", Workers: 1, N: 64, Metric: "cpu_us"}, 1)
	}
	return dots("Hello, World!, 64 connections", "CPU µs a request", list)
}
