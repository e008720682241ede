package main

import (
	"cmp"

	"github.com/organzine/coro/bench/internal/harness"
)

// How many are spawned. Half a million threads take minutes, and half a million fibers with a stack
// each more memory than a small machine has.
const (
	spawnN        = 500_000
	spawnThreads  = 20_000
	spawnFibersAt = 100_000 // all at once
)

// spawning is the experiment spawn of bench, with others than goroutines beside coro.
func spawning() table {
	return table{
		Experiment: harness.Experiment{
			Name: "spawn",
			About: `empty coroutines, tasks, processes or threads, in ms.
spawn: until the last call that spawns has returned; run: from then until all have ended; total:
both. Where nothing runs before all are spawned, coro's is the row paused. pthread creates and joins
1000 by turns. coro and goroutine are the rows of bench's experiment spawn. "best": of all but coro
and goroutines, by the time of each, as n differs.`,
			Metrics: []harness.Metric{
				{Name: "spawn_ms", Title: "spawn ms", Digits: 1},
				{Name: "run_ms", Title: "run ms", Digits: 1},
				{Name: "total_ms", Title: "total ms", Digits: 1},
				{Name: "ns_each", Title: "ns each", Digits: 1},
			},
			Versus: &harness.Versus{Metric: "ns_each", Title: "times the best", Peer: otherThanGo},
		},
		peers: spawnPeers(),
		order: func(a, b harness.Row) int { return cmp.Compare(a.Workers, b.Workers) },
		values: func(b *builder, r row, told harness.Values) harness.Values {
			told["ns_each"] = told["total_ms"] * 1e6 / float64(r.spawned(b))
			return told
		},
	}
}

func spawnPeers() []peer {
	all := oneAndAll()
	goroutines := []row{{variant: "P1", workers: 1, n: spawnN}}
	if len(all) > 1 {
		goroutines = append(goroutines, row{variant: "Pall", workers: all[1], n: spawnN})
	}
	coros := spawnRows(all, spawnN, "coroutine", "go-batch", "go-each", "paused")
	return []peer{
		{system: sysCoro, program: bench, rows: benchRows("spawn", sysCoro, coros...)},
		{system: sysGoroutine, program: bench,
			rows: benchRows("spawn", sysGoroutine, goroutines...)},
		{system: "ants", program: golang("ants"), rows: spawnRows(all, spawnN, "submit")},
		{system: "conc", program: golang("conc"), rows: spawnRows(all, spawnN, "pool")},
		{system: "asyncio", rows: spawnRows([]int{1}, spawnN, "asyncio"),
			program: python("tasks.py", "asyncio", "sudo apt-get install -y python3")},
		{system: "uvloop", rows: spawnRows([]int{1}, spawnN, "uvloop"),
			program: python("tasks.py", "uvloop", "sudo apt-get install -y python3-uvloop")},
		{system: "gevent", rows: spawnRows([]int{1}, spawnN, "gevent"),
			program: python("greenlets.py", "gevent", "sudo apt-get install -y python3-gevent")},
		{system: "pthread", needs: []need{needGcc}, rows: spawnRows(all, spawnThreads, "batches"),
			program: compiled("pthread", "c", "pthread.c", "gcc", "-pthread")},
		{system: "boost.fiber", needs: []need{needFiber}, program: fiber,
			rows: append(spawnRows([]int{1}, spawnN, "dispatch"),
				spawnRows(all, spawnFibersAt, "post")...)},
		{system: "c++20", needs: []need{needGxx}, program: cxx20("coroutine"),
			rows: spawnRows([]int{1}, spawnN, "frame")},
		{system: "tokio", needs: []need{needCargo, needTokio}, program: rust,
			rows: append(spawnRows([]int{1}, spawnN, "current_thread"),
				spawnRows(all, spawnN, "multi_thread")...)},
		{system: "erlang", needs: []need{needErlang}, program: erlang,
			rows: spawnRows(all, spawnN, "process")},
	}
}

var fiber = cxx20("fiber", "-lboost_fiber", "-lboost_context", "-pthread")

func spawnRows(workers []int, n int, variants ...string) []row {
	var out []row
	for _, w := range workers {
		for _, variant := range variants {
			out = append(out, row{variant: variant, workers: w, n: n})
		}
	}
	return out
}
