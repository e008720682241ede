package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/organzine/coro/bench/internal/harness"
)

const sysCoro, sysCoroC, sysCoroGo, sysGoroutine = "coro", "coro-c", "coro-go", "goroutine"

var actorPrograms = []string{"pingpong", "counting", "fjthrput", "threadring", "big", "chameneos",
	"fanin"}
var asking = []string{"ask1", "ask64"}

// actors are those of other libraries and languages, in the programs of package savina.
func actors() table {
	all := slices.Concat(actorPrograms, asking)
	return table{
		Experiment: harness.Experiment{
			Name: "actors",
			About: `actors of other libraries and languages beside coro's, and goroutines with a channel of
64 each, in ns a message; ask: ns an answer, from 1 or 64 goroutines outside; with a time-out, but
for coro-go. The programs are Savina's, and fanin: see package bench/internal/savina. coro's and
goroutines are the rows of the experiment actor. "best": of all but coro and goroutines.`,
			Metrics: []harness.Metric{{Name: "ns_per_message", Title: "ns a message", Digits: 1}},
			Versus: &harness.Versus{
				Metric: "ns_per_message", Title: "times the best",
				Peer: func(row, c harness.Row) bool {
					return otherThanGo(row, c) && c.Variant == row.Variant
				},
			},
		},
		peers: []peer{
			{system: sysCoroC, program: benchActors(sysCoroC), rows: actorRows(actorPrograms)},
			{system: sysCoroGo, program: benchActors(sysCoroGo), rows: actorRows(all)},
			{system: sysGoroutine, program: benchActors(sysGoroutine), rows: actorRows(all)},
			{system: "hollywood", program: goActors("hollywood"), rows: actorRows(all)},
			{system: "protoactor", program: goActors("protoactor"), rows: actorRows(all)},
			{system: "go-actor", program: goActors("go-actor"), rows: actorRows(all)},
			{system: "caf", program: caf, rows: actorRows(actorPrograms),
				needs: []need{{command: "g++", header: "caf/all.hpp",
					remedy: "sudo apt-get install -y g++ libcaf-dev"}}},
			{system: "erlang", program: erlangActors, rows: actorRows(actorPrograms),
				needs: []need{needErlang}},
		},
		order: func(a, b harness.Row) int {
			return cmp.Or(cmp.Compare(slices.Index(all, a.Variant), slices.Index(all, b.Variant)),
				cmp.Compare(a.Workers, b.Workers))
		},
	}
}

func actorRows(programs []string) []row {
	var out []row
	for _, program := range programs {
		for _, workers := range []int{1, 2} {
			out = append(out, row{variant: program, workers: workers, n: 1})
		}
	}
	return out
}

// benchActors is the program bench for rows of its experiment actor, which have sizes of their own.
func benchActors(system string) program {
	p := bench
	p.command = func(b *builder, r row) []string {
		return []string{b.path(p.name), "-run", "^actor$", "-once", "-json", "-rows",
			fmt.Sprintf("^%s/%s workers=%d ", system, r.variant, r.workers)}
	}
	return p
}

// goActors is a package of the module bench/peers/actors.
func goActors(name string) program { return goProgram("actors", name, actorCommand(name)) }

var caf = program{
	name: "caf",
	build: func(b *builder) error {
		return b.command(filepath.Join(b.sources, "actors", "caf"), "g++", "-std=c++17", "-O2",
			"main.cpp", "-o", b.path("caf"), "-lcaf_core", "-pthread")
	},
	command: actorCommand("caf"),
}

func actorCommand(name string) func(*builder, row) []string {
	return func(b *builder, r row) []string {
		return []string{b.path(name), "-program", r.variant, "-workers", strconv.Itoa(r.workers),
			"-scale", strconv.Itoa(b.scale)}
	}
}

var erlangActors = program{
	name: "erlang actors",
	build: func(b *builder) error {
		return b.command(b.bin, "erlc", filepath.Join(b.sources, "actors", "erlang", "actors.erl"))
	},
	command: func(b *builder, r row) []string {
		return []string{"erl", "-noshell", "+S", fmt.Sprintf("%d:%[1]d", r.workers), "-pa", b.bin,
			"-run", "actors", "main", r.variant, strconv.Itoa(b.scale)}
	},
}
