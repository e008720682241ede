package main

import (
	"cmp"
	"path/filepath"

	"github.com/organzine/coro/bench/internal/harness"
)

// Switches of a run, of all coroutines together.
const (
	manySwitches = 2_000_000
	someSwitches = 200_000 // of those that take long
)

// The ways to switch.
const yields, resumes, transfers = "yield", "resume", "transfer"

// switching is what a coroutine takes to let another one run, on one thread.
func switching(b *builder) table {
	return table{
		Experiment: harness.Experiment{
			Name: "switching",
			About: `n coroutines on one thread that switch in turn, in ns a switch. They differ in who
chooses the next. yield: a scheduler; one yield. resume: a loop, one of the n, which the others go
back to each time; half of a resume with its way back. transfer: each names the next; one transfer.
coro, goroutine and ucontext are rows of bench's experiments switch, yield and body. "best": of all
but coro and goroutines, that switch in that way.`,
			Metrics: []harness.Metric{{Name: "ns_per_switch", Title: "ns a switch", Digits: 1}},
			Versus: &harness.Versus{
				Metric: "ns_per_switch", Title: "times the best",
				Peer: func(row, c harness.Row) bool {
					return otherThanGo(row, c) && c.Variant == row.Variant && c.N == row.N
				},
			},
		},
		peers:  switchPeers(b),
		order:  func(a, b harness.Row) int { return cmp.Compare(a.N, b.N) },
		values: perSwitch,
	}
}

func switchPeers(b *builder) []peer {
	coroC := []row{
		{variant: yields, n: 2, bench: benchRow{"yield", "coro/coro_yield workers=1 n=2"}},
		{variant: yields, n: 1000, bench: benchRow{"switch", "coro/ring workers=1 n=1000"}},
		{variant: resumes, n: 2, bench: benchRow{"switch", "coro/pair workers=1 n=2"}},
	}
	coroGo := []row{
		{variant: yields, n: 2, bench: benchRow{"body", "coro/yield workers=1 n=2"}},
		{variant: yields, n: 1000, bench: benchRow{"body", "coro/yield workers=1 n=1000"}},
	}
	goroutine := []row{
		{variant: yields, n: 2, bench: benchRow{"yield", "goroutine/Gosched workers=1 n=2"}},
		{variant: yields, n: 1000, bench: benchRow{"yield", "goroutine/Gosched workers=1 n=1000"}},
	}
	ucontext := []row{
		{variant: resumes, n: 2, bench: benchRow{"switch", "ucontext/pair workers=1 n=2"}},
		{variant: transfers, n: 1000, bench: benchRow{"switch", "ucontext/ring workers=1 n=1000"}},
	}
	return []peer{
		{system: sysCoroC, program: bench, rows: onOne(coroC)},
		{system: sysCoroGo, program: bench, rows: onOne(coroGo)},
		{system: sysGoroutine, program: bench, rows: onOne(goroutine)},
		{system: "iter.Pull", program: golang("pull"), rows: switchRows(manySwitches, resumes)},
		{system: "ucontext", program: bench, rows: onOne(ucontext)},
		{system: "boost.context", needs: []need{{command: "g++", header: "boost/context/fiber.hpp",
			remedy: "sudo apt-get install -y g++ libboost-context-dev"}},
			program: cxx20("context", "-lboost_context"), rows: switchRows(manySwitches, resumes)},
		{system: "boost.fiber", needs: []need{needFiber}, program: fiber,
			rows: switchRows(manySwitches, yields)},
		{system: "c++20", needs: []need{needGxx}, program: cxx20("coroutine"),
			rows: switchRows(manySwitches, resumes, transfers)},
		{system: "minicoro", program: compiled("minicoro", "c", "minicoro.c", "gcc", "-I", b.minicoro),
			needs: []need{needGcc, source(b.minicoro, "minicoro.h", "-minicoro",
				"https://github.com/edubart/minicoro")},
			rows: switchRows(manySwitches, resumes)},
		{system: "libaco", program: compiled("libaco", "c", "libaco.c", "gcc", "-I", b.libaco,
			filepath.Join(b.libaco, "aco.c"), filepath.Join(b.libaco, "acosw.S")),
			needs: []need{needGcc, source(b.libaco, "aco.h", "-libaco",
				"https://github.com/hnes/libaco")},
			rows: switchRows(manySwitches, resumes)},
		{system: "generator", rows: switchRows(someSwitches, resumes),
			program: python("tasks.py", "asyncio", "sudo apt-get install -y python3")},
		{system: "greenlet", rows: switchRows(someSwitches, transfers),
			program: python("greenlets.py", "greenlet", "sudo apt-get install -y python3-greenlet")},
		{system: "asyncio", rows: switchRows(someSwitches, yields),
			program: python("tasks.py", "asyncio", "sudo apt-get install -y python3")},
		{system: "tokio", needs: []need{needCargo, needTokio}, program: rust,
			rows: switchRows(manySwitches, yields)},
		{system: "erlang", needs: []need{needErlang}, program: erlang,
			rows: switchRows(manySwitches, yields)},
	}
}

func onOne(rows []row) []row {
	for i := range rows {
		rows[i].workers = 1
	}
	return rows
}

func switchRows(switches int, variants ...string) []row {
	var out []row
	for _, n := range []int{2, 1000} {
		for _, variant := range variants {
			out = append(out, row{variant: variant, workers: 1, n: n, switches: switches})
		}
	}
	return out
}

// perSwitch is the one number of a row, which the experiments of bench tell by other names.
func perSwitch(_ *builder, _ row, told harness.Values) harness.Values {
	for _, name := range []string{"ns_per_switch", "ns_per_op", "ns_one_way"} {
		if value, ok := told[name]; ok {
			return harness.Values{"ns_per_switch": value}
		}
	}
	return nil
}
