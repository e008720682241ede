package main

import (
	"fmt"
	"slices"
)

// A load is what bench/compare runs: an experiment, by a regular expression, and some of its rows
// (none: those that compare chooses).
type load struct{ experiment, rows, with string }

// A plan says where a policy is measured, and on what ground it stays:
//
//	a  a row that is not of Savina gains 5 % or more
//	b  a bound that the docs promise breaks without it
//	c  three rows of Savina or more gain 25 % or more
//	d  it is for more CPUs than there are where it was measured
type plan struct {
	name   string
	loads  []load
	ground string
	why    string
	held   string // the test, model or scenario that fails where the policy is broken
}

const savinas = "pingpong|counting|threadring|big|chameneos|fanin|fjthrput"

var (
	switches = load{experiment: "switch|yield|spawn"}
	spawns   = load{experiment: "spawn|tasks"}
	channels = load{experiment: "chan|sync|wait"}
	borders  = load{experiment: "border",
		rows: `^coro/(start-wait|echo|call|call-n|children|8x5us)( cold)? workers=\d+ n=\d+$`}
	pairs       = load{experiment: "chan|sync", rows: `^coro/.*(home|across)`}
	inputs      = load{experiment: "io", rows: `^coro/`}
	kept        = load{experiment: "connections", rows: `^coro/`}
	savina      = load{experiment: "actor", rows: `^coro-c/(` + savinas + `) `}
	savinaOnTwo = load{experiment: "actor", rows: `^coro-c/(` + savinas + `) workers=2`}
	goSavina    = load{experiment: "actor", rows: `^coro-go/(` + savinas + `|ask\d+) `}
	calls       = load{experiment: "call", rows: `^coro/(inline|offload workers=2 n=\d{2,}$|from-sleep)`}
)

// fair are rows of C coroutines in the experiment of that name, which takes long.
func fair(rows string) load {
	return load{experiment: "fair", rows: "^coro-c/(" + rows + ") "}
}

var all = []plan{
	{name: "worth", loads: []load{savinaOnTwo, spawns}, ground: "c",
		why: "two rows, not three, but by far: on two workers `big` takes 4.8 times as long " +
			"without it, and `chameneos` 6.9 times",
		held: "steal_leaves_a_queue_that_is_not_worth_it"},
	{name: "spin", loads: []load{channels, inputs}},
	{name: "wait-spin", loads: []load{channels, calls}},
	{name: "standby", loads: []load{spawns, inputs}},
	{name: "reserve", loads: []load{inputs, kept}},
	{name: "fed", loads: []load{inputs, kept}},
	{name: "coalesce-wakes", loads: []load{channels, borders}, ground: "a",
		why: "`beside`, arrivals: goroutines lose 2.5 % of their work to coroutines that come " +
			"meanwhile, and 5.7 % without it (medians of 7 by turns)",
		held: "batch_of_one_is_not_several"},
	{name: "coalesce-spawns", loads: []load{spawns}},
	{name: "stir", loads: []load{fair(`harmonic|newcomer-insular workers=2`)}, ground: "b",
		why:  "workers that are all busy share their work (fairness.md)",
		held: "fair_busy_workers_share"},
	{name: "hold-off", loads: []load{spawns, {experiment: "fib"}}},
	{name: "favors", loads: []load{fair(`newcomer-insular( 1ms)? workers=1`)}},
	{name: "follows", loads: []load{fair(`harmonic workers=2`), pairs}},
	{name: "look-ahead", loads: []load{switches, {experiment: "ring"}}},
	{name: "chains", loads: []load{channels, {experiment: "ring"}}},
	{name: "wait-budget", loads: []load{pairs, fair(`newcomer-flood workers=1`)}, ground: "b",
		why:  "waits that end at once let others run (fairness.md)",
		held: "fair_sleepers_wake_up_beside_waits_that_end_at_once"},
	{name: "lend", loads: []load{borders}},
	{name: "succeed", loads: []load{spawns}},
	{name: "poll-less", loads: []load{inputs}},
	{name: "home", loads: []load{savina}, ground: "c",
		why: "`pingpong`, `counting`, `fanin`, `threadring` and `chameneos` take 1.4 to 1.8 times " +
			"as long",
		held: "BOX_HOME_STOLEN"},
	{name: "bulk", loads: []load{goSavina}},
	{name: "stay-on-p", loads: []load{goSavina, {experiment: "body"}}},
	{name: "try-again", loads: []load{borders, calls}},
	{name: "meet", loads: []load{channels}},
}

// plansOf are the plans of the policies with these names. Each has one.
func plansOf(names []string) ([]plan, error) {
	var out []plan
	for _, name := range names {
		i := slices.IndexFunc(all, func(p plan) bool { return p.name == name })
		if i < 0 {
			return nil, fmt.Errorf("the policy %s has no plan in bench/ablate/plan.go", name)
		}
		out = append(out, all[i])
	}
	return out, nil
}
